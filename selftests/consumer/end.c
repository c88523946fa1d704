// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One end of a connection: a queue pair of an id, with a send buffer and a
 * receive buffer. A server echoes each message. Completions run in work items,
 * one after the other.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "consumer.h"
#include "end.h"

static int end_post_recv(struct consumer_end *end)
{
	struct ib_sge sge = {
		.addr = end->dma,
		.length = END_BYTES,
		.lkey = end->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &end->received, .sg_list = &sge, .num_sge = 1,
	};

	return ib_post_recv(end->id->qp, &wr, NULL);
}

static int end_post_send(struct consumer_end *end)
{
	struct ib_sge sge = {
		.addr = end->dma + END_BYTES,
		.length = END_BYTES,
		.lkey = end->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &end->sent,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(end->id->qp, &wr, NULL);
}

static void end_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct consumer_end *end = container_of(wc->wr_cqe, struct consumer_end,
						received);

	if (wc->status)
		return;
	if (end->server) {
		memcpy(end->buffer + END_BYTES, end->buffer, END_BYTES);
		end_post_send(end);
		return;
	}
	end->good = wc->byte_len == END_BYTES &&
		    !memcmp(end->buffer, end->buffer + END_BYTES, END_BYTES);
	complete(&end->done);
}

static void end_sent(struct ib_cq *cq, struct ib_wc *wc)
{
}

void consumer_end_free(struct consumer_end *end)
{
	/*
	 * A late completion must not use a freed queue: rxe does not wait for
	 * it.
	 */
	if (end->id->qp) {
		ib_drain_qp(end->id->qp);
		rdma_destroy_qp(end->id);
	}
	if (end->cq)
		ib_free_cq(end->cq);
	if (end->mapped)
		ib_dma_unmap_single(end->id->device, end->dma, 2 * END_BYTES,
				    DMA_BIDIRECTIONAL);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	kfree(end->buffer);
	kfree(end);
}

static int end_make(struct consumer_end *end)
{
	struct ib_device *dev = end->id->device;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_context = end,
		.cap = {
			.max_send_wr = 2,
			.max_recv_wr = 2,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	int ret;

	end->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(end->pd)) {
		ret = PTR_ERR(end->pd);
		end->pd = NULL;
		return ret;
	}
	end->cq = ib_alloc_cq(dev, end, 8, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(end->cq)) {
		ret = PTR_ERR(end->cq);
		end->cq = NULL;
		return ret;
	}
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	end->buffer = kzalloc(2 * END_BYTES, GFP_KERNEL);
	if (!end->buffer)
		return -ENOMEM;
	end->dma = ib_dma_map_single(dev, end->buffer, 2 * END_BYTES,
				     DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(dev, end->dma))
		return -EIO;
	end->mapped = true;
	ret = rdma_create_qp(end->id, end->pd, &attr);
	return ret ?: end_post_recv(end);
}

/*
 * Faults are not those of the driver, which complains to the log. Returns the
 * fault that was to come.
 */
static unsigned int end_faults(unsigned int nth)
{
#ifdef CONFIG_FAULT_INJECTION
	swap(nth, current->fail_nth);
#endif
	return nth;
}

/* For an id with a route, or of a connection request */
struct consumer_end *consumer_end_make(struct rdma_cm_id *id, bool server)
{
	struct consumer_end *end;
	unsigned int nth;
	int ret;

	end = kzalloc(sizeof(*end), GFP_KERNEL);
	if (!end)
		return ERR_PTR(-ENOMEM);
	end->id = id;
	end->server = server;
	end->received.done = end_received;
	end->sent.done = end_sent;
	init_completion(&end->done);
	nth = end_faults(0);
	ret = end_make(end);
	end_faults(nth);
	if (!ret)
		return end;
	consumer_end_free(end);
	return ERR_PTR(ret);
}

/* Sends a message. Returns 0 if its echo matches. */
int consumer_end_echo(struct consumer_end *end)
{
	int i, ret;

	for (i = 0; i < END_BYTES; i++)
		end->buffer[END_BYTES + i] = 3 * i + 1;
	ret = end_post_send(end);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&end->done, 30 * HZ))
		return -ETIMEDOUT;
	return end->good ? 0 : -EBADMSG;
}

/* U8_MAX bytes of private data that both sides know */
const u8 *consumer_pattern(void)
{
	static u8 bytes[U8_MAX];
	int i;

	for (i = 0; i < U8_MAX; i++)
		bytes[i] = 'a' + i % 26;
	return bytes;
}
