// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of an id and their state transitions: to INIT (datagram: to RTS)
 * when created, to RTS when connected, to ERROR at the end. Also completion
 * queues that are created with them or with an SRQ (srq.c). One thread at a
 * time creates or destroys the queues of an id. Another one may process an
 * event that uses the queue pair, see cmx_id_enter().
 */
#include <string.h>

#include "lib.h"

/*
 * Another process may have destroyed an inherited id, and its handle may be
 * another id's: only the cookie distinguishes them. A kernel that does not know
 * @cmd.uid does not compare it.
 */
static int qp_attr_query(struct cmx_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct rdma_cmx_init_qp_attr cmd;
	int ret;

	cmd.size = offsetof(struct rdma_cmx_init_qp_attr, uid);
	cmd.id = id->handle;
	cmd.qp_state = attr->qp_state;
	cmd.reserved = 0;
	/*
	 * The kernel has the cookie of a request after an ACCEPT that succeeds,
	 * and this process may be a copy of one in which another fails. Only
	 * ESTABLISHED shows that it has.
	 */
	if (cmx_id_inherited(id) && id->known && !id->request) {
		cmd.size = sizeof(cmd);
		cmd.uid = cmx_id_cookie(id);
	}
	ret = cmx_id_ioctl(id, INIT_QP_ATTR, &cmd);
	if (ret && errno == E2BIG) {
		cmd.size = offsetof(struct rdma_cmx_init_qp_attr, uid);
		ret = cmx_id_ioctl(id, INIT_QP_ATTR, &cmd);
	}
	if (ret)
		return -1;
	cmx_mem_written(&cmd.attr, sizeof(cmd.attr));
	cmx_qp_attr_from_kern(attr, &cmd.attr);
	*mask = cmd.attr.qp_attr_mask;
	return 0;
}

/*
 * The Q_Key that rdma_cm has for a queue pair of the id now, which is the present
 * one of the partition in RDMA_PS_IPOIB; 0: unknown. Keeps errno.
 */
uint32_t cmx_qp_init_qkey(struct cmx_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, err = errno;
	bool known = !qp_attr_query(id, &attr, &mask) && (mask & IBV_QP_QKEY);

	errno = err;
	return known ? attr.qkey : 0;
}

/* A verb has failed, with errno. EIO may be that of a removed device. */
int cmx_verb_failed(struct cmx_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, err = errno;

	if (err == EIO && qp_attr_query(id, &attr, &mask) && errno == ENODEV)
		err = ENODEV;
	return cmx_err(err);
}

/*
 * The kernel may now have other access flags and another P_Key index for INIT
 * than when the QP was created. InfiniBand accepts both with the transition to
 * RTR, which saves one; otherwise the QP is set to INIT again.
 */
static int qp_to_rtr(struct cmx_id *id, struct ibv_qp *qp,
		     struct ibv_qp_attr *attr,
		     const struct rdma_cmx_conn_qp_attr *cmd)
{
	int mask = cmd->rtr_mask;

	if (attr->port_num == id->id.port_num &&
	    cmd->init_mask == (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
			       IBV_QP_PKEY_INDEX | IBV_QP_PORT)) {
		mask |= IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
	} else {
		attr->qp_state = IBV_QPS_INIT;
		if (rdma_seterrno(ibv_modify_qp(qp, attr, cmd->init_mask)))
			return -1;
	}
	attr->qp_state = IBV_QPS_RTR;
	return rdma_seterrno(ibv_modify_qp(qp, attr, mask));
}

/* Read depths are the caller's; 255 selects the kernel's. */
int cmx_qp_connected(struct cmx_id *id, uint8_t responder_resources,
		     uint8_t initiator_depth)
{
	struct rdma_cmx_conn_qp_attr cmd;
	struct ibv_qp *qp = id->id.qp;
	struct ibv_qp_attr attr;

	if (!qp)
		return 0;
	memset(&cmd, 0, offsetof(struct rdma_cmx_conn_qp_attr, attr));
	cmd.size = sizeof(cmd);
	cmd.id = id->handle;
	if (cmx_id_ioctl(id, CONN_QP_ATTR, &cmd))
		return -1;
	cmx_mem_written(&cmd, sizeof(cmd));
	cmx_qp_attr_from_kern(&attr, &cmd.attr);
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	if (qp_to_rtr(id, qp, &attr, &cmd))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return rdma_seterrno(ibv_modify_qp(qp, &attr, cmd.rts_mask));
}

