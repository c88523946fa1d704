// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two groups of an id that have one MGID share the attachment of its queue
 * pair, MC-11, also after a rejoin with another MLID. Like most drivers, the
 * one here compares the MGID only. It does not count attachments. The queue pair
 * follows the Q_Key of the id's groups, whichever of them is joined. One that
 * the caller gave has precedence, MC-08.
 */
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

static int attach_init(struct kunit *test)
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

static void attach_exit(struct kunit *test)
{
	fake_down(&fake);
}

static void group_init(struct cmx_group *g, struct bed *b)
{
	static const union ib_gid mgid = { .raw = { 0xff, 0x12, [15] = 1 } };

	g->id = b->id;
	g->qp = &b->qp;
	g->attachments = &b->attachments;
	INIT_LIST_HEAD(&g->attachment);
	g->rec.mgid = mgid;
}

static struct bed *bed_make(struct kunit *test, enum rdma_ucm_port_space ps)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->id = rdma_create_id(&init_net, fake_id_no_event, NULL, ps,
			       IB_QPT_UD);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->id));
	b->qp.device = fake.ibdev;
	b->qp.real_qp = &b->qp;
	b->qp.qp_type = IB_QPT_UD;
	INIT_LIST_HEAD(&b->attachments.groups);
	group_init(&b->a, b);
	group_init(&b->b, b);
	group_init(&b->c, b);
	return b;
}

static int joined(struct cmx_group *g, u16 lid)
{
	g->rec.mlid = cpu_to_be16(lid);
	return cmx_group_attach(g);
}

/* The queue pair can be destroyed when no use of it is left. */
static void bed_end(struct kunit *test, struct bed *b)
{
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_TRUE(test, attached);
	cmx_group_detach(&b->b);
	KUNIT_EXPECT_FALSE(test, attached);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->qp.usecnt), 0);
	rdma_destroy_id(b->id);
}

static void attach_lid_changes(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, joined(&b->a, OLD_LID), 0);
	KUNIT_EXPECT_EQ(test, joined(&b->b, OLD_LID), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->qp.usecnt), 1);
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), 0);
	KUNIT_EXPECT_TRUE(test, attached);
	KUNIT_EXPECT_EQ(test, joined(&b->b, NEW_LID), 0);
	KUNIT_EXPECT_TRUE(test, attached);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->qp.usecnt), 1);
	bed_end(test, b);
}

/* Each is attached by its next join. */
static void attach_fails(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, joined(&b->a, OLD_LID), 0);
	KUNIT_EXPECT_EQ(test, joined(&b->b, OLD_LID), 0);
	attach_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, attached);
	KUNIT_EXPECT_EQ(test, joined(&b->b, NEW_LID), 0);
	KUNIT_EXPECT_TRUE(test, attached);
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), 0);
	KUNIT_EXPECT_TRUE(test, attached);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->qp.usecnt), 1);
	bed_end(test, b);
}

static int rejoined(struct cmx_group *g, u32 key)
{
	g->rec.qkey = cpu_to_be32(key);
	return joined(g, OLD_LID);
}

static void attach_qkey_changes(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = -EIO;
	/* It has that one already. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 2), -EIO);
	KUNIT_EXPECT_TRUE(test, attached);
	qkey_error = 0;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	/* The Q_Key is set, and then the attachment to another MLID fails. */
	attach_error = -ENOMEM;
	b->a.rec.qkey = cpu_to_be32(3);
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* It is constant: that of rdma_create_qp(), or what the caller has set. */
static void attach_qkey_udp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	/* The end of a group that has never been joined */
	b->c.set_qkey = true;
	cmx_group_detach(&b->c);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	bed_end(test, b);
}

/* A group is left and joined again, and the SM has changed the Q_Key. */
static void attach_qkey_fresh(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	memset(&b->a, 0, sizeof(b->a));
	group_init(&b->a, b);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

static void attach_qkey_given(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 1), 0);
	/* The SM has changed that of the broadcast group. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	/* The last one with a Q_Key is left. */
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	/* If that fails, the next join of the other one sets it. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = -EIO;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = 0;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* Both have one of the caller: that of the last join, and then of the other. */
static void attach_qkey_both(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	b->b.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The caller's Q_Key of the group that is left stays. */
static void attach_qkey_stays(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->b.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	bed_end(test, b);
}

/* Outside RDMA_PS_IPOIB that of a group without one is constant. */
static void attach_qkey_ends_in_udp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The last group is left, and what comes then finds the former Q_Key. */
static void attach_qkey_last(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	/* A driver that does not report it: rdma_create_qp() sets this one. */
	query_error = -EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, RDMA_UDP_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, RDMA_UDP_QKEY), 0);
	bed_end(test, b);
}

