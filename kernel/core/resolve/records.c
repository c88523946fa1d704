// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ServiceRecords of the SAs: by name, by id, or all, from each active port of a
 * namespace in parallel, each record once. The caller waits here. It owns all
 * memory: responses are merged when no query is outstanding.
 */
#include <linux/completion.h>
#include <linux/jhash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "caller.h"
#include "resolve/resolve.h"
#include "sa/wire.h"

/* Maximum records: a longer result is an error or an attack. */
#define CMX_MAX_RECORDS		((u32)RDMA_CMX_MAX_SA_RECORDS)

struct cmx_records {
	struct cmx_sa_requests requests;
	struct completion done;
	const struct rdma_cmx_services_attr *attr;
	struct cmx_sa_request *port;
	bool confined;		/* on behalf of a user */
	u32 count;
	u32 room;
};

static int cmx_records_port(struct cmx_sa_port *port, void *arg)
{
	struct cmx_records *r = arg;
	const struct rdma_cmx_services_attr *attr = r->attr;
	struct cmx_sa_request *new;

	if (attr->dev && (strncmp(cmx_sa_port_dev(port)->name, attr->dev,
				  IB_DEVICE_NAME_MAX) ||
			  (attr->dev_port &&
			   attr->dev_port != cmx_sa_port_num(port))))
		return 0;
	/*
	 * The owner of a shared device, not a container, may list its services.
	 */
	if (!attr->service && r->confined &&
	    !cmx_sa_port_ruled(port, attr->net))
		return 0;
	if (!cmx_sa_port_check(port))
		return 0;
	if (r->count == r->room) {
		u32 room = r->room ? 2 * r->room : 4;

		new = krealloc_array(r->port, room, sizeof(*new),
				     GFP_KERNEL_ACCOUNT);
		if (!new)
			return -ENOMEM;
		r->port = new;
		r->room = room;
	}
	new = &r->port[r->count++];
	memset(new, 0, sizeof(*new));
	cmx_sa_port_hold(port);
	new->port = port;
	if (attr->service) {
		cmx_service_query(&new->query, attr->service);
	} else {
		new->query.attr_id = cpu_to_be16(IB_SA_ATTR_SERVICE_REC);
		new->query.method = IB_SA_METHOD_GET_TABLE;
		new->query.rec_len = sizeof(struct cmx_sa_service_rec);
	}
	return 0;
}

static void cmx_records_done(struct cmx_sa_requests *requests)
{
	complete(&container_of(requests, struct cmx_records, requests)->done);
}

static void cmx_records_stop(struct cmx_sa_requests *requests)
{
	struct cmx_records *r = container_of(requests, struct cmx_records,
					     requests);
	u32 i;

	if (!cmx_sa_requests_stop(requests))
		return;
	for (i = 0; i < r->count; i++)
		cmx_sa_request_stop(&r->port[i]);
	cmx_sa_requests_put(requests);
}

/* No query is outstanding afterwards. Returns 0 or -EINTR. */
static int cmx_records_wait(struct cmx_records *r)
{
	unsigned long timeout = cmx_query_jiffies(r->attr->timeout_ms);
	long left;

	left = wait_for_completion_interruptible_timeout(&r->done, timeout);
	if (left > 0)
		return 0;
	cmx_records_stop(&r->requests);
	/* A response is being stored. This does not wait for an SA. */
	wait_for_completion(&r->done);
	return left < 0 ? -EINTR : 0;
}

static int cmx_records_query(struct cmx_records *r, kuid_t uid)
{
	u32 i;

	init_completion(&r->done);
	cmx_sa_requests_init(&r->requests);
	cmx_sa_requests_begin(&r->requests, uid, cmx_records_done,
			      cmx_records_stop);
	for (i = 0; i < r->count; i++) {
		atomic_inc(&r->requests.pending);
		r->port[i].requests = &r->requests;
		cmx_sa_request_start(&r->port[i], r->attr->net, uid);
	}
	cmx_sa_requests_end(&r->requests);
	return cmx_records_wait(r);
}

static void cmx_record_fill(struct rdma_cmx_service_record *new,
			    const struct cmx_sa_request *port,
			    const struct cmx_sa_service_rec *rec)
{
	BUILD_BUG_ON(sizeof(new->name) != sizeof(rec->name));
	BUILD_BUG_ON(sizeof(new->data) != sizeof(*rec) -
		     offsetof(struct cmx_sa_service_rec, data8));
	new->service_id = be64_to_cpu(rec->id);
	memcpy(new->gid, rec->gid, sizeof(new->gid));
	new->lease_s = be32_to_cpu(rec->lease);
	new->pkey = be16_to_cpu(rec->pkey);
	new->reserved = 0;
	new->ibdev_index = cmx_sa_port_dev(port->port)->index;
	new->port_num = cmx_sa_port_num(port->port);
	memcpy(new->name, rec->name, sizeof(new->name));
	/* The key is private to its owner. */
	memcpy(new->data, (const u8 *)rec +
	       offsetof(struct cmx_sa_service_rec, data8), sizeof(new->data));
}

static bool cmx_record_same(const struct rdma_cmx_service_record *a,
			    const struct rdma_cmx_service_record *b)
{
	return a->service_id == b->service_id && a->pkey == b->pkey &&
	       !memcmp(a->gid, b->gid, sizeof(a->gid));
}

