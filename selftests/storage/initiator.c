// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx_initiator: a storage initiator by the in-kernel API. It finds its target
 * by name, connects, and writes and reads blocks until it is unloaded. When the
 * connection is lost it resolves the name again, so it follows a target that
 * moves. Documentation/kernel-sample.rst explains it.
 *
 * One work item does all of it. It is queued by itself, or by the callback of
 * the connect that it has started, never by both. Its waits end by
 * initiator.wait, also when the connection is lost or the module is unloaded.
 * initiator.lock guards what the parameter "status" shows.
 *
 * A block that has begun stays until it is written, read back and compared: its
 * contents are apart from the memory that a device writes to, which belongs to
 * one link and is not touched while a request is outstanding there.
 */
#include <linux/crc32.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/wait.h>
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

/**
 * struct initiator_link - a connection, or a candidate for one
 * @link: its queue pair
 * @memory: what is written to the target, and behind it what is read
 * @cqe: of the request
 * @done: the request is complete, and @status is its status
 * @status: see there
 */
struct initiator_link {
	struct storage_link link;
	u8 *memory;
	struct ib_cqe cqe;
	bool done;
	enum ib_wc_status status;
};

static struct {
	struct delayed_work work;
	bool stopping;
	struct rdma_cmx_connector *connector;
	struct initiator_link *link;	/* NULL: not connected */
	bool lost;			/* the link has ended */
	wait_queue_head_t wait;		/* for a request, lost or stopping */
	u64 addr;			/* of the target's blocks */
	u32 rkey;
	u8 *data;			/* of the block */
	bool begun;			/* there is a block */
	ktime_t since;			/* when it has begun */
	struct mutex lock;		/* see above */
	unsigned int attempts;		/* to connect */
	unsigned int connects;
	unsigned int blocks;
	unsigned int retried;
	unsigned int longest_ms;	/* from begin to end of a block */
	unsigned int wrong;
	int error;
	union rdma_cmx_sockaddr dst;
} initiator = {
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(initiator.wait),
	.lock = __MUTEX_INITIALIZER(initiator.lock),
};

static int initiator_status(char *text, const struct kernel_param *kp)
{
	int len;

	mutex_lock(&initiator.lock);
	len = sysfs_emit(text, "attempts=%u connects=%u blocks=%u retried=%u ",
			 initiator.attempts, initiator.connects,
			 initiator.blocks, initiator.retried);
	if (initiator.dst.sa.sa_family == AF_IB)
		len += sysfs_emit_at(text, len, "pkey=%#x ",
				     ntohs(initiator.dst.ib.sib_pkey));
	len += sysfs_emit_at(text, len, "longest_ms=%u wrong=%u error=%d dst=",
			     initiator.longest_ms, initiator.wrong,
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

static void initiator_io_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct initiator_link *link = container_of(wc->wr_cqe,
						   struct initiator_link, cqe);

	link->status = wc->status;
	/*
	 * The work item that reads it sees the status and the memory of the
	 * device.
	 */
	smp_store_release(&link->done, true);
	wake_up(&initiator.wait);
}

static void initiator_link_free(struct initiator_link *link)
{
	kfree(link->memory);
	kfree(link);
}

static int initiator_setup(struct rdma_cm_id *id,
			   const struct rdma_cmx_entry *entry,
			   struct rdma_conn_param *param, void *context)
{
	struct initiator_link *link;
	int ret;

	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	link->cqe.done = initiator_io_done;
	link->memory = kzalloc(2 * STORAGE_BLOCK, GFP_KERNEL);
	ret = link->memory ? storage_link_open(&link->link, id, link->memory,
					       2 * STORAGE_BLOCK, 0) : -ENOMEM;
	if (ret)
		initiator_link_free(link);
	param->private_data = &initiator_hello;
	param->private_data_len = sizeof(initiator_hello);
	param->initiator_depth = 1;
	return ret;
}

static struct initiator_link *initiator_link_of(struct rdma_cm_id *id)
{
	return container_of((struct storage_link *)id->qp->qp_context,
			    struct initiator_link, link);
}

static void initiator_teardown(struct rdma_cm_id *id, void *context)
{
	struct initiator_link *link;

	if (!id->qp)
		return;
	link = initiator_link_of(id);
	storage_link_close(&link->link);
	initiator_link_free(link);
}

/* Handler of the id from the handover on */
static int initiator_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
	    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		WRITE_ONCE(initiator.lost, true);
		wake_up(&initiator.wait);
	}
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
		initiator.link = initiator_link_of(id);
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

	mutex_lock(&initiator.lock);
	initiator.attempts++;
	mutex_unlock(&initiator.lock);
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
	struct initiator_link *link = initiator.link;
	struct rdma_cm_id *id = link->link.id;

	initiator.link = NULL;
	rdma_disconnect(id);
	storage_link_close(&link->link);
	rdma_destroy_id(id);
	initiator_link_free(link);
	/* No other id reports an event now. */
	WRITE_ONCE(initiator.lost, false);
}

