// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, RAI-07: rdma_destroy_id() overtakes another thread at a selected point
 * inside the library. This program intercepts the system calls and unlocks of
 * that thread, which then waits for the thread that destroys.
 */
#include <dlfcn.h>
#include <rdma/rdma_cmx_ioctl.h>

#include "intercept.h"
#include "process.h"

#define PAUSE_US	200000

static __thread bool slow;	/* this thread is overtaken */
static bool armed;		/* from now on; all below are atomic */
static bool on_the_way;		/* the thread has its event */
static bool destroying;		/* the other is in rdma_destroy_id() */
static bool waking;		/* and there has woken the waiters */
static bool leaving;		/* the overtaken thread waits for that */
static unsigned int retries;

static bool get(bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
}

static void await(bool *flag, int us)
{
	int i;

	for (i = 0; i < us / 1000 && !get(flag); i++)
		usleep(1000);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *mutex);
	int ret;

	if (!real)
		real = dlsym(RTLD_NEXT, __func__);
	ret = real(mutex);
	if (slow && get(&armed)) {
		set(&on_the_way);
		if (get(&leaving))
			await(&waking, WAIT_MS * 1000);
		else
			usleep(PAUSE_US);
	}
	return ret;
}

/* Changes the event to one of a kernel without a helper. */
static void no_helper(struct rdma_cmx_get_events *cmd)
{
	struct rdma_cmx_event *ev = (void *)(uintptr_t)cmd->buf;

	if (ev->event != RDMA_CMX_EV_ADDRINFO_ERROR)
		return;
	ev->status = -ENOKEY;
	set(&on_the_way);
	await(&destroying, WAIT_MS * 1000);
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	int ret;

	if (request == RDMA_CMX_IO(WRITE_EVENT) && !slow && get(&on_the_way))
		set(&waking);
	if (request == RDMA_CMX_IO(ID_DESTROY) && !slow) {
		set(&destroying);
		if (get(&armed))
			usleep(PAUSE_US);
	}
	if (request == RDMA_CMX_IO(RESOLVE_ADDRINFO) && slow)
		__atomic_add_fetch(&retries, 1, __ATOMIC_SEQ_CST);
	ret = ioctl_real(fd, request, arg);
	if (!ret && slow && get(&armed) &&
	    request == RDMA_CMX_IO(GET_EVENTS))
		no_helper(arg);
	return ret;
}

struct overtaken {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	pid_t tid;
	int err;
};

static void *request_get(void *arg)
{
	struct overtaken *o = arg;
	struct rdma_cm_id *id;

	slow = true;
	__atomic_store_n(&o->tid, gettid(), __ATOMIC_SEQ_CST);
	o->err = rdma_get_request(o->id, &id) ? errno : 0;
	return NULL;
}

/*
 * The waiter has its event, which is no request, and is about to return it with
 * the id: afterwards no thread would ack it.
 */
TEST(RA_02_destroy_of_an_id_whose_waiter_leaves)
{
	struct overtaken o = {};
	pthread_t thread;

	o.id = id_listening(NULL, 7695);
	ASSERT_EQ(0, pthread_create(&thread, NULL, request_get, &o));
	while (!__atomic_load_n(&o.tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	ASSERT_TRUE(thread_sleeps(o.tid, SYS_ioctl));
	set(&leaving);
	set(&armed);
	ASSERT_EQ(0, rdma_write_cm_event(o.id, RDMA_CM_EVENT_USER, 0, 0));
	await(&on_the_way, WAIT_MS * 1000);
	EXPECT_EQ(0, rdma_destroy_id(o.id));
	pthread_join(thread, NULL);
	EXPECT_EQ(ECANCELED, o.err);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

static void *event_get(void *arg)
{
	struct overtaken *o = arg;
	struct rdma_cm_event *event;

	slow = true;
	o->err = rdma_get_cm_event(o->channel, &event) ? errno : 0;
	if (!o->err)
		rdma_ack_cm_event(event);
	return NULL;
}

/*
 * The kernel could not resolve the name, and the reader of the event is about
 * to look it up. On an id that is being destroyed it does not.
 */
TEST(RAI_07_destroy_before_the_retry_of_a_name)
{
	struct overtaken o = {};
	pthread_t thread;
	char name[128];

	o.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, o.channel);
	o.id = id_make(o.channel);
	ASSERT_EQ(0, rdma_resolve_addrinfo(o.id, name_fresh("none", name,
							    sizeof(name)),
					   PORT, NULL));
	set(&armed);
	ASSERT_EQ(0, pthread_create(&thread, NULL, event_get, &o));
	await(&on_the_way, WAIT_MS * 1000);
	ASSERT_TRUE(get(&on_the_way));
	EXPECT_EQ(0, rdma_destroy_id(o.id));
	/* A reader without an event for the program still waits. */
	o.id = id_make(o.channel);
	ASSERT_EQ(0, rdma_write_cm_event(o.id, RDMA_CM_EVENT_USER, 0, 0));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, o.err);
	EXPECT_EQ(0, retries);
	EXPECT_EQ(0, rdma_destroy_id(o.id));
	rdma_destroy_event_channel(o.channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
