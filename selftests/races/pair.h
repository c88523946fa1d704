/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two threads that execute at the same moment, repeatedly: the calling one and
 * a helper. The helper accesses only data that the caller has set before
 * pair_go() and reads after pair_wait().
 */
#ifndef RACES_PAIR_H
#define RACES_PAIR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct pair {
	pthread_t thread;
	pthread_barrier_t barrier;
	void (*job)(void *arg);
	void *arg;
	bool end;
};

static void *pair_run(void *arg)
{
	struct pair *p = arg;

	while (pthread_barrier_wait(&p->barrier), !p->end) {
		p->job(p->arg);
		pthread_barrier_wait(&p->barrier);
	}
	return NULL;
}

static inline void pair_start(struct pair *p, void (*job)(void *), void *arg)
{
	*p = (struct pair){ .job = job, .arg = arg };
	if (pthread_barrier_init(&p->barrier, NULL, 2) ||
	    pthread_create(&p->thread, NULL, pair_run, p))
		abort();
}

/* Starts the helper's part; the caller's part follows. */
static inline void pair_go(struct pair *p)
{
	pthread_barrier_wait(&p->barrier);
}

/* Waits for the end of both parts. */
static inline void pair_wait(struct pair *p)
{
	pthread_barrier_wait(&p->barrier);
}

static inline void pair_end(struct pair *p)
{
	p->end = true;
	pthread_barrier_wait(&p->barrier);
	pthread_join(p->thread, NULL);
	pthread_barrier_destroy(&p->barrier);
}

/* Waits a random time up to @us microseconds. */
static inline void pair_delay(unsigned int *seed, unsigned int us)
{
	double end = now_ms() + rand_r(seed) % us / 1e3;

	while (now_ms() < end)
		;
}

#endif /* RACES_PAIR_H */
