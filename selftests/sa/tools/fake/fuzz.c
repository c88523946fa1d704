// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random corruption of responses: the seed determines all of them in sequence.
 * Most keep their transaction id; the receiver drops the others. One thread.
 */
#include <string.h>

#include "fake.h"

/* The size of a table, of requested records or others */
#define TABLE_MAX	200000

static uint64_t state;

static uint32_t next(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static uint32_t below(uint32_t n)
{
	return next() % n;
}

/* Returns a number with a small, a large, or a one-bit error. */
static uint32_t number_spoil(uint32_t value)
{
	switch (below(6)) {
	case 0:
		return 0;
	case 1:
		return value + below(5) - 2;
	case 2:
		return value ^ 1u << below(32);
	case 3:
		return ~0u >> below(32);
	case 4:
		return below(300);
	default:
		return next();
	}
}

/*
 * Never a transaction id of another agent, which has a small number in the
 * upper half: stock ib_sa never frees an RMPP segment for which it has no
 * request.
 */
static uint64_t transaction_spoil(uint64_t tid)
{
	uint32_t bit = below(48);

	return tid ^ 1ULL << (bit < 32 ? bit : bit + 16);
}

static void head_spoil(struct reply *reply)
{
	struct umad_hdr *hdr = &reply->head.mad_hdr;

	switch (below(10)) {
	case 0:
		hdr->status = htobe16(below(2) ? 1u << below(16) : next());
		break;
	case 1:
		hdr->method = number_spoil(hdr->method);
		break;
	case 2:
		hdr->attr_id = htobe16(number_spoil(be16toh(hdr->attr_id)));
		break;
	case 3:
		hdr->class_version = number_spoil(hdr->class_version);
		break;
	case 4:
		hdr->tid = htobe64(transaction_spoil(be64toh(hdr->tid)));
		break;
	case 5:
		reply->head.sm_key[below(8)] = next();
		break;
	default:
		reply->head.attr_offset =
			htobe16(number_spoil(be16toh(reply->head.attr_offset)));
	}
}

/* Large responses are rare: each takes a thousand packets. */
static void table_spoil(struct reply *reply)
{
	const bool large = !below(16);
	const uint32_t room = large ? TABLE_MAX : 4000;
	size_t i, n;

	switch (below(4)) {
	case 0:
		n = below(large ? 1000 : 20);
		for (i = 1; reply->count && i < n; i++)
			memcpy(reply->table + i * reply->size, reply->table,
			       reply->size);
		if (reply->count && n)
			reply->len = n * reply->size;
		break;
	case 1:
		reply->len = below(2) ? below(reply->len + 1) :
					below(room);
		break;
	case 2:
		reply->len = number_spoil(reply->len) % room;
		break;
	default:
		for (n = below(64); reply->len && n; n--)
			reply->table[below(reply->len)] = next();
	}
}

void fuzz_records(struct reply *reply, unsigned long seed)
{
	if (!state)
		state = seed + 1;
	if (!below(2))
		head_spoil(reply);
	if (!below(2))
		table_spoil(reply);
}

static void segment_spoil(struct segment *seg)
{
	switch (below(8)) {
	case 0:
		seg->number = number_spoil(seg->number);
		break;
	case 1:
		seg->paylen = number_spoil(seg->paylen);
		break;
	case 2:
		seg->version = number_spoil(seg->version);
		break;
	case 3:
		seg->type = below(6);
		break;
	case 4:
		seg->flags = below(2) ? seg->flags ^ 1u << below(8) : next();
		break;
	case 5:
		seg->status = below(2) ? below(128) : next();
		break;
	default:
		seg->copies = below(4);
	}
}

void fuzz_segments(struct reply *reply, unsigned long seed)
{
	struct segment tmp;
	size_t a, b, n;

	for (n = below(4); n; n--)
		segment_spoil(&reply->segments[below(reply->segment_count)]);
	if (!below(4)) {
		a = below(reply->segment_count);
		b = below(reply->segment_count);
		tmp = reply->segments[a];
		reply->segments[a] = reply->segments[b];
		reply->segments[b] = tmp;
	}
	if (!below(8))
		reply->segment_count = 1 + below(reply->segment_count);
}
