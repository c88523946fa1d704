// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device that has GIDs and P_Keys only, and simulated SAs: the tests see the
 * queries and create the responses.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "kunit.h"

struct fake_dev {
	struct ib_device ibdev;
	u16 pkey;	/* the first one of both ports */
};

static int fake_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	attr->max_pkeys = 2;
	return 0;
}

fake_read_fn fake_read;

static int fake_query_port(struct ib_device *ibdev, u32 num,
			   struct ib_port_attr *attr)
{
	fake_read_fn fn = READ_ONCE(fake_read);

	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 2;
	attr->lid = num;
	attr->sm_lid = num;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_SDR;
	return fn ? fn(ibdev, num, attr) : 0;
}

static int fake_port_immutable(struct ib_device *ibdev, u32 num,
			       struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 2;
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB |
				    RDMA_CORE_CAP_IB_SA | RDMA_CORE_CAP_AF_IB;
	return 0;
}

static int fake_query_gid(struct ib_device *ibdev, u32 num, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	gid->raw[15] = num;
	return 0;
}

static int fake_query_pkey(struct ib_device *ibdev, u32 num, u16 index,
			   u16 *pkey)
{
	if (index)
		*pkey = num == 2 ? 0x8001 : 0;
	else
		*pkey = container_of(ibdev, struct fake_dev, ibdev)->pkey;
	return 0;
}

static int fake_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			  struct ib_udata *udata)
{
	return 0;
}

static int fake_destroy_ah(struct ib_ah *ah, u32 flags)
{
	return 0;
}

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.query_device = fake_query_device,
	.query_port = fake_query_port,
	.get_port_immutable = fake_port_immutable,
	.query_gid = fake_query_gid,
	.query_pkey = fake_query_pkey,
	.create_ah = fake_create_ah,
	.destroy_ah = fake_destroy_ah,
	.size_ib_ah = sizeof(struct ib_ah),
};

static struct cmx_sa_port *fake_port_up(struct ib_device *ibdev, u32 num)
{
	struct cmx_sa_port *port = cmx_sa_port_alloc(ibdev, num);

	if (port) {
		port->active = true;
		/* As after some responses of the SA */
		port->window = 8;
		/* No background work, until fake_follow() */
		port->inform.gone = true;
		cmx_sa_port_list(port);
	}
	return port;
}

/* For the init of a suite; call fake_down() after an error, too. */
int fake_up(struct fake *fake)
{
	struct fake_dev *dev;
	u32 num;
	int ret;

	memset(fake, 0, sizeof(*fake));
	dev = ib_alloc_device(fake_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->pkey = 0xffff;
	dev->ibdev.phys_port_cnt = FAKE_PORTS;
	dev->ibdev.node_type = RDMA_NODE_IB_CA;
	ib_set_device_ops(&dev->ibdev, &fake_ops);
	ret = ib_register_device(&dev->ibdev, "cmxkunit%d", NULL);
	if (ret) {
		ib_dealloc_device(&dev->ibdev);
		return ret;
	}
	fake->ibdev = &dev->ibdev;
	for (num = 1; num <= FAKE_PORTS; num++) {
		fake->port[num] = fake_port_up(&dev->ibdev, num);
		if (!fake->port[num])
			return -ENOMEM;
	}
	return 0;
}

/* The port's work item runs from now on. */
void fake_follow(struct cmx_sa_port *port)
{
	spin_lock(&cmx_sa_lock);
	port->inform.gone = false;
	spin_unlock(&cmx_sa_lock);
}

/* As the removal of a device, without an agent */
void fake_down(struct fake *fake)
{
	struct cmx_sa_port *port;

	if (!fake->ibdev)
		return;
	while ((port = cmx_sa_port_unlist(fake->ibdev))) {
		cmx_sa_inform_stop(port);
		cancel_delayed_work_sync(&port->refresh);
		spin_lock(&cmx_sa_lock);
		WRITE_ONCE(port->active, false);
		spin_unlock(&cmx_sa_lock);
		cmx_sa_lookups_fail(port, -ENODEV);
		cmx_sa_cache_exit(&port->cache);
		cmx_sa_port_put(port);
	}
	ib_unregister_device(fake->ibdev);
	ib_dealloc_device(fake->ibdev);
	fake->ibdev = NULL;
}

static bool fake_has_pkey(struct fake *fake, u16 pkey)
{
	u32 num;
	u16 got;

	for (num = 1; num <= FAKE_PORTS; num++) {
		if (ib_get_cached_pkey(fake->ibdev, num, 0, &got) ||
		    got != pkey)
			return false;
	}
	return true;
}

/* Sets the first P_Key of both ports; false: ib_core does not have it. */
bool fake_set_pkey(struct fake *fake, u16 pkey)
{
	struct ib_event event = {
		.device = fake->ibdev,
		.event = IB_EVENT_PKEY_CHANGE,
	};
	u32 *num = &event.element.port_num;

	container_of(fake->ibdev, struct fake_dev, ibdev)->pkey = pkey;
	for (*num = 1; *num <= FAKE_PORTS; ++*num)
		ib_dispatch_event(&event);
	return WAIT_FOR(fake_has_pkey(fake, pkey));
}

/* The first outstanding query of a port, with a reference */
struct cmx_sa_lookup *fake_lookup(struct cmx_sa_port *port)
{
	struct cmx_sa_lookup *l;

	spin_lock(&cmx_sa_lock);
	l = list_first_entry_or_null(&port->sched.running,
				     struct cmx_sa_lookup, entity.node);
	if (l)
		refcount_inc(&l->ref);
	spin_unlock(&cmx_sa_lock);
	return l;
}

/* The SA responds; consumes both references. */
void fake_say(struct cmx_sa_lookup *l, struct cmx_sa_response *response,
	      int error)
{
	cmx_sa_lookup_response(l, cmx_sa_cache_generation(&l->port->cache),
			       jiffies, response, error);
	cmx_sa_response_put(response);
	cmx_sa_lookup_put(l);
}

/* Responses to earlier queries become invalid. */
void fake_generation(struct fake *fake)
{
	u32 num;

	for (num = 1; num <= FAKE_PORTS; num++)
		cmx_sa_cache_drop(&fake->port[num]->cache);
}

/* Records of a service at fe80::100 and following GIDs, leased for ever. */
struct cmx_sa_response *fake_services(u32 count, const char *name)
{
	struct cmx_sa_service_rec *rec;
	struct cmx_sa_response *answer;
	u32 i;

	answer = cmx_sa_response_alloc(count, sizeof(*rec));
	if (!answer)
		return NULL;
	memset(answer->data, 0, answer->len);
	for (i = 0; i < count; i++) {
		rec = (void *)cmx_sa_response_rec(answer, i);
		rec->id = cpu_to_be64(0x1000 + i);
		rec->gid[0] = 0xfe;
		rec->gid[1] = 0x80;
		rec->gid[14] = 1;
		rec->gid[15] = i;
		rec->pkey = cpu_to_be16(0xffff);
		rec->lease = cpu_to_be32(CMX_SA_LEASE_FOREVER);
		strscpy(rec->name, name, sizeof(rec->name));
	}
	return answer;
}
