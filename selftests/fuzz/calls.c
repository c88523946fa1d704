// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Generates valid commands, with existing handles. */
#include "fuzz.h"

#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>

const uint16_t fuzz_sizes[FUZZ_COMMANDS] = {
	[RDMA_CMX_CMD_GET_INFO] = sizeof(struct rdma_cmx_get_info),
	[RDMA_CMX_CMD_GET_EVENTS] = sizeof(struct rdma_cmx_get_events),
	[RDMA_CMX_CMD_ID_CREATE] = sizeof(struct rdma_cmx_id_create),
	[RDMA_CMX_CMD_ID_DESTROY] = sizeof(struct rdma_cmx_destroy),
	[RDMA_CMX_CMD_ID_BIND] = sizeof(struct rdma_cmx_id_bind),
	[RDMA_CMX_CMD_ID_QUERY] = sizeof(struct rdma_cmx_id_query),
	[RDMA_CMX_CMD_ID_SET_OPTION] = sizeof(struct rdma_cmx_id_set_option),
	[RDMA_CMX_CMD_ID_MIGRATE] = sizeof(struct rdma_cmx_id_migrate),
	[RDMA_CMX_CMD_RESOLVE_ADDR] = sizeof(struct rdma_cmx_resolve_addr),
	[RDMA_CMX_CMD_RESOLVE_ROUTE] = sizeof(struct rdma_cmx_resolve_route),
	[RDMA_CMX_CMD_INIT_QP_ATTR] = sizeof(struct rdma_cmx_init_qp_attr),
	[RDMA_CMX_CMD_CONNECT] = sizeof(struct rdma_cmx_connect),
	[RDMA_CMX_CMD_LISTEN] = sizeof(struct rdma_cmx_listen),
	[RDMA_CMX_CMD_ACCEPT] = sizeof(struct rdma_cmx_connect),
	[RDMA_CMX_CMD_REJECT] = sizeof(struct rdma_cmx_reject),
	[RDMA_CMX_CMD_DISCONNECT] = sizeof(struct rdma_cmx_id_arg),
	[RDMA_CMX_CMD_NOTIFY] = sizeof(struct rdma_cmx_id_arg),
	[RDMA_CMX_CMD_WRITE_EVENT] = sizeof(struct rdma_cmx_write_event),
	[RDMA_CMX_CMD_RESOLVE_ADDRINFO] =
		sizeof(struct rdma_cmx_resolve_addrinfo),
	[RDMA_CMX_CMD_GIVE_NAMES] = sizeof(struct rdma_cmx_give_names),
	[RDMA_CMX_CMD_QUERY_ADDRINFO] = sizeof(struct rdma_cmx_query_addrinfo),
	[RDMA_CMX_CMD_GETADDRINFO] = sizeof(struct rdma_cmx_getaddrinfo),
	[RDMA_CMX_CMD_JOIN] = sizeof(struct rdma_cmx_join),
	[RDMA_CMX_CMD_LEAVE] = sizeof(struct rdma_cmx_destroy),
	[RDMA_CMX_CMD_CONN_QP_ATTR] = sizeof(struct rdma_cmx_conn_qp_attr),
	[RDMA_CMX_CMD_JOIN_MANY] = sizeof(struct rdma_cmx_join_many),
	[RDMA_CMX_CMD_ADVERTISE] = sizeof(struct rdma_cmx_advertise),
	[RDMA_CMX_CMD_WITHDRAW] = sizeof(struct rdma_cmx_destroy),
	[RDMA_CMX_CMD_QUERY_ADVERTISED] =
		sizeof(struct rdma_cmx_query_advertised),
	[RDMA_CMX_CMD_GET_SERVICES] = sizeof(struct rdma_cmx_get_services),
	[RDMA_CMX_CMD_RESOLVE_ANY] = sizeof(struct rdma_cmx_resolve_any),
	[RDMA_CMX_CMD_QUERY_CANDIDATES] =
		sizeof(struct rdma_cmx_query_candidates),
	[RDMA_CMX_CMD_GET_PATHS] = sizeof(struct rdma_cmx_get_paths),
	[RDMA_CMX_CMD_DROP_PATHS] = sizeof(struct rdma_cmx_drop_paths),
};

