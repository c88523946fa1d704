/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sweeps of a call of the kernel API that cmx_consumer.ko makes in the calling
 * thread: its first fault point fails, its second, and so on to the last. The
 * consumer itself has fault points before it.
 */
#ifndef FAULTS_SWEEP_H
#define FAULTS_SWEEP_H

#include "uapi.h"
#include "consumer.h"
#include "faults.h"

#include "harness.h"

/* Likewise, of a call of the kernel API that a command makes */
static inline bool fault_answer(int ret, bool hit,
				const struct consumer_answer *got)
{
	if (ret)
		return fault_result(ret, hit);
	return !got->error || (hit && got->error == -ENOMEM);
}

/*
 * Sweeps @command: it fails with ENOMEM, or has the result of the call without
 * a fault. "wait" follows it, if it does not wait itself; @undo follows each,
 * or NULL.
 */
static inline void sweep(struct __test_metadata *_metadata, int fd,
			 const char *command, bool wait, const char *undo)
{
	struct consumer_answer want, got;
	bool hit = true;
	long live;
	int n, ret;

	ASSERT_EQ(0, consumer_do(fd, command)) TH_LOG("%s", command);
	if (wait)
		ASSERT_EQ(0, consumer_do(fd, "wait"));
	consumer_read(&want);
	if (undo)
		ASSERT_EQ(0, consumer_do(fd, undo));
	live = live_objects();
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		fault_arm(n);
		ret = consumer_do(fd, command);
		hit = fault_hit();
		EXPECT_TRUE(fault_result(ret, hit)) {
			TH_LOG("%s: fault %d: %d", command, n, ret);
		}
		consumer_read(&got);
		if (!ret && wait && !got.error) {
			EXPECT_EQ(0, consumer_do(fd, "wait"));
			consumer_read(&got);
		}
		if (!ret && !(hit && got.error == -ENOMEM))
			EXPECT_STREQ(want.text, got.text) {
				TH_LOG("%s: fault %d", command, n);
			}
		/* A membership that has failed by its event exists, too. */
		if (!ret && undo && (!got.error || strstr(got.text, "status=")))
			EXPECT_EQ(0, consumer_do(fd, undo));
		/* The state is as before. */
		EXPECT_EQ(0, consumer_do(fd, command));
		if (wait)
			EXPECT_EQ(0, consumer_do(fd, "wait"));
		consumer_read(&got);
		EXPECT_STREQ(want.text, got.text) {
			TH_LOG("%s: after fault %d", command, n);
		}
		if (undo)
			EXPECT_EQ(0, consumer_do(fd, undo));
	}
	EXPECT_TRUE(live_are(live)) TH_LOG("%s leaves something", command);
	TH_LOG("%s: %d fault points", command, n - 2);
	/* Only that faults are injected: the consumer has two points. */
	EXPECT_LT(2, n);
}

/*
 * Sweeps @command, which ends objects of @before, or part of them, and has no
 * error. If the consumer itself has failed, the command is repeated.
 */
static inline void sweep_end(struct __test_metadata *_metadata, int fd,
			     const char *before, const char *command)
{
	bool hit = true;
	long live;
	int n, ret;

	ASSERT_EQ(0, consumer_do(fd, before)) TH_LOG("%s", before);
	ASSERT_EQ(0, consumer_do(fd, command)) TH_LOG("%s", command);
	live = live_objects();
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		ASSERT_EQ(0, consumer_do(fd, before));
		fault_arm(n);
		ret = consumer_do(fd, command);
		hit = fault_hit();
		EXPECT_TRUE(fault_result(ret, hit)) {
			TH_LOG("%s: fault %d: %d", command, n, ret);
		}
		if (ret)
			EXPECT_EQ(0, consumer_do(fd, command));
		EXPECT_TRUE(live_are(live)) TH_LOG("%s: fault %d", command, n);
	}
	TH_LOG("%s: %d fault points", command, n - 2);
	/* Only that faults are injected: the consumer has two points. */
	EXPECT_LT(2, n);
}

/*
 * The result of joins of which at most one has failed, for a fault that was
 * reached: "error=0 done=1 0 0 -12- 0", "-" for a missing membership.
 */
static inline bool joins_are(const char *text, bool hit)
{
	int error, done, failed = 0, status, len;

	if (sscanf(text, "error=%d done=%d%n", &error, &done, &len) != 2)
		return false;
	/* None was started, and no callback follows. */
	if (error)
		return hit && error == -ENOMEM && !done && !strstr(text, " 0");
	for (text += len; sscanf(text, " %d%n", &status, &len) == 1;
	     text += len) {
		if (status && (status != -ENOMEM || !hit))
			return false;
		failed += !!status;
		/* One that has failed without an event */
		if (status && text[len] == '-')
			len++;
	}
	return done == 1 && failed <= 1 && *text == '\n';
}

/* Joins of an id that "join" has created; each ends, with one callback. */
static inline void sweep_joins(struct __test_metadata *_metadata, int fd,
			       const char *command)
{
	struct consumer_answer got;
	long live = live_objects();
	int n, ret, refused = 0;
	bool hit = true;

	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		fault_arm(n);
		ret = consumer_do(fd, command);
		hit = fault_hit();
		EXPECT_TRUE(fault_result(ret, hit)) {
			TH_LOG("%s: fault %d: %d", command, n, ret);
		}
		consumer_read(&got);
		EXPECT_TRUE(ret || joins_are(got.text, hit)) {
			TH_LOG("fault %d: %s", n, got.text);
		}
		refused += !ret && strstr(got.text, "-12");
		EXPECT_EQ(0, consumer_do(fd, "many-part"));
		EXPECT_TRUE(live_are(live)) TH_LOG("fault %d", n);
	}
	TH_LOG("%s: %d fault points, %d ENOMEM", command, n - 2, refused);
	EXPECT_LT(2, refused);
}

/* In a test of a fixture with @fd, the consumer's command file */
#define SWEEP(command, wait, undo) \
	sweep(_metadata, self->fd, command, wait, undo)
#define SWEEP_END(before, command) \
	sweep_end(_metadata, self->fd, before, command)
#define SWEEP_JOINS(command) \
	sweep_joins(_metadata, self->fd, command)

#endif /* FAULTS_SWEEP_H */
