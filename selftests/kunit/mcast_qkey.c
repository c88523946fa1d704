// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue pair follows the Q_Key of the id's groups, whichever of them is
 * joined. One that the caller gave has precedence, MC-08.
 */
#include "mcast_bed.h"

static int rejoined(struct cmx_group *g, u32 key)
{
	g->rec.qkey = cpu_to_be32(key);
	return joined(g, OLD_LID);
}

/* It joins with @key, and the queue pair has @has then. */
#define EXPECT_REJOIN(group, key, has) do {				\
	KUNIT_EXPECT_EQ(test, rejoined(group, key), 0);			\
	KUNIT_EXPECT_EQ(test, qkey, (u32)(has));			\
} while (0)

static void lost(struct cmx_group *g)
{
	rdma_lock_handler(g->id);
	cmx_group_outdate(g);
	rdma_unlock_handler(g->id);
}

static void qkey_changes(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	EXPECT_REJOIN(&b->a, 1, 1);
	qkey_error = -EIO;
	/* It has that one already. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 2), -EIO);
	KUNIT_EXPECT_TRUE(test, attached);
	qkey_error = 0;
	EXPECT_REJOIN(&b->a, 2, 2);
	/* The Q_Key is set, and then the attachment to another MLID fails. */
	attach_error = -ENOMEM;
	b->a.rec.qkey = cpu_to_be32(3);
	KUNIT_EXPECT_EQ(test, joined(&b->a, NEW_LID), -ENOMEM);
	EXPECT_REJOIN(&b->a, 2, 2);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* It is constant: that of rdma_create_qp(), or what the caller has set. */
static void qkey_udp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	EXPECT_REJOIN(&b->b, 1, OWN_QKEY);
	/* The end of a group that has never been joined */
	b->c.set_qkey = true;
	cmx_group_detach(&b->c);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	bed_end(test, b);
}

/* A group is left and joined again, and the SM has changed the Q_Key. */
static void qkey_fresh(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	cmx_group_detach(&b->a);
	memset(&b->a, 0, sizeof(b->a));
	group_init(&b->a, b);
	EXPECT_REJOIN(&b->a, 2, 2);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

static void qkey_given(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->a.set_qkey = true;
	EXPECT_REJOIN(&b->a, 1, 1);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 1), 0);
	/* The SM has changed that of the broadcast group. */
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	EXPECT_REJOIN(&b->a, 1, 1);
	/* The last one with a Q_Key is left. */
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	/* If that fails, the next join of the other one sets it. */
	EXPECT_REJOIN(&b->a, 1, 1);
	qkey_error = -EIO;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = 0;
	EXPECT_REJOIN(&b->b, 2, 2);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* Both have one of the caller: that of the last join, and then of the other. */
static void qkey_both(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	b->b.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	EXPECT_REJOIN(&b->a, 1, 1);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The caller's Q_Key of the group that is left stays. */
static void qkey_stays(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->b.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	EXPECT_REJOIN(&b->a, 1, 2);
	bed_end(test, b);
}

/* Outside RDMA_PS_IPOIB that of a group without one is constant. */
static void qkey_ends_in_udp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	EXPECT_REJOIN(&b->b, 2, OWN_QKEY);
	b->a.set_qkey = true;
	EXPECT_REJOIN(&b->a, 1, 1);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The last group is left, and what comes then finds the former Q_Key. */
static void qkey_last(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	EXPECT_REJOIN(&b->a, 1, 1);
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

/* Unicast of the consumer may have the Q_Key of its only group. */
static void qkey_lost_alone(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	/* One that is joined precedes. */
	EXPECT_REJOIN(&b->b, 2, OWN_QKEY);
	EXPECT_REJOIN(&b->a, 1, 1);
	bed_end(test, b);
}

/* The consumer sets another Q_Key between two groups that set theirs. */
static void qkey_of_consumer(struct kunit *test)
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
static void qkey_rejoined(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	qkey = 9;
	EXPECT_REJOIN(&b->a, 1, 1);
	qkey = 9;
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 9u);
	EXPECT_REJOIN(&b->a, 1, 1);
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
	EXPECT_REJOIN(&b->a, 9, 9);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 8u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The group is lost, and the consumer has set another one. */
static void qkey_stays_lost(struct kunit *test)
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
static void qkey_of_failed_rejoin(struct kunit *test)
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
static void qkey_of_next_qp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	qkey_error = -EINVAL;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	qkey_error = 0;
	qkey = 9;
	EXPECT_REJOIN(&b->b, 2, 9);
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
	EXPECT_REJOIN(&b->b, 2, 1);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* The consumer sets it, and joins a group that has it. */
static void qkey_of_consumer_and_group(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	b->b.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	qkey = 9;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 9), 0);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 2u);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	bed_end(test, b);
}

