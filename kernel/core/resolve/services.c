// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services of the SAs, by name or by id: queried at the port of an id, or at
 * all active InfiniBand ports in parallel, and merged.
 *
 * Belongs to one query; sa/requests.c lists who may access which field.
 */
#include <linux/jhash.h>
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "caller.h"
#include "resolve/resolve.h"
#include "sa/wire.h"

/* Maximum services of one name: more are an error or an attack. */
#define CMX_MAX_SERVICES	((u32)RDMA_CMX_MAX_SA_SERVICES)

struct cmx_service_request {
	struct cmx_sa_request sa;
	union ib_gid gid;
	u32 ibdev_index;
	u32 port_num;
};

/* strtoull() with base 0, without blanks and signs; else it is a name. */
static bool cmx_service_id(const char *text, u64 *id)
{
	return *text >= '0' && *text <= '9' && !strchr(text, '\n') &&
	       !kstrtou64(text, 0, id);
}

void cmx_service_query(struct cmx_sa_query *q, const char *service)
{
	struct cmx_sa_service_rec *rec = (void *)q->rec;
	u64 id;

	BUILD_BUG_ON(sizeof(rec->name) != RDMA_CMX_MAX_SERVICE + 1);
	BUILD_BUG_ON(sizeof(*rec) > sizeof(q->rec));
	memset(q, 0, sizeof(*q));
	q->attr_id = cpu_to_be16(IB_SA_ATTR_SERVICE_REC);
	q->method = IB_SA_METHOD_GET_TABLE;
	q->rec_len = sizeof(*rec);
	if (cmx_service_id(service, &id)) {
		rec->id = cpu_to_be64(id);
		q->comp_mask = cpu_to_be64(CMX_SA_SERVICE_ID);
	} else {
		strscpy(rec->name, service, sizeof(rec->name));
		q->comp_mask = cpu_to_be64(CMX_SA_SERVICE_NAME);
	}
}

/* Ports to query, filled by a walk */
struct cmx_service_ports {
	const struct cmx_hints *h;
	const struct cmx_dest *from;	/* the only port, if it has one */
	u32 count;
	u32 room;
	struct cmx_service_request *port;
};

static bool cmx_service_port_fits(const struct cmx_service_ports *ports,
				  const struct cmx_sa_port *port)
{
	u32 index = cmx_sa_port_dev(port)->index;
	u32 num = cmx_sa_port_num(port);

	if (ports->from->port_num && (ports->from->port_num != num ||
				      ports->from->ibdev_index != index))
		return false;
	return cmx_hints_take(ports->h, index, num);
}

static int cmx_service_port_add(struct cmx_sa_port *port, void *arg)
{
	struct cmx_service_ports *ports = arg;
	struct ib_device *dev = cmx_sa_port_dev(port);
	struct cmx_service_request *new;
	u32 num = cmx_sa_port_num(port);

	if (!cmx_service_port_fits(ports, port) ||
	    !cmx_hints_check_port(ports->h, port))
		return 0;
	if (ports->count == ports->room) {
		u32 room = ports->room ? 2 * ports->room : 4;

		new = krealloc_array(ports->port, room, sizeof(*new),
				     GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!new)
			return -ENOMEM;
		ports->port = new;
		ports->room = room;
	}
	new = &ports->port[ports->count];
	memset(new, 0, sizeof(*new));
	if (rdma_query_gid(dev, num, 0, &new->gid))
		return 0;
	cmx_sa_port_hold(port);
	new->sa.port = port;
	new->ibdev_index = dev->index;
	new->port_num = num;
	ports->count++;
	return 0;
}

/* Sets @from to the only port that the caller has given, if any. */
static int cmx_service_from(const struct cmx_hints *h,
			    const struct rdma_cmx_query_attr *attr,
			    struct cmx_dest *from)
{
	int ret;

	memset(from, 0, sizeof(*from));
	if (attr->id) {
		from->ibdev_index = attr->id->device->index;
		from->port_num = attr->id->port_num;
		return 0;
	}
	if (!h->src.sa.sa_family || cmx_addr_is_any(&h->src))
		return 0;
	from->src = h->src;
	ret = cmx_dest_annotate(h, from);
	if (ret)
		return ret;
	return from->port_num ? 0 : -ENODEV;
}

static int cmx_service_port_check(struct cmx_sa_port *port, void *arg)
{
	if (cmx_service_port_fits(arg, port))
		cmx_sa_port_check(port);
	return 0;
}

