// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Makes a valid command invalid, as a caller may. No state. */
#include "fuzz.h"

static uint64_t word_random(struct rng *r, struct fuzz_world *w)
{
	switch (rng_below(r, 10)) {
	case 0:
		return 0;
	case 1:
		return rng_below(r, 80);
	case 2:
		return (uintptr_t)w->pool + rng_below(r, FUZZ_POOL);
	case 3:
		return (uint64_t)rng_next(r) << 32 | rng_next(r);
	case 4:
		return UINT64_MAX << rng_below(r, 64);
	case 5:
		return UINT64_MAX >> rng_below(r, 64);
	case 6:
		return 0xffff888000000000 + rng_next(r);
	case 7:
		return (uintptr_t)w->read_only + rng_below(r, FUZZ_POOL);
	case 8:
		return 1ull << rng_below(r, 64);
	default:
		return w->ids[rng_below(r, FUZZ_FILES)]
			     [rng_below(r, FUZZ_SLOTS)];
	}
}

/* Changes some bytes. The size has a separate mode. */
static void bytes_spoil(struct rng *r, struct fuzz_world *w,
			struct fuzz_call *c)
{
	uint32_t width = 1u << rng_below(r, 4), at;
	uint64_t word = word_random(r, w);

	at = 4 + rng_below(r, (c->size - 4) / width) * width;
	if (at + width > c->size)
		at = c->size - width;
	if (rng_below(r, 3))
		memcpy(c->arg + at, &word, width);
	else
		c->arg[at] ^= 1 << rng_below(r, 8);
}

static void noise(struct rng *r, struct fuzz_world *w, struct fuzz_call *c)
{
	uint64_t word;
	uint32_t at;

	for (at = 8; at + 8 <= c->size; at += 8) {
		word = word_random(r, w);
		if (rng_below(r, 3))
			memcpy(c->arg + at, &word, 8);
	}
}

static void size_spoil(struct rng *r, struct fuzz_call *c)
{
	uint32_t size;

	switch (rng_below(r, 5)) {
	case 0:
		size = rng_below(r, c->size + 1);
		break;
	case 1:
		size = c->size + 8 * rng_below(r, 8);
		/* The kernel accepts extra zeros, and nothing else. */
		if (rng_below(r, 2) && size < sizeof(c->arg))
			c->arg[size - 1] = 1;
		break;
	case 2:
		size = 4096 + rng_below(r, 8);
		break;
	case 3:
		size = rng_next(r);
		break;
	default:
		size = 0;
	}
	memcpy(c->arg, &size, 4);
}

/* Changes the memory that the struct points to. */
static void buffer_spoil(struct rng *r, struct fuzz_call *c)
{
	uint8_t *buf = (void *)c->buf;
	int n;

	for (n = 1 + rng_below(r, 4); n; n--)
		buf[rng_below(r, 256)] = rng_next(r);
}

/* Puts the struct at the end of a page, or where it cannot be written. */
static void *place_spoil(struct rng *r, struct fuzz_world *w,
			 struct fuzz_call *c)
{
	uint8_t *at;

	switch (rng_below(r, 5)) {
	case 0:
		at = w->pool + FUZZ_POOL - 8 * rng_below(r, 1 + c->size / 8);
		memcpy(at, c->arg, w->pool + FUZZ_POOL - at);
		return at;
	case 1:
		at = w->pool + 1 + rng_below(r, 16);
		memcpy(at, c->arg, c->size);
		return at;
	case 2:
		return w->read_only + 8 * rng_below(r, 64);
	case 3:
		return NULL;
	default:
		return (void *)(uintptr_t)word_random(r, w);
	}
}

/*
 * No query to a name server, as that takes two processes each time. The field
 * is that of the query in RESOLVE_ADDRINFO and GETADDRINFO.
 */
static void names_keep(struct fuzz_call *c)
{
	struct rdma_cmx_ai_query *q;

	if (c->cmd == RDMA_CMX_CMD_RESOLVE_ADDRINFO)
		q = &((struct rdma_cmx_resolve_addrinfo *)c->arg)->query;
	else if (c->cmd == RDMA_CMX_CMD_GETADDRINFO)
		q = &((struct rdma_cmx_getaddrinfo *)c->arg)->query;
	else
		return;
	/* And short timeouts */
	q->timeout_ms = 1 + q->timeout_ms % 20;
	if (!q->names_len && !(q->flags & RDMA_CMX_AIQ_NAMES_LATER))
		q->ai_flags |= RDMA_CMX_AI_NUMERICHOST;
}

void *call_spoil(struct rng *r, struct fuzz_world *w, struct fuzz_call *c)
{
	void *place = c->arg;
	int n;

	switch (rng_below(r, 16)) {
	case 0 ... 5:
		bytes_spoil(r, w, c);
		break;
	case 6 ... 7:
		for (n = rng_below(r, 4); n >= 0; n--)
			bytes_spoil(r, w, c);
		break;
	case 8 ... 9:
		size_spoil(r, c);
		break;
	case 10 ... 11:
		buffer_spoil(r, c);
		break;
	case 12 ... 13:
		noise(r, w, c);
		break;
	default:
		names_keep(c);
		return place_spoil(r, w, c);
	}
	names_keep(c);
	return place;
}
