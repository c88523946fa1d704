/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two ends of a connection without a CM, on the first two InfiniBand devices of
 * this namespace, for tests of the simulated HCA.
 */
#ifndef FABRIC_PAIR_H
#define FABRIC_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define END_BYTES	(4 << 20)
#define END_CQES	512
#define END_WRS		64

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *send_channel, *recv_channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;		/* END_BYTES */
	uint16_t lid;
};

/* Attributes of a QP; fields that are 0 are not used. */
struct end_attr {
	enum ibv_qp_type type;
	unsigned int access;
	unsigned int timeout;
	unsigned int retry_cnt;
	unsigned int rnr_retry;
	unsigned int rnr_timer;
	unsigned int pkey_index;
	uint32_t dest_qpn;	/* 0: the other end's */
	uint32_t sq_psn, rq_psn;
};

extern const struct end_attr rc_attr, uc_attr;

/* False, with a message on stdout: there are no two active InfiniBand ports. */
bool end_open(struct end *end, int nth);
/* False: a step failed; the end of the process frees the rest. */
bool end_close(struct end *end);
bool end_srq(struct end *end);
bool end_qp(struct end *end, enum ibv_qp_type type);
/* Each 0 or an errno */
int end_init(struct end *end, const struct end_attr *attr);
int end_rtr(struct end *end, const struct end *to, const struct end_attr *attr);
int end_rts(struct end *end, const struct end_attr *attr);
int end_state(struct end *end, enum ibv_qp_state state);
enum ibv_qp_state end_state_get(struct end *end);
/* All steps for both ends */
bool pair_up(struct end *a, struct end *b, const struct end_attr *attr);

/* With the buffer at @offset; 0 or an errno */
int end_recv(struct end *end, uint64_t id, size_t offset, uint32_t length);
int end_send(struct end *end, uint64_t id, enum ibv_wr_opcode opcode,
	     size_t offset, uint32_t length);
int end_rdma(struct end *end, uint64_t id, enum ibv_wr_opcode opcode,
	     size_t offset, uint32_t length, const struct end *to,
	     size_t remote_offset);
int end_post(struct end *end, struct ibv_send_wr *wr);

/* The next completion; -ETIME after 60 s */
int end_sent(struct end *end, struct ibv_wc *wc);
int end_received(struct end *end, struct ibv_wc *wc);
/* No completion up to now */
bool end_idle(struct end *end);
/* The next asynchronous event of any type; negative after 60 s */
int end_event(struct end *end);

#endif