void rdma_cmx_services_check_ports(const struct rdma_cmx_query_attr *attr)
{
	struct cmx_service_ports ports = {};
	struct cmx_hints h;
	struct cmx_dest from;

	/* The start of the query returns the error. */
	if (cmx_hints_init(&h, attr) || cmx_rail_hint(&h, attr) ||
	    cmx_service_from(&h, attr, &from))
		return;
	ports.h = &h;
	ports.from = &from;
	cmx_sa_ports_for_each(h.net, cmx_service_port_check, &ports);
}
EXPORT_SYMBOL_GPL(rdma_cmx_services_check_ports);

/*
 * Prepares the queries. Returns 0, -ENODEV if there is no port to query, or
 * -ENOMEM. After an error nothing has to be released.
 */
int cmx_services_init(struct cmx_services *s, const struct cmx_hints *h,
		      const struct rdma_cmx_query_attr *attr)
{
	struct cmx_service_ports ports = {};
	struct cmx_dest from;
	u32 i;
	int ret;

	ret = cmx_service_from(h, attr, &from);
	if (ret)
		return ret;
	ports.h = h;
	ports.from = &from;
	s->passive = cmx_passive(h);
	s->started = false;
	ret = cmx_sa_ports_for_each(h->net, cmx_service_port_add, &ports);
	s->count = ports.count;
	s->port = ports.port;
	if (!ret && !s->count)
		ret = -ENODEV;
	if (ret) {
		cmx_services_release(s);
		return ret;
	}
	for (i = 0; i < s->count; i++) {
		cmx_service_query(&s->port[i].sa.query, attr->service);
		s->port[i].sa.refresh = h->refresh;
	}
	return 0;
}

/* True if the cache has all responses */
bool cmx_services_cached(struct cmx_services *s, struct net *net)
{
	u32 i;

	for (i = 0; i < s->count; i++) {
		if (!cmx_sa_request_cached(&s->port[i].sa, net))
			return false;
	}
	return true;
}

static void cmx_services_stopped(struct cmx_sa_requests *requests)
{
	cmx_services_stop(container_of(requests, struct cmx_services,
				       requests));
}

/*
 * Calls @done once, possibly before it returns. Calls @failed if a limit
 * refuses the response of one port: a list without its services would look
 * complete.
 */
void cmx_services_start(struct cmx_services *s, const struct cmx_hints *h,
			void (*done)(struct cmx_sa_requests *requests),
			void (*failed)(struct cmx_sa_requests *requests))
{
	u32 i;

	s->started = true;
	s->requests.failed = failed;
	cmx_sa_requests_begin(&s->requests, h->uid, done,
			      cmx_services_stopped);
	for (i = 0; i < s->count; i++) {
		atomic_inc(&s->requests.pending);
		s->port[i].sa.requests = &s->requests;
		cmx_sa_request_start(&s->port[i].sa, h->net, h->uid);
	}
	cmx_sa_requests_end(&s->requests);
}

void cmx_services_stop(struct cmx_services *s)
{
	u32 i;

	if (!cmx_sa_requests_stop(&s->requests))
		return;
	for (i = 0; i < s->count; i++)
		cmx_sa_request_stop(&s->port[i].sa);
	cmx_sa_requests_put(&s->requests);
}

/* True if @rec matches @q. A query without a component matches all. */
bool cmx_service_matches(const struct cmx_sa_query *q,
			 const struct cmx_sa_service_rec *rec)
{
	const struct cmx_sa_service_rec *want = (const void *)q->rec;

	if (!q->comp_mask)
		return true;
	if (q->comp_mask == cpu_to_be64(CMX_SA_SERVICE_ID))
		return rec->id == want->id;
	return !strncmp(rec->name, want->name, sizeof(rec->name));
}

static void cmx_service_fill(struct cmx_service *new,
			     const struct cmx_service_request *port,
			     const struct cmx_sa_service_rec *rec)
{
	struct ib_device *dev = cmx_sa_port_dev(port->sa.port);
	u16 index;

	new->id = rec->id;
	/* Zero is no partition: it means the default one. */
	new->pkey = rec->pkey & htons(0x7fff) ? rec->pkey : htons(0xffff);
	memcpy(&new->gid, rec->gid, sizeof(new->gid));
	new->sgid = port->gid;
	new->ibdev_index = port->ibdev_index;
	new->port_num = port->port_num;
	new->reached = !ib_find_cached_pkey(dev, port->port_num,
					    ntohs(new->pkey), &index);
}

/*
 * The merged services. Lookup by a hash table of indices into the list plus 1,
 * at most half full.
 */
struct cmx_service_set {
	struct cmx_service *list;
	u32 count;
	u32 room;
	u32 *slots;
	u32 mask;
	u32 seed;
};

