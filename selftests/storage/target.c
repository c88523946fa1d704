// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx_target: a storage target in memory, by the in-kernel API. It listens at a
 * port of all addresses, and with a name also at a service id, which it
 * advertises at the SA. Documentation/kernel-sample.rst explains it.
 *
 * A request is checked before anything is allocated for it, and there is a limit
 * of connections: a host that reaches the port chooses what it sends, and how
 * often.
 *
 * target.lock guards the list of peers, their number, and the blocks against the
 * reader of the parameter. The event handler, or the end of the module, takes a
 * peer from the list and queues the work item that ends it. A handler must not
 * wait for completions, and the end waits for the work queue.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cmx_service.h>

#include "link.h"

static ushort port = 7700;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "Port to listen at");

static char *name;
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "Name of the service to advertise, none: no service");

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "The only device to serve at, and to advertise it at");

static ushort pkey;
module_param(pkey, ushort, 0444);
MODULE_PARM_DESC(pkey, "The only partition to serve, and to advertise it in, 0: all, the port's first");

static uint connections = 64;
module_param(connections, uint, 0444);
MODULE_PARM_DESC(connections, "Limit of connections, others are rejected");

/* A connection, from its request until nothing of it is left */
struct target_peer {
	struct storage_link link;
	struct list_head node;
	struct work_struct work;
};

static struct {
	struct mutex lock;	/* see above */
	struct list_head peers;
	unsigned int count;	/* also ended peers with a pending work item */
	struct workqueue_struct *wq;
	void *blocks;
	struct rdma_cm_id *by_addr;
	struct rdma_cm_id *by_service;
	struct rdma_cmx_service *service;
} target = {
	.lock = __MUTEX_INITIALIZER(target.lock),
	.peers = LIST_HEAD_INIT(target.peers),
};

/* Prints the number of written blocks, the parameter "used". */
static int target_used(char *text, const struct kernel_param *kp)
{
	unsigned int i, used = 0;

	mutex_lock(&target.lock);
	for (i = 0; target.blocks && i < STORAGE_BLOCKS; i++)
		used += !!memchr_inv(target.blocks + i * STORAGE_BLOCK, 0,
				     STORAGE_BLOCK);
	mutex_unlock(&target.lock);
	return sysfs_emit(text, "%u\n", used);
}

static const struct kernel_param_ops target_used_ops = { .get = target_used };
module_param_cb(used, &target_used_ops, NULL, 0444);

static int target_count(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(target.count));
}

static const struct kernel_param_ops target_count_ops = { .get = target_count };
module_param_cb(peers, &target_count_ops, NULL, 0444);

static void target_peer_work(struct work_struct *work)
{
	struct target_peer *peer = container_of(work, struct target_peer, work);
	struct rdma_cm_id *id = peer->link.id;

	rdma_disconnect(id);
	storage_link_close(&peer->link);
	/* The handler may use the peer until this returns. */
	rdma_destroy_id(id);
	kfree(peer);
	mutex_lock(&target.lock);
	target.count--;
	mutex_unlock(&target.lock);
}

/* With the lock; once for each peer, since the work item frees it */
static void target_peer_end(struct target_peer *peer)
{
	if (list_empty(&peer->node))
		return;
	list_del_init(&peer->node);
	queue_work(target.wq, &peer->work);
}

static int target_peer_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct target_peer *peer = id->context;

	if (event->event != RDMA_CM_EVENT_DISCONNECTED &&
	    event->event != RDMA_CM_EVENT_REJECTED &&
	    event->event != RDMA_CM_EVENT_UNREACHABLE &&
	    event->event != RDMA_CM_EVENT_CONNECT_ERROR &&
	    event->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	mutex_lock(&target.lock);
	target_peer_end(peer);
	mutex_unlock(&target.lock);
	return 0;	/* The work item destroys the id. */
}

/* Returns NULL and sets the requested blocks, or the reason for a reject. */
static const char *target_hello(const struct rdma_conn_param *request,
				u32 *first, u32 *count)
{
	const struct storage_hello *hello = request->private_data;

	/* InfiniBand pads it with zeros, other transports keep its length. */
	if (!hello || request->private_data_len < sizeof(*hello))
		return "short";
	if (hello->magic != cpu_to_be32(STORAGE_MAGIC))
		return "magic";
	*first = be32_to_cpu(hello->first);
	*count = be32_to_cpu(hello->count);
	if (*first >= STORAGE_BLOCKS || !*count ||
	    *count > STORAGE_BLOCKS - *first)
		return "range";
	return NULL;
}

/* Before the peer is on the list, and without a queue pair */
static void target_peer_drop(struct target_peer *peer)
{
	kfree(peer);
	mutex_lock(&target.lock);
	target.count--;
	mutex_unlock(&target.lock);
}

/* Counts toward the limit until the peer is freed. */
static struct target_peer *target_peer_new(void)
{
	struct target_peer *peer;
	bool full;

	mutex_lock(&target.lock);
	full = target.count >= connections;
	target.count += !full;
	mutex_unlock(&target.lock);
	if (full)
		return ERR_PTR(-EBUSY);
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer) {
		target_peer_drop(NULL);
		return ERR_PTR(-ENOMEM);
	}
	INIT_WORK(&peer->work, target_peer_work);
	return peer;
}

