// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows of outstanding connection requests: which request gets a slot at
 * once, which one is next, and that each slot is released once.
 *
 * With connect_window 64 a port has 64 slots, a destination has 16: 8 for all,
 * 1 for kernel consumers, 1 for root, 6 for users who have no slot.
 *
 * Tags with the same remainder by 1024 have the same 4 windows.
 */
#include <linux/slab.h>

#include "connect/window.h"
#include "kunit.h"
#include "sched.h"

#define DEST		900	/* a tag, and following ones */
#define RIVAL(i)	(DEST + 1024 * (i))	/* tags of its set */
#define WINDOWS		8	/* windows of the tags */
#define PORT		60
#define COMMON		8
#define RESERVE	6
#define CONNS		96
#define KERNEL		__kuid_val(CMX_KERNEL_UID)

struct conn {
	struct cmx_slot slot;
	int calls;
	int error;
	int place;		/* in the order of callbacks */
};

static struct conn *conns;
static int places;

/* As if no destination had used these windows */
static void windows_clear(void)
{
	int i;

	for (i = 0; i < WINDOWS; i++)
		cmx_window(DEST + i)->tag = 0;
}

static int window_init(struct kunit *test)
{
	conns = kcalloc(CONNS, sizeof(*conns), GFP_KERNEL);
	if (!conns)
		return -ENOMEM;
	places = 0;
	windows_clear();
	param_set(test, cmx_kunit_module(), "connect_window", 64);
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 3600000);
	return 0;
}

static unsigned int window_running(unsigned int window)
{
	unsigned int n;

	spin_lock(&cmx_window_lock);
	n = cmx_window_running(cmx_window(window));
	spin_unlock(&cmx_window_lock);
	return n;
}

static struct cmx_window *window_of(u32 dest)
{
	unsigned int window;

	spin_lock(&cmx_window_lock);
	window = cmx_window_find(dest);
	spin_unlock(&cmx_window_lock);
	return cmx_window(window);
}

static unsigned int running(u32 dest)
{
	return window_running(window_of(dest) - cmx_window(0));
}

static unsigned int port_running(void)
{
	return window_running(CMX_WINDOW_DESTS + PORT);
}

static void window_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < CONNS; i++) {
		rdma_cmx_slot_cancel(&conns[i].slot);
		rdma_cmx_slot_put(&conns[i].slot);
	}
	for (i = 0; i < WINDOWS; i++)
		KUNIT_EXPECT_EQ(test, window_running(DEST + i), 0u);
	KUNIT_EXPECT_EQ(test, port_running(), 0u);
	windows_clear();
	params_restore(test);
	kfree(conns);
}

static void conn_done(void *context, int error)
{
	struct conn *c = context;

	c->error = error;
	c->place = ++places;
	/* Pairs with called(). */
	smp_store_release(&c->calls, c->calls + 1);
}

/* Waits for the callback, which a work item may call. */
static bool called(int i)
{
	return WAIT_FOR(smp_load_acquire(&conns[i].calls));
}

static int get_to(int i, u32 dest)
{
	return cmx_slot_get(&conns[i].slot, dest, PORT);
}

static int wait_to(int i, unsigned int uid, u32 dest)
{
	return cmx_slot_wait(&conns[i].slot, dest, PORT, KUIDT_INIT(uid),
			     conn_done, &conns[i]);
}

static int wait_as(int i, unsigned int uid)
{
	return wait_to(i, uid, DEST);
}

static void release(int i)
{
	cmx_slot_release(&conns[i].slot, CMX_WINDOW_NO_SIGN);
}

/* Slots 0 to COMMON - 1 use the common half. */
static void fill(struct kunit *test)
{
	int i;

	for (i = 0; i < COMMON; i++)
		KUNIT_ASSERT_EQ(test, 0, get_to(i, DEST));
	KUNIT_ASSERT_EQ(test, -EINPROGRESS, get_to(COMMON, DEST));
}

static void window_at_once(struct kunit *test)
{
	fill(test);
	KUNIT_EXPECT_EQ(test, running(DEST), (unsigned int)COMMON);
	KUNIT_EXPECT_EQ(test, port_running(), (unsigned int)COMMON);
	/* Another destination has slots. */
	KUNIT_EXPECT_EQ(test, 0, get_to(COMMON, DEST + 1));
	release(3);
	KUNIT_EXPECT_EQ(test, 0, get_to(3, DEST));
	KUNIT_EXPECT_EQ(test, running(DEST), (unsigned int)COMMON);
}