static void addr_random(struct rng *r, struct fuzz_world *w,
			struct rdma_cmx_addr *addr)
{
	const char *const text[] = {
		ADDR_RDMA, ADDR_RDMA, ADDR_RDMA, "fd55::1", ADDR_PLAIN,
		"0.0.0.0", "::", "127.0.0.1",
	};

	addr_set(addr, text[rng_below(r, 8)], rng_below(r, 2) ? w->port : 0);
}

static void group_random(struct rng *r, struct rdma_cmx_addr *addr)
{
	char text[32];

	snprintf(text, sizeof(text), rng_below(r, 3) ? "239.55.0.%u" :
						       "ff15::55:%u",
		 rng_below(r, 6));
	addr_set(addr, text, 0);
}

static void names_random(struct rng *r, struct rdma_cmx_names *names,
			 uint32_t *len)
{
	uint32_t i, n = 1 + rng_below(r, 6);

	memset(names, 0, sizeof(*names) + n * sizeof(names->addrs[0]) + 8);
	names->version = RDMA_CMX_NAMES_VERSION;
	names->addr_count = n;
	for (i = 0; i < n; i++) {
		names->addrs[i].family = AF_INET;
		names->addrs[i].addr[0] = 10;
		names->addrs[i].addr[1] = 55;
		names->addrs[i].addr[3] = 1 + i;
	}
	names->canon_len = rng_below(r, 8);
	memset(&names->addrs[n], 'c', names->canon_len);
	*len = sizeof(*names) + n * sizeof(names->addrs[0]) + names->canon_len;
}

/* One path with the required flags and a random record */
static void path_random(struct rng *r, struct ib_path_rec_data *path)
{
	unsigned int i;

	path->flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	path->reserved = 0;
	for (i = 0; i < 16; i++)
		path->path_rec[i] = rng_below(r, 2) ? rng_next(r) : 0;
}

/* Numbers and names of the caller: no query to a name server */
static void query_random(struct rng *r, struct fuzz_world *w,
			 struct fuzz_call *c, struct rdma_cmx_ai_query *q,
			 bool later)
{
	const char *const node[] = {
		ADDR_RDMA, "fd55::2", "fe80::1%eth0", "203.0.113.9",
	};
	const char *text = node[rng_below(r, 4)];
	uint32_t len;

	q->timeout_ms = 1 + rng_below(r, 20);
	q->port = htons(w->port);
	q->flags = RDMA_CMX_AIQ_PORT;
	q->port_space = rng_below(r, 2) ? RDMA_PS_TCP : 0;
	if (later && rng_one_in(r, 16))
		q->flags |= RDMA_CMX_AIQ_ALL_PORTS;
	if (later && rng_one_in(r, 4)) {
		q->port = 0;
		q->flags = RDMA_CMX_AIQ_PORT_LATER;
	}
	if (rng_one_in(r, 8)) {
		text = rng_one_in(r, 4) ? "nosuch0" : "rxe0";
		q->dev = (uintptr_t)text;
		q->dev_len = strlen(text);
		q->dev_port = rng_below(r, 3);
		text = node[rng_below(r, 4)];
	}
	if (rng_one_in(r, 6)) {
		q->route = (uintptr_t)(c->buf + 64);
		q->route_len = sizeof(struct ib_path_rec_data);
		path_random(r, (void *)(c->buf + 64));
	}
	switch (rng_below(r, 6)) {
	case 0:
		q->ai_flags = RDMA_CMX_AI_PASSIVE;
		return;
	case 1:
		addr_random(r, w, &q->dst);
		return;
	case 2:
		text = "fuzz.example";
		names_random(r, (void *)(c->buf + 8), &len);
		q->names = (uintptr_t)(c->buf + 8);
		q->names_len = len;
		break;
	case 3:
		if (!later)
			break;
		text = "fuzz.example";
		q->flags |= RDMA_CMX_AIQ_NAMES_LATER;
		break;
	}
	strcpy((char *)c->buf, text);
	q->node = (uintptr_t)c->buf;
	q->node_len = strlen(text);
}

static void param_random(struct rng *r, struct rdma_cmx_conn_param *param)
{
	param->qp_num = rng_next(r) & 0xffffff;
	param->responder_resources = 1;
	param->initiator_depth = 1;
	param->retry_count = 1;
	param->private_data_len = rng_below(r, 8);
}

