// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx_target: a storage target in memory, by the in-kernel API. It listens at a
 * port of all addresses, and with a name also at a service id, which it
 * advertises at the SA. Documentation/kernel-api.rst explains it.
 *
 * target.lock guards the list of links, and the blocks against the reader of
 * the parameter. Who takes a link from the list ends it:
 * the event handler, or the end of the module.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <net/net_namespace.h>
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

static struct {
	struct mutex lock;	/* see above */
	struct list_head links;
	void *blocks;
	struct rdma_cm_id *by_addr;
	struct rdma_cm_id *by_service;
	struct rdma_cmx_service *service;
} target = {
	.lock = __MUTEX_INITIALIZER(target.lock),
	.links = LIST_HEAD_INIT(target.links),
};

/* Which blocks have been written: their number is in the parameter "used". */
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

static int target_link_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct storage_link *link = id->context;
	bool mine = false;

	if (event->event != RDMA_CM_EVENT_DISCONNECTED &&
	    event->event != RDMA_CM_EVENT_REJECTED &&
	    event->event != RDMA_CM_EVENT_UNREACHABLE &&
	    event->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	mutex_lock(&target.lock);
	if (!list_empty(&link->node)) {
		list_del_init(&link->node);
		mine = true;
	}
	mutex_unlock(&target.lock);
	if (!mine)
		return 0;
	storage_link_close(link);
	kfree(link);
	return 1;	/* rdma_cm destroys the id. */
}

static int target_accept(struct rdma_cm_id *id)
{
	struct storage_welcome welcome = { .magic = cpu_to_be32(STORAGE_MAGIC) };
	struct rdma_conn_param param = {
		.private_data = &welcome,
		.private_data_len = sizeof(welcome),
		.responder_resources = 1,
		.rnr_retry_count = 7,
	};
	struct storage_link *link;
	int ret;

	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	/* A real target registers what it exposes. Not all test devices can. */
	ret = storage_link_open(link, id, target.blocks, STORAGE_BYTES,
				IB_PD_UNSAFE_GLOBAL_RKEY);
	if (ret)
		goto free;
	welcome.rkey = cpu_to_be32(link->pd->unsafe_global_rkey);
	welcome.addr = cpu_to_be64(link->dma);
	id->context = link;
	id->event_handler = target_link_event;
	ret = rdma_accept(id, &param);
	if (ret)
		goto close;
	mutex_lock(&target.lock);
	list_add(&link->node, &target.links);
	mutex_unlock(&target.lock);
	return 0;
close:
	storage_link_close(link);
free:
	kfree(link);
	return ret;
}

/* Of a listener, and of the id of a request at first */
static int target_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	/* rdma_cm rejects the request and destroys its id. */
	if (dev && strcmp(dev, dev_name(&id->device->dev)))
		return -ENODEV;
	return target_accept(id);
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
		.sib_pkey = htons(0xffff),
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

static struct storage_link *target_take_link(void)
{
	struct storage_link *link;

	mutex_lock(&target.lock);
	link = list_first_entry_or_null(&target.links, struct storage_link,
					node);
	if (link)
		list_del_init(&link->node);
	mutex_unlock(&target.lock);
	return link;
}

static void target_end(void)
{
	struct storage_link *link;
	struct rdma_cm_id *id;

	rdma_destroy_id(target.by_addr);
	while ((link = target_take_link())) {
		id = link->id;
		rdma_disconnect(id);
		storage_link_close(link);
		/* Its handler may look at the link until this returns. */
		rdma_destroy_id(id);
		kfree(link);
	}
	mutex_lock(&target.lock);
	kfree(target.blocks);
	target.blocks = NULL;
	mutex_unlock(&target.lock);
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
	target.by_addr = target_listen_addr();
	if (IS_ERR(target.by_addr)) {
		kfree(target.blocks);
		target.blocks = NULL;
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
