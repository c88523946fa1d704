// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reports events of rdma_cm, converted to records: those that its handler
 * receives, and those of a command or of a race, which rdma_cm would report.
 *
 * With the handler lock of the cm id, in process context. Takes no mutex of this
 * module.
 */
#include <rdma/ib_verbs.h>

#include "caller.h"
#include "ucmx.h"

static enum ucmx_slot ucmx_slot_of(u8 event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
		return UCMX_SLOT_ADDR;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return UCMX_SLOT_ROUTE;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_ESTABLISHED:
		return UCMX_SLOT_CONN;
	case RDMA_CM_EVENT_DISCONNECTED:
		return UCMX_SLOT_DISCONNECT;
	default:
		return UCMX_SLOT_NONE;
	}
}

/* The parts of an event's record. Paths are left out if there are none. */
static u16 ucmx_parts_of(const struct rdma_cm_id *cm, u8 event)
{
	u16 param = cm->qp_type == IB_QPT_UD ? RDMA_CMX_EVENT_UD :
					       RDMA_CMX_EVENT_CONN;

	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return RDMA_CMX_EVENT_INFO;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return RDMA_CMX_EVENT_INFO | RDMA_CMX_EVENT_PATHS;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return param | RDMA_CMX_EVENT_INFO | RDMA_CMX_EVENT_PATHS |
		       RDMA_CMX_EVENT_PRIVATE_DATA;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_ESTABLISHED:
		return param | RDMA_CMX_EVENT_PRIVATE_DATA;
	default:
		return 0;
	}
}

static void ucmx_fill_conn(void *dst, const struct rdma_cm_event *e)
{
	const struct rdma_conn_param *src = &e->param.conn;
	struct rdma_cmx_event_conn conn = {
		.qp_num = src->qp_num,
		.responder_resources = src->responder_resources,
		.initiator_depth = src->initiator_depth,
		.flow_control = src->flow_control,
		.retry_count = src->retry_count,
		.rnr_retry_count = src->rnr_retry_count,
		.srq = src->srq,
		.ece_vendor_id = e->ece.vendor_id,
		.ece_attr_mod = e->ece.attr_mod,
	};

	memcpy(dst, &conn, sizeof(conn));
}

static const void *ucmx_private_data(const struct rdma_cm_id *cm,
				     const struct rdma_cm_event *e, u8 *len)
{
	if (cm->qp_type == IB_QPT_UD) {
		*len = e->param.ud.private_data_len;
		return e->param.ud.private_data;
	}
	*len = e->param.conn.private_data_len;
	return e->param.conn.private_data;
}

/* Fills @parts and returns their length. @more: additional parts */
unsigned int ucmx_parts_get(struct ucmx_parts *parts, struct rdma_cm_id *cm,
			    struct rdma_cm_event *e, u16 more)
{
	unsigned int len = 0;

	parts->flags = ucmx_parts_of(cm, e->event) | more;
	parts->num_paths = 0;
	parts->pd_len = 0;
	if (parts->flags & RDMA_CMX_EVENT_PRIVATE_DATA)
		parts->pd = ucmx_private_data(cm, e, &parts->pd_len);
	if (!parts->pd_len || !parts->pd) {
		parts->pd_len = 0;
		parts->flags &= ~RDMA_CMX_EVENT_PRIVATE_DATA;
	}
	if (parts->flags & RDMA_CMX_EVENT_PATHS)
		parts->num_paths = ucmx_paths_fill(cm, NULL);
	if (!parts->num_paths)
		parts->flags &= ~RDMA_CMX_EVENT_PATHS;

	if (parts->flags & (RDMA_CMX_EVENT_CONN | RDMA_CMX_EVENT_UD))
		len += sizeof_field(struct rdma_cmx_event, param);
	if (parts->flags & RDMA_CMX_EVENT_INFO)
		len += sizeof(struct rdma_cmx_id_info);
	len += parts->num_paths * sizeof(struct ib_path_rec_data);
	return len + parts->pd_len;
}

