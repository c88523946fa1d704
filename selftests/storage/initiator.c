// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx_initiator: a storage initiator by the in-kernel API. It finds its target
 * by name, connects, and writes and reads blocks until it is unloaded. When the
 * connection is lost it resolves the name again, so it follows a target that
 * moves. Documentation/kernel-api.rst explains it.
 *
 * One work item does all of it. It is queued by itself, or by the callback of
 * the connect that it has started, never by both. initiator.lock guards what the
 * parameter "status" shows.
 */
#include <linux/completion.h>
#include <linux/crc32.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cmx_connect.h>

#include "link.h"

#define INITIATOR_PAUSE_MS	10
#define INITIATOR_RETRY_MS	500
#define INITIATOR_IO_MS		20000

static char *node;
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "Host name, address, or name of an SRV record");

static ushort port;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "Port, 0: that of the SRV record");

static char *service;
module_param(service, charp, 0444);
MODULE_PARM_DESC(service, "Name of a service at the SA, instead of a node");

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "The only device to connect from");

static struct {
	struct delayed_work work;
	bool stopping;
	struct rdma_cmx_connector *connector;
	struct storage_link *link;	/* NULL: not connected */
	bool lost;			/* the link has ended */
	u64 addr;			/* of the target's blocks */
	u32 rkey;
	u8 *buffer;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status wc_status;
	struct mutex lock;		/* see above */
	unsigned int connects;
	unsigned int blocks;
	unsigned int wrong;
	int error;
	union rdma_cmx_sockaddr dst;
} initiator = {
	.lock = __MUTEX_INITIALIZER(initiator.lock),
};

static int initiator_status(char *text, const struct kernel_param *kp)
{
	int len;

	mutex_lock(&initiator.lock);
	len = sysfs_emit(text, "connects=%u blocks=%u wrong=%u error=%d dst=",
			 initiator.connects, initiator.blocks, initiator.wrong,
			 initiator.error);
	if (initiator.dst.sa.sa_family == AF_IB)
		len += sysfs_emit_at(text, len, "%pI6c\n",
				     &initiator.dst.ib.sib_addr);
	else
		len += sysfs_emit_at(text, len, "%pISpc\n", &initiator.dst);
	mutex_unlock(&initiator.lock);
	return len;
}

static const struct kernel_param_ops initiator_status_ops = {
	.get = initiator_status,
};
module_param_cb(status, &initiator_status_ops, NULL, 0444);

static void initiator_queue(unsigned int ms)
{
	queue_delayed_work(system_long_wq, &initiator.work,
			   msecs_to_jiffies(ms));
}

/* All blocks; it stays as long as the module. */
static const struct storage_hello initiator_hello = {
	.magic = cpu_to_be32(STORAGE_MAGIC),
	.count = cpu_to_be32(STORAGE_BLOCKS),
};

static int initiator_setup(struct rdma_cm_id *id,
			   const struct rdma_cmx_entry *entry,
			   struct rdma_conn_param *param, void *context)
{
	struct storage_link *link;
	int ret;

	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	/* Only the winner writes to the buffer. */
	ret = storage_link_open(link, id, initiator.buffer, STORAGE_BLOCK, 0);
	if (ret)
		kfree(link);
	param->private_data = &initiator_hello;
	param->private_data_len = sizeof(initiator_hello);
	param->initiator_depth = 1;
	return ret;
}

static void initiator_teardown(struct rdma_cm_id *id, void *context)
{
	struct storage_link *link = id->qp ? id->qp->qp_context : NULL;

	if (!link)
		return;
	storage_link_close(link);
	kfree(link);
}

/* Of the id that was handed over, from then on */
static int initiator_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
	    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		WRITE_ONCE(initiator.lost, true);
	return 0;	/* The work item destroys the id. */
}

static bool initiator_welcome(const struct rdma_cmx_candidate *target)
{
	const struct storage_welcome *welcome = (const void *)target->data;

	if (target->data_len < sizeof(*welcome) ||
	    welcome->magic != cpu_to_be32(STORAGE_MAGIC))
		return false;
	initiator.rkey = be32_to_cpu(welcome->rkey);
	initiator.addr = be64_to_cpu(welcome->addr);
	return true;
}

static void initiator_connected(struct rdma_cmx_connector *connector,
				struct rdma_cm_id *id,
				struct rdma_cmx_connect_report *report,
				void *context)
{
	mutex_lock(&initiator.lock);
	initiator.error = PTR_ERR_OR_ZERO(id);
	if (!IS_ERR(id)) {
		initiator.link = id->qp->qp_context;
		initiator.connects++;
		initiator.dst = report->candidates[report->winner].dst;
		if (!initiator_welcome(&report->candidates[report->winner])) {
			initiator.error = -EPROTO;
			WRITE_ONCE(initiator.lost, true);
		}
	}
	mutex_unlock(&initiator.lock);
	rdma_cmx_connect_report_put(report);
	initiator_queue(initiator.error ? INITIATOR_RETRY_MS : 0);
}