/*
 * @room: size of the result, one more than the maximum, because a record is
 * stored before it is compared. @slots: a hash table of indices into the result
 * plus 1, at most half full.
 */
struct cmx_record_set {
	struct rdma_cmx_services *out;
	u32 room;
	u32 *slots;
	u32 mask;
	u32 seed;
};

/* The record of the first port is kept. */
static int cmx_record_insert(struct cmx_record_set *set,
			     const struct cmx_sa_request *port,
			     const struct cmx_sa_service_rec *rec)
{
	struct rdma_cmx_service_record *new;
	u32 slot;

	new = &set->out->records[set->out->count];
	cmx_record_fill(new, port, rec);
	slot = jhash(new->gid, sizeof(new->gid), set->seed);
	slot = jhash_3words(lower_32_bits(new->service_id),
			    upper_32_bits(new->service_id), new->pkey, slot);
	for (slot &= set->mask; set->slots[slot];
	     slot = (slot + 1) & set->mask) {
		if (cmx_record_same(&set->out->records[set->slots[slot] - 1],
				    new))
			return 0;
	}
	if (set->out->count == set->room - 1)
		return -EOVERFLOW;
	set->slots[slot] = ++set->out->count;
	return 0;
}

static int cmx_records_collect(const struct cmx_records *r,
			       struct cmx_record_set *set)
{
	u32 i, k;
	int ret;

	for (i = 0; i < r->count; i++) {
		const struct cmx_sa_response *response = r->port[i].response;

		for (k = 0; response && k < response->count; k++) {
			const struct cmx_sa_service_rec *rec =
				cmx_sa_response_rec(response, k);

			ret = 0;
			if (cmx_service_matches(&r->port[i].query, rec))
				ret = cmx_record_insert(set, &r->port[i], rec);
			if (ret)
				return ret;
			if (k % 256 == 255)
				cond_resched();
		}
	}
	return 0;
}

static struct rdma_cmx_services *
cmx_records_merge(const struct cmx_records *r)
{
	struct cmx_record_set set = { .seed = get_random_u32() };
	u32 i, total = 0, ports = 0;
	int error = 0, ret;

	for (i = 0; i < r->count; i++) {
		if (r->port[i].response) {
			ports++;
			total = min(total + r->port[i].response->count,
				    CMX_MAX_RECORDS);
		} else if (!error) {
			error = r->port[i].error ?: -ETIMEDOUT;
		}
	}
	if (!ports)
		return ERR_PTR(error ?: -ENODEV);
	set.room = total + 1;
	set.mask = roundup_pow_of_two(2 * set.room) - 1;
	set.out = kvmalloc(struct_size(set.out, records, set.room),
			   GFP_KERNEL_ACCOUNT);
	set.slots = kvcalloc(set.mask + 1, sizeof(*set.slots),
			     GFP_KERNEL_ACCOUNT);
	ret = -ENOMEM;
	if (!set.out || !set.slots)
		goto err;
	set.out->count = 0;
	set.out->ports = ports;
	set.out->error = error;
	ret = cmx_records_collect(r, &set);
	if (ret)
		goto err;
	kvfree(set.slots);
	return set.out;

err:
	kvfree(set.slots);
	kvfree(set.out);
	return ERR_PTR(ret);
}

static struct rdma_cmx_services *
cmx_records_get(const struct rdma_cmx_services_attr *attr, kuid_t uid,
		bool confined)
{
	struct cmx_records r = { .attr = attr, .confined = confined };
	struct rdma_cmx_services *out;
	int ret = 0;
	u32 i;

	if (!attr->net || (attr->dev_port && !attr->dev) ||
	    (attr->service &&
	     (!*attr->service ||
	      strnlen(attr->service, RDMA_CMX_MAX_SERVICE + 1) >
	      RDMA_CMX_MAX_SERVICE)))
		return ERR_PTR(-EINVAL);
	if (attr->dev)
		ret = cmx_sa_ports_find(attr->net, attr->dev, attr->dev_port);
	if (!ret)
		ret = cmx_sa_ports_for_each(attr->net, cmx_records_port, &r);
	if (!ret && !r.count)
		ret = -ENODEV;
	if (!ret)
		ret = cmx_records_query(&r, confined ? uid :
					cmx_services_uid(attr->net));
	out = ret ? ERR_PTR(ret) : cmx_records_merge(&r);
	for (i = 0; i < r.count; i++)
		cmx_sa_request_release(&r.port[i]);
	kfree(r.port);
	return out;
}

struct rdma_cmx_services *
rdma_cmx_get_services_for(const struct rdma_cmx_services_attr *attr, kuid_t uid)
{
	return cmx_records_get(attr, uid, true);
}
EXPORT_SYMBOL_GPL(rdma_cmx_get_services_for);

struct rdma_cmx_services *
rdma_cmx_get_services(const struct rdma_cmx_services_attr *attr)
{
	return cmx_records_get(attr, CMX_KERNEL_UID, false);
}
EXPORT_SYMBOL_GPL(rdma_cmx_get_services);

void rdma_cmx_put_services(struct rdma_cmx_services *services)
{
	if (!IS_ERR_OR_NULL(services))
		kvfree(services);
}
EXPORT_SYMBOL_GPL(rdma_cmx_put_services);
