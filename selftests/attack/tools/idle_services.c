// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * idle_services: an ordinary user, in a user and a network namespace without a
 * device, whose threads advertise a service that exists. They have idle
 * priority. Other threads keep their processor busy, so a thread that loses it
 * gets it back after seconds.
 *
 * The user's services have one id in many partitions. A call compares with all
 * of them, under the lock of services: most of its time.
 *
 * Prints "ready" when all threads have begun, and an error when a call has
 * another result than EEXIST.
 */
#include "uapi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define USER		1000
#define SERVICE		0x1061b00
#define SERVICES	1000	/* fewer than services_per_user */
#define IDLE		200	/* threads */
#define BUSY		4

static atomic_int begun;

static int advertise(int fd, uint16_t pkey)
{
	struct rdma_cmx_advertise arg = {
		.service_id = SERVICE,
		.pkey = pkey,
		.name = "idle",
	};

	return call(fd, ADVERTISE, &arg);
}

static int services_start(int fd)
{
	int i, ret = 0;

	for (i = 1; !ret && i <= SERVICES; i++)
		ret = advertise(fd, i);
	return ret;
}

/* Does not return while the calls have the result that is expected. */
static void *thread_idle(void *arg)
{
	struct sched_param param = {};
	int fd = dev_open(0), ret;

	/* Of this thread only */
	if (fd < 0 || sched_setscheduler(0, SCHED_IDLE, &param)) {
		ret = -errno;
	} else {
		begun++;
		/* The kernel compares with the first service last. */
		do
			ret = advertise(fd, 1);
		while (ret == -EEXIST);
	}
	printf("a thread: %s\n", strerror(-ret));
	exit(1);
}

static void *thread_busy(void *arg)
{
	begun++;
	while (begun)
		;
	return NULL;
}

/* Starts @n threads, and returns when they have begun. */
static int threads_start(void *(*run)(void *arg), int n)
{
	int i, ret = 0, wanted = begun + n;
	pthread_t thread;

	for (i = 0; !ret && i < n; i++)
		ret = -pthread_create(&thread, NULL, run, NULL);
	while (!ret && begun < wanted)
		poll(NULL, 0, 10);
	return ret;
}

/*
 * All on one processor. A session has its share of it, so other processes do
 * not compete with each of these threads.
 */
static int namespaces_enter(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (setsid() < 0 || sched_setaffinity(0, sizeof(first), &first) ||
	    user_become(USER) || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return -errno;
	return 0;
}

int main(void)
{
	int fd, ret;

	setlinebuf(stdout);
	ret = namespaces_enter();
	fd = dev_open(0);
	if (!ret && fd < 0)
		ret = -errno;
	ret = ret ?: services_start(fd) ?:
	      threads_start(thread_idle, IDLE) ?:
	      threads_start(thread_busy, BUSY);
	if (ret) {
		puts(strerror(-ret));
		return 1;
	}
	puts("ready");
	for (;;)
		pause();
}