int cmx_qp_error(struct cmx_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!id->id.qp)
		return 0;
	return rdma_seterrno(ibv_modify_qp(id->id.qp, &attr, IBV_QP_STATE));
}

/* @qkey: that of a datagram QP then, otherwise unchanged */
static int qp_init(struct cmx_id *id, struct ibv_qp *qp, uint32_t *qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (qp_attr_query(id, &attr, &mask) ||
	    rdma_seterrno(ibv_modify_qp(qp, &attr, mask)))
		return -1;
	if (id->id.qp_type != IBV_QPT_UD)
		return 0;
	*qkey = attr.qkey;
	attr.qp_state = IBV_QPS_RTR;
	if (rdma_seterrno(ibv_modify_qp(qp, &attr, IBV_QP_STATE)))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	return rdma_seterrno(ibv_modify_qp(qp, &attr,
					   IBV_QP_STATE | IBV_QP_SQ_PSN));
}

/*
 * Sets the options that the peer offered if its device is of the same vendor;
 * otherwise the QP has none.
 */
static int qp_ece_init(struct cmx_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = {};
	int ret;

	ret = ibv_query_ece(qp, &ece);
	if (ret && ret != EOPNOTSUPP)
		return cmx_err(ret);
	id->local_ece.vendor_id = ece.vendor_id;
	id->local_ece.options = ece.options;
	if (!id->remote_ece.vendor_id)
		return 0;

	ece = (struct ibv_ece){ .vendor_id = id->local_ece.vendor_id };
	if (id->remote_ece.vendor_id == id->local_ece.vendor_id)
		ece.options = id->remote_ece.options;
	ret = ibv_set_ece(qp, &ece);
	return ret && ret != EOPNOTSUPP ? cmx_err(ret) : 0;
}

/* Gets the options in use, which are sent to the peer. */
static int qp_ece_result(struct cmx_id *id, struct ibv_qp *qp)
{
	struct ibv_ece ece = {};
	int ret;

	if (!id->remote_ece.vendor_id)
		return 0;
	ret = ibv_query_ece(qp, &ece);
	if (ret && ret != EOPNOTSUPP)
		return cmx_err(ret);
	id->local_ece.options = ece.options;
	return 0;
}

/* The close() there may end the thread, with the lock of the verbs context. */
static void comp_channel_destroy(struct ibv_comp_channel *channel)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ibv_destroy_comp_channel(channel);
	pthread_setcancelstate(cancel, NULL);
}

void cmx_cqs_destroy(struct rdma_cm_id *id)
{
	/* The SRQ owns them, and frees them. */
	if (id->qp_type == IBV_QPT_XRC_RECV && id->srq)
		return;

	if (id->send_cq && id->send_cq != id->recv_cq)
		ibv_destroy_cq(id->send_cq);
	if (id->recv_cq)
		ibv_destroy_cq(id->recv_cq);
	if (id->send_cq_channel && id->send_cq_channel != id->recv_cq_channel)
		comp_channel_destroy(id->send_cq_channel);
	if (id->recv_cq_channel)
		comp_channel_destroy(id->recv_cq_channel);
	id->send_cq = NULL;
	id->recv_cq = NULL;
	id->send_cq_channel = NULL;
	id->recv_cq_channel = NULL;
}

static int cq_create(struct rdma_cm_id *id, uint32_t size,
		     struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (!size)
		return 0;
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -1;
	*cq = ibv_create_cq(id->verbs, size, id, *channel, 0);
	return *cq ? 0 : -1;
}

static void cq_undo(uint32_t size, struct ibv_comp_channel **channel,
		    struct ibv_cq **cq)
{
	if (!size)
		return;
	if (*cq)
		ibv_destroy_cq(*cq);
	if (*channel)
		comp_channel_destroy(*channel);
	*cq = NULL;
	*channel = NULL;
}

/* CQs of size 0 existed before, and stay. */
void cmx_cqs_undo(struct rdma_cm_id *id, uint32_t send_size,
		  uint32_t recv_size)
{
	int err = errno;

	cq_undo(send_size, &id->send_cq_channel, &id->send_cq);
	cq_undo(recv_size, &id->recv_cq_channel, &id->recv_cq);
	errno = err;
}

