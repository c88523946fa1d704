/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the storage target and initiator share: the protocol, and
 * one end of a connection: a queue pair and its memory.
 *
 * The initiator's request has the numbers of its blocks, the target's reply
 * their address. The initiator writes and reads them by RDMA, without the
 * target.
 */
#ifndef CMX_STORAGE_LINK_H
#define CMX_STORAGE_LINK_H

#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define STORAGE_BLOCK	4096
#define STORAGE_BLOCKS	16
#define STORAGE_BYTES	(STORAGE_BLOCKS * STORAGE_BLOCK)
#define STORAGE_MAGIC	0x434d5853

/*
 * Private data of the initiator's request: @count blocks from @first on.
 * rdma_cm looks for its header in each request. It reads data that begins with
 * zero, and no IP version behind it, as that of an id of AF_IB, which has no
 * header.
 */
struct storage_hello {
	__be32 zero;
	__be32 magic;
	__be32 first;
	__be32 count;
};

/* Private data of the target's reply: the address of the first block */
struct storage_welcome {
	__be32 magic;
	__be32 rkey;
	__be64 addr;
};

/**
 * struct storage_link - one end of a connection
 * @id: its id, which has the queue pair
 * @pd: its protection domain
 * @cq: completion queue of the queue pair
 * @dma: address of the memory for the device
 * @bytes: size of the memory, 0: not mapped
 */
struct storage_link {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	u64 dma;
	size_t bytes;
};

/*
 * The caller destroys the id and frees @link. No work request is outstanding
 * afterwards. It waits for completions, so it must not run in an event handler.
 */
static inline void storage_link_close(struct storage_link *link)
{
	if (link->id->qp) {
		ib_drain_qp(link->id->qp);
		rdma_destroy_qp(link->id);
	}
	if (!IS_ERR_OR_NULL(link->cq))
		ib_free_cq(link->cq);
	if (link->bytes)
		ib_dma_unmap_single(link->pd->device, link->dma, link->bytes,
				    DMA_BIDIRECTIONAL);
	if (!IS_ERR_OR_NULL(link->pd))
		ib_dealloc_pd(link->pd);
}

static inline int storage_link_qp(struct storage_link *link)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.qp_context = link,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.send_cq = link->cq,
		.recv_cq = link->cq,
		/* Draining requires one more of each. */
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 2,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	return rdma_create_qp(link->id, link->pd, &attr);
}

/*
 * For an id with a device; @flags are of the protection domain. After an error
 * nothing has to be closed.
 */
static inline int storage_link_open(struct storage_link *link,
				    struct rdma_cm_id *id, void *memory,
				    size_t bytes, unsigned int flags)
{
	int ret = -EIO;

	link->id = id;
	link->pd = ib_alloc_pd(id->device, flags);
	if (IS_ERR(link->pd))
		return PTR_ERR(link->pd);
	link->dma = ib_dma_map_single(id->device, memory, bytes,
				      DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(id->device, link->dma))
		goto close;
	link->bytes = bytes;
	link->cq = ib_alloc_cq(id->device, link, 8, 0, IB_POLL_WORKQUEUE);
	ret = PTR_ERR_OR_ZERO(link->cq);
	if (!ret)
		ret = storage_link_qp(link);
	if (!ret)
		return 0;
close:
	storage_link_close(link);
	return ret;
}

#endif /* CMX_STORAGE_LINK_H */
