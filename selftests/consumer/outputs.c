// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The outputs that a driver reads of a result, and of a netdevice:
 *	device I [own-net]	device of entry I of the last result, as its
 *				own or the writer's namespace has it
 *	path I N		its path record N
 *	path-use I		connect by its first one to a port without a
 *				listener: the peer's CM rejects it
 *	path-known I TOS [drop]	give an id of that type of service its path from
 *				the cache; drop: and drop it there
 *	path-id I TOS		an id to entry I, with its address resolved
 *	path-set		that gets its path from the cache
 *	path-drop		and drops it there
 *	netdev NAME [rtnl]	device of a netdevice of the writer's namespace
 * The caller holds consumer.lock.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_cm_ib.h>

#include "consumer.h"

static struct {
	struct completion event;
	int last;
	struct rdma_cm_id *id;	/* of path-id */
	u8 tos;
} used = {
	.event = COMPLETION_INITIALIZER(used.event),
};

static void device_text(struct ib_device *dev, char *text, size_t size)
{
	snprintf(text, size, "device=%s\n", dev ? dev_name(&dev->dev) : "-");
	if (dev)
		ib_device_put(dev);
}

static int output_netdev(char *line, char *text, size_t size)
{
	char *name = strsep(&line, " ");
	struct net_device *ndev;

	ndev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!ndev)
		return -ENODEV;
	if (line)
		rtnl_lock();
	device_text(rdma_cmx_netdev_device(ndev), text, size);
	if (line)
		rtnl_unlock();
	dev_put(ndev);
	return 0;
}

static int output_path(const struct rdma_cmx_entry *e, char *line, char *text,
		       size_t size)
{
	struct sa_path_rec rec;
	u32 n;
	int ret;

	if (!line || kstrtou32(line, 0, &n))
		return -EINVAL;
	ret = rdma_cmx_entry_path(e, n, &rec);
	if (ret)
		snprintf(text, size, "error=%d\n", ret);
	else
		snprintf(text, size,
			 "%pI6c %u -> %pI6c %u pkey=0x%x reversible=%u\n",
			 &rec.sgid, be32_to_cpu(sa_path_get_slid(&rec)),
			 &rec.dgid, be32_to_cpu(sa_path_get_dlid(&rec)),
			 be16_to_cpu(rec.pkey), rec.reversible);
	return 0;
}

static int used_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	used.last = event->event;
	complete(&used.event);
	return 0;
}

static bool used_wait(enum rdma_cm_event_type event)
{
	return wait_for_completion_timeout(&used.event, 60 * HZ) &&
	       used.last == event;
}

/* Connects by the path of the entry. 0 if the peer's CM has replied. */
static int output_use_id(const struct rdma_cmx_entry *e, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .qp_num = 0x77, .retry_count = 1 };
	union rdma_cmx_sockaddr src = e->src, dst = e->dst;
	struct sa_path_rec rec;
	int ret;

	ret = rdma_resolve_addr(id, &src.sa, &dst.sa, 30000);
	if (ret)
		return ret;
	if (!used_wait(RDMA_CM_EVENT_ADDR_RESOLVED))
		return -EHOSTUNREACH;
	ret = rdma_cmx_entry_path(e, 0, &rec) ?: rdma_set_ib_path(id, &rec);
	if (ret)
		return ret;
	ret = rdma_connect(id, &param);
	if (ret)
		return ret;
	return used_wait(RDMA_CM_EVENT_REJECTED) ? 0 : -EPROTO;
}

static int output_use(const struct rdma_cmx_entry *e, char *text, size_t size)
{
	struct rdma_cm_id *id;

	reinit_completion(&used.event);
	id = rdma_create_id(&init_net, used_event, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	snprintf(text, size, "used=%d\n", output_use_id(e, id));
	rdma_destroy_id(id);
	return 0;
}

void consumer_output_end(void)
{
	if (used.id)
		rdma_destroy_id(used.id);
	used.id = NULL;
}

static int output_id(const struct rdma_cmx_entry *e, const char *number)
{
	union rdma_cmx_sockaddr src = e->src, dst = e->dst;
	struct rdma_cm_id *id;
	int ret;

	if (!number || kstrtou8(number, 0, &used.tos))
		return -EINVAL;
	consumer_output_end();
	reinit_completion(&used.event);
	id = rdma_create_id(&init_net, used_event, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	used.id = id;
	rdma_set_service_type(id, used.tos);
	ret = rdma_resolve_addr(id, &src.sa, &dst.sa, 30000);
	if (ret)
		return ret;
	return used_wait(RDMA_CM_EVENT_ADDR_RESOLVED) ? 0 : -EHOSTUNREACH;
}

static int output_set(char *text, size_t size)
{
	if (!used.id)
		return -ENOENT;
	snprintf(text, size, "known=%d\n",
		 rdma_cmx_set_cached_path_tos(used.id, used.tos));
	return 0;
}

static int output_drop(void)
{
	if (!used.id)
		return -ENOENT;
	rdma_cmx_drop_cached_path_tos(used.id, used.tos);
	return 0;
}

static int output_known(const struct rdma_cmx_entry *e, char *line, char *text,
			size_t size)
{
	int ret = output_id(e, strsep(&line, " "));

	if (!ret)
		ret = output_set(text, size);
	if (!ret && line)
		ret = output_drop();
	consumer_output_end();
	return ret;
}

int consumer_output(const char *verb, char *line,
		    const struct rdma_cmx_result *res, char *text, size_t size)
{
	const struct rdma_cmx_entry *e;
	char *number;
	u32 i;

	if (!strcmp(verb, "path-set"))
		return output_set(text, size);
	if (!strcmp(verb, "path-drop"))
		return output_drop();
	if (!line)
		return -EINVAL;
	if (!strcmp(verb, "netdev"))
		return output_netdev(line, text, size);
	number = strsep(&line, " ");
	if (IS_ERR_OR_NULL(res) || kstrtou32(number, 0, &i) || i >= res->count)
		return -EINVAL;
	e = &res->entries[i];
	if (!strcmp(verb, "path"))
		return output_path(e, line, text, size);
	if (!strcmp(verb, "path-use"))
		return output_use(e, text, size);
	if (!strcmp(verb, "path-known"))
		return output_known(e, line, text, size);
	if (!strcmp(verb, "path-id"))
		return output_id(e, line);
	device_text(rdma_cmx_entry_device(e, line ?
					  current->nsproxy->net_ns : &init_net),
		    text, size);
	return 0;
}