int cmx_cqs_create(struct rdma_cm_id *id, uint32_t send_size,
		   uint32_t recv_size)
{
	if (!cq_create(id, recv_size, &id->recv_cq_channel, &id->recv_cq) &&
	    !cq_create(id, send_size, &id->send_cq_channel, &id->send_cq))
		return 0;
	cmx_cqs_undo(id, send_size, recv_size);
	return -1;
}

int cmx_xrcd_default(struct cmx_id *id, struct ibv_xrcd **xrcd)
{
	*xrcd = cmx_device_xrcd(id->dev);
	return *xrcd ? 0 : -1;
}

CMX_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id,
				 struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	CMX_ID_OR_STOCK(id, rdma_init_qp_attr, id, qp_attr, qp_attr_mask);
	if (!qp_attr || !qp_attr_mask)
		return cmx_err(EINVAL);
	return qp_attr_query(cmx_id(id), qp_attr, qp_attr_mask);
}

static void qp_destroy_keep_errno(struct ibv_qp *qp)
{
	int err = errno;

	ibv_destroy_qp(qp);
	errno = err;
}

/*
 * libibverbs passes a queue by its number. On another device, or in another
 * context of the device, that is another queue. XRC types ignore some pointers.
 */
static bool queues_foreign(const struct ibv_context *verbs,
			   const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return false;
	if (attr->send_cq && attr->send_cq->context != verbs)
		return true;
	if (attr->qp_type == IBV_QPT_XRC_SEND)
		return false;
	return (attr->recv_cq && attr->recv_cq->context != verbs) ||
	       (attr->srq && attr->srq->context != verbs);
}

/* A failure may leave defaults in @attr. */
static int qp_try(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr,
		  bool reset)
{
	struct cmx_id *cid = cmx_id(id);
	struct ibv_cq *send_cq, *recv_cq;
	bool datagram = id->qp_type == IBV_QPT_UD && !reset;
	uint32_t send_size, recv_size, qkey = 0, before;
	struct ibv_qp *qp;
	int err;

	if (id->qp || !id->verbs || queues_foreign(id->verbs, attr))
		return cmx_err(EINVAL);
	send_cq = attr->send_cq;
	recv_cq = attr->recv_cq;
	if ((id->send_cq && send_cq && id->send_cq != send_cq) ||
	    (id->recv_cq && recv_cq && id->recv_cq != recv_cq))
		return cmx_err(EINVAL);

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->pd;
	} else if (attr->pd->context != id->verbs) {
		return cmx_err(EINVAL);
	}
	if (id->qp_type == IBV_QPT_XRC_RECV &&
	    (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)) {
		if (cmx_xrcd_default(cid, &attr->xrcd))
			return -1;
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	send_size = send_cq || id->send_cq ? 0 : attr->cap.max_send_wr;
	recv_size = recv_cq || id->recv_cq ? 0 : attr->cap.max_recv_wr;
	if (cmx_cqs_create(id, send_size, recv_size))
		return -1;
	if (!send_cq)
		attr->send_cq = id->send_cq;
	if (!recv_cq)
		attr->recv_cq = id->recv_cq;
	if (id->srq && !attr->srq)
		attr->srq = id->srq;

	qp = ibv_create_qp_ex(id->verbs, attr);
	if (!qp)
		goto err_cqs;
	cmx_id_lock(cid);
	before = cid->default_qkey;
	pthread_mutex_unlock(&cid->lock);
	if (qp_ece_init(cid, qp) || (!reset && qp_init(cid, qp, &qkey)) ||
	    qp_ece_result(cid, qp))
		goto err_qp;
	/* As in cmx_qp_take() */
	cmx_id_lock(cid);
	err = datagram ? cmx_mc_qkey_init(cid, qp, qkey, before) : 0;
	if (!err)
		id->qp = qp;
	pthread_mutex_unlock(&cid->lock);
	if (rdma_seterrno(err))
		goto err_qp;
	id->pd = qp->pd;
	return 0;

err_qp:
	qp_destroy_keep_errno(qp);
err_cqs:
	cmx_cqs_undo(id, send_size, recv_size);
	return -1;
}

/*
 * Creates a queue pair, which stays in RESET if @reset, else enters INIT. The
 * caller may retry with the same attributes, so a failure changes none: a
 * default, as the id's SRQ, may be destroyed before. An old caller's struct ends
 * behind what is saved.
 */
