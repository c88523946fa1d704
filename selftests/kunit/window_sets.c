// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sets of windows of outstanding connection requests: which destination has a
 * window, which one is a guest, and the effect on counts and limits.
 *
 * A set has 4 windows. Tags with the same remainder by 1024 have the same set,
 * and the same first window. The limit of a destination is 256 at the start.
 */
#include <linux/slab.h>

#include "connect/window.h"
#include "kunit.h"

#define FIRST		900	/* window of the set */
#define WAYS		4
#define TAG(i)		(FIRST + 1024 * (i))
#define OTHER(i)	(FIRST + WAYS + (i) % WAYS)	/* of another set */
#define PORT		60
#define LIMIT		256u
#define SLOTS		60

static struct cmx_slot *slots;
static int calls;

/* As if no destination had used these windows */
static void windows_clear(void)
{
	int i;

	for (i = 0; i < 2 * WAYS; i++)
		cmx_window(FIRST + i)->tag = 0;
}

static int sets_init(struct kunit *test)
{
	slots = kcalloc(SLOTS, sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return -ENOMEM;
	calls = 0;
	windows_clear();
	param_set(test, cmx_kunit_module(), "connect_window", 1024);
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 3600000);
	return 0;
}

static unsigned int running(unsigned int window)
{
	unsigned int n;

	spin_lock(&cmx_window_lock);
	n = cmx_window_running(cmx_window(window));
	spin_unlock(&cmx_window_lock);
	return n;
}

static unsigned int limit(unsigned int window)
{
	return cmx_window_limit(cmx_window(window));
}

static void sets_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < SLOTS; i++) {
		rdma_cmx_slot_cancel(&slots[i]);
		rdma_cmx_slot_put(&slots[i]);
	}
	for (i = 0; i < 2 * WAYS; i++)
		KUNIT_EXPECT_EQ(test, running(FIRST + i), 0u);
	KUNIT_EXPECT_EQ(test, running(CMX_WINDOW_DESTS + PORT), 0u);
	windows_clear();
	params_restore(test);
	kfree(slots);
}

static int get(int i, u32 tag)
{
	return cmx_slot_get(&slots[i], tag, PORT);
}

static void wait_done(void *context, int error)
{
	calls++;
}

static int wait(int i, unsigned int uid, u32 tag)
{
	return cmx_slot_wait(&slots[i], tag, PORT, KUIDT_INIT(uid), wait_done,
			     NULL);
}

static void end(int i, enum cmx_window_sign sign)
{
	cmx_slot_release(&slots[i], sign);
}

/* Slot i is that of TAG(i). All windows are in use, the first one by TAG(0). */
static void fill(struct kunit *test)
{
	int i;

	for (i = 0; i < WAYS; i++)
		KUNIT_ASSERT_EQ(test, 0, get(i, TAG(i)));
	KUNIT_ASSERT_EQ(test, slots[0].dest, FIRST);
}

/* As many destinations as windows: each has one, and gets it again. */
static void sets_own(struct kunit *test)
{
	u16 dest[WAYS];
	int i, j;

	for (i = 0; i < WAYS; i++) {
		KUNIT_ASSERT_EQ(test, 0, get(i, TAG(i)));
		dest[i] = slots[i].dest;
		KUNIT_EXPECT_EQ(test, dest[i] / WAYS, FIRST / WAYS);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, dest[i], dest[j]);
		/* The next destination does not use it: others are new. */
		end(i, CMX_WINDOW_NO_SIGN);
	}
	for (i = 0; i < 2 * WAYS; i++) {
		KUNIT_ASSERT_EQ(test, 0, get(i, TAG(i % WAYS)));
		KUNIT_EXPECT_EQ(test, slots[i].dest, dest[i % WAYS]);
	}
	for (i = 0; i < WAYS; i++)
		KUNIT_EXPECT_EQ(test, running(dest[i]), 2u);
}

/* The end of a request to a fifth destination changes no limit. */
static void sets_guest(struct kunit *test)
{
	int i;

	fill(test);
	for (i = WAYS; i < WAYS + 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, get(i, TAG(WAYS)));
		KUNIT_EXPECT_EQ(test, slots[i].dest, FIRST);
	}
	KUNIT_EXPECT_EQ(test, running(FIRST), 4u);
	end(WAYS, CMX_WINDOW_BUSY);
	end(WAYS + 1, CMX_WINDOW_REPLY);
	KUNIT_EXPECT_EQ(test, running(FIRST), 2u);
	KUNIT_EXPECT_EQ(test, cmx_window(FIRST)->replies, 0);
	for (i = 0; i < WAYS; i++)
		KUNIT_EXPECT_EQ(test, limit(FIRST + i), LIMIT);
	/* The end of one to the window's destination does. */
	end(0, CMX_WINDOW_BUSY);
	KUNIT_EXPECT_EQ(test, limit(FIRST), LIMIT / 2);
	/* A guest counts there: the window is in use. */
	KUNIT_EXPECT_EQ(test, 0, get(0, TAG(WAYS + 1)));
	KUNIT_EXPECT_EQ(test, cmx_window(FIRST)->tag, TAG(0));
}

