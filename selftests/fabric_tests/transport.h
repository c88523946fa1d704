/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the tests of the transport share: two ends on two devices,
 * the contents of a message, and the next completion. For one file of a
 * program, like the harness.
 */
#ifndef FABRIC_TRANSPORT_H
#define FABRIC_TRANSPORT_H

#include <string.h>

#include "harness.h"

#include "pair.h"

#define HALF	(END_BYTES / 2)

static inline void fill(uint8_t *buf, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		buf[i] = (i * 131 + (i >> 9) * 7 + seed) & 0xff;
}

FIXTURE(pair) {
	struct end a, b;
	struct ibv_wc wc;
};

FIXTURE_SETUP(pair)
{
	ASSERT_TRUE(end_open(&self->a, 0));
	ASSERT_TRUE(end_open(&self->b, 1));
}

FIXTURE_TEARDOWN(pair)
{
	EXPECT_TRUE(end_close(&self->a));
	EXPECT_TRUE(end_close(&self->b));
}

/* The next completion of an end is this one */
#define SENT(end, id, result) do {					\
	ASSERT_EQ(0, end_sent(end, &self->wc));				\
	EXPECT_EQ(id, self->wc.wr_id);					\
	ASSERT_EQ(result, self->wc.status);				\
} while (0)

#define RECEIVED(end, id, result) do {					\
	ASSERT_EQ(0, end_received(end, &self->wc));			\
	EXPECT_EQ(id, self->wc.wr_id);					\
	ASSERT_EQ(result, self->wc.status);				\
} while (0)

#endif /* FABRIC_TRANSPORT_H */
