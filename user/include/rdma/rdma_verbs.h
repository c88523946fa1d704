/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Wrappers of common verbs for an id with a QP: register memory, post work
 * requests, wait for a completion. Source compatible with rdma-core's
 * <rdma/rdma_verbs.h>. Each returns 0, or -1 with errno set, or as stated. The
 * manual page of a function (man 3cmx NAME) describes its arguments and errnos.
 */
#ifndef RDMA_VERBS_H
#define RDMA_VERBS_H

#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Converts the errno value of a verb to -1 with errno set. */
static inline int rdma_seterrno(int ret)
{
	if (!ret)
		return 0;
	errno = ret;
	return -1;
}

/* Shared receive queue of the id. @pd NULL: the device's default one. */
int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
		    struct ibv_srq_init_attr *attr);
int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr);
void rdma_destroy_srq(struct rdma_cm_id *id);

/* Memory for messages, for reads by the peer, for writes by the peer */
static inline struct ibv_mr *rdma_reg_msgs(struct rdma_cm_id *id, void *addr,
					   size_t length)
{
	return ibv_reg_mr(id->pd, addr, length, IBV_ACCESS_LOCAL_WRITE);
}

static inline struct ibv_mr *rdma_reg_read(struct rdma_cm_id *id, void *addr,
					   size_t length)
{
	return ibv_reg_mr(id->pd, addr, length,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}

static inline struct ibv_mr *rdma_reg_write(struct rdma_cm_id *id, void *addr,
					    size_t length)
{
	return ibv_reg_mr(id->pd, addr, length,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static inline int rdma_dereg_mr(struct ibv_mr *mr)
{
	return rdma_seterrno(ibv_dereg_mr(mr));
}

/* Work requests with a list of buffers */
static inline int rdma_post_recvv(struct rdma_cm_id *id, void *context,
				  struct ibv_sge *sgl, int nsge)
{
	struct ibv_recv_wr *bad, wr;

	wr.next = NULL;
	wr.wr_id = (uintptr_t)context;
	wr.num_sge = nsge;
	wr.sg_list = sgl;
	if (id->srq)
		return rdma_seterrno(ibv_post_srq_recv(id->srq, &wr, &bad));
	return rdma_seterrno(ibv_post_recv(id->qp, &wr, &bad));
}

static inline int rdma_post_sendv(struct rdma_cm_id *id, void *context,
				  struct ibv_sge *sgl, int nsge, int flags)
{
	struct ibv_send_wr *bad, wr;

	wr.next = NULL;
	wr.wr_id = (uintptr_t)context;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = flags;
	wr.num_sge = nsge;
	wr.sg_list = sgl;
	return rdma_seterrno(ibv_post_send(id->qp, &wr, &bad));
}

static inline int rdma_post_readv(struct rdma_cm_id *id, void *context,
				  struct ibv_sge *sgl, int nsge, int flags,
				  uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr;

	wr.next = NULL;
	wr.wr_id = (uintptr_t)context;
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = flags;
	wr.num_sge = nsge;
	wr.sg_list = sgl;
	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = remote_addr;
	return rdma_seterrno(ibv_post_send(id->qp, &wr, &bad));
}

static inline int rdma_post_writev(struct rdma_cm_id *id, void *context,
				   struct ibv_sge *sgl, int nsge, int flags,
				   uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr;

	wr.next = NULL;
	wr.wr_id = (uintptr_t)context;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = flags;
	wr.num_sge = nsge;
	wr.sg_list = sgl;
	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = remote_addr;
	return rdma_seterrno(ibv_post_send(id->qp, &wr, &bad));
}

/* Work requests with one buffer. @mr may be NULL for inline data. */
static inline int rdma_post_recv(struct rdma_cm_id *id, void *context,
				 void *addr, size_t length, struct ibv_mr *mr)
{
	struct ibv_sge sge;

	assert((uint8_t *)addr >= (uint8_t *)mr->addr &&
	       (uint8_t *)addr + length <= (uint8_t *)mr->addr + mr->length);
	sge.lkey = mr->lkey;
	sge.length = (uint32_t)length;
	sge.addr = (uintptr_t)addr;
	return rdma_post_recvv(id, context, &sge, 1);
}

static inline int rdma_post_send(struct rdma_cm_id *id, void *context,
				 void *addr, size_t length, struct ibv_mr *mr,
				 int flags)
{
	struct ibv_sge sge;

	sge.lkey = mr ? mr->lkey : 0;
	sge.length = (uint32_t)length;
	sge.addr = (uintptr_t)addr;
	return rdma_post_sendv(id, context, &sge, 1, flags);
}

static inline int rdma_post_read(struct rdma_cm_id *id, void *context,
				 void *addr, size_t length, struct ibv_mr *mr,
				 int flags, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_sge sge;

	sge.lkey = mr->lkey;
	sge.length = (uint32_t)length;
	sge.addr = (uintptr_t)addr;
	return rdma_post_readv(id, context, &sge, 1, flags, remote_addr, rkey);
}

static inline int rdma_post_write(struct rdma_cm_id *id, void *context,
				  void *addr, size_t length, struct ibv_mr *mr,
				  int flags, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_sge sge;

	sge.lkey = mr ? mr->lkey : 0;
	sge.length = (uint32_t)length;
	sge.addr = (uintptr_t)addr;
	return rdma_post_writev(id, context, &sge, 1, flags, remote_addr, rkey);
}

static inline int rdma_post_ud_send(struct rdma_cm_id *id, void *context,
				    void *addr, size_t length,
				    struct ibv_mr *mr, int flags,
				    struct ibv_ah *ah, uint32_t remote_qpn)
{
	struct ibv_send_wr *bad, wr;
	struct ibv_sge sge;

	sge.lkey = mr ? mr->lkey : 0;
	sge.length = (uint32_t)length;
	sge.addr = (uintptr_t)addr;
	wr.next = NULL;
	wr.wr_id = (uintptr_t)context;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = flags;
	wr.num_sge = 1;
	wr.sg_list = &sge;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = remote_qpn;
	wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
	return rdma_seterrno(ibv_post_send(id->qp, &wr, &bad));
}

/*
 * Waits on a completion queue of the id. It arms the queue and polls it once
 * more, so that it does not miss a completion in between. Returns the number of
 * completions (1), or -1.
 */
static inline int rdmacmx_wait_comp(struct ibv_comp_channel *channel,
				    struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct ibv_cq *from;
	void *context;
	int armed, ret;

	for (armed = 0;; armed = !armed) {
		ret = ibv_poll_cq(cq, 1, wc);
		if (ret)
			return ret < 0 ? rdma_seterrno(-ret) : ret;
		if (!armed) {
			ret = ibv_req_notify_cq(cq, 0);
			if (ret)
				return rdma_seterrno(ret);
			continue;
		}
		if (ibv_get_cq_event(channel, &from, &context))
			return -1;
		ibv_ack_cq_events(from, 1);
	}
}

static inline int rdma_get_send_comp(struct rdma_cm_id *id, struct ibv_wc *wc)
{
	return rdmacmx_wait_comp(id->send_cq_channel, id->send_cq, wc);
}

static inline int rdma_get_recv_comp(struct rdma_cm_id *id, struct ibv_wc *wc)
{
	return rdmacmx_wait_comp(id->recv_cq_channel, id->recv_cq, wc);
}

#ifdef __cplusplus
}
#endif

#endif /* RDMA_VERBS_H */