void ucmx_parts_put(struct ucmx_event *ev, struct ucmx_parts *parts,
		    struct rdma_cm_id *cm, struct rdma_cm_event *e)
{
	void *pos = ev->body;

	ev->event = e->event;
	ev->status = e->status;
	ev->flags = parts->flags;
	if (ev->flags & (RDMA_CMX_EVENT_CONN | RDMA_CMX_EVENT_UD)) {
		if (ev->flags & RDMA_CMX_EVENT_UD)
			ucmx_fill_ud(pos, cm, &e->param.ud);
		else
			ucmx_fill_conn(pos, e);
		pos += sizeof_field(struct rdma_cmx_event, param);
	}
	if (ev->flags & RDMA_CMX_EVENT_INFO) {
		ucmx_info_fill(cm, pos);
		pos += sizeof(struct rdma_cmx_id_info);
	}
	if (parts->num_paths) {
		/* The handler lock is held, so the number is unchanged. */
		ev->num_paths = ucmx_paths_fill(cm, pos);
		pos += ev->num_paths * sizeof(struct ib_path_rec_data);
	}
	if (parts->pd_len) {
		memcpy(pos, parts->pd, parts->pd_len);
		pos += parts->pd_len;
		ev->pd_len = parts->pd_len;
	}
	ev->len = pos - (void *)ev->body;
}

/* True if the event means that the path may not reach the peer */
static bool ucmx_path_failed(const struct rdma_cm_id *cm,
			     const struct rdma_cm_event *e)
{
	switch (e->event) {
	case RDMA_CM_EVENT_ROUTE_ERROR:
		/* A user chooses the timeout. */
		return e->status != -ETIMEDOUT;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return true;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* A positive status is from the peer. */
		return e->status < 0;
	case RDMA_CM_EVENT_REJECTED:
		return cmx_rej_is_of_path(cm, e->status);
	default:
		return false;
	}
}

static void ucmx_event_make(struct ucmx_id *id, struct rdma_cm_id *cm,
			    struct rdma_cm_event *e)
{
	struct ucmx_parts parts;
	struct ucmx_event *ev;
	unsigned int len;

	len = ucmx_parts_get(&parts, cm, e, 0);
	ev = ucmx_event_take(id, e->event, ucmx_slot_of(e->event), len);
	if (!ev)
		return;
	ucmx_parts_put(ev, &parts, cm, e);
	ucmx_event_post(ev);
}

/*
 * True if no request or reply of the id is outstanding after the event. rdma_cm
 * reports a changed neighbour like a message without a reply, but the message
 * remains outstanding. If it has timed out, ib_cm refuses ACCEPT and REJECT.
 */
static bool ucmx_ends_outstanding(const struct rdma_cm_event *e)
{
	switch (ucmx_slot_of(e->event)) {
	case UCMX_SLOT_CONN:
		return e->event != RDMA_CM_EVENT_UNREACHABLE || e->status >= 0;
	case UCMX_SLOT_DISCONNECT:
		/* A peer that disconnects sends no other reply. */
		return true;
	default:
		return false;
	}
}

/* An event of a cm id that is not a request or an event of a group */
void ucmx_event_from_cm(struct ucmx_id *id, struct rdma_cm_id *cm,
			struct rdma_cm_event *e)
{
	enum ucmx_slot slot = ucmx_slot_of(e->event);

