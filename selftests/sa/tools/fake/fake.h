/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fake SA: it builds a valid reply, and a mode corrupts it. One thread, no
 * locks.
 */
#ifndef CMX_SELFTEST_FAKE_H
#define CMX_SELFTEST_FAKE_H

#include "../mad.h"

#define SEGMENTS_MAX	1024

/* One packet of a response with RMPP */
struct segment {
	uint32_t number;
	uint32_t paylen;	/* bytes of payload, or the new window */
	uint8_t version;
	uint8_t type;
	uint8_t flags;
	uint8_t status;
	unsigned int copies;	/* 0: lost */
	const uint8_t *data;
	size_t len;
};

struct reply {
	struct umad_sa_packet head;	/* start of all segments */
	uint16_t attr;
	size_t size;			/* of one record */
	size_t stride;
	size_t count;
	uint8_t *table;			/* with free space behind it */
	size_t len;
	struct segment segments[SEGMENTS_MAX];
	size_t segment_count;
};

/*
 * @records changes the header or the table, @segments the packets. Both receive
 * the number behind "=" in the mode's text.
 */
struct mode {
	const char *name;
	const char *what;
	void (*records)(struct reply *reply, unsigned long arg);
	void (*segments)(struct reply *reply, unsigned long arg);
};

/* The last one has no name. */
extern const struct mode fake_modes[];

/* fuzz.c: random corruption of a response, in both ways */
void fuzz_records(struct reply *reply, unsigned long seed);
void fuzz_segments(struct reply *reply, unsigned long seed);

#endif /* CMX_SELFTEST_FAKE_H */
