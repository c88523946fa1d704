// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands that copy from or to user space, each with the objects that it
 * needs for its copy to begin.
 */
#include "victim.h"

#define ARG(v, name, cmd)						\
	struct rdma_cmx_##name *arg = ((v)->ioctl = RDMA_CMX_IO(cmd), (v)->arg); \
	arg->size = sizeof(*arg)

static int prepare_info(struct victim *v)
{
	ARG(v, get_info, GET_INFO);
	return 0;
}

static int prepare_events(struct victim *v)
{
	ARG(v, get_events, GET_EVENTS);
	arg->buf = (uintptr_t)v->buf;
	arg->buf_len = PAGE;
	return id_write_event(v->fd, v->id, 0, 1);
}

static int prepare_create(struct victim *v)
{
	ARG(v, id_create, ID_CREATE);
	arg->port_space = RDMA_PS_TCP;
	arg->qp_type = QPT_RC;
	arg->uid = 1;
	return 0;
}

static int prepare_destroy(struct victim *v)
{
	ARG(v, destroy, ID_DESTROY);
	arg->handle = v->id;
	return 0;
}

static int prepare_bind(struct victim *v)
{
	int ret = id_create(v->fd, RDMA_PS_TCP, 5, &v->id);
	ARG(v, id_bind, ID_BIND);

	arg->id = v->id;
	addr_set(&arg->addr, DEVICE_ADDR, 0);
	v->free = v->id;
	return ret;
}

static int prepare_query(struct victim *v)
{
	ARG(v, id_query, ID_QUERY);
	arg->id = v->id;
	return 0;
}

static int prepare_option(struct victim *v)
{
	ARG(v, id_set_option, ID_SET_OPTION);
	arg->id = v->id;
	arg->level = RDMA_OPTION_ID;
	arg->optname = RDMA_OPTION_ID_REUSEADDR;
	arg->optval = (uintptr_t)v->buf;
	arg->optlen = sizeof(int);
	return 0;
}

static int prepare_migrate(struct victim *v)
{
	ARG(v, id_migrate, ID_MIGRATE);
	arg->id = v->id;
	arg->src_fd = v->fd;
	v->other = v->fd;
	v->fd = dev_open(O_NONBLOCK);
	return v->fd < 0 ? -errno : 0;
}

static int prepare_qp_attr(struct victim *v)
{
	ARG(v, init_qp_attr, INIT_QP_ATTR);
	arg->id = v->id;
	arg->qp_state = 1;	/* IB_QPS_INIT */
	return 0;
}

static int prepare_resolve(struct victim *v)
{
	ARG(v, resolve_addrinfo, RESOLVE_ADDRINFO);
	arg->id = v->id;
	arg->query.node = (uintptr_t)v->buf;
	arg->query.node_len = strlen(DEVICE_ADDR);
	return 0;
}

static int prepare_names(struct victim *v)
{
	ARG(v, give_names, GIVE_NAMES);
	arg->id = v->id;
	arg->names = (uintptr_t)v->buf;
	arg->names_len = sizeof(struct rdma_cmx_names);
	return 0;
}

static int result_make(int fd, uint32_t id)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };
	union event_buf buf;

	arg.query.node = (uintptr_t)DEVICE_ADDR;
	arg.query.node_len = strlen(DEVICE_ADDR);
	return call(fd, RESOLVE_ADDRINFO, &arg) ?:
	       event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf);
}

int prepare_result(struct victim *v)
{
	ARG(v, query_addrinfo, QUERY_ADDRINFO);
	arg->id = v->id;
	arg->buf = (uintptr_t)v->buf;
	arg->buf_len = PAGE;
	return result_make(v->fd, v->id);
}

static int prepare_getaddrinfo(struct victim *v)
{
	ARG(v, getaddrinfo, GETADDRINFO);
	arg->query.node = (uintptr_t)DEVICE_ADDR;
	arg->query.node_len = strlen(DEVICE_ADDR);
	arg->buf = (uintptr_t)v->buf;
	arg->buf_len = PAGE;
	return 0;
}