/* A slot counts once, however often and by whom it is released. */
static void window_once(struct kunit *test)
{
	fill(test);
	release(0);
	release(0);
	rdma_cmx_slot_put(&conns[0].slot);
	KUNIT_EXPECT_FALSE(test, rdma_cmx_slot_cancel(&conns[0].slot));
	KUNIT_EXPECT_EQ(test, running(DEST), (unsigned int)COMMON - 1);
	KUNIT_EXPECT_EQ(test, port_running(), (unsigned int)COMMON - 1);
}

/*
 * Each user has a slot that others cannot use. Kernel consumers have a separate
 * one, and so has root.
 */
static void window_reserve(struct kunit *test)
{
	int i, n = COMMON;

	fill(test);
	for (i = 0; i < RESERVE; i++, n += 2) {
		KUNIT_EXPECT_EQ(test, 0, wait_as(n, 1000 + i));
		KUNIT_EXPECT_EQ(test, 1, wait_as(n + 1, 1000 + i));
	}
	/* Another user waits; root does not. */
	KUNIT_EXPECT_EQ(test, 1, wait_as(n, 1000 + i));
	KUNIT_EXPECT_EQ(test, 0, wait_as(n + 1, 0));
	KUNIT_EXPECT_EQ(test, 1, wait_as(n + 2, 0));
	KUNIT_EXPECT_EQ(test, 0, wait_as(n + 3, KERNEL));
	KUNIT_EXPECT_EQ(test, 1, wait_as(n + 4, KERNEL));
	/* A slot of the reserve goes to a user without a slot. */
	release(COMMON);
	KUNIT_EXPECT_EQ(test, conns[COMMON + 1].calls +
			conns[n].calls, 1);
	KUNIT_EXPECT_EQ(test, places, 1);
}

/* In order within a user; users alternate. */
static void window_order(struct kunit *test)
{
	static const int order[] = {
		COMMON + 1, COMMON + 6, COMMON + 2, COMMON + 7, COMMON + 3,
	};
	int i;

	fill(test);
	/* The first one of each has a slot at once. */
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, !!i, wait_as(COMMON + i, 1000));
	for (i = 5; i < 8; i++)
		KUNIT_ASSERT_EQ(test, i != 5, wait_as(COMMON + i, 1001));
	/* Two slots of the reserve are in use: two more have to end first. */
	release(0);
	release(1);
	KUNIT_EXPECT_EQ(test, places, 0);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		release(2 + i);
		KUNIT_EXPECT_EQ(test, conns[order[i]].place, i + 1);
		KUNIT_EXPECT_EQ(test, conns[order[i]].calls, 1);
		KUNIT_EXPECT_EQ(test, conns[order[i]].error, 0);
	}
	/* No later one overtakes those that wait. */
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, get_to(0, DEST));
}

static void window_cancel(struct kunit *test)
{
	int i;

	fill(test);
	for (i = COMMON; i < COMMON + 4; i++)
		KUNIT_ASSERT_EQ(test, i != COMMON, wait_as(i, 1000));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_slot_cancel(&conns[COMMON + 1].slot));
	KUNIT_EXPECT_FALSE(test, rdma_cmx_slot_cancel(&conns[COMMON + 1].slot));
	/* It has a slot; a cancel does not change it. */
	KUNIT_EXPECT_FALSE(test, rdma_cmx_slot_cancel(&conns[COMMON].slot));
	/* A waiting one has no slot to release. */
	release(COMMON + 2);
	KUNIT_EXPECT_EQ(test, running(DEST), COMMON + 1u);
	release(0);
	release(1);
	KUNIT_EXPECT_EQ(test, conns[COMMON + 1].calls, 0);
	KUNIT_EXPECT_EQ(test, conns[COMMON + 2].calls, 1);
	KUNIT_EXPECT_EQ(test, conns[COMMON + 3].calls, 0);
}

