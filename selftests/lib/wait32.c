// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: a thread of a 32-bit program with 64-bit time_t waits on an id until a
 * time. Linked to this part of the library only.
 */
#include <time.h>

#include "harness.h"
#include "lib.h"

#define WAIT_MS	50

/* Of another part, in a process without copies */
void cmx_id_lock(struct cmx_id *id)
{
	pthread_mutex_lock(&id->lock);
}

static int64_t ms(const struct timespec *ts)
{
	return ts->tv_sec * 1000LL + ts->tv_nsec / 1000000;
}

TEST(RA_02_wait_until_a_time)
{
	struct cmx_id id = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct timespec begin, end;
	bool woken;
	int i;

	ASSERT_EQ(8, sizeof(time_t));
	ASSERT_EQ(4, sizeof(long));
	/* Of which at least one does not end in the next second */
	for (i = 0; i < 3; i++) {
		clock_gettime(CLOCK_MONOTONIC, &begin);
		end = begin;
		end.tv_nsec += WAIT_MS * 1000000;
		if (end.tv_nsec >= 1000000000) {
			end.tv_nsec -= 1000000000;
			end.tv_sec++;
		}
		pthread_mutex_lock(&id.lock);
		do {
			woken = cmx_id_wait_until(&id, &end);
		} while (woken);
		pthread_mutex_unlock(&id.lock);
		clock_gettime(CLOCK_MONOTONIC, &end);
		EXPECT_LE(WAIT_MS, ms(&end) - ms(&begin) + 1);
	}
}

static void *waiter(void *arg)
{
	struct cmx_id *id = arg;

	pthread_mutex_lock(&id->lock);
	while (!id->dying)
		cmx_id_wait(id);
	pthread_mutex_unlock(&id->lock);
	return NULL;
}

TEST(RA_02_wait_without_an_end)
{
	struct cmx_id id = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, waiter, &id));
	pthread_mutex_lock(&id.lock);
	id.dying = true;
	cmx_id_wake(&id);
	pthread_mutex_unlock(&id.lock);
	EXPECT_EQ(0, pthread_join(thread, NULL));
}

TEST_HARNESS_MAIN