static int prepare_join(struct victim *v)
{
	ARG(v, join, JOIN);
	arg->id = v->id;
	arg->uid = 1;
	arg->join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	addr_set(&arg->addr, GROUP, 0);
	return 0;
}

void items_set(struct rdma_cmx_join_item *items, int n)
{
	char group[20];
	int i;

	for (i = 0; i < n; i++) {
		snprintf(group, sizeof(group), "239.97.0.%d", i + 1);
		items[i].uid = i + 1;
		items[i].join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
		addr_set(&items[i].addr, group, 0);
	}
}

static int prepare_join_many(struct victim *v)
{
	ARG(v, join_many, JOIN_MANY);
	arg->id = v->id;
	arg->items = (uintptr_t)v->buf;
	arg->count = GROUPS;
	arg->item_size = sizeof(struct rdma_cmx_join_item);
	items_set(v->buf, GROUPS);
	return 0;
}

static int prepare_leave(struct victim *v)
{
	int ret = mc_join(v->fd, v->id, GROUP, 1, &v->free);
	ARG(v, destroy, LEAVE);

	arg->handle = v->free;
	v->free = v->id;
	return ret;
}

/* An id with a request of its peer, on the device that stays */
static int prepare_conn_qp_attr(struct victim *v)
{
	uint32_t listener, active;
	int ret = request_get(v->fd, RDMA_PS_TCP, 2, &listener, &active,
			      &v->id);
	ARG(v, conn_qp_attr, CONN_QP_ATTR);

	arg->id = v->id;
	v->free = v->id;
	return ret;
}

static int prepare_any(struct victim *v)
{
	int ret = id_create(v->fd, RDMA_PS_TCP, 5, &v->id);
	ARG(v, resolve_any, RESOLVE_ANY);

	arg->id = v->id;
	arg->flags = RDMA_CMX_ANY_RACE;
	arg->timeout_ms = 60000;
	arg->qps = (uintptr_t)v->buf;
	arg->num_qps = 1;
	v->free = v->id;
	return ret ?: result_make(v->fd, v->id);
}

static int prepare_candidates(struct victim *v)
{
	ARG(v, query_candidates, QUERY_CANDIDATES);
	arg->id = v->id;
	arg->flags = RDMA_CMX_CANDIDATES_UNTRIED;
	arg->candidates = (uintptr_t)v->buf;
	arg->candidate_size = sizeof(struct rdma_cmx_candidate_info);
	arg->max_candidates = PAGE / arg->candidate_size;
	return result_make(v->fd, v->id);
}

static int prepare_advertise(struct victim *v)
{
	ARG(v, advertise, ADVERTISE);
	arg->service_id = 0x1061970;
	strcpy((char *)arg->name, "removal");
	return 0;
}

/* A service without a port: this guest has no InfiniBand. */
static int service_new(int fd, uint64_t service_id, uint32_t *handle)
{
	struct rdma_cmx_advertise arg = {
		.service_id = service_id, .name = "removal",
	};
	int ret = call(fd, ADVERTISE, &arg);

	*handle = arg.handle;
	return ret;
}

static int prepare_withdraw(struct victim *v)
{
	ARG(v, destroy, WITHDRAW);
	return service_new(v->fd, 0x1061971, &arg->handle);
}

static int prepare_advertised(struct victim *v)
{
	ARG(v, query_advertised, QUERY_ADVERTISED);
	return service_new(v->fd, 0x1061972, &arg->handle);
}

static int prepare_get_paths(struct victim *v)
{
	ARG(v, get_paths, GET_PATHS);
	return 0;
}

static int prepare_drop_paths(struct victim *v)
{
	ARG(v, drop_paths, DROP_PATHS);
	return 0;
}

