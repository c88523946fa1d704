// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responses of an SA, which may be broken or hostile: a valid one is taken, one
 * with too many records is EOVERFLOW, any other is EBADMSG, and no byte behind
 * the received ones is read. ib_mad reassembles the segments of RMPP; the tests
 * have its valid results and others.
 */
#include <linux/slab.h>
#include <rdma/ib_mad.h>

#include "kunit.h"

#define SEG_DATA	200	/* bytes of records in a MAD */
#define HEADERS		56	/* bytes before them */

/* A received response: MADs of 256 bytes, each in a separate allocation. */
struct answer {
	struct ib_mad_recv_wc wc;
	struct ib_mad_recv_buf seg[64];
	u32 segs;
};

static struct ib_sa_mad *answer_mad(struct answer *a, u32 i)
{
	return (void *)(i ? a->seg[i].mad : a->wc.recv_buf.mad);
}

static void answer_free(struct answer *a)
{
	u32 i;

	for (i = 0; i < a->segs; i++)
		kfree(answer_mad(a, i));
	kfree(a);
}

/* Of @len bytes in @segs segments; byte i of the records is i % 251. */
static struct answer *answer_make(struct kunit *test,
				  const struct cmx_sa_query *q, u32 len,
				  u32 segs)
{
	struct answer *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct ib_sa_mad *mad;
	u32 i, j;

	KUNIT_ASSERT_NOT_NULL(test, a);
	INIT_LIST_HEAD(&a->wc.rmpp_list);
	a->wc.mad_len = HEADERS + len;
	a->wc.mad_seg_size = 256;
	for (i = 0; i < segs; i++) {
		mad = kzalloc(256, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, mad);
		mad->mad_hdr.method = q->method | 0x80;
		mad->mad_hdr.attr_id = q->attr_id;
		mad->rmpp_hdr.rmpp_rtime_flags =
			q->method == IB_SA_METHOD_GET_TABLE ? 1 : 0;
		mad->sa_hdr.attr_offset = cpu_to_be16(q->rec_len / 8);
		for (j = 0; j < SEG_DATA; j++)
			mad->data[j] = (i * SEG_DATA + j) % 251;
		if (i) {
			a->seg[i].mad = (void *)mad;
			list_add_tail(&a->seg[i].list, &a->wc.rmpp_list);
		} else {
			a->wc.recv_buf.mad = (void *)mad;
			list_add_tail(&a->wc.recv_buf.list, &a->wc.rmpp_list);
		}
		a->segs++;
	}
	return a;
}

static const struct cmx_sa_query services = {
	.attr_id = cpu_to_be16(0x31),
	.method = IB_SA_METHOD_GET_TABLE,
	.rec_len = 176,
};

static const struct cmx_sa_query path = {
	.attr_id = cpu_to_be16(0x35),
	.method = IB_SA_METHOD_GET_TABLE,
	.rec_len = 64,
};

static const struct cmx_sa_query port_info = {
	.attr_id = cpu_to_be16(0x01),
	.method = IB_MGMT_METHOD_GET,
	.rec_len = 72,
};

static const struct cmx_sa_query service_set = {
	.attr_id = cpu_to_be16(0x31),
	.method = IB_MGMT_METHOD_SET,
	.rec_len = 176,
};

static const struct cmx_sa_query service_delete = {
	.attr_id = cpu_to_be16(0x31),
	.method = IB_SA_METHOD_DELETE,
	.rec_len = 176,
};

/* The result of the check; frees the response. */
static int answer_read(struct answer *a, const struct cmx_sa_query *q)
{
	struct cmx_sa_response *answer = NULL;
	int ret = cmx_sa_read(q, &a->wc, &answer);

	cmx_sa_response_put(answer);
	answer_free(a);
	return ret;
}

static int read_len(struct kunit *test, const struct cmx_sa_query *q,
		    u32 len, u32 segs)
{
	return answer_read(answer_make(test, q, len, segs), q);
}

/* A response with another byte in its first segment */
static int read_byte(struct kunit *test, size_t at, u8 value)
{
	struct answer *a = answer_make(test, &services, 176, 1);

	((u8 *)answer_mad(a, 0))[at] = value;
	return answer_read(a, &services);
}

static int read_mad_len(struct kunit *test, int mad_len)
{
	struct answer *a = answer_make(test, &services, 176, 1);

	a->wc.mad_len = mad_len;
	return answer_read(a, &services);
}

