// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services that a file advertises: ADVERTISE, WITHDRAW and QUERY_ADVERTISED.
 *
 * A service that is out of its file's table is withdrawn. A query's reference
 * keeps only the memory. The service's mutex serialises queries and the
 * withdrawal; no access to user memory is made under it. The callback of
 * rdma_cmx takes no lock. It may run before ADVERTISE returns, and does not run
 * after the withdrawal. So the file is valid.
 */
#include <linux/capability.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "caller.h"
#include "ucmx.h"
#include "user.h"

/* The first published form of a port is constant. */
#define UCMX_SERVICE_PORT_MIN						\
	offsetofend(struct rdma_cmx_service_port, gid)

struct ucmx_service {
	refcount_t ref;
	u32 handle;
	bool shown;			/* visible; the table's lock guards it */
	u64 uid;
	u64 owner;
	struct ucmx_file *file;
	struct mutex mutex;		/* serialises query and withdrawal */
	struct rdma_cmx_service *service;	/* NULL: withdrawn */
	atomic_t changed;		/* since its last query: 0 or 1 */
};

void ucmx_services_init(struct ucmx_file *file)
{
	xa_init_flags(&file->services, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&file->changes);
}

static void ucmx_service_put(struct ucmx_service *s)
{
	if (!refcount_dec_and_test(&s->ref))
		return;
	mutex_destroy(&s->mutex);
	kfree(s);
	ucmx_stat_dec(live_advertised);
}

/* A port of the service has changed. */
static void ucmx_service_event(struct rdma_cmx_service *service,
			       const struct rdma_cmx_service_event *event,
			       void *context)
{
	struct ucmx_service *s = context;

	if (!atomic_xchg(&s->changed, 1))
		atomic_inc(&s->file->changed);
	ucmx_file_wake_later(s->file, UCMX_WAKE_CHANGES);
}

/* Clears the mark of a change. True if there was one. */
static bool ucmx_service_seen(struct ucmx_service *s)
{
	if (!atomic_xchg(&s->changed, 0))
		return false;
	atomic_dec(&s->file->changed);
	return true;
}

/* A query has failed: marks the change again that it would report. */
static void ucmx_service_unseen(struct ucmx_service *s)
{
	mutex_lock(&s->mutex);
	if (s->service)
		ucmx_service_event(s->service, NULL, s);
	mutex_unlock(&s->mutex);
}

/* Takes over the table's reference. The handle is freed, or nobody uses it. */
static void ucmx_service_end(struct ucmx_service *s)
{
	mutex_lock(&s->mutex);
	rdma_cmx_withdraw(s->service);
	s->service = NULL;
	mutex_unlock(&s->mutex);
	/* The callback does not run any longer. */
	ucmx_service_seen(s);
	ucmx_service_put(s);
}

/**
 * ucmx_services_end - withdraw all services of a file that is released
 * @file: the file
 */
void ucmx_services_end(struct ucmx_file *file)
{
	struct ucmx_service *s;
	unsigned long handle;

	xa_for_each(&file->services, handle, s) {
		ucmx_file_uncharge(file, 1);
		ucmx_service_end(s);
		cond_resched();
	}
	xa_destroy(&file->services);
}

static int ucmx_advertise_check(const struct rdma_cmx_advertise *arg)
{
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved || !arg->service_id || !*arg->name ||
	    !ucmx_text_ends(arg->name, sizeof(arg->name)) ||
	    !ucmx_text_ends(arg->dev, sizeof(arg->dev)))
		return -EINVAL;
	if (!ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return 0;
}

static struct ucmx_service *
ucmx_service_alloc(struct ucmx_file *file, const struct rdma_cmx_advertise *arg)
{
	struct ucmx_service *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
	refcount_set(&s->ref, 1);
	mutex_init(&s->mutex);
	s->file = file;
	s->uid = arg->uid;
	s->owner = arg->owner;
	ucmx_stat_inc(live_advertised);
	return s;
}

static int ucmx_service_start(struct ucmx_service *s,
			      const struct rdma_cmx_advertise *arg)
{
	struct rdma_cmx_service_attr attr = {
		.net = current->nsproxy->net_ns,
		.name = arg->name,
		.id = arg->service_id,
		.pkey = arg->pkey,
		.lease_s = arg->lease_s,
		.dev = *arg->dev ? arg->dev : NULL,
		.dev_port = arg->dev_port,
	};

	BUILD_BUG_ON(sizeof(attr.data) != sizeof(arg->data));
	memcpy(attr.data, arg->data, sizeof(attr.data));
	s->service = rdma_cmx_advertise_for(&attr, cmx_current_user(),
					    ucmx_service_event, s);
	return PTR_ERR_OR_ZERO(s->service);
}

/* Under the table's lock. Returns the service, if it is visible, or NULL. */
static struct ucmx_service *ucmx_service_find(struct ucmx_file *file, u32 handle)
{
	struct ucmx_service *s = xa_load(&file->services, handle);

	return s && s->shown ? s : NULL;
}

/*
 * Allocates a handle for @s, which is not visible yet. Handles ascend, so that a
 * stale one finds no other service. Not xa_alloc_cyclic(), which uses a former
 * one if it has no memory.
 */