/* Queue pairs of the first candidates */
static void any_qps_random(struct rng *r, struct fuzz_call *c,
			   struct rdma_cmx_resolve_any *any)
{
	struct rdma_cmx_any_qp *qps = (void *)c->buf;
	uint32_t i;

	any->qps = (uintptr_t)qps;
	any->num_qps = 1 + rng_below(r, 3);
	memset(qps, 0, any->num_qps * sizeof(*qps));
	for (i = 0; i < any->num_qps; i++) {
		qps[i].candidate = rng_one_in(r, 16) ? rng_next(r) : i;
		qps[i].qp_num = rng_next(r) & 0xffffff;
		qps[i].srq = rng_below(r, 2);
	}
	param_random(r, &any->param);
	any->param.qp_num = 0;
}

static void option_random(struct rng *r, struct fuzz_call *c,
			  struct rdma_cmx_id_set_option *arg)
{
	arg->optval = (uintptr_t)c->buf;
	memset(c->buf, 0, 144);
	c->buf[0] = rng_below(r, 2);
	arg->level = rng_below(r, 4) ? RDMA_OPTION_ID : RDMA_OPTION_IB;
	arg->optname = rng_below(r, 5);
	arg->optlen = arg->level == RDMA_OPTION_IB ? 72 :
		      arg->optname == RDMA_OPTION_ID_TOS ||
		      arg->optname == RDMA_OPTION_ID_ACK_TIMEOUT ? 1 : 4;
	if (arg->level == RDMA_OPTION_IB && rng_below(r, 2)) {
		arg->optname = RDMA_OPTION_IB_PATH;
		path_random(r, (void *)c->buf);
	}
}

static void join_many_random(struct rng *r, struct fuzz_call *c,
			     struct rdma_cmx_join_many *arg)
{
	struct rdma_cmx_join_item item = {};
	uint32_t i;

	arg->items = (uintptr_t)c->buf;
	arg->count = 1 + rng_below(r, 4);
	arg->item_size = sizeof(item);
	if (rng_one_in(r, 4))
		arg->item_size += rng_below(r, 64);
	memset(c->buf, 0, arg->count * arg->item_size);
	for (i = 0; i < arg->count; i++) {
		group_random(r, &item.addr);
		item.uid = i;
		memcpy((uint8_t *)c->buf + i * arg->item_size, &item,
		       sizeof(item));
	}
}

