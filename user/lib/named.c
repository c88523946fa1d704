// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connect by name. The kernel resolves the name, and its addresses race for a
 * route, or for a connection (race.c). The thread that takes an event of the id
 * does the next step: it starts the race, creates the queue pair, sends the
 * request, or continues with the next address after a failure. The program
 * receives the last event only.
 *
 * One event of the id is outstanding at a time. Another thread may still have an
 * earlier one: between cmx_named_enter() and cmx_id_leave() one thread works on
 * the id, and cmx_named_late() drops what came too late. The state for an event is
 * set before the command that causes it: another thread may receive the event
 * before the command returns.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cmx.h>

#include "lib.h"

#define TIMEOUT_MS	30000
#define DELAY_MIN_MS	10	/* of the kernel */

/* The next event of the id */
enum named_state {
	NAMED_NONE,
	NAMED_NAMES,
	NAMED_ROUTE,
	NAMED_REPLY,
	NAMED_RACE,
};

struct cmx_named {
	enum named_state state;
	bool connects;
	bool has_param;
	bool own_qp;		/* the program does not have the queue pair */
	bool established;	/* by this connect */
	bool races;
	uint8_t attempt;	/* of the candidate that the id is bound to */
	struct cmx_race_qps *race;	/* of the addresses, or NULL */
	uint64_t deadline;	/* in milliseconds */
	uint32_t delay_ms;
	struct ibv_pd *pd;
	struct ibv_qp_init_attr qp_attr;
	struct rdma_conn_param param;
	uint8_t data[UINT8_MAX];
};

uint64_t cmx_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static uint32_t supported;
CMX_MEM_ATOMIC(supported)

/*
 * Returns an error number, EOPNOTSUPP if the module lacks it. The module stays
 * loaded while a file of it is open.
 */
static int kernel_lacks(struct cmx_id *id, uint32_t features)
{
	struct rdma_cmx_get_info cmd = { .size = sizeof(cmd) };
	uint32_t known = __atomic_load_n(&supported, __ATOMIC_RELAXED);

	if ((known & features) == features)
		return 0;
	if (cmx_id_ioctl(id, GET_INFO, &cmd))
		return errno;
	__atomic_store_n(&supported, cmd.features, __ATOMIC_RELAXED);
	return (cmd.features & features) == features ? 0 : EOPNOTSUPP;
}

static void race_drop(struct cmx_id *id)
{
	struct cmx_race_qps *race = id->named->race;

	/* A child of fork() must not free it once more. */
	id->named->race = NULL;
	cmx_race_qps_free(race, cmx_id_inherited(id));
}

/* Before the id is freed, when no thread works on it */
void cmx_named_free(struct cmx_id *id)
{
	if (!id->named)
		return;
	race_drop(id);
	if (id->named->own_qp && !cmx_id_inherited(id))
		cmx_qp_destroy(id);
	free(id->named);
	id->named = NULL;
}

static void qp_drop(struct cmx_id *id)
{
	int err = errno;

	cmx_qp_destroy(id);
	id->named->own_qp = false;
	errno = err;
}

/* The next address may be of another device. */
static void device_drop(struct cmx_id *id)
{
	struct cmx_device *dev = id->dev;

	if (!dev)
		return;
	/* A child of fork() must not put it once more. */
	id->dev = NULL;
	id->id.verbs = NULL;
	id->id.pd = NULL;
	id->id.port_num = 0;
	cmx_device_put(dev);
}

/* True: another candidate follows. False: the event is the last one. */
static bool named_next(struct cmx_id *id, uint32_t step, int err, int reason)
{
	struct cmx_named *named = id->named;
	struct rdma_cmx_resolve_any cmd = {
		.size = offsetof(struct rdma_cmx_resolve_any, qps),
		.id = id->handle,
		.flags = RDMA_CMX_ANY_NEXT,
		.step = step,
		.error = err,
		.reason = reason,
	};

	qp_drop(id);
	device_drop(id);
	named->state = NAMED_ROUTE;
	if (!cmx_id_ioctl(id, RESOLVE_ANY, &cmd))
		return true;
	named->state = NAMED_NONE;
	return false;
}