static int cmx_service_set_init(struct cmx_service_set *set, u32 room)
{
	u32 slots = roundup_pow_of_two(2 * room);

	set->count = 0;
	set->room = room;
	set->mask = slots - 1;
	set->seed = get_random_u32();
	set->list = kvmalloc_array(room, sizeof(*set->list),
				   GFP_KERNEL_ACCOUNT);
	set->slots = kvcalloc(slots, sizeof(*set->slots), GFP_KERNEL_ACCOUNT);
	if (set->list && set->slots)
		return 0;
	kvfree(set->list);
	kvfree(set->slots);
	return -ENOMEM;
}

static u32 cmx_service_hash(const struct cmx_service *s, u32 seed)
{
	u32 hash = jhash(&s->gid, sizeof(s->gid), seed);

	return jhash_3words(lower_32_bits((__force u64)s->id),
			    upper_32_bits((__force u64)s->id),
			    (__force u16)s->pkey, hash);
}

static bool cmx_service_same(const struct cmx_service *a,
			     const struct cmx_service *b)
{
	return a->id == b->id && a->pkey == b->pkey &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid));
}

static int cmx_service_insert(struct cmx_service_set *set,
			      const struct cmx_service *new)
{
	u32 slot = cmx_service_hash(new, set->seed) & set->mask;
	struct cmx_service *old;

	for (; set->slots[slot]; slot = (slot + 1) & set->mask) {
		old = &set->list[set->slots[slot] - 1];
		if (!cmx_service_same(old, new))
			continue;
		/*
		 * A port that reaches the service replaces one that does not.
		 */
		if (!old->reached && new->reached)
			*old = *new;
		return 0;
	}
	if (set->count == set->room)
		return -EOVERFLOW;
	set->list[set->count++] = *new;
	set->slots[slot] = set->count;
	return 0;
}

/* Adds the services of one port's response. @strange counts other records. */
static int cmx_service_add(struct cmx_service_set *set, bool passive,
			   const struct cmx_service_request *port, u32 *strange)
{
	const struct cmx_sa_response *response = port->sa.response;
	const struct cmx_sa_service_rec *rec;
	struct cmx_service new;
	u32 i;
	int ret;

	for (i = 0; i < response->count; i++) {
		rec = cmx_sa_response_rec(response, i);
		if (!cmx_service_matches(&port->sa.query, rec)) {
			++*strange;
			continue;
		}
		cmx_service_fill(&new, port, rec);
		/* For a listener the offering port is irrelevant. */
		if (passive)
			new.gid = new.sgid;
		ret = cmx_service_insert(set, &new);
		if (ret)
			return ret;
	}
	return 0;
}

static int cmx_services_collect(struct cmx_services *s,
				struct cmx_service_set *set, u32 *strange)
{
	u32 i;
	int ret;

	for (i = 0; i < s->count; i++) {
		if (!s->port[i].sa.response)
			continue;
		ret = cmx_service_add(set, s->passive, &s->port[i], strange);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

/*
 * Merges the responses to @cands, which are valid as long as @s. Returns 0;
 * without any record, the error of the first query that failed, or that of an
 * unknown service.
 */
int cmx_services_merge(struct cmx_services *s, struct cmx_candidates *cands)
{
	u32 i, total = 0, strange = 0;
	struct cmx_service_set set;
	int error = 0, ret;

	if (s->started && s->requests.refused)
		return s->requests.refused;
	for (i = 0; i < s->count; i++) {
		const struct cmx_sa_request *request = &s->port[i].sa;

		if (request->response)
			total = min(total + request->response->count,
				    CMX_MAX_SERVICES);
		else if (request->error == -ENOMEM)
			/* The rest would look complete. */
			return -ENOMEM;
		else if (!error)
			error = request->error;
	}
	if (!total)
		return error ?: -ENOENT;

	ret = cmx_service_set_init(&set, total);
	if (ret)
		return ret;
	s->list = set.list;
	ret = cmx_services_collect(s, &set, &strange);
	kvfree(set.slots);
	/* The query may wait for paths next. */
	for (i = 0; i < s->count; i++)
		cmx_sa_request_drop(&s->port[i].sa);
	if (ret)
		return ret;
	if (!set.count)
		return error ?: strange ? -EBADMSG : -ENOENT;

	s->partial = error;
	memset(cands, 0, sizeof(*cands));
	cands->count = set.count;
	cands->services = s->list;
	cands->own_sid = true;
	return 0;
}

void cmx_services_release(struct cmx_services *s)
{
	u32 i;

	if (!s->port && !s->list)
		return;
	for (i = 0; i < s->count; i++)
		cmx_sa_request_release(&s->port[i].sa);
	kfree(s->port);
	kvfree(s->list);
	s->port = NULL;
	s->list = NULL;
	s->count = 0;
}
