// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: connect, listen, accept, reject, disconnect. The functions
 * modify the QP of an id; for a QP of the caller they only send the messages.
 * No locks: one thread at a time connects an id.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

static uint8_t min_u8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* An id needs a device; a stream id also a QP, or a number of a caller's QP. */
static int param_check(struct cmx_id *id, const struct rdma_conn_param *param)
{
	if (!id->dev)
		return cmx_err(EINVAL);
	if (id->id.ps != RDMA_PS_TCP)
		return 0;
	if (!param)
		return id->id.qp ? 0 : cmx_err(EINVAL);
	if (param->responder_resources != RDMA_MAX_RESP_RES &&
	    param->responder_resources >
	    cmx_device_max_responder_resources(id->dev))
		return cmx_err(EINVAL);
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    param->initiator_depth > cmx_device_max_initiator_depth(id->dev))
		return cmx_err(EINVAL);
	return 0;
}

static int private_data_add(struct rdma_cmx_conn_param *to, const void *data,
			    size_t len)
{
	if (!data || !len)
		return 0;
	if (len > sizeof(to->private_data) - to->private_data_len)
		return cmx_err(EINVAL);
	memcpy(to->private_data + to->private_data_len, data, len);
	to->private_data_len += len;
	return 0;
}

static int param_to_kern(struct cmx_id *id, struct rdma_cmx_conn_param *to,
			 const struct rdma_conn_param *from)
{
	const struct ibv_qp *qp = id->id.qp;

	to->responder_resources = id->responder_resources;
	to->initiator_depth = id->initiator_depth;
	to->retry_count = 7;
	to->rnr_retry_count = 7;
	if (from) {
		to->qp_num = from->qp_num;
		to->srq = from->srq;
		to->flow_control = from->flow_control;
		to->retry_count = from->retry_count;
		to->rnr_retry_count = from->rnr_retry_count;
	}
	if (qp) {
		to->qp_num = qp->qp_num;
		to->srq = !!qp->srq;
	}
	if (id->ep &&
	    private_data_add(to, id->ep->connect, id->ep->connect_len))
		return -1;
	return from ? private_data_add(to, from->private_data,
				       from->private_data_len) : 0;
}

/* The struct ends behind its private data: most have little or none. */
static int connect_init(struct rdma_cmx_connect *cmd, struct cmx_id *id,
			const struct rdma_conn_param *param)
{
	const size_t fixed = offsetof(struct rdma_cmx_connect,
				      param.private_data);

	memset(cmd, 0, fixed);
	cmd->id = id->handle;
	if (param_to_kern(id, &cmd->param, param))
		return -1;
	cmd->size = fixed + cmd->param.private_data_len;
	return 0;
}

/* Read depths of a request: the caller's, or the maximum of the device */
static void request_depths(struct cmx_id *cid,
			   const struct rdma_conn_param *param)
{
	cid->initiator_depth = cmx_device_max_initiator_depth(cid->dev);
	cid->responder_resources = cmx_device_max_responder_resources(cid->dev);
	if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		cid->initiator_depth = param->initiator_depth;
	if (param && param->responder_resources != RDMA_MAX_RESP_RES)
		cid->responder_resources = param->responder_resources;
}

/* Parameters of a request of @cid, which has a device and a queue pair */
int cmx_conn_param(struct cmx_id *cid, struct rdma_cmx_conn_param *to,
		   const struct rdma_conn_param *from)
{
	memset(to, 0, sizeof(*to));
	if (param_check(cid, from))
		return -1;
	request_depths(cid, from);
	return param_to_kern(cid, to, from);
}

/* Sends the request. Another thread may get the reply before the return. */
int cmx_conn_request(struct cmx_id *cid, const struct rdma_conn_param *param)
{
	struct rdma_cmx_connect cmd;

	if (param_check(cid, param))
		return -1;
	request_depths(cid, param);
	if (connect_init(&cmd, cid, param))
		return -1;
	cmd.param.ece_vendor_id = cid->local_ece.vendor_id;
	cmd.param.ece_attr_mod = cid->local_ece.options;
	return cmx_id_ioctl(cid, CONNECT, &cmd);
}