static void initiator_connect(void)
{
	struct rdma_cmx_connect_attr attr = {
		.query = {
			.net = &init_net,
			.node = node,
			.port = port,
			.has_port = port,
			.service = service,
			.flags = service ? RDMA_CMX_AI_SA : 0,
			.dev = dev,
		},
		.handler = initiator_event,
		.timeout_ms = 15000,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.setup = initiator_setup,
		.teardown = initiator_teardown,
	};
	int ret;

	ret = rdma_cmx_connect_start(&attr, initiator_connected, NULL,
				     &initiator.connector);
	if (!ret)
		return;
	mutex_lock(&initiator.lock);
	initiator.error = ret;
	mutex_unlock(&initiator.lock);
	initiator_queue(INITIATOR_RETRY_MS);
}

static void initiator_disconnect(void)
{
	struct storage_link *link = initiator.link;
	struct rdma_cm_id *id = link->id;

	initiator.link = NULL;
	rdma_disconnect(id);
	storage_link_close(link);
	rdma_destroy_id(id);
	kfree(link);
	/* There was no other id that had an event. */
	WRITE_ONCE(initiator.lost, false);
}

static void initiator_io_done(struct ib_cq *cq, struct ib_wc *wc)
{
	initiator.wc_status = wc->status;
	complete(&initiator.done);
}

/* Between the buffer and a block of the target */
static int initiator_io(enum ib_wr_opcode opcode, unsigned int block)
{
	struct storage_link *link = initiator.link;
	struct ib_device *ibdev = link->pd->device;
	struct ib_sge sge = {
		.addr = link->dma,
		.length = STORAGE_BLOCK,
		.lkey = link->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &initiator.cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = initiator.addr + block * STORAGE_BLOCK,
		.rkey = initiator.rkey,
	};
	int ret;

	reinit_completion(&initiator.done);
	ib_dma_sync_single_for_device(ibdev, link->dma, STORAGE_BLOCK,
				      DMA_BIDIRECTIONAL);
	ret = ib_post_send(link->id->qp, &wr.wr, NULL);
	if (ret)
		return ret;
	/* After this time the link is closed, which waits for the completion. */
	if (!wait_for_completion_timeout(&initiator.done,
					 msecs_to_jiffies(INITIATOR_IO_MS)))
		return -ETIMEDOUT;
	ib_dma_sync_single_for_cpu(ibdev, link->dma, STORAGE_BLOCK,
				   DMA_BIDIRECTIONAL);
	return initiator.wc_status == IB_WC_SUCCESS ? 0 : -EIO;
}

/* Written and read by one connection: another one may have another target. */
static int initiator_block(unsigned int block)
{
	u32 sum;
	int ret;

	get_random_bytes(initiator.buffer, STORAGE_BLOCK);
	sum = crc32(0, initiator.buffer, STORAGE_BLOCK);
	ret = initiator_io(IB_WR_RDMA_WRITE, block);
	if (ret)
		return ret;
	memset(initiator.buffer, 0, STORAGE_BLOCK);
	ret = initiator_io(IB_WR_RDMA_READ, block);
	if (ret)
		return ret;
	mutex_lock(&initiator.lock);
	initiator.blocks++;
	initiator.wrong += crc32(0, initiator.buffer, STORAGE_BLOCK) != sum;
	mutex_unlock(&initiator.lock);
	return 0;
}

static void initiator_work(struct work_struct *work)
{
	if (READ_ONCE(initiator.stopping))
		return;
	/* The connect has ended. */
	rdma_cmx_connect_put(initiator.connector);
	initiator.connector = NULL;
	if (initiator.link && READ_ONCE(initiator.lost))
		initiator_disconnect();
	if (!initiator.link) {
		initiator_connect();
		return;
	}
	if (initiator_block(initiator.blocks % STORAGE_BLOCKS))
		WRITE_ONCE(initiator.lost, true);
	initiator_queue(INITIATOR_PAUSE_MS);
}

static int __init initiator_init(void)
{
	if (!node == !service)
		return -EINVAL;
	initiator.buffer = kzalloc(STORAGE_BLOCK, GFP_KERNEL);
	if (!initiator.buffer)
		return -ENOMEM;
	initiator.cqe.done = initiator_io_done;
	init_completion(&initiator.done);
	INIT_DELAYED_WORK(&initiator.work, initiator_work);
	initiator_queue(0);
	return 0;
}

static void __exit initiator_exit(void)
{
	WRITE_ONCE(initiator.stopping, true);
	cancel_delayed_work_sync(&initiator.work);
	if (initiator.connector) {
		rdma_cmx_connect_cancel(initiator.connector);
		rdma_cmx_connect_put(initiator.connector);
	}
	/* The callback may have queued it. */
	cancel_delayed_work_sync(&initiator.work);
	if (initiator.link)
		initiator_disconnect();
	kfree(initiator.buffer);
}

module_init(initiator_init);
module_exit(initiator_exit);
MODULE_DESCRIPTION("Storage initiator that finds its target by name");
MODULE_LICENSE("Dual BSD/GPL");
