// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Corruptions of a valid response by a hostile or broken SA. No state. */
#include <string.h>

#include "fake.h"

static void status(struct reply *reply, unsigned long arg)
{
	reply->head.mad_hdr.status = htobe16(arg);
	reply->len = 0;
	reply->head.attr_offset = 0;
}

static void busy(struct reply *reply, unsigned long arg)
{
	status(reply, UMAD_STATUS_BUSY);
}

static void redirect(struct reply *reply, unsigned long arg)
{
	status(reply, UMAD_STATUS_REDIRECT);
}

static void empty(struct reply *reply, unsigned long arg)
{
	status(reply, 0);
}

/* AttributeOffset counts in units of 8 bytes. */
static void offset(struct reply *reply, unsigned long arg)
{
	reply->head.attr_offset = htobe16(arg);
}

static void offset_small(struct reply *reply, unsigned long arg)
{
	offset(reply, reply->size / 8 - 1);
}

/* A later version of the format: longer records, with the known part first */
static void stride(struct reply *reply, unsigned long arg)
{
	size_t wide = reply->size + 8 * (arg ? arg : 3), i;

	for (i = reply->count; i-- > 0;) {
		memmove(reply->table + i * wide,
			reply->table + i * reply->size, reply->size);
		memset(reply->table + i * wide + reply->size, 0xee,
		       wide - reply->size);
	}
	reply->len = reply->count * wide;
	offset(reply, wide / 8);
}

static void truncate_table(struct reply *reply, unsigned long arg)
{
	reply->len -= arg ? arg : 50;
}

static void trailing(struct reply *reply, unsigned long arg)
{
	memset(reply->table + reply->len, 0xee, 80);
	reply->len += arg && arg < 80 ? arg : 8;
}

/* The SA grants any lease. */
static void lease(struct reply *reply, unsigned long arg)
{
	struct service_record *rec = (void *)reply->head.data;

	if (reply->head.mad_hdr.method == UMAD_METHOD_GET_RESP)
		rec->lease = htobe32(arg);
}

/* Accepts InformInfo for traps up to @arg, and refuses others. */
static void subscribe(struct reply *reply, unsigned long arg)
{
	unsigned int trap = reply->head.data[26] << 8 | reply->head.data[27];

	if (trap <= arg)
		reply->head.mad_hdr.status = 0;
}

/* Records that the query does not match */
static void foreign(struct reply *reply, unsigned long arg)
{
	size_t i;

	for (i = 0; i < reply->count; i++) {
		struct service_record *rec = (void *)(reply->table +
						      i * reply->size);

		rec->id ^= htobe64(1ULL << 40);
		memset(rec->name, 'z', 8);
	}
}

/* Repeats the first record; a table has space for 1000. */
static void repeat(struct reply *reply, unsigned long arg)
{
	size_t i;

	if (!reply->count)
		return;
	reply->count = arg ? arg : 1000;
	for (i = 1; i < reply->count; i++)
		memcpy(reply->table + i * reply->size, reply->table,
		       reply->size);
	reply->len = reply->count * reply->size;
}

static void noise(struct reply *reply, unsigned long arg)
{
	uint32_t seed = arg ? arg : 1;
	size_t i;

	for (i = 0; i < reply->len; i++) {
		seed = seed * 1103515245 + 12345;
		reply->table[i] = seed >> 16;
	}
}

/* A distant id: the ids nearby may be those of retries. */
static void tid(struct reply *reply, unsigned long arg)
{
	reply->head.mad_hdr.tid ^= htobe64(0x5a5a0000);
}

static void method(struct reply *reply, unsigned long arg)
{
	reply->head.mad_hdr.method = arg ? arg : UMAD_METHOD_REPORT_RESP;
}

static void attribute(struct reply *reply, unsigned long arg)
{
	reply->head.mad_hdr.attr_id =
		htobe16(arg ? arg : UMAD_SA_ATTR_NODE_REC);
}

static void class_version(struct reply *reply, unsigned long arg)
{
	reply->head.mad_hdr.class_version = arg ? arg : 1;
}

static void lost(struct reply *reply, unsigned long arg)
{
	size_t n = arg ? arg : 2;

	if (n <= reply->segment_count)
		reply->segments[n - 1].copies = 0;
}

static void lost_last(struct reply *reply, unsigned long arg)
{
	reply->segments[reply->segment_count - 1].copies = 0;
}

static void duplicate(struct reply *reply, unsigned long arg)
{
	size_t i;

	for (i = 0; i < reply->segment_count; i++)
		reply->segments[i].copies = arg ? arg : 2;
}

/* All but the first, which opens the window */
static void reorder(struct reply *reply, unsigned long arg)
{
	struct segment tmp;
	size_t a = 1, b = reply->segment_count;

	while (b > a + 1) {
		tmp = reply->segments[a];
		reply->segments[a++] = reply->segments[--b];
		reply->segments[b] = tmp;
	}
}

