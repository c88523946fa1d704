// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services that this host advertises: the calls, checks, and the ports of a
 * service's records. The key of a record at the SA is its service id, GID and
 * P_Key, and a port has one GID here. So a port has each id once in a
 * partition: the second service gets -EEXIST, whatever its owner. A withdrawn
 * service does not count, but its successor waits until the old record is
 * deleted.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "advertise/advertise.h"
#include "advertise/trace.h"
#include "sa/wire.h"

static unsigned int service_lease_s = 900;
module_param(service_lease_s, cmx_positive, 0644);
MODULE_PARM_DESC(service_lease_s,
		 "Lease in s of services whose owner leaves it open (default 900, at least 4)");

/* Milliseconds for the SA to delete a record; of a device that is removed */
#define CMX_WITHDRAW_MS		10000
#define CMX_GOING_MS		1000

/*
 * True if @s may be advertised on @port. The owner of a network namespace that
 * does not own the device's namespace may use a shared device, but not
 * advertise services on it.
 */
static bool cmx_service_fits(const struct rdma_cmx_service *s,
			     const struct cmx_sa_port *port)
{
	struct ib_device *dev = cmx_sa_port_dev(port);

	if (!rdma_dev_access_netns(dev, s->net))
		return false;
	/* Not dev_name(), whose memory a rename frees */
	if (*s->dev && strncmp(dev->name, s->dev, IB_DEVICE_NAME_MAX))
		return false;
	if (s->dev_port && s->dev_port != cmx_sa_port_num(port))
		return false;
	return !s->confined || cmx_sa_port_ruled(port, s->net);
}

/* Under the lock. The record of @s on @port that is not ending, or NULL */
static struct cmx_port_record *cmx_service_record(struct rdma_cmx_service *s,
						  const struct cmx_sa_port *port)
{
	struct cmx_port_record *r;

	list_for_each_entry(r, &s->records, node) {
		if (r->port == port && !r->ending)
			return r;
	}
	return NULL;
}

/**
 * struct cmx_service_start - the start of a service
 * @service: the service
 * @fresh: for a user without services; NULL: taken over
 * @records: memory for its records
 * @error: the result
 */
struct cmx_service_start {
	struct rdma_cmx_service *service;
	struct cmx_service_user *fresh;
	struct list_head records;
	int error;
};

/*
 * Not under the lock: it may wait for the firmware of a device, and for memory
 * of the caller's cgroup.
 */
static int cmx_service_prepare_port(struct cmx_sa_port *port, void *arg)
{
	struct cmx_service_start *start = arg;
	struct cmx_port_record *r;

	if (!cmx_service_fits(start->service, port) || !cmx_sa_port_check(port))
		return 0;
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return -ENOMEM;
	list_add(&r->node, &start->records);
	return 0;
}

/*
 * Under the lock. A port that is listed now is removed after the lock: its
 * record ends then. One that is active only now has no memory yet.
 */
static int cmx_service_add_port(struct cmx_sa_port *port, void *arg)
{
	struct cmx_service_start *start = arg;
	struct cmx_port_record *r;

	if (!cmx_sa_port_is_active(port) ||
	    !cmx_service_fits(start->service, port))
		return 0;
	r = list_first_entry_or_null(&start->records, struct cmx_port_record,
				     node);
	if (r)
		list_del(&r->node);
	cmx_record_add(start->service, port, r);
	return 0;
}

static void cmx_service_port(struct rdma_cmx_service *s,
			     struct cmx_sa_port *port,
			     enum cmx_sa_change change)
{
	struct cmx_port_record *r;

	/* Also records that already end: they are deleted, or have less time. */
	list_for_each_entry(r, &s->records, node) {
		if (r->port != port)
			continue;
		if (change == CMX_SA_GOING)
			cmx_record_go(r, CMX_GOING_MS);
		else
			cmx_record_use(r, change == CMX_SA_UP);
	}
	if (change == CMX_SA_UP && !s->withdrawn &&
	    !cmx_service_record(s, port) && cmx_service_fits(s, port))
		cmx_record_add(s, port, NULL);
}

static void cmx_service_changed(struct cmx_sa_port *port,
				enum cmx_sa_change change)
{
	struct rdma_cmx_service *s;
	int i;

	mutex_lock(&cmx_service_lock);
	hash_for_each(cmx_service_table, i, s, hash) {
		cmx_service_port(s, port, change);
		cond_resched();
	}
	mutex_unlock(&cmx_service_lock);
	if (change == CMX_SA_GOING)
		wait_event_timeout(cmx_service_wait, !cmx_records_going(),
				   msecs_to_jiffies(CMX_GOING_MS));
}

static struct cmx_sa_watcher cmx_service_watcher = {
	.changed = cmx_service_changed,
};

