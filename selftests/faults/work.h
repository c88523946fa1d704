/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sweeps of work items: the n-th allocation of each kernel worker fails, for
 * each n of `make check-all`. For one test program at a time.
 */
#ifndef FAULTS_WORK_H
#define FAULTS_WORK_H

#include "consumer.h"
#include "faults.h"

#include "harness.h"

/* A sweep ends after so many allocations, or so many rounds without a fault. */
#define ROUNDS		60
#define ROUNDS_IDLE	3

/* `make check` fails each fourth allocation: a round takes seconds there. */
static inline int work_step(void)
{
	return getenv("CMX_ALL") ? 1 : 4;
}

/* An event of a port has ended a join, or IPoIB's group is in error since. */
static inline bool port_reset(const struct consumer_answer *a)
{
	return a->error == -ENETRESET || a->error == -EADDRNOTAVAIL;
}

/*
 * @command, followed by @wait, without a fault: until no event of a port ends
 * it. OpenSM may cause one: ib_umad drops its MADs, too, in a round with a
 * fault.
 */
static int undisturbed(int fd, const char *command, const char *wait,
		       const char *undo, struct consumer_answer *a)
{
	double end = now_ms() + 60000;
	int ret;

	for (;;) {
		ret = consumer_do(fd, command);
		if (!ret && wait)
			ret = consumer_do(fd, wait);
		consumer_read(a);
		if (ret || !port_reset(a) || now_ms() > end)
			return ret;
		if (undo)
			consumer_do(fd, undo);
		poll(NULL, 0, 100);
	}
}

/*
 * @command, followed by @wait, for each n: it ends, and afterwards it ends as
 * without a fault. "%d" in it is another number each time.
 */
static void work_sweep(struct __test_metadata *_metadata, int fd,
		  const char *command, const char *wait, const char *undo)
{
	struct consumer_answer want, got;
	int n, ret, idle = 0, hits = 0, failed = 0, number = 0;
	char text[256];
	long events;
	bool hit;

	snprintf(text, sizeof(text), command, number++);
	events = number_get(SA_EVENTS);
	ASSERT_EQ(0, undisturbed(fd, text, wait, undo, &want)) {
		TH_LOG("%s", text);
	}
	ASSERT_FALSE(port_reset(&want)) TH_LOG("%s: %s", text, want.text);
	if (undo)
		ASSERT_EQ(0, consumer_do(fd, undo));
	for (n = 1; n <= ROUNDS && idle < ROUNDS_IDLE; n += work_step()) {
		snprintf(text, sizeof(text), command, number++);
		workers_arm(n);
		ret = consumer_do(fd, text);
		if (!ret && wait)
			ret = consumer_do(fd, wait);
		hit = workers_hit();
		/*
		 * ETIMEDOUT: the wait itself has timed out, without a result.
		 */
		EXPECT_TRUE(!ret || (hit && ret != -ETIMEDOUT)) {
			TH_LOG("%s: fault %d: %d", text, n, ret);
		}
		consumer_read(&got);
		EXPECT_NE(-ETIMEDOUT, got.error) {
			TH_LOG("%s: fault %d", text, n);
		}
		hits += hit;
		idle = hit ? 0 : idle + 1;
		failed += got.error == -ENOMEM;
		/* The event may be that of a round before. */
		if (!hit && port_reset(&got) &&
		    number_get(SA_EVENTS) != events) {
			if (undo)
				consumer_do(fd, undo);
			EXPECT_EQ(0, undisturbed(fd, text, wait, undo, &got));
		}
		EXPECT_TRUE(hit || got.error == want.error) {
			TH_LOG("%s: %d without a fault", text, got.error);
		}
		if (undo)
			consumer_do(fd, undo);
	}
	snprintf(text, sizeof(text), command, number++);
	EXPECT_EQ(0, undisturbed(fd, text, wait, undo, &got));
	EXPECT_EQ(want.error, got.error) TH_LOG("%s: %s", text, got.text);
	if (undo)
		EXPECT_EQ(0, consumer_do(fd, undo));
	TH_LOG("%s: %d faults, %d times ENOMEM", command, hits, failed);
	/* No success if no worker reached the fault point */
	EXPECT_LT(0, hits);
}

/* In a test of a fixture with @fd, the consumer's command file */
#define WORK_SWEEP(command, wait, undo) \
	work_sweep(_metadata, self->fd, command, wait, undo)

#endif /* FAULTS_WORK_H */