/* An errno if the caller keeps the id. */
static int target_accept(struct target_peer *peer, struct rdma_cm_id *id,
			 u32 first)
{
	struct storage_welcome welcome = { .magic = cpu_to_be32(STORAGE_MAGIC) };
	struct rdma_conn_param param = {
		.private_data = &welcome,
		.private_data_len = sizeof(welcome),
		.responder_resources = 1,
		.rnr_retry_count = 7,
	};
	struct storage_link *link = &peer->link;
	int ret;

	/* A real target registers its memory. Some test devices cannot. */
	ret = storage_link_open(link, id, target.blocks, STORAGE_BYTES,
				IB_PD_UNSAFE_GLOBAL_RKEY);
	if (ret)
		return ret;
	welcome.rkey = cpu_to_be32(link->pd->unsafe_global_rkey);
	welcome.addr = cpu_to_be64(link->dma + first * STORAGE_BLOCK);
	id->context = peer;
	id->event_handler = target_peer_event;
	ret = rdma_accept(id, &param);
	mutex_lock(&target.lock);
	list_add(&peer->node, &target.peers);
	/* On failure rdma_accept() has sent a reject. */
	if (ret)
		target_peer_end(peer);
	mutex_unlock(&target.lock);
	return 0;
}

/* Sends a reject, so that the peer does not wait; rdma_cm destroys the id. */
static int target_refuse(struct rdma_cm_id *id, const char *why)
{
	rdma_reject(id, why, strlen(why), IB_CM_REJ_CONSUMER_DEFINED);
	return 1;
}

static int target_request(struct rdma_cm_id *id,
			  const struct rdma_conn_param *request)
{
	struct target_peer *peer;
	u32 first, count;
	const char *why;

	why = target_hello(request, &first, &count);
	if (why)
		return target_refuse(id, why);
	if (dev && strcmp(dev, dev_name(&id->device->dev)))
		return target_refuse(id, "device");
	/* A listener of rdma_cm takes requests of all partitions. */
	if (pkey && pkey != ib_addr_get_pkey(&id->route.addr.dev_addr))
		return target_refuse(id, "partition");
	peer = target_peer_new();
	if (IS_ERR(peer))
		return target_refuse(id, PTR_ERR(peer) == -EBUSY ? "full" :
								   "memory");
	if (!target_accept(peer, id, first))
		return 0;
	target_peer_drop(peer);
	return target_refuse(id, "memory");
}

/* Handler of a listener, and at first of the id of a request */
static int target_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return target_request(id, &event->param.conn);
}

static struct rdma_cm_id *target_listen(enum rdma_ucm_port_space ps,
					struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, target_event, NULL, ps, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	ret = rdma_bind_addr(id, addr);
	if (!ret)
		ret = rdma_listen(id, 16);
	if (!ret)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(ret);
}

static struct rdma_cm_id *target_listen_addr(void)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,	/* and IPv4 */
		.sin6_port = htons(port),
	};

	return target_listen(RDMA_PS_TCP, (struct sockaddr *)&any);
}

static struct rdma_cm_id *target_listen_service(u64 id)
{
	struct sockaddr_ib any = {
		.sib_family = AF_IB,
		.sib_pkey = htons(pkey ?: 0xffff),
		.sib_sid = cpu_to_be64(id),
		.sib_sid_mask = cpu_to_be64(U64_MAX),
	};

	return target_listen(RDMA_PS_IB, (struct sockaddr *)&any);
}

static int target_advertise(void)
{
	struct rdma_cmx_service_attr attr = {
		.net = &init_net,
		.name = name,
		.id = (u64)RDMA_PS_IB << 16 | port,
		.pkey = pkey,
		.dev = dev,
	};

	target.by_service = target_listen_service(attr.id);
	if (IS_ERR(target.by_service))
		return PTR_ERR(target.by_service);
	target.service = rdma_cmx_advertise(&attr, NULL, NULL);
	if (!IS_ERR(target.service))
		return 0;
	rdma_destroy_id(target.by_service);
	return PTR_ERR(target.service);
}

static void target_free(void)
{
	if (target.wq)
		destroy_workqueue(target.wq);
	mutex_lock(&target.lock);
	kfree(target.blocks);
	target.blocks = NULL;
	mutex_unlock(&target.lock);
}

static void target_end(void)
{
	struct target_peer *peer, *next;

	/* From here on no request arrives. */
	rdma_destroy_id(target.by_addr);
	mutex_lock(&target.lock);
	list_for_each_entry_safe(peer, next, &target.peers, node)
		target_peer_end(peer);
	mutex_unlock(&target.lock);
	/* This waits for all peers. */
	target_free();
}

static void __exit target_exit(void)
{
	if (name) {
		rdma_cmx_withdraw(target.service);
		rdma_destroy_id(target.by_service);
	}
	target_end();
}

static int __init target_init(void)
{
	int ret = 0;

	target.blocks = kzalloc(STORAGE_BYTES, GFP_KERNEL);
	if (!target.blocks)
		return -ENOMEM;
	target.wq = alloc_workqueue("cmx_target", WQ_UNBOUND, 0);
	if (!target.wq) {
		target_free();
		return -ENOMEM;
	}
	target.by_addr = target_listen_addr();
	if (IS_ERR(target.by_addr)) {
		target_free();
		return PTR_ERR(target.by_addr);
	}
	if (name)
		ret = target_advertise();
	if (ret)
		target_end();
	return ret;
}

module_init(target_init);
module_exit(target_exit);
MODULE_DESCRIPTION("Storage target in memory, for tests of rdma_cmx");
MODULE_LICENSE("Dual BSD/GPL");
