/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sweeps of work items: the n-th allocation of each kernel worker fails, for
 * each n. For one test program at a time.
 */
#ifndef FAULTS_WORK_H
#define FAULTS_WORK_H

#include "consumer.h"
#include "faults.h"

#include "harness.h"

/* A sweep ends after so many rounds, or so many without a fault. */
#define ROUNDS		60
#define ROUNDS_IDLE	5
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
	bool hit;

	snprintf(text, sizeof(text), command, number++);
	ASSERT_EQ(0, consumer_do(fd, text)) TH_LOG("%s", text);
	if (wait)
		ASSERT_EQ(0, consumer_do(fd, wait));
	consumer_read(&want);
	if (undo)
		ASSERT_EQ(0, consumer_do(fd, undo));
	for (n = 1; n <= ROUNDS && idle < ROUNDS_IDLE; n++) {
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
		EXPECT_TRUE(hit || got.error == want.error) {
			TH_LOG("%s: %d without a fault", text, got.error);
		}
		if (undo)
			consumer_do(fd, undo);
	}
	snprintf(text, sizeof(text), command, number++);
	EXPECT_EQ(0, consumer_do(fd, text));
	if (wait)
		EXPECT_EQ(0, consumer_do(fd, wait));
	consumer_read(&got);
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