static int read_offset(struct kunit *test, u32 len, u32 offset)
{
	struct answer *a = answer_make(test, &path, len,
				       DIV_ROUND_UP(len, SEG_DATA) ?: 1);

	answer_mad(a, 0)->sa_hdr.attr_offset = cpu_to_be16(offset);
	return answer_read(a, &path);
}

static void answer_status(struct kunit *test)
{
	u32 status;

	for (status = 1; status < 0x10000; status += status < 0x800 ? 1 : 0xff) {
		struct answer *a = answer_make(test, &services, 176, 1);
		struct cmx_sa_response *answer = NULL;
		int ret, want;

		/*
		 * 13.4.7: bit 0 busy, bit 1 redirect. 15.2.3: 1 no resources,
		 * 3 no records, 5 invalid GID, others refuse.
		 */
		if (status & 1 || status == 0x100)
			want = -EBUSY;
		else if (status == 0x300 || status == 0x500)
			want = 0;
		else
			want = -ECONNREFUSED;
		answer_mad(a, 0)->mad_hdr.status = cpu_to_be16(status);
		ret = cmx_sa_read(&services, &a->wc, &answer);
		KUNIT_EXPECT_EQ_MSG(test, ret, want, "status %#x", status);
		if (!ret)
			KUNIT_EXPECT_EQ(test, answer->count, 0u);
		cmx_sa_response_put(answer);
		answer_free(a);
	}
}

/* 15.4.1: SubnAdmGetResp() for a Set, SubnAdmDeleteResp() for a Delete. */
static void answer_change(struct kunit *test)
{
	struct answer *a;

	a = answer_make(test, &service_set, 200, 1);
	answer_mad(a, 0)->mad_hdr.method = 0x81;
	KUNIT_EXPECT_EQ(test, answer_read(a, &service_set), 0);
	a = answer_make(test, &service_set, 200, 1);
	answer_mad(a, 0)->mad_hdr.method = 0x82;
	KUNIT_EXPECT_EQ(test, answer_read(a, &service_set), -EBADMSG);
	a = answer_make(test, &service_set, 100, 1);
	answer_mad(a, 0)->mad_hdr.method = 0x81;
	KUNIT_EXPECT_EQ(test, answer_read(a, &service_set), -EBADMSG);
	a = answer_make(test, &service_delete, 200, 1);
	answer_mad(a, 0)->mad_hdr.method = 0x95;
	KUNIT_EXPECT_EQ(test, answer_read(a, &service_delete), 0);
	a = answer_make(test, &service_delete, 200, 1);
	answer_mad(a, 0)->mad_hdr.method = 0x81;
	KUNIT_EXPECT_EQ(test, answer_read(a, &service_delete), -EBADMSG);
}

static void answer_header(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, read_byte(test, 0, 1), 0);
	/* The method is at byte 3, the attribute at 16, RMPP's flags at 26. */
	KUNIT_EXPECT_EQ(test, read_byte(test, 3, 0x12), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_byte(test, 3, 0x81), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_byte(test, 3, 0), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_byte(test, 17, 0x35), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_byte(test, 16, 1), -EBADMSG);
	/* Only RMPP has the length of a table. */
	KUNIT_EXPECT_EQ(test, read_byte(test, 26, 0), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_mad_len(test, HEADERS), 0);
	KUNIT_EXPECT_EQ(test, read_mad_len(test, HEADERS - 1), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_mad_len(test, 0), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_mad_len(test, -1), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_mad_len(test, INT_MIN), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_mad_len(test, INT_MAX), -EBADMSG);
	KUNIT_EXPECT_EQ(test, read_len(test, &port_info, 200, 1), 0);
	KUNIT_EXPECT_EQ(test, read_len(test, &port_info, 72, 1), 0);
	KUNIT_EXPECT_EQ(test, read_len(test, &port_info, 71, 1), -EBADMSG);
}

/* AttributeOffset counts 8 bytes, and may not be less than the attribute. */
static void answer_offset(struct kunit *test)
{
	static const u32 lens[] = { 0, 64, 128, 192, 1280, 3200 };
	u32 i, offset, len;
	bool good;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		len = lens[i];
		for (offset = 0; offset < 500; offset += offset < 50 ? 1 : 7) {
			good = !len || (offset >= 8 && !(len % (8 * offset)));
			KUNIT_EXPECT_EQ_MSG(test,
					    read_offset(test, len, offset),
					    good ? 0 : -EBADMSG,
					    "%u bytes, offset %u", len,
					    offset);
		}
		KUNIT_EXPECT_EQ(test, read_offset(test, len, 0xffff),
				len ? -EBADMSG : 0);
	}
}