/* Nor does the end of a request over a path that a user set. */
static void sets_own_path(struct kunit *test)
{
	fill(test);
	slots[0].own_path = true;
	end(0, CMX_WINDOW_BUSY);
	KUNIT_EXPECT_EQ(test, limit(FIRST), LIMIT);
	slots[0].own_path = false;
	KUNIT_ASSERT_EQ(test, 0, get(0, TAG(0)));
	end(0, CMX_WINDOW_BUSY);
	KUNIT_EXPECT_EQ(test, limit(FIRST), LIMIT / 2);
}

/* Another destination takes an idle window, and starts anew. */
static void sets_takeover(struct kunit *test)
{
	fill(test);
	end(0, CMX_WINDOW_BUSY);
	cmx_window(FIRST)->replies = 7;
	KUNIT_EXPECT_EQ(test, limit(FIRST), LIMIT / 2);
	KUNIT_EXPECT_EQ(test, 0, get(WAYS, TAG(WAYS)));
	KUNIT_EXPECT_EQ(test, slots[WAYS].dest, FIRST);
	KUNIT_EXPECT_EQ(test, cmx_window(FIRST)->tag, TAG(WAYS));
	KUNIT_EXPECT_EQ(test, cmx_window(FIRST)->replies, 0);
	KUNIT_EXPECT_EQ(test, limit(FIRST), LIMIT);
	/* The limit is now that of this destination. */
	end(WAYS, CMX_WINDOW_BUSY);
	KUNIT_EXPECT_EQ(test, limit(FIRST), LIMIT / 2);
}

/* Slots that no longer count, and whose windows others have at the release */
static void sets_stale(struct kunit *test)
{
	int i;

	fill(test);
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 1800000);
	for (i = WAYS; i < 2 * WAYS; i++)
		KUNIT_ASSERT_EQ(test, 0, get(i, TAG(i)));
	KUNIT_EXPECT_EQ(test, cmx_window(FIRST)->tag, TAG(WAYS));
	for (i = 0; i < WAYS; i++)
		end(i, i % 2 ? CMX_WINDOW_REPLY : CMX_WINDOW_BUSY);
	for (i = 0; i < WAYS; i++) {
		KUNIT_EXPECT_GE(test, cmx_window(FIRST + i)->tag, TAG(WAYS));
		KUNIT_EXPECT_EQ(test, running(FIRST + i), 1u);
		KUNIT_EXPECT_EQ(test, limit(FIRST + i), LIMIT);
	}
}

/* While a connect waits, its destination keeps the window. */
static void sets_waited(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "connect_window", 64);
	for (i = WAYS; !get(i, TAG(0)); i++)
		KUNIT_ASSERT_LT(test, i, SLOTS - 2);
	KUNIT_ASSERT_EQ(test, 0, wait(i, 1000, TAG(0)));
	KUNIT_ASSERT_EQ(test, 1, wait(i + 1, 1000, TAG(0)));
	/* A slot that waits does not count; or it is in use already. */
	param_set(test, cmx_kunit_module(), "connect_reply_ms", 1800000);
	for (i = 1; i < WAYS; i++)
		KUNIT_ASSERT_EQ(test, 0, get(i, TAG(i)));
	get(0, TAG(WAYS));
	KUNIT_EXPECT_EQ(test, slots[0].dest, FIRST);
	KUNIT_EXPECT_EQ(test, cmx_window(FIRST)->tag, TAG(0));
}

/* As if some epochs had ended for this destination only */
static void window_old(unsigned int window)
{
	int i;

	cmx_window(window)->epoch -= CMX_WINDOW_EPOCHS;
	for (i = 0; i < SLOTS; i++)
		if (slots[i].dest == window)
			slots[i].epoch -= CMX_WINDOW_EPOCHS;
}

/* The common half of the port is in use. */
static void port_fill(struct kunit *test)
{
	int i;

	for (i = 0; i < 32; i++)
		KUNIT_ASSERT_EQ(test, 0, get(i, OTHER(i)));
	KUNIT_ASSERT_EQ(test, 0, wait(32, 1000, OTHER(1)));
}

/*
 * The slot of a destination whose connect waits for the port counts, however
 * long that takes. No other destination gets the window meanwhile.
 */
