/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults: the n-th allocation, or copy from or to user space, of a thread
 * fails once (/proc/PID/task/TID/fail-nth). Needs a kernel with fault
 * injection. One thread arms at a time.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>

/* Seconds that a test may take on a slow machine */
#define SWEEP_LIMIT	1800
/* No call has more of them. */
#define FAULTS_MAX	400

/* Let all kinds of allocation fail silently; false: not possible. */
bool faults_enable(void);
/* For a kernel without fault injection: the TAP text and 0. */
int faults_skip(void);

/* The @n-th fault point that this thread comes to fails. */
void fault_arm(int n);
/* Whether it came to that; disarms. */
bool fault_hit(void);
/* How many more were needed to come to that; disarms. */
int fault_left(void);

/* The same for each kernel thread that runs work items. */
void workers_arm(int n);
/* Whether one of them came to that; disarms. */
bool workers_hit(void);

/*
 * Each fault point of @op fails once, the first first, with @before ahead and
 * @after behind. @op gives 0 or a negative errno. A failure is ENOMEM or
 * EFAULT, has a fault behind it, and changes nothing: the same call then gives
 * @want. @late: what it gives if its answer could not be written after all was
 * done (0: that is not so).
 */
#define EACH_FAULT(before, op, want, late, after) do {			\
	int n_, ret_;							\
	bool hit_ = true;						\
									\
	for (n_ = 1; hit_; n_++) {					\
		ASSERT_GT(FAULTS_MAX, n_);				\
		before;							\
		fault_arm(n_);						\
		ret_ = (op);						\
		hit_ = fault_hit();					\
		if (ret_ != (want)) {					\
			EXPECT_TRUE(hit_) TH_LOG(#op ": %d", ret_);	\
			EXPECT_TRUE(ret_ == -ENOMEM || ret_ == -EFAULT)	\
				TH_LOG(#op ": fault %d: %d", n_, ret_);	\
			int again_ = (op);				\
			EXPECT_TRUE(again_ == (want) ||			\
				    ((late) && again_ == (late) &&	\
				     ret_ == -EFAULT))			\
				TH_LOG(#op ": fault %d (%d), then %d",	\
				       n_, ret_, again_);		\
		}							\
		after;							\
	}								\
	TH_LOG(#op ": %d fault points", n_ - 2);			\
	/* Not a success because none was met */			\
	EXPECT_LT(2, n_);						\
} while (0)

#endif /* FAULTS_H */
