/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An id whose queue pair is attached for up to three groups. Like most drivers,
 * the one here compares the MGID only, and does not count attachments.
 */
#ifndef CMX_KUNIT_MCAST_BED_H
#define CMX_KUNIT_MCAST_BED_H

#include <linux/slab.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cm_ib.h>

#include "fake_id.h"
#include "mcast/mcast.h"

#define OLD_LID	0xc001
#define NEW_LID	0xc002
/* Of the queue pair before any group: of rdma_create_qp(), or of the consumer */
#define OWN_QKEY	7u

static struct fake fake;
static bool attached;	/* in the driver */
static int attach_error;	/* of the next attachment */

static int qp_attach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	int ret = attach_error;

	attach_error = 0;
	if (!ret)
		attached = true;
	return ret;
}

static int qp_detach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	if (!attached)
		return -EINVAL;
	attached = false;
	return 0;
}

static u32 qkey;	/* of the queue pair */
static int qkey_error;
static int query_error;

static int qp_modify(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	if (mask != IB_QP_QKEY)
		return -EINVAL;
	if (!qkey_error)
		qkey = attr->qkey;
	return qkey_error;
}

static int qp_query(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	attr->qkey = qkey;
	return query_error;
}

static const struct ib_device_ops qp_ops = {
	.modify_qp = qp_modify,
	.query_qp = qp_query,
	.attach_mcast = qp_attach,
	.detach_mcast = qp_detach,
};

struct bed {
	struct rdma_cm_id *id;
	struct ib_qp qp;
	struct cmx_attachments attachments;
	struct cmx_group a;
	struct cmx_group b;
	struct cmx_group c;
};

static inline int bed_init(struct kunit *test)
{
	int ret = fake_up(&fake);

	attached = false;
	attach_error = 0;
	qkey = OWN_QKEY;
	qkey_error = 0;
	query_error = 0;
	if (!ret)
		ib_set_device_ops(fake.ibdev, &qp_ops);
	return ret;
}

static inline void bed_exit(struct kunit *test)
{
	fake_down(&fake);
}

static inline void group_init(struct cmx_group *g, struct bed *b)
{
	static const union ib_gid mgid = { .raw = { 0xff, 0x12, [15] = 1 } };

	g->id = b->id;
	g->qp = &b->qp;
	g->attachments = &b->attachments;
	INIT_LIST_HEAD(&g->attachment);
	g->rec.mgid = mgid;
}

static inline struct bed *bed_make(struct kunit *test,
				   enum rdma_ucm_port_space ps)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->id = rdma_create_id(&init_net, fake_id_no_event, NULL, ps,
			       IB_QPT_UD);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->id));
	b->qp.device = fake.ibdev;
	b->qp.real_qp = &b->qp;
	b->qp.qp_type = IB_QPT_UD;
	b->id->qp = &b->qp;
	INIT_LIST_HEAD(&b->attachments.groups);
	group_init(&b->a, b);
	group_init(&b->b, b);
	group_init(&b->c, b);
	return b;
}

static inline int joined(struct cmx_group *g, u16 lid)
{
	g->rec.mlid = cpu_to_be16(lid);
	return cmx_group_attach(g);
}

/* The queue pair can be destroyed when no use of it is left. */
static inline void bed_end(struct kunit *test, struct bed *b)
{
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_TRUE(test, attached);
	cmx_group_detach(&b->b);
	KUNIT_EXPECT_FALSE(test, attached);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->qp.usecnt), 0);
	rdma_destroy_id(b->id);
}

#endif