static int qp_create(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr,
		     bool reset)
{
	const size_t len = offsetof(struct ibv_qp_init_attr_ex, create_flags);
	struct ibv_qp_init_attr_ex saved;

	if (!attr)
		return cmx_err(EINVAL);
	memcpy(&saved, attr, len);
	if (!qp_try(id, attr, reset))
		return 0;
	memcpy(attr, &saved, len);
	return -1;
}

CMX_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id,
				 struct ibv_qp_init_attr_ex *attr)
{
	CMX_ID_OR_STOCK(id, rdma_create_qp_ex, id, attr);
	return qp_create(id, attr, false) ? cmx_verb_failed(cmx_id(id)) : 0;
}

/* The shorter struct is a prefix of the longer one. */
static void attr_extend(struct ibv_qp_init_attr_ex *ex,
			const struct ibv_qp_init_attr *attr, struct ibv_pd *pd)
{
	memset(ex, 0, sizeof(*ex));
	memcpy(ex, attr, sizeof(*attr));
	ex->comp_mask = IBV_QP_INIT_ATTR_PD;
	ex->pd = pd;
}

CMX_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;
	int ret;

	CMX_ID_OR_STOCK(id, rdma_create_qp, id, pd, attr);
	if (!attr)
		return cmx_err(EINVAL);
	attr_extend(&ex, attr, pd ? pd : id->pd);
	ret = rdma_create_qp_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

/* For an id that the kernel does not know: it has only a device. */
int cmx_qp_make(struct cmx_id *id, struct ibv_pd *pd,
		const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex;

	attr_extend(&ex, init, pd ? pd : id->id.pd);
	ex.qp_type = id->id.qp_type;
	return qp_create(&id->id, &ex, true);
}

/*
 * Moves the queue pair of @from, in RESET, and the objects created with it, to
 * @to, which is bound to a device. After an error they stay with @from.
 */
int cmx_qp_move(struct cmx_id *to, struct cmx_id *from)
{
	uint32_t none;	/* It is no datagram QP. */

	if (qp_init(to, from->id.qp, &none))
		return -1;
	to->id.qp = from->id.qp;
	to->id.pd = from->id.pd;
	to->id.send_cq = from->id.send_cq;
	to->id.recv_cq = from->id.recv_cq;
	to->id.send_cq_channel = from->id.send_cq_channel;
	to->id.recv_cq_channel = from->id.recv_cq_channel;
	to->local_ece = from->local_ece;
	if (to->id.send_cq)
		to->id.send_cq->cq_context = &to->id;
	if (to->id.recv_cq)
		to->id.recv_cq->cq_context = &to->id;
	from->id.qp = NULL;
	from->id.send_cq = NULL;
	from->id.recv_cq = NULL;
	from->id.send_cq_channel = NULL;
	from->id.recv_cq_channel = NULL;
	return 0;
}

/* Takes the queue pair from the id: no other thread uses it then. */
struct ibv_qp *cmx_qp_take(struct cmx_id *id)
{
	struct ibv_qp *qp;

	/* A membership that joins again attaches the queue pair that it finds. */
	cmx_id_lock(id);
	qp = id->id.qp;
	/* An attached QP cannot be destroyed. */
	if (qp)
		cmx_mc_detach_all(id);
	id->id.qp = NULL;
	id->qkey = 0;
	pthread_mutex_unlock(&id->lock);
	return qp;
}

/*
 * May wait for acks of events. The completion queues stay with the id until
 * they are destroyed: a program acks events by the id's pointers.
 */
void cmx_qp_free(struct cmx_id *id, struct ibv_qp *qp)
{
	ibv_destroy_qp(qp);
	cmx_cqs_destroy(&id->id);
}

void cmx_qp_destroy(struct cmx_id *id)
{
	struct ibv_qp *qp = cmx_qp_take(id);

	if (qp)
		cmx_qp_free(id, qp);
}

CMX_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	struct cmx_id *cid = cmx_id(id);
	struct ibv_qp *qp = NULL;

	if (unlikely(!cmx_id_ours(id))) {
		if (cmx_stocks(id))
			CMX_STOCK_VOID(rdma_destroy_qp, id);
		return;
	}
	/* Another thread may process an event that uses it. */
	cmx_id_enter(cid);
	if (!cmx_named_qp(cid))
		qp = cmx_qp_take(cid);
	cmx_id_leave(cid);
	if (qp)
		cmx_qp_free(cid, qp);
}