static void no_last(struct reply *reply, unsigned long arg)
{
	reply->segments[reply->segment_count - 1].flags &= ~RMPP_LAST;
}

static void early_last(struct reply *reply, unsigned long arg)
{
	reply->segments[arg ? arg - 1 : 1].flags |= RMPP_LAST;
}

static void all_first(struct reply *reply, unsigned long arg)
{
	size_t i;

	for (i = 0; i < reply->segment_count; i++)
		reply->segments[i].flags |= RMPP_FIRST;
}

static void no_first(struct reply *reply, unsigned long arg)
{
	reply->segments[0].flags &= ~RMPP_FIRST;
}

static void paylen_first(struct reply *reply, unsigned long arg)
{
	reply->segments[0].paylen = arg;
}

static void paylen_last(struct reply *reply, unsigned long arg)
{
	reply->segments[reply->segment_count - 1].paylen = arg;
}

/* As many records as no machine has ... */
static void million(struct reply *reply, unsigned long arg)
{
	paylen_first(reply, 1000000 * reply->size);
}

static void number(struct reply *reply, unsigned long arg)
{
	reply->segments[reply->segment_count - 1].number = arg;
}

static void version(struct reply *reply, unsigned long arg)
{
	size_t i;

	for (i = 0; i < reply->segment_count; i++)
		reply->segments[i].version = arg ? arg : 2;
}

static void type(struct reply *reply, unsigned long arg)
{
	struct segment *last = &reply->segments[reply->segment_count - 1];

	last->type = arg;
	last->status = arg == RMPP_TYPE_DATA ? 0 : 118;
}

static void abort_transfer(struct reply *reply, unsigned long arg)
{
	type(reply, RMPP_TYPE_ABORT);
}

static void stop_transfer(struct reply *reply, unsigned long arg)
{
	type(reply, RMPP_TYPE_STOP);
	reply->segments[reply->segment_count - 1].status = 1;
}

static void inactive(struct reply *reply, unsigned long arg)
{
	size_t i;

	for (i = 0; i < reply->segment_count; i++) {
		reply->segments[i].flags = 0;
		reply->segments[i].version = 0;
		reply->segments[i].type = 0;
	}
}

static void silent(struct reply *reply, unsigned long arg)
{
	reply->segment_count = 0;
}

const struct mode fake_modes[] = {
	{ "good", "as it should be", .records = NULL },
	{ "silent", "no answer", .segments = silent },
	{ "empty", "no record", .records = empty },
	{ "busy", "status busy", .records = busy },
	{ "redirect", "status redirection required", .records = redirect },
	{ "status", "=STATUS", .records = status },
	{ "offset", "=N: AttributeOffset is wrong", .records = offset },
	{ "offset-small", "AttributeOffset 8 bytes too small",
	  .records = offset_small },
	{ "stride", "=N: records N * 8 bytes longer", .records = stride },
	{ "truncated", "=N: the last N bytes are missing",
	  .records = truncate_table },
	{ "trailing", "=N bytes behind the last record", .records = trailing },
	{ "lease", "=S: a Set is granted a lease of S seconds",
	  .records = lease },
	{ "subscribe", "=N: with -a 3: accept subscriptions to traps up to N",
	  .records = subscribe },
	{ "foreign", "other records than requested", .records = foreign },
	{ "repeat", "=N: the first record N times", .records = repeat },
	{ "noise", "=SEED: random bytes", .records = noise },
	{ "tid", "another transaction", .records = tid },
	{ "method", "=METHOD", .records = method },
	{ "attribute", "=ATTRIBUTE", .records = attribute },
	{ "class-version", "=VERSION", .records = class_version },
	{ "lost", "=N: segment N never comes", .segments = lost },
	{ "lost-last", "the last segment never comes", .segments = lost_last },
	{ "duplicate", "=N: each segment N times", .segments = duplicate },
	{ "reorder", "the last segment first", .segments = reorder },
	{ "no-last", "no segment says that it is the last",
	  .segments = no_last },
	{ "early-last", "=N: segment N says that it is the last",
	  .segments = early_last },
	{ "all-first", "each segment says that it is the first",
	  .segments = all_first },
	{ "no-first", "no segment says so", .segments = no_first },
	{ "paylen-first", "=N", .segments = paylen_first },
	{ "paylen-last", "=N", .segments = paylen_last },
	{ "million", "a million records claimed", .segments = million },
	{ "number", "=N: of the last segment", .segments = number },
	{ "version", "=N: of RMPP", .segments = version },
	{ "type", "=N: RMPP type of the last segment", .segments = type },
	{ "abort", "RMPP ABORT at the end", .segments = abort_transfer },
	{ "stop", "RMPP STOP at the end", .segments = stop_transfer },
	{ "inactive", "segments without RMPP", .segments = inactive },
	{ "fuzz", "=SEED: some of it, at random, another way each time",
	  .records = fuzz_records, .segments = fuzz_segments },
	{ .name = NULL },
};
