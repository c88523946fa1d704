/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that connect.c and listen.c share: one end, see end.c */
#ifndef CMX_CONSUMER_END_H
#define CMX_CONSUMER_END_H

#include <linux/completion.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define END_BYTES	64

struct consumer_end {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	u8 *buffer;		/* received data, and behind it sent data */
	u64 dma;
	bool mapped;
	bool server;
	bool good;
	struct ib_cqe received;
	struct ib_cqe sent;
	struct completion done;
};

struct consumer_end *consumer_end_make(struct rdma_cm_id *id, bool server);
void consumer_end_free(struct consumer_end *end);
int consumer_end_echo(struct consumer_end *end);
const u8 *consumer_pattern(void);

#endif /* CMX_CONSUMER_END_H */
