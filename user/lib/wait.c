// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Threads that wait for a change of the state of an id. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

/*
 * The call whose struct timespec is that of libc. On 32-bit architectures
 * SYS_futex has 32-bit seconds, or is absent, and time_t may have 64 bits.
 */
#ifndef SYS_futex_time64
#define FUTEX_OF_TIME_T	SYS_futex
#elif !defined(SYS_futex)
#define FUTEX_OF_TIME_T	SYS_futex_time64
#else
#define FUTEX_OF_TIME_T							\
	(sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#endif

/*
 * With the id's lock, which is released meanwhile: waits until another thread
 * has changed the state that threads wait for. The caller then checks the
 * state. The word for futex() replaces a pthread_cond_t, which is larger than
 * the rest of an id beside its lock. False: none has until @end on the
 * monotonic clock; NULL: no end.
 */
bool cmx_id_wait_until(struct cmx_id *id, const struct timespec *end)
{
	uint32_t changes = id->changes;
	bool expired;

	id->sleepers++;
	pthread_mutex_unlock(&id->lock);
	expired = syscall(FUTEX_OF_TIME_T, &id->changes,
			  FUTEX_WAIT_BITSET_PRIVATE, changes, end, NULL,
			  FUTEX_BITSET_MATCH_ANY) && errno == ETIMEDOUT;
	cmx_id_lock(id);
	id->sleepers--;
	return !expired;
}

void cmx_id_wait(struct cmx_id *id)
{
	cmx_id_wait_until(id, NULL);
}

/* With the id's lock */
void cmx_id_wake(struct cmx_id *id)
{
	if (likely(!id->sleepers))
		return;
	__atomic_add_fetch(&id->changes, 1, __ATOMIC_RELAXED);
	syscall(FUTEX_OF_TIME_T, &id->changes, FUTEX_WAKE_PRIVATE, INT_MAX);
}