/*
 * Under the lock. Records end in the background. The last one ends it. Later
 * reports call nothing.
 */
static void cmx_service_end(void *arg)
{
	struct rdma_cmx_service *s = arg;
	struct cmx_port_record *r;

	s->withdrawn = true;
	WRITE_ONCE(s->event, NULL);
	list_for_each_entry(r, &s->records, node)
		cmx_record_end(r, CMX_WITHDRAW_MS);
	cmx_service_ended(s);
}

/*
 * Under the lock. True if another service has the same key on a port of @s.
 * Both may have no port now. For the default P_Key of a port, the present ports
 * decide.
 */
static bool cmx_service_exists(const struct rdma_cmx_service *s)
{
	const struct rdma_cmx_service *other;
	const struct cmx_port_record *r;
	u16 pkey;

	hash_for_each_possible(cmx_service_table, other, hash,
			       cmx_service_hash(s->id)) {
		if (other->id != s->id || other->withdrawn)
			continue;
		if (cmx_same_partition(other->pkey, s->pkey) &&
		    net_eq(other->net, s->net) &&
		    (!*other->dev || !*s->dev || !strcmp(other->dev, s->dev)) &&
		    (!other->dev_port || !s->dev_port ||
		     other->dev_port == s->dev_port))
			return true;
		list_for_each_entry(r, &other->records, node) {
			if (r->claimed && !r->ending &&
			    cmx_service_fits(s, r->port) &&
			    cmx_record_pkey(r->port, s->pkey, &pkey) &&
			    cmx_same_partition(pkey, r->pkey))
				return true;
		}
	}
	return false;
}

/* Under the lock. The records' work items wait for it. */
static void cmx_service_start(void *arg)
{
	struct cmx_service_start *start = arg;
	struct rdma_cmx_service *s = start->service;

	if (cmx_service_exists(s)) {
		start->error = -EEXIST;
		return;
	}
	start->error = cmx_service_count(s, &start->fresh);
	if (start->error) {
		cmx_stat_inc(services_refused);
		return;
	}
	hash_add(cmx_service_table, &s->hash, cmx_service_hash(s->id));
	refcount_inc(&s->ref);
	cmx_sa_ports_for_each(s->net, cmx_service_add_port, start);
	/* Before its records' */
	trace_cmx_advertise(s);
}

static int cmx_service_check(const struct rdma_cmx_service_attr *attr)
{
	if (!attr->net || !attr->name || !*attr->name || !attr->id)
		return -EINVAL;
	if (strnlen(attr->name, CMX_SERVICE_NAME_SIZE) == CMX_SERVICE_NAME_SIZE)
		return -ENAMETOOLONG;
	if (attr->pkey && !(attr->pkey & 0x7fff))
		return -EINVAL;
	if (attr->lease_s && attr->lease_s < RDMA_CMX_MIN_LEASE)
		return -ERANGE;
	if (attr->dev_port && !attr->dev)
		return -EINVAL;
	if (!attr->dev)
		return 0;
	if (!*attr->dev ||
	    strnlen(attr->dev, IB_DEVICE_NAME_MAX) == IB_DEVICE_NAME_MAX)
		return -ENODEV;
	return cmx_sa_ports_find(attr->net, attr->dev, attr->dev_port);
}

static struct rdma_cmx_service *
cmx_service_alloc(const struct rdma_cmx_service_attr *attr, kuid_t uid,
		  bool user)
{
	struct rdma_cmx_service *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return NULL;
	s->uid = user ? uid : cmx_services_uid(attr->net);
	s->counted = user;
	s->confined = user;
	s->caller = cmx_user_get(&cmx_service_callers, s->uid, !user,
				 GFP_KERNEL_ACCOUNT);
	if (!s->caller) {
		kfree(s);
		return NULL;
	}
	refcount_set(&s->ref, 1);
	INIT_LIST_HEAD(&s->records);
	mutex_init(&s->report_lock);
	s->net = get_net(attr->net);
	s->id = attr->id;
	s->pkey = attr->pkey;
	s->lease = attr->lease_s ?: max_t(u32, READ_ONCE(service_lease_s),
					  RDMA_CMX_MIN_LEASE);
	if (attr->dev)
		strscpy(s->dev, attr->dev, sizeof(s->dev));
	s->dev_port = attr->dev_port;
	strscpy(s->name, attr->name, sizeof(s->name));
	memcpy(s->data, attr->data, sizeof(s->data));
	/* Until a port has another error */
	s->error = -ENODEV;
	cmx_stat_inc(live_services);
	return s;
}