static void lost(struct cmx_group *g)
{
	rdma_lock_handler(g->id);
	cmx_group_outdate(g);
	rdma_unlock_handler(g->id);
}

/* Unicast of the consumer may have the Q_Key of its only group. */
static void attach_qkey_lost_alone(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	/* One that is joined precedes. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	bed_end(test, b);
}

/* The consumer sets another Q_Key between two groups that set theirs. */
static void attach_qkey_of_consumer(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	qkey = 9;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	/* The Q_Key cannot be restored once. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->b);
	qkey_error = -ENOMEM;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = 0;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 3), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* Meanwhile the consumer has set another one. The rejoin replaces it. */
static void attach_qkey_rejoined(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	qkey = 9;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey = 9;
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey = 9;
	query_error = -EOPNOTSUPP;
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	query_error = 0;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	/* So does that of a group with the Q_Key of the queue pair. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 9), 0);
	cmx_group_detach(&b->a);
	qkey = 8;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 9), 0);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 8u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The group is lost, and the consumer has set another one. */
static void attach_qkey_stays_lost(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->c, 2), 0);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	qkey = 9;
	lost(&b->b);
	cmx_group_detach(&b->c);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	/* As when a group is left that has failed */
	cmx_group_detach(&b->c);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	/* Without it: each is lost after the other. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	lost(&b->b);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	bed_end(test, b);
}

/* The rejoin cannot be attached. Unicast keeps the Q_Key. */
static void attach_qkey_of_failed_rejoin(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	attach_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), -ENOMEM);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* One that is drained keeps its Q_Key. The next one has that of the consumer. */
static void attach_qkey_of_next_qp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	qkey_error = -EINVAL;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = 0;
	qkey = 9;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	/* One that has the Q_Key of the group by itself */
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->b);
	qkey_error = -EINVAL;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = 0;
	b->qp.qp_num++;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* In RDMA_PS_IPOIB a joined group requires that of the partition. */
static void attach_qkey_of_partition(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	qkey = 9;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The queue pair is reset: most drivers report 0, and it cannot be set. */
static void attach_qkey_reset(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	qkey = 0;
	qkey_error = -EINVAL;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	qkey_error = 0;
	bed_end(test, b);
}

/* Without memory for the query nothing is known, and the join fails. */
static void attach_qkey_unread(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	query_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	query_error = 0;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* The Q_Key of a lost group is a former one. */
static void attach_qkey_lost(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->c, 2), 0);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->c);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 3), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 3u);
	/* Nor has a lost one precedence. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 3u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 4), 0);
	KUNIT_EXPECT_EQ(test, qkey, 4u);
	cmx_group_detach(&b->c);
	bed_end(test, b);
}

/* Two are lost. One is attached, and not reported yet when the other one is. */
static void attach_qkey_rejoin(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	b->a.lost = -ENETRESET;
	b->b.lost = -ENETRESET;
	lost(&b->a);
	lost(&b->b);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 3), 0);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	bed_end(test, b);
}

/* A group that cannot be attached to its new MLID does not set its Q_Key. */
static void attach_qkey_refused(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->b.rec.mgid.raw[15] = 2;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	attach_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), -ENOMEM);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	attached = true;
	cmx_group_detach(&b->b);
	rdma_destroy_id(b->id);
}

static struct kunit_case attach_cases[] = {
	KUNIT_CASE(attach_lid_changes),
	KUNIT_CASE(attach_fails),
	KUNIT_CASE(attach_qkey_changes),
	KUNIT_CASE(attach_qkey_udp),
	KUNIT_CASE(attach_qkey_fresh),
	KUNIT_CASE(attach_qkey_given),
	KUNIT_CASE(attach_qkey_both),
	KUNIT_CASE(attach_qkey_stays),
	KUNIT_CASE(attach_qkey_ends_in_udp),
	KUNIT_CASE(attach_qkey_last),
	KUNIT_CASE(attach_qkey_lost),
	KUNIT_CASE(attach_qkey_lost_alone),
	KUNIT_CASE(attach_qkey_of_consumer),
	KUNIT_CASE(attach_qkey_rejoined),
	KUNIT_CASE(attach_qkey_stays_lost),
	KUNIT_CASE(attach_qkey_of_failed_rejoin),
	KUNIT_CASE(attach_qkey_of_next_qp),
	KUNIT_CASE(attach_qkey_of_partition),
	KUNIT_CASE(attach_qkey_reset),
	KUNIT_CASE(attach_qkey_unread),
	KUNIT_CASE(attach_qkey_rejoin),
	KUNIT_CASE(attach_qkey_refused),
	{}
};

static struct kunit_suite attach_suite = {
	.name = "cmx_mcast_attach",
	.init = attach_init,
	.exit = attach_exit,
	.test_cases = attach_cases,
};

kunit_test_suite(attach_suite);