/* A group without one is joined, which has to restore that of the queue pair. */
static void qkey_unread_restored(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->a);
	query_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), -ENOMEM);
	query_error = 0;
	EXPECT_REJOIN(&b->b, 2, OWN_QKEY);
	bed_end(test, b);
}

/* A join that failed is left when its queue pair is destroyed. */
static void qkey_of_another_qp(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	b->c.qp = (void *)b + sizeof(*b);
	cmx_group_detach(&b->c);
	KUNIT_EXPECT_EQ(test, qkey, 1u);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* In RDMA_PS_IPOIB a joined group requires that of the partition. */
static void qkey_of_partition(struct kunit *test)
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
static void qkey_reset(struct kunit *test)
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

/* Without memory for the query nothing is known: a join that sets one fails. */
static void qkey_unread(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_UDP);

	b->a.set_qkey = true;
	query_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	query_error = 0;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	/* Unless it sets none */
	query_error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	query_error = 0;
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, OWN_QKEY);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	bed_end(test, b);
}

/* The Q_Key of a lost group is a former one. */
static void qkey_lost(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	KUNIT_EXPECT_EQ(test, rejoined(&b->b, 2), 0);
	KUNIT_EXPECT_EQ(test, rejoined(&b->c, 2), 0);
	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	lost(&b->c);
	EXPECT_REJOIN(&b->b, 3, 1);
	cmx_group_detach(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 3u);
	/* Nor has a lost one precedence. */
	EXPECT_REJOIN(&b->a, 1, 1);
	lost(&b->a);
	KUNIT_EXPECT_EQ(test, qkey, 3u);
	EXPECT_REJOIN(&b->b, 4, 4);
	cmx_group_detach(&b->c);
	bed_end(test, b);
}

/* Two are lost. One is attached, and not reported yet when the other one is. */
static void qkey_rejoin(struct kunit *test)
{
	struct bed *b = bed_make(test, RDMA_PS_IPOIB);

	b->a.set_qkey = true;
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	EXPECT_REJOIN(&b->b, 2, 1);
	b->a.lost = -ENETRESET;
	b->b.lost = -ENETRESET;
	lost(&b->a);
	lost(&b->b);
	KUNIT_EXPECT_EQ(test, rejoined(&b->a, 1), 0);
	EXPECT_REJOIN(&b->b, 3, 1);
	bed_end(test, b);
}

/* A group that cannot be attached to its new MLID does not set its Q_Key. */
static void qkey_refused(struct kunit *test)
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

static struct kunit_case qkey_cases[] = {
	KUNIT_CASE(qkey_changes),
	KUNIT_CASE(qkey_udp),
	KUNIT_CASE(qkey_fresh),
	KUNIT_CASE(qkey_given),
	KUNIT_CASE(qkey_both),
	KUNIT_CASE(qkey_stays),
	KUNIT_CASE(qkey_ends_in_udp),
	KUNIT_CASE(qkey_last),
	KUNIT_CASE(qkey_lost),
	KUNIT_CASE(qkey_lost_alone),
	KUNIT_CASE(qkey_of_consumer),
	KUNIT_CASE(qkey_rejoined),
	KUNIT_CASE(qkey_stays_lost),
	KUNIT_CASE(qkey_of_failed_rejoin),
	KUNIT_CASE(qkey_of_next_qp),
	KUNIT_CASE(qkey_of_consumer_and_group),
	KUNIT_CASE(qkey_of_another_qp),
	KUNIT_CASE(qkey_unread_restored),
	KUNIT_CASE(qkey_of_partition),
	KUNIT_CASE(qkey_reset),
	KUNIT_CASE(qkey_unread),
	KUNIT_CASE(qkey_rejoin),
	KUNIT_CASE(qkey_refused),
	{}
};

static struct kunit_suite qkey_suite = {
	.name = "cmx_mcast_qkey",
	.init = bed_init,
	.exit = bed_exit,
	.test_cases = qkey_cases,
};

kunit_test_suite(qkey_suite);