static void sets_port(struct kunit *test)
{
	unsigned int window, i;

	param_set(test, cmx_kunit_module(), "connect_window", 64);
	port_fill(test);
	for (i = 1; i < WAYS; i++)
		cmx_window(FIRST + i)->tag = TAG(WAYS + i);
	KUNIT_ASSERT_EQ(test, 1, wait(33, 1000, TAG(0)));
	window = slots[33].dest;
	KUNIT_EXPECT_EQ(test, running(window), 1u);
	window_old(window);
	KUNIT_EXPECT_EQ(test, running(window), 1u);
	KUNIT_ASSERT_EQ(test, 0, wait(34, 1001, TAG(WAYS)));
	KUNIT_EXPECT_NE(test, slots[34].dest, window);
	KUNIT_EXPECT_EQ(test, cmx_window(window)->tag, TAG(0));
	end(32, CMX_WINDOW_NO_SIGN);
	end(0, CMX_WINDOW_NO_SIGN);
	KUNIT_EXPECT_EQ(test, calls, 1);
	KUNIT_EXPECT_EQ(test, running(window), 1u);
	end(33, CMX_WINDOW_NO_SIGN);
	KUNIT_EXPECT_EQ(test, running(window), 0u);
}

/* One user has many that wait for the port. Others and root get slots. */
static void sets_port_many(struct kunit *test)
{
	unsigned int window, i, n = 33;

	param_set(test, cmx_kunit_module(), "connect_window", 64);
	port_fill(test);
	for (i = 0; i < 24; i++) {
		KUNIT_ASSERT_EQ(test, 1, wait(n + i, 1000, TAG(0)));
		window = slots[n + i].dest;
		if (i % 8 == 7)
			window_old(window);
	}
	/* The half of the destination, and one of the reserve */
	KUNIT_EXPECT_EQ(test, running(window), 9u);
	for (i = 0; i < n; i++)
		end(i, CMX_WINDOW_NO_SIGN);
	KUNIT_EXPECT_EQ(test, running(window), 9u);
	KUNIT_EXPECT_EQ(test, calls, 9);
	KUNIT_EXPECT_EQ(test, 0, wait(0, 1001, TAG(0)));
	KUNIT_EXPECT_EQ(test, 0, wait(1, 0, TAG(0)));
	KUNIT_EXPECT_EQ(test, 1, wait(2, 1000, TAG(0)));
}

static unsigned int held_at(unsigned int window)
{
	unsigned int i, n = 0;

	for (i = 0; i < SLOTS; i++)
		n += slots[i].state == CMX_SLOT_HELD && slots[i].dest == window;
	return n;
}

/* After get() or end() of @slot; true if the window has another destination */
static bool window_check(struct kunit *test, const struct cmx_slot *slot,
			 unsigned int window, u32 *tag)
{
	unsigned int held = held_at(window);
	u32 before = *tag;

	KUNIT_EXPECT_EQ(test, running(window), held);
	*tag = cmx_window(window)->tag;
	if (*tag == before)
		return false;
	/* It was idle, and is now in use. */
	KUNIT_EXPECT_EQ(test, held, 1u);
	KUNIT_EXPECT_EQ(test, slot->dest, window);
	KUNIT_EXPECT_EQ(test, slot->tag, *tag);
	return true;
}

/* Few slots of many destinations, in any order */
static void sets_random(struct kunit *test)
{
	unsigned int way, n, i, takeovers = 0, guests = 0;
	u32 tag[WAYS] = {};

	for (n = 0; n < 4000; n++) {
		i = kunit_random(6);
		if (slots[i].state == CMX_SLOT_HELD) {
			end(i, kunit_random(3));
		} else {
			KUNIT_ASSERT_EQ(test, 0,
					get(i, TAG(kunit_random(12))));
			guests += cmx_window(slots[i].dest)->tag !=
				  slots[i].tag;
		}
		for (way = 0; way < WAYS; way++)
			takeovers += window_check(test, &slots[i], FIRST + way,
						  &tag[way]);
	}
	KUNIT_EXPECT_GT(test, takeovers, n / 100);
	KUNIT_EXPECT_GT(test, guests, n / 100);
}

static struct kunit_case sets_cases[] = {
	KUNIT_CASE(sets_own),
	KUNIT_CASE(sets_guest),
	KUNIT_CASE(sets_own_path),
	KUNIT_CASE(sets_takeover),
	KUNIT_CASE(sets_stale),
	KUNIT_CASE(sets_waited),
	KUNIT_CASE(sets_port),
	KUNIT_CASE(sets_port_many),
	KUNIT_CASE(sets_random),
	{}
};

static struct kunit_suite sets_suite = {
	.name = "cmx_window_sets",
	.init = sets_init,
	.exit = sets_exit,
	.test_cases = sets_cases,
};

kunit_test_suite(sets_suite);