/* The fields of some commands; the others have a size and a handle only. */
static void fields_random(struct rng *r, struct fuzz_world *w,
			  struct fuzz_call *c)
{
	static const uint32_t spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP,
					   RDMA_PS_IPOIB, RDMA_PS_IB };
	union {
		struct rdma_cmx_get_events events;
		struct rdma_cmx_id_create create;
		struct rdma_cmx_id_bind bind;
		struct rdma_cmx_id_migrate migrate;
		struct rdma_cmx_resolve_addr addr;
		struct rdma_cmx_resolve_route route;
		struct rdma_cmx_init_qp_attr qp;
		struct rdma_cmx_connect connect;
		struct rdma_cmx_id_arg id;
		struct rdma_cmx_write_event event;
		struct rdma_cmx_resolve_addrinfo resolve;
		struct rdma_cmx_give_names give;
		struct rdma_cmx_query_addrinfo query;
		struct rdma_cmx_getaddrinfo getaddrinfo;
		struct rdma_cmx_join join;
		struct rdma_cmx_advertise advertise;
		struct rdma_cmx_query_advertised advertised;
		struct rdma_cmx_get_services services;
		struct rdma_cmx_resolve_any any;
		struct rdma_cmx_query_candidates candidates;
		struct rdma_cmx_get_paths get_paths;
		struct rdma_cmx_drop_paths drop_paths;
	} *u = (void *)c->arg;

	switch (c->cmd) {
	case RDMA_CMX_CMD_GET_EVENTS:
		u->events.max_events = rng_below(r, 3);
		u->events.buf = (uintptr_t)c->buf;
		u->events.buf_len = FUZZ_BUF;
		break;
	case RDMA_CMX_CMD_ID_CREATE:
		u->create.port_space = spaces[rng_below(r, 4)];
		u->create.qp_type = rng_one_in(r, 16) ? QPT_RC :
				    qp_type_of(u->create.port_space);
		u->create.uid = 1 + rng_below(r, 100);
		break;
	case RDMA_CMX_CMD_ID_BIND:
		addr_random(r, w, &u->bind.addr);
		break;
	case RDMA_CMX_CMD_ID_SET_OPTION:
		option_random(r, c, (void *)c->arg);
		break;
	case RDMA_CMX_CMD_ID_MIGRATE:
		u->migrate.src_fd = w->fds[c->file];
		c->file = rng_below(r, FUZZ_FILES);
		break;
	case RDMA_CMX_CMD_RESOLVE_ADDR:
		u->addr.timeout_ms = 1 + rng_below(r, 100);
		addr_set(&u->addr.dst, rng_below(r, 3) ? ADDR_RDMA : "fd55::1",
			 w->port);
		break;
	case RDMA_CMX_CMD_RESOLVE_ROUTE:
		u->route.timeout_ms = 1 + rng_below(r, 100);
		break;
	case RDMA_CMX_CMD_INIT_QP_ATTR:
		u->qp.qp_state = rng_below(r, 5);
		break;
	case RDMA_CMX_CMD_CONNECT:
		param_random(r, &u->connect.param);
		break;
	case RDMA_CMX_CMD_ACCEPT:
		u->connect.uid = 1;
		u->connect.flags = rng_below(r, 2);
		param_random(r, &u->connect.param);
		break;
	case RDMA_CMX_CMD_NOTIFY:
		u->id.event = rng_below(r, 8);
		break;
	case RDMA_CMX_CMD_WRITE_EVENT:
		u->event.event = RDMA_CMX_EV_USER;
		break;
	case RDMA_CMX_CMD_RESOLVE_ADDRINFO:
		query_random(r, w, c, &u->resolve.query, true);
		break;
	case RDMA_CMX_CMD_GIVE_NAMES:
		if (rng_one_in(r, 3)) {
			u->give.error = ENOENT;
			break;
		}
		if (rng_below(r, 2)) {
			u->give.flags = RDMA_CMX_GIVE_PORT;
			u->give.port = rng_next(r);
			u->give.qp_type = rng_one_in(r, 4) ? 4 : 0;
			if (rng_below(r, 2))
				break;
		}
		u->give.names = (uintptr_t)c->buf;
		names_random(r, (void *)c->buf, &u->give.names_len);
		break;
	case RDMA_CMX_CMD_QUERY_ADDRINFO:
		u->query.buf = (uintptr_t)c->buf;
		u->query.buf_len = rng_one_in(r, 8) ? 8 : FUZZ_BUF;
		break;
	case RDMA_CMX_CMD_GETADDRINFO:
		u->getaddrinfo.buf = (uintptr_t)(c->buf + 128);
		u->getaddrinfo.buf_len = FUZZ_BUF - 1024;
		query_random(r, w, c, &u->getaddrinfo.query, false);
		break;
	case RDMA_CMX_CMD_JOIN:
		group_random(r, &u->join.addr);
		u->join.join_flags = rng_one_in(r, 4);
		u->join.flags = rng_one_in(r, 8);
		break;
	case RDMA_CMX_CMD_JOIN_MANY:
		join_many_random(r, c, (void *)c->arg);
		break;
	case RDMA_CMX_CMD_ADVERTISE:
		u->advertise.service_id = 1 + rng_below(r, 100);
		u->advertise.name[0] = 'a' + rng_below(r, 26);
		u->advertise.lease_s = rng_below(r, 2) ? 0 : 4 + rng_next(r);
		break;
	case RDMA_CMX_CMD_WITHDRAW:
	case RDMA_CMX_CMD_QUERY_ADVERTISED:
		/* Handles are low numbers for each file. */
		u->advertised.handle = 1 + rng_below(r, 8);
		if (c->cmd == RDMA_CMX_CMD_WITHDRAW)
			break;
		u->advertised.ports = (uintptr_t)c->buf;
		u->advertised.max_ports = rng_below(r, 4);
		u->advertised.port_size = sizeof(struct rdma_cmx_service_port);
		break;
	case RDMA_CMX_CMD_GET_SERVICES:
		u->services.flags = 0;
		u->services.service[0] = rng_below(r, 2) ? 'a' : 0;
		u->services.records = (uintptr_t)c->buf;
		u->services.max_records = rng_below(r, 4);
		u->services.record_size =
			sizeof(struct rdma_cmx_service_record);
		break;
	case RDMA_CMX_CMD_RESOLVE_ANY:
		u->any.flags = rng_below(r, 5);
		if (u->any.flags == RDMA_CMX_ANY_RACE)
			any_qps_random(r, c, &u->any);
		if (u->any.flags & RDMA_CMX_ANY_NEXT) {
			u->any.step = RDMA_CMX_STEP_SETUP + rng_below(r, 2);
			u->any.error = 1 + rng_below(r, 133);
			break;
		}
		u->any.timeout_ms = 1 + rng_below(r, 200);
		u->any.delay_ms = rng_below(r, 2) ? 10 : 0;
		break;
	case RDMA_CMX_CMD_QUERY_CANDIDATES:
		u->candidates.candidates = (uintptr_t)c->buf;
		u->candidates.max_candidates = rng_below(r, 4);
		u->candidates.candidate_size =
			sizeof(struct rdma_cmx_candidate_info);
		break;
	case RDMA_CMX_CMD_GET_PATHS:
		u->get_paths.flags = 0;
		u->get_paths.paths = (uintptr_t)c->buf;
		u->get_paths.max_paths = rng_below(r, 4);
		u->get_paths.path_size = sizeof(struct rdma_cmx_cached_path);
		break;
	case RDMA_CMX_CMD_DROP_PATHS:
		u->drop_paths.flags = 0;
		u->drop_paths.dgid[15] = rng_below(r, 2);
		break;
	}
}