/* Several destinations use up the slots of the port. */
static void window_port(struct kunit *test)
{
	int i, n = 4 * COMMON;

	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, 0, get_to(i, DEST + i / COMMON));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, get_to(n, DEST + 4));
	KUNIT_EXPECT_EQ(test, 0, wait_to(n, 1000, DEST + 4));
	KUNIT_EXPECT_EQ(test, 1, wait_to(n + 1, 1000, DEST + 4));
	KUNIT_EXPECT_EQ(test, 1, wait_to(n + 2, 1000, DEST + 5));
	KUNIT_EXPECT_EQ(test, port_running(), n + 1u);
	release(0);
	KUNIT_EXPECT_EQ(test, places, 0);
	release(1);
	KUNIT_EXPECT_EQ(test, conns[n + 1].calls, 1);
	/* One that waits for the port releases its slot of the destination. */
	KUNIT_EXPECT_EQ(test, running(DEST + 5), 1u);
	KUNIT_EXPECT_TRUE(test, rdma_cmx_slot_cancel(&conns[n + 2].slot));
	KUNIT_EXPECT_EQ(test, running(DEST + 5), 0u);
}

static void window_queue(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "connect_queue", 2);
	fill(test);
	KUNIT_EXPECT_EQ(test, 0, wait_as(COMMON, 1000));
	KUNIT_EXPECT_EQ(test, 1, wait_as(COMMON + 1, 1000));
	KUNIT_EXPECT_EQ(test, 1, wait_to(COMMON + 2, 1000, DEST));
	KUNIT_EXPECT_EQ(test, -EAGAIN, wait_as(COMMON + 3, 1000));
	KUNIT_EXPECT_EQ(test, 0, wait_as(COMMON + 4, 1001));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_slot_cancel(&conns[COMMON + 1].slot));
	KUNIT_EXPECT_EQ(test, 1, wait_as(COMMON + 3, 1000));
}

static void window_timeout(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "connect_wait_ms", 1);
	fill(test);
	KUNIT_EXPECT_EQ(test, 0, wait_as(COMMON, 1000));
	KUNIT_EXPECT_EQ(test, 1, wait_as(COMMON + 1, 1000));
	KUNIT_ASSERT_TRUE(test, called(COMMON + 1));
	KUNIT_EXPECT_EQ(test, conns[COMMON + 1].error, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, rdma_cmx_slot_cancel(&conns[COMMON + 1].slot));
	KUNIT_EXPECT_EQ(test, conns[COMMON].calls, 0);
}

/* A request without a reply counts for some seconds. Then others are sent. */
static void window_age(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 2000);
	fill(test);
	KUNIT_EXPECT_EQ(test, 0, wait_as(COMMON, 1000));
	KUNIT_EXPECT_EQ(test, 1, wait_as(COMMON + 1, 1000));
	KUNIT_ASSERT_TRUE(test, called(COMMON + 1));
	KUNIT_EXPECT_EQ(test, conns[COMMON + 1].error, 0);
	/* None of the old ones counts, or is released again. */
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(running(DEST) <= 1));
	release(0);
	release(COMMON);
	KUNIT_EXPECT_LE(test, running(DEST), 1u);
}

/* Any number of milliseconds is valid. */
static void window_long(struct kunit *test)
{
	static const unsigned int ms[] = { INT_MAX, INT_MAX + 1U, UINT_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(ms); i++) {
		param_set(test, cmx_kunit_module(), "connect_reply_ms", ms[i]);
		KUNIT_EXPECT_EQ(test, 0, get_to(i, DEST));
		KUNIT_EXPECT_EQ(test, running(DEST), i + 1u);
	}
}

/* Slots that no longer count, because other epochs were between */
static void window_other_epochs(struct kunit *test)
{
	int i;

	fill(test);
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 1800000);
	KUNIT_EXPECT_EQ(test, running(DEST), 0u);
	KUNIT_EXPECT_EQ(test, port_running(), 0u);
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 3600000);
	for (i = 0; i < COMMON; i++)
		release(i);
	KUNIT_EXPECT_EQ(test, running(DEST), 0u);
	KUNIT_EXPECT_EQ(test, port_running(), 0u);
	fill(test);
}

/* Waiting ones get slots when the limit is removed. */
static void window_off(struct kunit *test)
{
	fill(test);
	KUNIT_EXPECT_EQ(test, 0, wait_as(COMMON, 1000));
	KUNIT_EXPECT_EQ(test, 1, wait_as(COMMON + 1, 1000));
	param_set(test, cmx_kunit_module(), "connect_window", 0);
	KUNIT_ASSERT_TRUE(test, called(COMMON + 1));
	KUNIT_EXPECT_EQ(test, conns[COMMON + 1].error, 0);
}