/* As cmx_race_qps_start() */
static int named_race(struct cmx_id *id, struct rdma_cmx_resolve_any *cmd)
{
	struct cmx_named *named = id->named;
	struct rdma_conn_param param = named->param;
	const struct cmx_race_qps_attr attr = {
		.pd = named->pd,
		.init = &named->qp_attr,
		.param = named->has_param ? &param : NULL,
		.deadline = named->deadline,
	};
	int ret;

	param.private_data = named->data;
	named->state = NAMED_RACE;
	ret = cmx_race_qps_start(id, &named->race, cmd, &attr);
	if (ret)
		named->state = NAMED_NONE;
	return ret;
}

/*
 * The name is resolved. Returns 0: the program does not receive the event; 1:
 * it does; -1 with errno: the connect ends.
 */
int cmx_named_resolved(struct cmx_id *id)
{
	struct cmx_named *named = id->named;
	struct rdma_cmx_resolve_any cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
	};
	uint64_t now = cmx_now_ms();
	int ret;

	if (!named || named->state != NAMED_NAMES)
		return 1;
	named->state = NAMED_NONE;
	if (now >= named->deadline)
		return cmx_err(ETIMEDOUT);
	cmd.timeout_ms = named->deadline - now;
	cmd.delay_ms = named->delay_ms;
	/* If no address may have a queue pair, the kernel reports why. */
	ret = named->races ? named_race(id, &cmd) : 1;
	if (ret <= 0)
		return ret;
	/* Kernels before RDMA_CMX_ANY_RACE have no more than that. */
	cmd.size = offsetof(struct rdma_cmx_resolve_any, qps);
	cmd.flags = named->connects ? RDMA_CMX_ANY_CONNECT : 0;
	named->state = NAMED_ROUTE;
	if (!cmx_id_ioctl(id, RESOLVE_ANY, &cmd))
		return 0;
	named->state = NAMED_NONE;
	return -1;
}

/* Returns a step with errno, or 0. */
static int named_connect(struct cmx_id *id)
{
	struct cmx_named *named = id->named;
	struct ibv_qp_init_attr attr = named->qp_attr;
	struct rdma_conn_param param = named->param;

	attr.qp_type = id->id.qp_type;
	if (rdma_create_qp(&id->id, named->pd, &attr))
		return RDMA_CMX_STEP_SETUP;
	named->own_qp = true;
	param.private_data = named->data;
	named->state = NAMED_REPLY;
	if (cmx_conn_request(id, named->has_param ? &param : NULL))
		return RDMA_CMX_STEP_REQUEST;
	return 0;
}

/*
 * The id has a route, or @err: the device cannot be used. Returns as
 * cmx_named_resolved().
 */
int cmx_named_routed(struct cmx_id *id, int err)
{
	struct cmx_named *named = id->named;
	int step = RDMA_CMX_STEP_SETUP;

	if (!named || named->state != NAMED_ROUTE)
		return err ? cmx_err(err) : 1;
	if (!named->connects) {
		named->state = NAMED_NONE;
		return err ? cmx_err(err) : 1;
	}
	if (!err) {
		step = named_connect(id);
		if (!step)
			return 0;
		err = errno ? errno : EINVAL;
	}
	return named_next(id, step, err, 0) ? 0 : cmx_err(err);
}

static int event_error(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (event->status < 0)
		return -event->status;
	return event->event == RDMA_CM_EVENT_UNREACHABLE ? ETIMEDOUT :
							    ECONNABORTED;
}

/*
 * The kernel reports a failure. False: another candidate follows, and the
 * program does not receive the event.
 */
bool cmx_named_failed(struct cmx_id *id, const struct rdma_cm_event *event)
{
	struct cmx_named *named = id->named;
	int reason = 0;
	bool reply;

	if (!named)
		return true;
	/* A race without a winner ends with ROUTE_ERROR. */
	reply = named->state == NAMED_REPLY ||
		(cmx_named_races(id) &&
		 event->event != RDMA_CM_EVENT_ROUTE_ERROR);
	/*
	 * The last event of an id that is bound. Another thread may have read
	 * the reply before, and may process it later.
	 */
	if (named->state != NAMED_NONE &&
	    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		id->connect_error = true;
	named->state = NAMED_NONE;
	race_drop(id);
	if (!reply || event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		if (named->own_qp)
			qp_drop(id);
		return true;
	}
	if (event->event == RDMA_CM_EVENT_REJECTED)
		reason = event->status;
	if (named_next(id, RDMA_CMX_STEP_REQUEST, event_error(event), reason))
		return false;
	id->connect_error = true;
	return true;
}

/*
 * DEVICE_REMOVAL may arrive at any time. False, and no leave follows, for an id
 * that was never connected by name.
 */
bool cmx_named_enter(struct cmx_id *id)
{
	if (!id->named)
		return false;
	cmx_id_enter(id);
	return true;
}

/* True if the queue pair is not the program's, but goes with the id */
bool cmx_named_qp(const struct cmx_id *id)
{
	return id->named && id->named->own_qp;
}

/* The call fails, so the program does not know the queue pair. */
void cmx_named_dropped(struct cmx_id *id, const struct rdma_cm_event *event)
{
	if (id->named && id->named->established &&
	    event->event == RDMA_CM_EVENT_ESTABLISHED)
		id->named->own_qp = true;
}

/*
 * An event of an address that has failed: it was unread, or another thread had
 * it, when the next address was started.
 */
bool cmx_named_late(struct cmx_id *id, const struct rdma_cmx_event *ev)
{
	struct cmx_named *named = id->named;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DISCONNECTED:
		return named->state == NAMED_ROUTE ||
		       ev->attempt != named->attempt;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		named->attempt = ev->attempt;
	}
	return false;
}

