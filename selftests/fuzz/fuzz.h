/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fuzzer of the uAPI: valid commands (calls.c), mutated (mutate.c), in any
 * order, by several threads on the same files. The tables of handles are shared
 * without a lock: a thread may destroy an object that another one uses.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "ioctl.h"

#define FUZZ_COMMANDS	34
#define FUZZ_STRUCT	512	/* longer than any command's */
#define FUZZ_FILES	3
#define FUZZ_SLOTS	24	/* handles that are kept at a time */
#define FUZZ_POOL	4096	/* bytes of memory to point to */
#define FUZZ_BUF	4096

struct rng {
	uint64_t state;
};

static inline uint32_t rng_next(struct rng *r)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return r->state >> 33;
}

static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return rng_next(r) % n;
}

/* One chance in @n */
static inline bool rng_one_in(struct rng *r, uint32_t n)
{
	return !rng_below(r, n);
}

/* State of all threads */
struct fuzz_world {
	int fds[FUZZ_FILES];
	uint32_t ids[FUZZ_FILES][FUZZ_SLOTS];
	uint32_t mcs[FUZZ_FILES][FUZZ_SLOTS];
	uint16_t port;		/* of the last listener */
	uint8_t *pool;		/* unmapped memory follows it */
	uint8_t *read_only;	/* a page */
};

/* A call: the struct of a command, for a file */
struct fuzz_call {
	unsigned int cmd;
	unsigned int file;
	unsigned int slot;	/* for the handle that it creates or ends */
	uint32_t size;		/* of the struct */
	uint64_t *buf;		/* FUZZ_BUF bytes that the struct points to */
	uint8_t arg[FUZZ_STRUCT] __attribute__((aligned(8)));
};

extern const uint16_t fuzz_sizes[FUZZ_COMMANDS];

/* Makes a valid command. */
void call_make(struct rng *r, struct fuzz_world *w, struct fuzz_call *c,
	       unsigned int cmd);
/* Stores the handles of its result. */
void call_note(struct fuzz_world *w, const struct fuzz_call *c, int ret);
/* Mutates it. Returns the address of its struct. */
void *call_spoil(struct rng *r, struct fuzz_world *w, struct fuzz_call *c);

#endif /* FUZZ_H */