CMX_EXPORT int rdma_connect(struct rdma_cm_id *id,
			    struct rdma_conn_param *param)
{
	struct cmx_id *cid = cmx_id(id);
	struct cmx_ep *ep;
	bool sync;
	int ret;

	CMX_ID_OR_STOCK(id, rdma_connect, id, param);
	if (cmx_call_begin(cid, &sync))
		return -1;
	ret = cmx_conn_request(cid, param);
	if (sync && !ret) {
		/* A child of fork() must not free it once more. */
		ep = cid->ep;
		cid->ep = NULL;
		free(ep);
	}
	return cmx_call_end(cid, sync, ret);
}

CMX_EXPORT int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct rdma_cmx_listen cmd = {
		.size = sizeof(cmd),
		.backlog = backlog,
	};
	struct rdma_cmx_id_query query = { .size = sizeof(query) };
	struct cmx_id *cid = cmx_id(id);

	CMX_ID_OR_STOCK(id, rdma_listen, id, backlog);
	cmd.id = cid->handle;
	if (cmx_id_ioctl(cid, LISTEN, &cmd))
		return -1;
	/* An id that was not bound has a port now. */
	query.id = cid->handle;
	if (cmx_id_ioctl(cid, ID_QUERY, &query))
		return -1;
	return cmx_id_set_info(cid, &query.info);
}

/* The defaults do not exceed the peer's limits in the request. */
static void accept_depths(struct cmx_id *id,
			  const struct rdma_conn_param *param)
{
	if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = param->initiator_depth;
	else
		id->initiator_depth =
			min_u8(id->initiator_depth,
			       cmx_device_max_initiator_depth(id->dev));

	if (param && param->responder_resources != RDMA_MAX_RESP_RES)
		id->responder_resources = param->responder_resources;
	else
		id->responder_resources =
			min_u8(id->responder_resources,
			       cmx_device_max_responder_resources(id->dev));
}

static int reject(struct cmx_id *id, const void *private_data,
		  uint8_t private_data_len, uint8_t reason)
{
	struct rdma_cmx_reject cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
		.reason = reason,
	};

	if (private_data && private_data_len) {
		memcpy(cmd.private_data, private_data, private_data_len);
		cmd.private_data_len = private_data_len;
	}
	return cmx_id_ioctl(id, REJECT, &cmd);
}

/*
 * The reply was not sent, and the queue pair is of no more use. rdma_cm rejects
 * when a reply fails, but the kernel has not called it if it could not reserve
 * the events of the connection.
 */
static void accept_failed(struct cmx_id *id, int err)
{
	if (!id->id.qp)
		return;
	cmx_qp_error(id);
	if (err == EAGAIN || err == ENOMEM)
		reject(id, NULL, 0, 0);
}

static int conn_accept(struct cmx_id *cid, const struct rdma_conn_param *param)
{
	struct rdma_cmx_connect cmd;
	bool known;
	int err;

	if (param_check(cid, param) || (!cid->id.qp && !param))
		return cmx_err(EINVAL);

	accept_depths(cid, param);
	if (connect_init(&cmd, cid, param))
		return -1;
	cmd.uid = cmx_id_cookie(cid);
	if (cid->id.qp_type != IBV_QPT_UD &&
	    cmx_qp_connected(cid, cid->responder_resources,
			     cid->initiator_depth))
		return -1;
	cmd.param.ece_vendor_id = cid->remote_ece.vendor_id;
	cmd.param.ece_attr_mod = cid->local_ece.options;
	/* Afterwards the id may not be there any more. */
	known = cid->known;
	cid->known = true;
	if (cmx_id_ioctl(cid, ACCEPT, &cmd)) {
		err = errno;
		cid->known = known;
		accept_failed(cid, err);
		return cmx_err(err);
	}
	return 0;
}

CMX_EXPORT int rdma_accept(struct rdma_cm_id *id,
			   struct rdma_conn_param *param)
{
	struct cmx_id *cid = cmx_id(id);
	bool datagram, sync;
	int ret;

	CMX_ID_OR_STOCK(id, rdma_accept, id, param);
	if (cmx_call_begin(cid, &sync))
		return -1;
	datagram = id->qp_type == IBV_QPT_UD;
	ret = conn_accept(cid, param);
	if (!datagram || !sync)
		return cmx_call_end(cid, sync, ret);
	/* The reply to a SIDR request ends it: no event follows. */
	if (!ret)
		cmx_event_drop_last(cid);
	cmx_sync_leave(cid);
	return ret;
}