/* Is another event of a connect by name to come? */
bool cmx_named_goes_on(const struct cmx_id *id)
{
	return id->named && id->named->state != NAMED_NONE;
}

/* True if the next event of the id is that of the race of its connections */
bool cmx_named_races(const struct cmx_id *id)
{
	return !cmx_id_inherited(id) && id->named &&
	       id->named->state == NAMED_RACE;
}

/*
 * The id is bound to the winner. -1 with errno: it cannot be used; not @usable:
 * errno is set already.
 */
int cmx_named_won(struct cmx_id *id, bool usable)
{
	struct cmx_named *named = id->named;
	int ret = usable ? cmx_race_qps_won(named->race, id) : -1;

	race_drop(id);
	named->state = NAMED_REPLY;
	named->own_qp = !ret;
	return ret;
}

/* The id is connected. */
void cmx_named_replied(struct cmx_id *id)
{
	struct cmx_named *named = id->named;

	if (!named || named->state != NAMED_REPLY)
		return;
	named->state = NAMED_NONE;
	named->established = true;
	named->own_qp = false;
}

static int attr_check(struct cmx_id *id,
		      const struct rdmacmx_connect_attr *attr)
{
	size_t i;

	for (i = 0; i < sizeof(attr->reserved) / sizeof(attr->reserved[0]); i++)
		if (attr->reserved[i])
			return EINVAL;
	if (attr->flags & ~RDMACMX_CONNECT_RACE)
		return EINVAL;
	if (attr->delay_ms && attr->delay_ms < DELAY_MIN_MS)
		return EINVAL;
	if (!attr->qp_init_attr)
		return attr->pd || attr->conn_param || attr->flags ? EINVAL : 0;
	/* For other types ESTABLISHED differs. */
	if (id->id.qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;
	if (attr->conn_param && attr->conn_param->private_data_len &&
	    !attr->conn_param->private_data)
		return EINVAL;
	return 0;
}

static void named_fill(struct cmx_named *named,
		       const struct rdmacmx_connect_attr *attr, uint32_t timeout)
{
	/* The kernel continues to count. */
	*named = (struct cmx_named){ .attempt = named->attempt };
	named->deadline = cmx_now_ms() + timeout;
	named->delay_ms = attr->delay_ms;
	if (!attr->qp_init_attr)
		return;
	named->connects = true;
	named->races = attr->flags & RDMACMX_CONNECT_RACE;
	named->pd = attr->pd;
	named->qp_attr = *attr->qp_init_attr;
	if (!attr->conn_param)
		return;
	named->has_param = true;
	named->param = *attr->conn_param;
	if (named->param.private_data_len)
		memcpy(named->data, named->param.private_data,
		       named->param.private_data_len);
}

static int named_start(struct cmx_id *id, const char *node, const char *service,
		       const struct rdma_addrinfo *given,
		       const struct rdmacmx_connect_attr *attr,
		       uint32_t timeout)
{
	struct rdma_addrinfo hints = {};
	struct cmx_ai_request req;
	int err;

	if (given)
		hints = *given;
	if (hints.ai_flags & RAI_PASSIVE)
		return EINVAL;
	/* Services of the SA have a separate port space. */
	if ((hints.ai_flags & RAI_SA) && id->id.ps != RDMA_PS_IB)
		return EPROTOTYPE;
	if (!hints.ai_port_space)
		hints.ai_port_space = id->id.ps;
	if (!hints.ai_qp_type)
		hints.ai_qp_type = id->id.qp_type;
	err = cmx_ai_request_init(&req, node, service, &hints, true);
	if (err)
		return err;
	req.query.timeout_ms = timeout;
	if (hints.ai_flags & RAI_SA)
		req.query.flags |= RDMA_CMX_AIQ_ALL_PORTS;
	err = cmx_ai_request_device(&req, attr->device);
	if (!err) {
		named_fill(id->named, attr, timeout);
		id->named->state = NAMED_NAMES;
		err = cmx_resolve_start(id, &req);
		if (err)
			id->named->state = NAMED_NONE;
	}
	cmx_ai_request_clear(&req);
	return err;
}

static int connect_name(struct cmx_id *cid, const char *node,
			const char *service, const struct rdma_addrinfo *hints,
			const struct rdmacmx_connect_attr *attr)
{
	int err = attr_check(cid, attr);

	if (err)
		return cmx_err(err);
	if (cid->named && cid->named->state != NAMED_NONE)
		return cmx_err(EBUSY);
	if (cid->dev || cid->id.qp)
		return cmx_err(EINVAL);
	err = kernel_lacks(cid, RDMA_CMX_FEATURE_CONNECT |
			   (attr->flags ? RDMA_CMX_FEATURE_RACE : 0));
	if (err)
		return cmx_err(err);
	if (!cid->named) {
		cid->named = calloc(1, sizeof(*cid->named));
		if (!cid->named)
			return -1;
	}
	err = named_start(cid, node, service, hints, attr,
			  attr->timeout_ms ? attr->timeout_ms : TIMEOUT_MS);
	return rdma_seterrno(err == CMX_ESERVICE ? EINVAL : err);
}

CMX_EXPORT int rdmacmx_connect_name(struct rdma_cm_id *id, const char *node,
				    const char *service,
				    const struct rdma_addrinfo *hints,
				    const struct rdmacmx_connect_attr *attr)
{
	const struct rdmacmx_connect_attr none = {};
	struct cmx_id *cid = cmx_id(id);
	bool sync;

	if (!attr)
		attr = &none;
	if (!cmx_id_ours(id) || (!node && !service && !hints))
		return cmx_err(EINVAL);
	if (cmx_call_begin(cid, &sync))
		return -1;
	return cmx_call_end(cid, sync,
			    connect_name(cid, node, service, hints, attr));
}

static void candidate_from_kern(struct rdmacmx_candidate *to,
				const struct rdma_cmx_candidate_info *from)
{
	const char *name = NULL;

	memset(to, 0, sizeof(*to));
	cmx_addr_from_kern(&to->src, &from->src);
	cmx_addr_from_kern(&to->dst, &from->dst);
	if (from->port_num)
		name = cmx_device_name(from->ibdev_index);
	if (name)
		strncpy(to->device, name, sizeof(to->device) - 1);
	to->port = from->port_num;
	to->step = from->step;
	to->error = -from->error;
	to->reason = from->reason;
	to->attempts = from->attempts;
	to->start_ms = from->start_ms;
	to->end_ms = from->end_ms;
}

CMX_EXPORT int rdmacmx_connect_report(struct rdma_cm_id *id,
				      struct rdmacmx_candidate *candidates,
				      int room)
{
	struct rdma_cmx_query_candidates cmd = {
		.size = sizeof(cmd),
		.candidate_size = sizeof(struct rdma_cmx_candidate_info),
	};
	struct rdma_cmx_candidate_info *raw = NULL;
	int i, ret, err;

	if (!cmx_id_ours(id) || room < 0 || (room && !candidates))
		return cmx_err(EINVAL);
	if (room) {
		raw = calloc(room, sizeof(*raw));
		if (!raw)
			return -1;
	}
	cmd.id = cmx_id(id)->handle;
	cmd.candidates = (uintptr_t)raw;
	cmd.max_candidates = room;
	ret = cmx_id_ioctl(cmx_id(id), QUERY_CANDIDATES, &cmd);
	err = errno;
	if (!ret) {
		ret = cmd.num_candidates;
		if (room > ret)
			room = ret;
		cmx_mem_written(raw, room * sizeof(*raw));
		for (i = 0; raw && i < room; i++)
			candidate_from_kern(&candidates[i], &raw[i]);
	}
	free(raw);
	errno = err;
	return ret;
}