static void sign(u32 epoch, enum cmx_window_sign what)
{
	struct cmx_window *w = window_of(DEST);

	spin_lock(&cmx_window_lock);
	cmx_window_sign(w, epoch, what);
	spin_unlock(&cmx_window_lock);
}

static unsigned int limit(void)
{
	return cmx_window_limit(window_of(DEST));
}

static void window_limit(struct kunit *test)
{
	unsigned int i, n;
	u32 now;

	param_set(test, cmx_kunit_module(), "connect_window", 1024);
	KUNIT_ASSERT_EQ(test, limit(), 256u);
	/* One more for each window of replies */
	for (i = 0; i < 256 + 257; i++)
		sign(cmx_window_epoch(), CMX_WINDOW_REPLY);
	KUNIT_EXPECT_EQ(test, limit(), 258u);
	sign(cmx_window_epoch(), CMX_WINDOW_NO_SIGN);
	KUNIT_EXPECT_EQ(test, limit(), 258u);

	/* Half, once for those that were outstanding together */
	now = cmx_window_epoch();
	for (i = 0; i < 100; i++)
		sign(now, CMX_WINDOW_BUSY);
	KUNIT_EXPECT_EQ(test, limit(), 129u);
	/* A late reply has the same effect. */
	window_of(DEST)->shrunk = now - 2 * CMX_WINDOW_EPOCHS;
	sign(now - CMX_WINDOW_EPOCHS, CMX_WINDOW_REPLY);
	KUNIT_EXPECT_EQ(test, limit(), 64u);
	for (i = 0; i < 9; i++) {
		window_of(DEST)->shrunk = now - 1;
		sign(now, CMX_WINDOW_BUSY);
	}
	KUNIT_EXPECT_EQ(test, limit(), (unsigned int)CMX_WINDOW_MIN);

	/* The limit has a maximum. */
	window_of(DEST)->limit = 511;
	for (n = 0; n < 3 * 512; n++)
		sign(cmx_window_epoch(), CMX_WINDOW_REPLY);
	KUNIT_EXPECT_EQ(test, limit(), 512u);
	param_set(test, cmx_kunit_module(), "connect_window", 64);
	KUNIT_EXPECT_EQ(test, limit(), 32u);
}

/* In any order: each waits once and ends once. */
static void window_random(struct kunit *test)
{
	int i, n, ret, waits = 0, ends = 0, rounds = 4000;

	for (n = 0; n < rounds; n++) {
		i = kunit_random(CONNS);
		switch (READ_ONCE(conns[i].slot.state)) {
		case CMX_SLOT_NONE:
			ret = get_to(i, RIVAL(i % 6));
			if (ret)
				ret = wait_to(i, kunit_random(5), RIVAL(i % 6));
			KUNIT_ASSERT_GE(test, ret, 0);
			waits += ret;
			break;
		case CMX_SLOT_WAITING:
			if (kunit_random(2))
				ends += rdma_cmx_slot_cancel(&conns[i].slot);
			break;
		case CMX_SLOT_HELD:
			cmx_slot_release(&conns[i].slot, kunit_random(3));
			break;
		}
		KUNIT_ASSERT_LE(test, port_running(), 64u);
	}
	for (i = 0; i < CONNS; i++)
		ends += rdma_cmx_slot_cancel(&conns[i].slot);
	for (i = 0; i < CONNS; i++) {
		release(i);
		ends += conns[i].calls;
	}
	KUNIT_EXPECT_GT(test, waits, rounds / 20);
	KUNIT_EXPECT_EQ(test, waits, ends);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE(window_at_once),
	KUNIT_CASE(window_once),
	KUNIT_CASE(window_reserve),
	KUNIT_CASE(window_order),
	KUNIT_CASE(window_cancel),
	KUNIT_CASE(window_port),
	KUNIT_CASE(window_queue),
	KUNIT_CASE(window_timeout),
	KUNIT_CASE(window_age),
	KUNIT_CASE(window_long),
	KUNIT_CASE(window_other_epochs),
	KUNIT_CASE(window_off),
	KUNIT_CASE(window_limit),
	KUNIT_CASE(window_random),
	{}
};

static struct kunit_suite window_suite = {
	.name = "cmx_window",
	.init = window_init,
	.exit = window_exit,
	.test_cases = window_cases,
};

kunit_test_suite(window_suite);