#define ROW(cmd, what, prepare, stop)					\
	{ #cmd what, RDMA_CMX_CMD_##cmd, prepare, stop, false }
#define ADMIN_ROW(cmd, prepare, stop)					\
	{ #cmd, RDMA_CMX_CMD_##cmd, prepare, stop, true }

const struct command commands[] = {
	ROW(GET_INFO, "", prepare_info, WRITE_ARG),
	ROW(GET_EVENTS, "", prepare_events, WRITE_BUF),
	ROW(ID_CREATE, "", prepare_create, WRITE_ARG),
	ROW(ID_DESTROY, "", prepare_destroy, WRITE_ARG),
	ROW(ID_BIND, "", prepare_bind, WRITE_ARG),
	ROW(ID_QUERY, "", prepare_query, WRITE_ARG),
	ROW(ID_SET_OPTION, "", prepare_option, READ_BUF),
	ROW(ID_MIGRATE, "", prepare_migrate, WRITE_ARG),
	ROW(INIT_QP_ATTR, "", prepare_qp_attr, WRITE_ARG),
	ROW(RESOLVE_ADDRINFO, "", prepare_resolve, READ_BUF),
	ROW(GIVE_NAMES, "", prepare_names, READ_BUF),
	ROW(QUERY_ADDRINFO, "", prepare_result, WRITE_BUF),
	ROW(QUERY_ADDRINFO, "'s struct", prepare_result, WRITE_ARG),
	ROW(GETADDRINFO, "", prepare_getaddrinfo, WRITE_BUF),
	ROW(JOIN, "", prepare_join, WRITE_ARG),
	ROW(JOIN_MANY, "", prepare_join_many, WRITE_BUF),
	ROW(JOIN_MANY, "'s struct", prepare_join_many, WRITE_ARG),
	ROW(LEAVE, "", prepare_leave, WRITE_ARG),
	ROW(CONN_QP_ATTR, "", prepare_conn_qp_attr, WRITE_ARG),
	ROW(RESOLVE_ANY, "", prepare_any, READ_BUF),
	ROW(QUERY_CANDIDATES, "", prepare_candidates, WRITE_BUF),
	ROW(QUERY_CANDIDATES, "'s struct", prepare_candidates, WRITE_ARG),
	ADMIN_ROW(ADVERTISE, prepare_advertise, WRITE_ARG),
	ADMIN_ROW(WITHDRAW, prepare_withdraw, WRITE_ARG),
	ADMIN_ROW(QUERY_ADVERTISED, prepare_advertised, WRITE_ARG),
	ROW(GET_PATHS, "", prepare_get_paths, WRITE_ARG),
	ADMIN_ROW(DROP_PATHS, prepare_drop_paths, WRITE_ARG),
};

const unsigned int commands_count = sizeof(commands) / sizeof(commands[0]);

/* Commands that are not stopped */
static const unsigned int unstopped[] = {
	/* The only copy is that of their struct, before they begin. */
	RDMA_CMX_CMD_RESOLVE_ADDR,
	RDMA_CMX_CMD_RESOLVE_ROUTE,
	RDMA_CMX_CMD_CONNECT,
	RDMA_CMX_CMD_LISTEN,
	RDMA_CMX_CMD_ACCEPT,
	RDMA_CMX_CMD_REJECT,
	RDMA_CMX_CMD_DISCONNECT,
	RDMA_CMX_CMD_NOTIFY,
	RDMA_CMX_CMD_WRITE_EVENT,
	/* It copies nothing without an InfiniBand port: attack/services. */
	RDMA_CMX_CMD_GET_SERVICES,
};

#define UNSTOPPED	(sizeof(unstopped) / sizeof(unstopped[0]))

bool command_listed(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < commands_count; i++)
		if (commands[i].nr == nr)
			return true;
	for (i = 0; i < UNSTOPPED; i++)
		if (unstopped[i] == nr)
			return true;
	return false;
}