void call_make(struct rng *r, struct fuzz_world *w, struct fuzz_call *c,
	       unsigned int cmd)
{
	uint32_t handle;

	c->cmd = cmd;
	c->file = rng_below(r, FUZZ_FILES);
	c->slot = rng_below(r, FUZZ_SLOTS);
	c->size = fuzz_sizes[cmd];
	memset(c->arg, 0, sizeof(c->arg));
	memcpy(c->arg, &c->size, 4);
	handle = cmd == RDMA_CMX_CMD_LEAVE ? w->mcs[c->file][c->slot] :
					     w->ids[c->file][c->slot];
	if (cmd != RDMA_CMX_CMD_GET_INFO && cmd != RDMA_CMX_CMD_GETADDRINFO)
		memcpy(c->arg + 4, &handle, 4);
	fields_random(r, w, c);
}

/* Stores a new handle in a slot; destroys the former object. */
static void slot_set(struct fuzz_world *w, const struct fuzz_call *c,
		     uint32_t handle)
{
	uint32_t *slot = &w->ids[c->file][c->slot], old = *slot;

	*slot = handle;
	if (old && old != handle)
		id_destroy(w->fds[c->file], old);
}

static void events_note(struct fuzz_world *w, const struct fuzz_call *c)
{
	const struct rdma_cmx_get_events *arg = (const void *)c->arg;
	const struct rdma_cmx_event *ev = (const void *)c->buf;
	const uint8_t *end = (const uint8_t *)c->buf + FUZZ_BUF;
	uint32_t i;

	if (arg->buf != (uintptr_t)c->buf)
		return;
	for (i = 0; i < arg->count && (const uint8_t *)(ev + 1) <= end; i++) {
		if (ev->event == EV_CONNECT_REQUEST)
			slot_set(w, c, ev->obj);
		if (ev->len < sizeof(*ev))
			return;
		ev = (const void *)ev + ev->len;
	}
}

void call_note(struct fuzz_world *w, const struct fuzz_call *c, int ret)
{
	const struct rdma_cmx_id_create *create = (const void *)c->arg;
	const struct rdma_cmx_id_bind *bind = (const void *)c->arg;
	const struct rdma_cmx_id_migrate *migrate = (const void *)c->arg;
	const struct rdma_cmx_join *join = (const void *)c->arg;

	if (ret)
		return;
	switch (c->cmd) {
	case RDMA_CMX_CMD_GET_EVENTS:
		events_note(w, c);
		break;
	case RDMA_CMX_CMD_ID_CREATE:
		slot_set(w, c, create->id);
		break;
	case RDMA_CMX_CMD_ID_BIND:
		w->port = addr_port(&bind->info.src);
		break;
	case RDMA_CMX_CMD_ID_MIGRATE:
		slot_set(w, c, migrate->new_id);
		break;
	case RDMA_CMX_CMD_JOIN:
		w->mcs[c->file][c->slot] = join->mc;
		break;
	}
}
