// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, RAI-07: rdma_destroy_id() overtakes another thread at a selected point
 * inside the library. This program intercepts the system calls and unlocks of
 * that thread, which then waits for the thread that destroys.
 */
#include <rdma/rdma_cmx_ioctl.h>

#include "intercept.h"
#include "process.h"
#include "unlock.h"

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

static void unlock_intercept(void)
{
	if (!slow || !get(&armed))
		return;
	set(&on_the_way);
	if (get(&leaving))
		await(&waking, WAIT_MS * 1000);
	else
		usleep(PAUSE_US);
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

static void *overtaken_wait(void *arg)
{
	slow = true;
	return request_wait(arg);
}

/*
 * The waiter has its event, which is no request, and is about to return it with
 * the id: afterwards no thread would ack it.
 */
TEST(RA_02_destroy_of_an_id_whose_waiter_leaves)
{
	struct rdma_cm_id *id = id_listening(NULL, 7695);
	struct caller waiter;

	caller_start(&waiter, overtaken_wait, id);
	ASSERT_TRUE(caller_sleeps(&waiter, SYS_ioctl));
	set(&leaving);
	set(&armed);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0));
	await(&on_the_way, WAIT_MS * 1000);
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(ECANCELED, (intptr_t)caller_end(&waiter));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

static void *event_get(void *arg)
{
	struct rdma_cm_event *event;

	slow = true;
	if (rdma_get_cm_event(arg, &event))
		return (void *)(intptr_t)errno;
	rdma_ack_cm_event(event);
	return NULL;
}

/*
 * The kernel could not resolve the name, and the reader of the event is about
 * to look it up. On an id that is being destroyed it does not.
 */
TEST(RAI_07_destroy_before_the_retry_of_a_name)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct caller reader;
	struct rdma_cm_id *id;
	char name[128];

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, name_fresh("none", name,
							  sizeof(name)),
					   PORT, NULL));
	set(&armed);
	caller_start(&reader, event_get, channel);
	await(&on_the_way, WAIT_MS * 1000);
	ASSERT_TRUE(get(&on_the_way));
	EXPECT_EQ(0, rdma_destroy_id(id));
	/* A reader without an event for the program still waits. */
	id = id_make(channel);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0));
	EXPECT_EQ(NULL, caller_end(&reader));
	EXPECT_EQ(0, retries);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