	if (ucmx_ends_outstanding(e) && READ_ONCE(id->cm_outstanding)) {
		WRITE_ONCE(id->cm_outstanding, false);
		/* Pairs with the barrier of NOTIFY's wait. */
		smp_mb();
		wake_up_var(&id->cm_outstanding);
	}
	if (READ_ONCE(id->path_cached) && ucmx_path_failed(cm, e)) {
		rdma_cmx_drop_cached_path_tos(cm, READ_ONCE(id->tos));
		/* Or ucmx_any_drop_path() would drop it again. */
		if (e->event == RDMA_CM_EVENT_UNREACHABLE)
			WRITE_ONCE(id->path_cached, false);
	}
	if (slot == UCMX_SLOT_CONN && !ucmx_any_replied(id))
		return;
	/* A disconnect after a CONNECT whose timeout was reported */
	if (slot == UCMX_SLOT_DISCONNECT && ucmx_any_given_up(id))
		return;
	ucmx_event_make(id, cm, e);
}

/**
 * ucmx_route_resolved - report a route that a command has set
 * @id: the id, its mutex held
 */
void ucmx_route_resolved(struct ucmx_id *id)
{
	struct rdma_cm_event e = { .event = RDMA_CM_EVENT_ROUTE_RESOLVED };

	rdma_lock_handler(id->cm);
	/* DEVICE_REMOVAL is the last event. */
	if (!READ_ONCE(id->gone)) {
		rdma_cmx_route_event(&id->route, &e);
		ucmx_event_from_cm(id, id->cm, &e);
	}
	rdma_unlock_handler(id->cm);
}

/*
 * @id receives the events of @cm, by the handler of its present cm id. The
 * handler lock of @cm is held.
 */
static void ucmx_cm_adopt(struct ucmx_id *id, struct rdma_cm_id *cm)
{
	cm->event_handler = id->cm->event_handler;
	cm->context = id;
	id->cm = cm;
}

/**
 * ucmx_route_adopted - let an id take over a cm id with a route
 * @id: the id, its mutex held
 * @cm: the cm id, its handler lock held
 *
 * The event precedes all others of @cm.
 */
void ucmx_route_adopted(struct ucmx_id *id, struct rdma_cm_id *cm)
{
	struct rdma_cm_event e = { .event = RDMA_CM_EVENT_ROUTE_RESOLVED };

	ucmx_cm_adopt(id, cm);
	/* The path may be from the cache: a failed connect drops it then. */
	WRITE_ONCE(id->path_cached, true);
	ucmx_event_from_cm(id, cm, &e);
}

/**
 * ucmx_conn_adopted - let an id take over a cm id whose peer has replied
 * @id: the id, its mutex held
 * @cm: the cm id, its handler lock held
 * @param: from the reply
 *
 * One event reports the reply, the addresses and the paths. It precedes all
 * others of @cm.
 */
void ucmx_conn_adopted(struct ucmx_id *id, struct rdma_cm_id *cm,
		       const struct rdma_conn_param *param)
{
	struct rdma_cm_event e = {
		.event = RDMA_CM_EVENT_CONNECT_RESPONSE,
		.param.conn = *param,
	};
	struct ucmx_parts parts;
	struct ucmx_event *ev;
	unsigned int len;

	ucmx_cm_adopt(id, cm);
	id->cm_used = true;
	len = ucmx_parts_get(&parts, cm, &e,
			     RDMA_CMX_EVENT_INFO | RDMA_CMX_EVENT_PATHS);
	ev = ucmx_event_take(id, e.event, UCMX_SLOT_RACE, len);
	if (!ev)
		return;
	ucmx_parts_put(ev, &parts, cm, &e);
	ucmx_event_post(ev);
}

/**
 * ucmx_connect_failed - report a connect that failed without a request
 * @id: the id, its mutex held
 * @event: event type
 * @error: negative errno
 *
 * The path stays in the cache.
 */
void ucmx_connect_failed(struct ucmx_id *id, u8 event, int error)
{
	struct rdma_cm_event e = { .event = event, .status = error };

	if (!ucmx_any_replied(id))
		return;
	rdma_lock_handler(id->cm);
	/* DEVICE_REMOVAL is the last event. */
	if (!READ_ONCE(id->gone))
		ucmx_event_make(id, id->cm, &e);
	rdma_unlock_handler(id->cm);
}
