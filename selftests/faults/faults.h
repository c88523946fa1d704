/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults: the n-th allocation, or copy from or to user space, of a thread
 * fails once (/proc/PID/task/TID/fail-nth). Needs a kernel with fault
 * injection. One thread arms at a time.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <errno.h>
#include <stdbool.h>

/* Maximum seconds of a test on a slow host */
#define SWEEP_LIMIT	1800
/* Maximum fault points of a call */
#define FAULTS_MAX	400

/* Let all kinds of allocation fail silently; false: not possible. */
bool faults_enable(void);
/* For a kernel without fault injection: the TAP text and 0. */
int faults_skip(void);

/* The @n-th fault point of this thread fails. */
void fault_arm(int n);
/* True if the fault point was reached; disarms. */
bool fault_hit(void);
/* Fault points missing until then; disarms. */
int fault_left(void);

/* Is @ret what a call may return that came to its fault, or did not? */
static inline bool fault_result(int ret, bool hit)
{
	return !ret || (hit && (ret == -ENOMEM || ret == -EFAULT));
}

/* As fault_arm(), for each kernel thread that runs work items. */
void workers_arm(int n);
/* True if one of them reached the fault point; disarms. */
bool workers_hit(void);

/*
 * Each fault point of @op fails once, in order, with @before before it and
 * @after after it. @op returns 0 or a negative errno. A failure is ENOMEM or
 * EFAULT, follows a fault, and changes nothing: the same call then returns
 * @want. @late: its result if the result could not be written after all was
 * done (0: not applicable).
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
	/* No success if no fault point was reached */			\
	EXPECT_LT(2, n_);						\
} while (0)

#endif /* FAULTS_H */