static bool initiator_io_ends(const struct initiator_link *link)
{
	/* Pairs with initiator_io_done(). */
	return smp_load_acquire(&link->done) || READ_ONCE(initiator.lost) ||
	       READ_ONCE(initiator.stopping);
}

/*
 * Transfers between a block of the target and the memory of the link, from
 * @offset on. After an error the device may use the memory until the link is
 * closed, which waits for the completion.
 */
static int initiator_io(enum ib_wr_opcode opcode, unsigned int block,
			unsigned int offset)
{
	struct initiator_link *link = initiator.link;
	struct ib_device *ibdev = link->link.pd->device;
	struct ib_sge sge = {
		.addr = link->link.dma + offset,
		.length = STORAGE_BLOCK,
		.lkey = link->link.pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &link->cqe,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = initiator.addr + block * STORAGE_BLOCK,
		.rkey = initiator.rkey,
	};
	int ret;

	link->done = false;
	ib_dma_sync_single_for_device(ibdev, link->link.dma + offset,
				      STORAGE_BLOCK, DMA_BIDIRECTIONAL);
	ret = ib_post_send(link->link.id->qp, &wr.wr, NULL);
	if (ret)
		return ret;
	wait_event_timeout(initiator.wait, initiator_io_ends(link),
			   msecs_to_jiffies(INITIATOR_IO_MS));
	/* Acquire: the status and the memory are read after it. */
	if (!smp_load_acquire(&link->done))
		return -ETIMEDOUT;
	ib_dma_sync_single_for_cpu(ibdev, link->link.dma + offset,
				   STORAGE_BLOCK, DMA_BIDIRECTIONAL);
	return link->status == IB_WC_SUCCESS ? 0 : -EIO;
}

/*
 * The contents stay until they are verified, whatever happens to the
 * connection.
 */
static void initiator_block_begin(void)
{
	if (initiator.begun)
		return;
	get_random_bytes(initiator.data, STORAGE_BLOCK);
	initiator.since = ktime_get();
	initiator.begun = true;
}

static void initiator_block_end(bool wrong)
{
	u64 ms = ktime_ms_delta(ktime_get(), initiator.since);

	mutex_lock(&initiator.lock);
	initiator.blocks++;
	initiator.wrong += wrong;
	initiator.longest_ms = max_t(u64, initiator.longest_ms, ms);
	mutex_unlock(&initiator.lock);
	initiator.begun = false;
}

/* One connection writes and reads it: another may have another target. */
static int initiator_block(void)
{
	unsigned int block = initiator.blocks % STORAGE_BLOCKS;
	u8 *memory = initiator.link->memory;
	int ret;

	memcpy(memory, initiator.data, STORAGE_BLOCK);
	ret = initiator_io(IB_WR_RDMA_WRITE, block, 0);
	if (ret)
		return ret;
	memset(memory + STORAGE_BLOCK, 0, STORAGE_BLOCK);
	ret = initiator_io(IB_WR_RDMA_READ, block, STORAGE_BLOCK);
	if (ret)
		return ret;
	initiator_block_end(crc32(0, memory + STORAGE_BLOCK, STORAGE_BLOCK) !=
			    crc32(0, initiator.data, STORAGE_BLOCK));
	return 0;
}

static void initiator_work(struct work_struct *work)
{
	if (READ_ONCE(initiator.stopping))
		return;
	/* The connect has ended. */
	rdma_cmx_connect_put(initiator.connector);
	initiator.connector = NULL;
	initiator_block_begin();
	if (initiator.link && READ_ONCE(initiator.lost))
		initiator_disconnect();
	if (!initiator.link) {
		initiator_connect();
		return;
	}
	if (initiator_block()) {
		WRITE_ONCE(initiator.lost, true);
		mutex_lock(&initiator.lock);
		initiator.retried++;
		mutex_unlock(&initiator.lock);
	}
	initiator_queue(INITIATOR_PAUSE_MS);
}

static int __init initiator_init(void)
{
	if (!node == !service)
		return -EINVAL;
	initiator.data = kmalloc(STORAGE_BLOCK, GFP_KERNEL);
	if (!initiator.data)
		return -ENOMEM;
	INIT_DELAYED_WORK(&initiator.work, initiator_work);
	initiator_queue(0);
	return 0;
}

static void __exit initiator_exit(void)
{
	WRITE_ONCE(initiator.stopping, true);
	wake_up(&initiator.wait);
	/* No other part of the work item waits for a peer. */
	cancel_delayed_work_sync(&initiator.work);
	if (initiator.connector) {
		rdma_cmx_connect_cancel(initiator.connector);
		rdma_cmx_connect_put(initiator.connector);
	}
	/* The callback may have queued it. */
	cancel_delayed_work_sync(&initiator.work);
	if (initiator.link)
		initiator_disconnect();
	kfree(initiator.data);
}

module_init(initiator_init);
module_exit(initiator_exit);
MODULE_DESCRIPTION("Storage initiator that finds its target by name");
MODULE_LICENSE("Dual BSD/GPL");