static int ucmx_service_enter(struct ucmx_file *file, struct ucmx_service *s)
{
	int ret;

	xa_lock(&file->services);
	do {
		/* Before the lock is released for memory. 0 is no handle. */
		s->handle = ++file->last_service ?: ++file->last_service;
		ret = __xa_insert(&file->services, s->handle, s, GFP_KERNEL);
	} while (ret == -EBUSY);
	xa_unlock(&file->services);
	return ret;
}

int ucmx_advertise(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_advertise __user *uarg = cmd->ubuf;
	struct rdma_cmx_advertise *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	struct ucmx_service *s;
	int ret;

	ret = ucmx_advertise_check(arg);
	if (ret)
		return ret;
	ret = ucmx_file_charge(file, 1);
	if (ret)
		return ret;
	ret = -ENOMEM;
	s = ucmx_service_alloc(file, arg);
	if (!s)
		goto err_charge;
	ret = ucmx_service_enter(file, s);
	if (ret)
		goto err_put;
	/* A service is advertised only after its handle was written. */
	ret = put_user(s->handle, &uarg->handle);
	if (ret)
		goto err_handle;
	ret = ucmx_service_start(s, arg);
	if (ret)
		goto err_written;
	xa_lock(&file->services);
	s->shown = true;
	xa_unlock(&file->services);
	return 0;

err_written:
	/* A command that fails changes nothing. */
	if (put_user(arg->handle, &uarg->handle))
		ret = -EFAULT;
err_handle:
	xa_erase(&file->services, s->handle);
err_put:
	ucmx_service_put(s);
err_charge:
	ucmx_file_uncharge(file, 1);
	return ret;
}

int ucmx_withdraw(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_destroy __user *uarg = cmd->ubuf;
	struct rdma_cmx_destroy *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	struct ucmx_service *s;

	if (arg->reserved)
		return -EINVAL;
	/* A service has no events. */
	if (put_user(0, &uarg->events_reported))
		return -EFAULT;
	xa_lock(&file->services);
	s = ucmx_service_find(file, arg->handle);
	if (s && ((arg->owner && arg->owner != s->owner) ||
		  !ucmx_uid_is(s->uid, arg->uid)))
		s = NULL;
	if (s)
		__xa_erase(&file->services, arg->handle);
	xa_unlock(&file->services);
	if (!s)
		return -ENOENT;
	ucmx_service_end(s);
	ucmx_file_uncharge(file, 1);
	return 0;
}

static struct ucmx_service *ucmx_service_get(struct ucmx_file *file, u32 handle)
{
	struct ucmx_service *s;

	xa_lock(&file->services);
	s = ucmx_service_find(file, handle);
	if (s)
		refcount_inc(&s->ref);
	xa_unlock(&file->services);
	return s;
}

/* Returns the number of ports. At most @room of them are in @ports. */
static int ucmx_service_ports(struct ucmx_service *s,
			      struct rdma_cmx_service_port *ports,
			      unsigned int room)
{
	int n = -ENOENT;

	mutex_lock(&s->mutex);
	if (s->service)
		n = rdma_cmx_service_get_ports(s->service, ports, room);
	mutex_unlock(&s->mutex);
	return n;
}

static void ucmx_advertised_sum(struct rdma_cmx_query_advertised *arg,
				const struct rdma_cmx_service_port *ports,
				unsigned int n)
{
	unsigned int i;

	arg->num_ports = n;
	arg->num_set = 0;
	arg->error = n ? 0 : -ENODEV;
	for (i = 0; i < n; i++) {
		if (ports[i].state == RDMA_CMX_SERVICE_PORT_SET)
			arg->num_set++;
		else if (ports[i].error)
			arg->error = ports[i].error;
	}
}

static int ucmx_advertised(struct ucmx_cmd *cmd, struct ucmx_service *s)
{
	struct rdma_cmx_query_advertised *arg = cmd->buf;
	struct rdma_cmx_service_port *ports = NULL;
	int n = 0, room, ret;

	/*
	 * A port may appear between the two calls, but not in each iteration.
	 */
	do {
		kvfree(ports);
		room = n;
		ports = NULL;
		if (room) {
			ports = kvcalloc(room, sizeof(*ports),
					 GFP_KERNEL_ACCOUNT);
			if (!ports)
				return -ENOMEM;
		}
		n = ucmx_service_ports(s, ports, room);
	} while (n > room && !fatal_signal_pending(current));
	ret = n < 0 ? n : n > room ? -EINTR : 0;
	if (!ret) {
		ucmx_advertised_sum(arg, ports, n);
		ret = ucmx_items_put(arg->ports, arg->port_size, ports,
				     sizeof(*ports),
				     min(arg->num_ports, arg->max_ports));
	}
	kvfree(ports);
	return ret ?: ucmx_respond(cmd);
}

int ucmx_query_advertised(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_query_advertised *arg = cmd->buf;
	struct ucmx_service *s;
	bool changed;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	if (arg->max_ports && arg->port_size < UCMX_SERVICE_PORT_MIN)
		return -EINVAL;
	if (arg->max_ports && arg->port_size > PAGE_SIZE)
		return -E2BIG;
	s = ucmx_service_get(cmd->file, arg->handle);
	if (!s)
		return -ENOENT;
	/* Before the ports are read, so that no later change is lost. */
	changed = ucmx_service_seen(s);
	ret = ucmx_advertised(cmd, s);
	if (ret && changed)
		ucmx_service_unseen(s);
	ucmx_service_put(s);
	return ret;
}
