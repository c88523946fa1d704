// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parameters of a join, MC-08: each is in its range if its bit is set, and 0
 * if not; struct rdma_cmx_mc_param has the ranges.
 */
#include "kunit.h"
#include "mcast/mcast.h"

static const struct field {
	const char *name;
	u32 bit;
	u32 min;
	u32 max;
	size_t at;
	size_t size;
} fields[] = {
	{ "qkey", 1, 1, ~0u, 4, 4 },
	{ "pkey", 2, 1, 0xffff, 12, 2 },
	{ "mtu", 4, 1, 5, 14, 1 },
	{ "rate", 8, 2, 63, 15, 1 },
	{ "sl", 16, 0, 15, 16, 1 },
	{ "traffic_class", 32, 0, 255, 17, 1 },
	{ "flow_label", 64, 0, 0xfffff, 8, 4 },
	{ "hop_limit", 128, 0, 255, 18, 1 },
};

static void field_desc(const struct field *f, char *desc)
{
	strscpy(desc, f->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(field, fields, field_desc);

static int check(const struct field *f, u32 mask, u32 value)
{
	struct rdma_cmx_mc_param p = { .mask = mask };

	memcpy((u8 *)&p + f->at, &value, f->size);
	return cmx_mc_param_check(&p);
}

static void mcast_range(struct kunit *test)
{
	const struct field *f = test->param_value;
	u32 width = BIT_ULL(8 * f->size) - 1;
	u32 values[] = { 0, 1, 2, f->min, f->max - 1, f->max, f->max + 1,
			 width };
	u32 i, v, good;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		v = values[i];
		if (v > width)
			continue;
		good = v >= f->min && v <= f->max;
		KUNIT_EXPECT_EQ_MSG(test, check(f, f->bit, v),
				    good ? 0 : -EINVAL, "%#x", v);
		KUNIT_EXPECT_EQ_MSG(test, check(f, 0, v), v ? -EINVAL : 0,
				    "%#x unasked", v);
	}
}

/* A P_Key is a partition and a membership bit: 0x8000 is no partition. */
static void mcast_pkey(struct kunit *test)
{
	const struct field *pkey = &fields[1];

	KUNIT_EXPECT_EQ(test, check(pkey, 2, 0x8000), -EINVAL);
	KUNIT_EXPECT_EQ(test, check(pkey, 2, 0x8001), 0);
	KUNIT_EXPECT_EQ(test, check(pkey, 2, 0x7fff), 0);
}

static void mcast_mask(struct kunit *test)
{
	struct rdma_cmx_mc_param p;
	u32 bit, i;

	for (bit = 8; bit < 32; bit++) {
		memset(&p, 0, sizeof(p));
		p.mask = BIT(bit);
		KUNIT_EXPECT_EQ(test, cmx_mc_param_check(&p), -EOPNOTSUPP);
	}
	for (i = 0; i < sizeof(p.reserved); i++) {
		memset(&p, 0, sizeof(p));
		KUNIT_EXPECT_EQ(test, cmx_mc_param_check(&p), 0);
		p.reserved[i] = 1;
		KUNIT_EXPECT_EQ(test, cmx_mc_param_check(&p), -EINVAL);
	}
}

static struct kunit_case mcast_cases[] = {
	KUNIT_CASE_PARAM(mcast_range, field_gen_params),
	KUNIT_CASE(mcast_pkey),
	KUNIT_CASE(mcast_mask),
	{}
};

static struct kunit_suite mcast_suite = {
	.name = "cmx_mcast",
	.test_cases = mcast_cases,
};

kunit_test_suite(mcast_suite);