/* Records are complete, in order, and at the right distance. */
static void answer_records(struct kunit *test)
{
	u32 records, i, j, len, stride;
	struct cmx_sa_response *answer;
	struct answer *a;
	const u8 *rec;

	for (stride = 64; stride <= 88; stride += 8) {
		for (records = 1; records <= 64; records += 3) {
			len = records * stride;
			a = answer_make(test, &path, len,
					DIV_ROUND_UP(len, 200));
			answer_mad(a, 0)->sa_hdr.attr_offset =
				cpu_to_be16(stride / 8);
			answer = NULL;
			KUNIT_ASSERT_EQ(test, 0, cmx_sa_read(&path, &a->wc,
							     &answer));
			KUNIT_EXPECT_EQ(test, answer->count, records);
			KUNIT_EXPECT_EQ(test, answer->stride, stride);
			KUNIT_EXPECT_EQ(test, answer->len, len);
			for (i = 0; i < records; i++) {
				rec = cmx_sa_response_rec(answer, i);
				for (j = 0; j < stride; j++) {
					if (rec[j] == (i * stride + j) % 251)
						continue;
					KUNIT_FAIL(test, "record %u byte %u",
						   i, j);
					break;
				}
			}
			cmx_sa_response_put(answer);
			answer_free(a);
		}
	}
}

/* A length that exceeds the segments: some were lost, or it is wrong. */
static void answer_lost(struct kunit *test)
{
	u32 segs;

	for (segs = 1; segs < 8; segs++)
		KUNIT_EXPECT_EQ(test, read_len(test, &path, 1600, segs),
				-EBADMSG);
	KUNIT_EXPECT_EQ(test, read_len(test, &path, 1600, 8), 0);
	/* A segment beyond the length is invalid. */
	KUNIT_EXPECT_EQ(test, read_len(test, &path, 1600, 9), 0);
	KUNIT_EXPECT_EQ(test, read_len(test, &path, 64 * 8192, 1), -EBADMSG);
}

static void answer_most(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_max_records", 10);
	KUNIT_EXPECT_EQ(test, read_len(test, &path, 64 * 10, 4), 0);
	KUNIT_EXPECT_EQ(test, read_len(test, &path, 64 * 11, 4), -EOVERFLOW);
	/* Nor more memory than those have, by a distance between them. */
	KUNIT_EXPECT_EQ(test, read_offset(test, 640, 128 / 8), 0);
	KUNIT_EXPECT_EQ(test, read_offset(test, 768, 128 / 8), -EOVERFLOW);
	/* A length that is no multiple is malformed, however long. */
	KUNIT_EXPECT_EQ(test, read_len(test, &path, 64 * 11 + 1, 4), -EBADMSG);
}

static void answer_random(struct kunit *test)
{
	static const struct cmx_sa_query *const queries[] = {
		&services, &path, &port_info,
	};
	u32 round, i, segs;

	for (round = 0; round < 4000; round++) {
		const struct cmx_sa_query *q =
			queries[kunit_random(ARRAY_SIZE(queries))];
		struct cmx_sa_response *answer = NULL;
		struct answer *a;

		segs = 1 + kunit_random(8);
		a = answer_make(test, q, kunit_random(segs * SEG_DATA + 9),
				segs);
		for (i = kunit_random(3); i; i--)
			((u8 *)answer_mad(a, 0))[kunit_random(HEADERS)] =
				kunit_random(256);
		if (kunit_random(2))
			answer_mad(a, 0)->sa_hdr.attr_offset =
				cpu_to_be16(kunit_random(40));
		if (!cmx_sa_read(q, &a->wc, &answer)) {
			KUNIT_ASSERT_NOT_NULL(test, answer);
			KUNIT_EXPECT_EQ(test, answer->len,
					answer->count * answer->stride);
			KUNIT_EXPECT_LE(test, answer->len, segs * SEG_DATA);
			KUNIT_EXPECT_GE(test, answer->stride, (u32)q->rec_len);
		}
		cmx_sa_response_put(answer);
		answer_free(a);
	}
}

static struct kunit_case answer_cases[] = {
	KUNIT_CASE(answer_status),
	KUNIT_CASE(answer_change),
	KUNIT_CASE(answer_header),
	KUNIT_CASE(answer_offset),
	KUNIT_CASE(answer_records),
	KUNIT_CASE(answer_lost),
	KUNIT_CASE(answer_most),
	KUNIT_CASE(answer_random),
	{}
};

static struct kunit_suite answer_suite = {
	.name = "cmx_sa_response",
	.exit = params_restore,
	.test_cases = answer_cases,
};

kunit_test_suite(answer_suite);
