// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two groups of an id that have one MGID share the attachment of its queue
 * pair, MC-11, also after a rejoin with another MLID.
 */
#include "mcast_bed.h"

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

static struct kunit_case attach_cases[] = {
	KUNIT_CASE(attach_lid_changes),
	KUNIT_CASE(attach_fails),
	{}
};

static struct kunit_suite attach_suite = {
	.name = "cmx_mcast_attach",
	.init = bed_init,
	.exit = bed_exit,
	.test_cases = attach_cases,
};

kunit_test_suite(attach_suite);