static struct rdma_cmx_service *
cmx_service_new(const struct rdma_cmx_service_attr *attr, kuid_t uid,
		bool user, rdma_cmx_service_fn event, void *context)
{
	struct cmx_service_start start = {
		.records = LIST_HEAD_INIT(start.records),
	};
	struct cmx_port_record *r, *next;
	struct rdma_cmx_service *s;
	int ret;

	ret = cmx_service_check(attr);
	if (ret)
		return ERR_PTR(ret);
	start.fresh = kzalloc(sizeof(*start.fresh), GFP_KERNEL_ACCOUNT);
	if (!start.fresh)
		return ERR_PTR(-ENOMEM);
	s = cmx_service_alloc(attr, uid, user);
	if (!s) {
		kfree(start.fresh);
		return ERR_PTR(-ENOMEM);
	}
	s->event = event;
	s->context = context;
	start.fresh->uid = s->uid;
	start.service = s;
	/* On all ports or on none */
	ret = cmx_sa_ports_for_each(s->net, cmx_service_prepare_port, &start);
	if (!ret) {
		cmx_service_call(s, cmx_service_start, &start);
		ret = start.error;
	}
	/* Of ports that are down or removed by now */
	list_for_each_entry_safe(r, next, &start.records, node)
		kfree(r);
	kfree(start.fresh);
	if (ret) {
		cmx_service_put(s);
		return ERR_PTR(ret);
	}
	cmx_stat_inc(services);
	return s;
}

struct rdma_cmx_service *
rdma_cmx_advertise(const struct rdma_cmx_service_attr *attr,
		   rdma_cmx_service_fn event, void *context)
{
	return cmx_service_new(attr, CMX_KERNEL_UID, false, event, context);
}
EXPORT_SYMBOL_GPL(rdma_cmx_advertise);

struct rdma_cmx_service *
rdma_cmx_advertise_for(const struct rdma_cmx_service_attr *attr, kuid_t uid,
		       rdma_cmx_service_fn event, void *context)
{
	return cmx_service_new(attr, uid, true, event, context);
}
EXPORT_SYMBOL_GPL(rdma_cmx_advertise_for);

void rdma_cmx_withdraw(struct rdma_cmx_service *s)
{
	trace_cmx_withdraw(s);
	cmx_service_call(s, cmx_service_end, s);
	/* Those that may have found the callback */
	wait_var_event(&s->reports, !atomic_read(&s->reports));
	cmx_service_put(s);
}
EXPORT_SYMBOL_GPL(rdma_cmx_withdraw);

struct cmx_service_state {
	const struct rdma_cmx_service *service;
	struct rdma_cmx_service_state *state;
};

/* Under the lock */
static void cmx_service_state(void *arg)
{
	struct cmx_service_state *get = arg;
	struct rdma_cmx_service_state *state = get->state;
	const struct rdma_cmx_service *s = get->service;
	const struct cmx_port_record *r;

	list_for_each_entry(r, &s->records, node) {
		if (r->ending)
			continue;
		if (r->confirmed)
			state->set++;
		else
			state->waiting++;
	}
	if (state->waiting || !state->set)
		state->error = s->error;
}

void rdma_cmx_service_get_state(struct rdma_cmx_service *s,
				struct rdma_cmx_service_state *state)
{
	struct cmx_service_state get = { .service = s, .state = state };

	memset(state, 0, sizeof(*state));
	cmx_service_call(s, cmx_service_state, &get);
}
EXPORT_SYMBOL_GPL(rdma_cmx_service_get_state);

struct cmx_service_ports {
	const struct rdma_cmx_service *service;
	struct rdma_cmx_service_port *ports;
	unsigned int room;
	unsigned int n;
};

/* Under the lock */
static void cmx_service_ports(void *arg)
{
	struct cmx_service_ports *get = arg;
	const struct cmx_port_record *r;

	list_for_each_entry(r, &get->service->records, node) {
		if (r->ending)
			continue;
		if (get->n < get->room)
			cmx_record_state(r, &get->ports[get->n]);
		get->n++;
	}
}

unsigned int rdma_cmx_service_get_ports(struct rdma_cmx_service *s,
					struct rdma_cmx_service_port *ports,
					unsigned int room)
{
	struct cmx_service_ports get = {
		.service = s,
		.ports = ports,
		.room = room,
	};

	cmx_service_call(s, cmx_service_ports, &get);
	return get.n;
}
EXPORT_SYMBOL_GPL(rdma_cmx_service_get_ports);

int cmx_advertise_init(void)
{
	int ret;

	ret = cmx_service_init();
	if (!ret)
		cmx_sa_watch(&cmx_service_watcher);
	return ret;
}

/*
 * Consumers have withdrawn all services. The records end by their deadline. They
 * follow their ports until then: one that is active again deletes its records,
 * and one that is removed ends them.
 */
void cmx_advertise_exit(void)
{
	wait_event(cmx_service_wait, cmx_records_none());
	cmx_sa_unwatch(&cmx_service_watcher);
	cmx_service_exit();
}