CMX_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data,
			   uint8_t private_data_len)
{
	CMX_ID_OR_STOCK(id, rdma_reject, id, private_data, private_data_len);
	return reject(cmx_id(id), private_data, private_data_len, 0);
}

CMX_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			       uint8_t private_data_len)
{
	CMX_ID_OR_STOCK(id, rdma_reject_ece, id, private_data,
			private_data_len);
	/* IBTA: vendor option is not supported */
	return reject(cmx_id(id), private_data, private_data_len, 35);
}

CMX_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	struct rdma_cmx_id_arg cmd = { .size = sizeof(cmd), .event = event };

	CMX_ID_OR_STOCK(id, rdma_notify, id, event);
	cmd.id = cmx_id(id)->handle;
	return cmx_id_ioctl(cmx_id(id), NOTIFY, &cmd);
}

/* iWARP drains the send queue, InfiniBand flushes it. */
static int qp_shutdown(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	if (!id->verbs || !id->verbs->device)
		return cmx_err(EINVAL);
	if (id->verbs->device->transport_type != IBV_TRANSPORT_IWARP)
		return cmx_qp_error(cmx_id(id));
	if (!id->qp)
		return 0;
	return rdma_seterrno(ibv_modify_qp(id->qp, &attr, IBV_QP_STATE));
}

CMX_EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	struct rdma_cmx_id_arg cmd = { .size = sizeof(cmd) };
	struct cmx_id *cid = cmx_id(id);
	bool entered, sync;
	int ret;

	CMX_ID_OR_STOCK(id, rdma_disconnect, id);
	if (cmx_call_begin(cid, &sync))
		return -1;
	cmd.id = cid->handle;
	/* Until a connect by name ends the queue pair is the library's. */
	entered = cmx_named_enter(cid);
	ret = cmx_named_goes_on(cid) ? cmx_err(EINVAL) : qp_shutdown(id);
	if (ret)
		ret = cmx_verb_failed(cid);
	if (entered)
		cmx_id_leave(cid);
	if (!ret)
		ret = cmx_id_ioctl(cid, DISCONNECT, &cmd);
	return cmx_call_end(cid, sync, ret);
}

/* The peer has accepted the request: prepares the QP, and sends the RTU. */
int cmx_conn_respond(struct cmx_id *id)
{
	struct rdma_cmx_connect cmd;
	int err;

	memset(&cmd, 0, sizeof(cmd) - sizeof(cmd.param.private_data));
	cmd.size = sizeof(cmd) - sizeof(cmd.param.private_data);
	cmd.id = id->handle;
	cmd.uid = cmx_id_cookie(id);
	cmd.flags = RDMA_CMX_ACCEPT_NO_PARAM;

	if (!cmx_qp_connected(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH) &&
	    !cmx_id_ioctl(id, ACCEPT, &cmd))
		return 0;
	err = errno;
	cmx_qp_error(id);
	return cmx_err(err);
}

/* Likewise for an id with a QP, with the options that the peer has chosen */
int cmx_conn_respond_ece(struct cmx_id *id)
{
	struct ibv_ece ece = { .vendor_id = id->local_ece.vendor_id };
	int ret;

	if (id->remote_ece.vendor_id) {
		if (id->remote_ece.vendor_id != id->local_ece.vendor_id) {
			cmx_qp_error(id);
			return cmx_err(EINVAL);
		}
		ece.options = id->remote_ece.options;
	}
	ret = ibv_set_ece(id->id.qp, &ece);
	if (ret && ret != EOPNOTSUPP)
		return cmx_err(ret);
	if (cmx_conn_respond(id))
		return -1;

	ret = ibv_query_ece(id->id.qp, &ece);
	if (ret && ret != EOPNOTSUPP) {
		cmx_qp_error(id);
		return cmx_err(ret);
	}
	id->local_ece.options = ret ? 0 : ece.options;
	return 0;
}

CMX_EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	CMX_ID_OR_STOCK(id, rdma_establish, id);
	if (id->qp)
		return cmx_err(EINVAL);
	return cmx_conn_respond(cmx_id(id));
}
