// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: a child of fork() inherits the open file and a copy of the parent's
 * memory. The child uses them: in place of the parent, while a thread of the
 * parent waits on them, in another PID namespace, and as a second reader of a
 * channel.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <rdma/rdma_verbs.h>

#include "heirs.h"
#include "process.h"

#define PORT_FORK	7620

static int connect_refused(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = channel ? id_ready(channel, PORT_FORK) : NULL;
	int event;

	if (!id || rdma_connect(id, NULL))
		return -1;
	event = event_take(channel, NULL);
	rdma_destroy_ep(id);
	rdma_destroy_event_channel(channel);
	return event == RDMA_CM_EVENT_REJECTED ? 0 : -1;
}

/* As with daemon(3): the process that created the objects has exited. */
static int serve_inherited(struct heirs *h)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int type;

	if (event_wait(h->channel, &event, WAIT_MS) ||
	    event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return __LINE__;
	id = event->id;
	rdma_ack_cm_event(event);
	if (qp_make(id, IBV_QPT_RC) || rdma_accept(id, &param))
		return __LINE__;
	type = event_take(h->channel, NULL);
	/* On a busy host the client's DREQ may overtake its RTU. */
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		type = event_take(h->channel, NULL);
	if (type != RDMA_CM_EVENT_DISCONNECTED)
		return __LINE__;
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id) || rdma_destroy_id(h->id))
		return __LINE__;
	/* No other process has them: they are destroyed. */
	if (connect_refused())
		return __LINE__;
	rdma_destroy_event_channel(h->channel);
	return 0;
}

static int setup_and_leave(struct heirs *h)
{
	h->channel = rdma_create_event_channel();
	if (!h->channel)
		return 1;
	h->id = id_listening(h->channel, PORT_FORK);
	return heir_fork(h, serve_inherited) ? 0 : 2;
}

TEST(RA_02_child_goes_on_when_the_parent_is_gone)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, setup_and_leave);
	EXPECT_EQ(0, connect_out(PORT_FORK));
	heirs_end(_metadata, &h, 1);
}

/* A thread of the daemon waits for a request; another one destroys the id. */
static int end_wait(struct heirs *h)
{
	struct caller waiter;

	alarm(WAIT_MS / 1000);
	if (!parent_gone(h))
		return __LINE__;
	caller_start(&waiter, request_wait, h->id);
	if (!caller_sleeps(&waiter, SYS_ioctl))
		return __LINE__;
	rdma_destroy_ep(h->id);
	if ((intptr_t)caller_end(&waiter) != ECANCELED)
		return __LINE__;
	return connect_refused() ? __LINE__ : 0;
}

static int listen_and_leave(struct heirs *h)
{
	h->id = id_listening(NULL, PORT_FORK);
	return heir_fork(h, end_wait) ? 0 : 1;
}

TEST(RA_02_child_destroys_what_its_thread_waits_on)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, listen_and_leave);
	heirs_end(_metadata, &h, 1);
}

/* Likewise, but the parent exits when the child waits in the destroy call. */
static void *ep_destroy(void *arg)
{
	rdma_destroy_ep(arg);
	return NULL;
}

static int end_wait_later(struct heirs *h)
{
	struct caller waiter, destroyer;

	alarm(WAIT_MS / 1000);
	caller_start(&waiter, request_wait, h->id);
	if (!caller_sleeps(&waiter, SYS_ioctl))
		return __LINE__;
	caller_start(&destroyer, ep_destroy, h->id);
	if (!caller_sleeps(&destroyer, SYS_futex))
		return __LINE__;
	if (write(h->back[1], "", 1) != 1)
		return __LINE__;
	caller_end(&destroyer);
	if ((intptr_t)caller_end(&waiter) != ECANCELED)
		return __LINE__;
	return connect_refused() ? __LINE__ : 0;
}

static int listen_and_leave_later(struct heirs *h)
{
	char c;

	h->id = id_listening(NULL, PORT_FORK);
	if (!heir_fork(h, end_wait_later))
		return 1;
	return read(h->back[0], &c, 1) == 1 ? 0 : 2;
}

TEST(RA_02_child_destroys_when_the_parent_exits)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, listen_and_leave_later);
	heirs_end(_metadata, &h, 1);
}

/* Two children of an exited parent; the second one finds no object. */
static int destroy_alone(struct heirs *h)
{
	if (!parent_gone(h) || rdma_destroy_id(h->id))
		return __LINE__;
	if (connect_refused())
		return __LINE__;
	rdma_destroy_event_channel(h->channel);
	return 0;
}

static int leave_two_behind(struct heirs *h)
{
	h->channel = rdma_create_event_channel();
	if (!h->channel)
		return 1;
	h->id = id_listening(h->channel, PORT_FORK);
	return heir_fork(h, destroy_alone) && heir_fork(h, destroy_alone) ?
	       0 : 2;
}

TEST(RA_02_two_children_destroy_when_the_parent_is_gone)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_two_behind);
	heirs_end(_metadata, &h, 2);
}

/*
 * A thread of the parent waits on the id for an ack; the child has no such
 * thread.
 */
struct waiter {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rdma_cm_event *event;
	struct sockaddr *group;		/* NULL: destroys the id */
	struct caller caller;
};

static void *wait_for_ack(void *arg)
{
	struct waiter *w = arg;

	return (void *)(intptr_t)(w->group ?
				  rdma_leave_multicast(w->id, w->group) :
				  rdma_destroy_id(w->id));
}

/* The last ack frees the copy. */
static int destroy_and_ack(void *arg)
{
	struct waiter *w = arg;

	if (rdma_destroy_id(w->id))
		return 1;
	if (rdma_ack_cm_event(w->event))
		return 2;
	rdma_destroy_event_channel(w->channel);
	return 0;
}

TEST(RA_02_child_destroys_what_the_parent_waits_on)
{
	struct sockaddr_storage ss;
	int leave;

	for (leave = 0; leave < 2; leave++) {
		struct waiter w = {};

		w.channel = rdma_create_event_channel();
		ASSERT_NE(NULL, w.channel);
		ASSERT_EQ(0, rdma_create_id(w.channel, &w.id, NULL,
					    RDMA_PS_UDP));
		if (leave) {
			w.group = addr_make(&ss, "239.55.72.1", 0);
			ASSERT_EQ(0, id_bind(w.id, OWN4, 0));
			ASSERT_EQ(0, rdma_join_multicast(w.id, w.group, NULL));
		} else {
			ASSERT_EQ(0, rdma_write_cm_event(w.id,
							 RDMA_CM_EVENT_USER, 0,
							 1));
		}
		ASSERT_EQ(0, event_wait(w.channel, &w.event, WAIT_MS));
		EXPECT_EQ(leave ? RDMA_CM_EVENT_MULTICAST_JOIN :
				  RDMA_CM_EVENT_USER, w.event->event);
		caller_start(&w.caller, wait_for_ack, &w);
		ASSERT_TRUE(caller_sleeps(&w.caller, SYS_futex));

		EXPECT_EQ(0, child_wait(child_start(destroy_and_ack, &w))) {
			TH_LOG("in %s", leave ? "rdma_leave_multicast" :
						"rdma_destroy_id");
		}
		EXPECT_EQ(0, rdma_ack_cm_event(w.event));
		EXPECT_EQ(NULL, caller_end(&w.caller));
		if (leave)
			EXPECT_EQ(0, rdma_destroy_id(w.id));
		rdma_destroy_event_channel(w.channel);
	}
}

/* Does the id exist in the kernel, and report its events? */
static int id_lives(struct rdma_cm_id *id)
{
	if (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 7))
		return __LINE__;
	if (event_take(id->channel, NULL) != RDMA_CM_EVENT_USER)
		return __LINE__;
	return 0;
}

static int child_of_fork(void *arg)
{
	if (unshare(CLONE_NEWPID))
		return __LINE__;
	return child_wait(child_start(heritage_destroy, arg));
}

static int cloned(void *arg)
{
	_exit(heritage_destroy(arg));
}

/* Without the handlers of pthread_atfork() */
static int child_of_clone(void *arg)
{
	static char stack[1 << 20] __attribute__((aligned(16)));
	int status;
	pid_t pid;

	pid = clone(cloned, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD,
		    arg);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return __LINE__;
	return status;
}

/*
 * A child that cannot see its parent, or has the same process id: each is the
 * first process of a namespace.
 */
static int in_namespace(void *arg)
{
	int (*const ways[])(void *arg) = { child_of_clone, child_of_fork };
	struct heritage h;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		h.channel = rdma_create_event_channel();
		if (!h.channel)
			return __LINE__;
		h.id = id_make(h.channel);
		if (ways[i](&h) || id_lives(h.id))
			return __LINE__;
		if (rdma_destroy_id(h.id))
			return __LINE__;
		rdma_destroy_event_channel(h.channel);
	}
	return 0;
}

static int first_of_namespace(void *arg)
{
	if (unshare(CLONE_NEWPID))
		return __LINE__;
	return child_wait(child_start(in_namespace, NULL));
}

TEST(RA_02_child_in_another_pid_namespace)
{
	EXPECT_EQ(0, child_wait(child_start(in_namespace, NULL)));
	EXPECT_EQ(0, child_wait(child_start(first_of_namespace, NULL)));
}

/* Queue pair and shared receive queue are the parent's. */
static int destroy_ep(void *arg)
{
	struct heritage *h = arg;

	rdma_destroy_ep(h->id);
	rdma_destroy_event_channel(h->channel);
	return 0;
}

TEST(RA_02_child_destroys_its_copy_of_an_endpoint)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_init;
	struct ibv_srq_attr srq;
	struct ibv_qp_attr qp;
	struct heritage h;

	h.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, h.channel);
	h.id = id_make(h.channel);
	ASSERT_EQ(0, id_bind(h.id, OWN4, 0));
	ASSERT_EQ(0, rdma_create_srq(h.id, NULL, &init));
	ASSERT_EQ(0, qp_make(h.id, IBV_QPT_RC));
	EXPECT_EQ(0, child_wait(child_start(destroy_ep, &h)));
	EXPECT_EQ(0, ibv_query_qp(h.id->qp, &qp, IBV_QP_STATE, &qp_init));
	EXPECT_EQ(0, ibv_query_srq(h.id->srq, &srq));
	EXPECT_EQ(0, id_lives(h.id));
	rdma_destroy_ep(h.id);
	rdma_destroy_event_channel(h.channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

static int no_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	if (fcntl(channel->fd, F_SETFL, O_NONBLOCK))
		return __LINE__;
	if (!rdma_get_cm_event(channel, &event) || errno != EAGAIN)
		return __LINE__;
	return fcntl(channel->fd, F_SETFL, 0) ? __LINE__ : 0;
}

/* The event belongs to an id that no longer exists. */
static int destroy_and_read(void *arg)
{
	struct heritage *h = arg;
	struct rdma_cm_id *id;

	if (rdma_destroy_id(h->id))
		return __LINE__;
	id = id_make(h->channel);
	if (no_event(h->channel))
		return __LINE__;
	return rdma_destroy_id(id) ? __LINE__ : 0;
}

TEST(RA_02_child_reads_what_it_has_destroyed)
{
	struct heritage h;

	h.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, h.channel);
	h.id = id_make(h.channel);
	ASSERT_EQ(0, rdma_write_cm_event(h.id, RDMA_CM_EVENT_USER, 0, 1));
	EXPECT_EQ(0, child_wait(child_start(destroy_and_read, &h)));
	EXPECT_EQ(0, id_lives(h.id));
	EXPECT_EQ(0, rdma_destroy_id(h.id));
	rdma_destroy_event_channel(h.channel);
}

static int make_and_leave(void *arg)
{
	struct heritage *h = arg;

	return rdma_write_cm_event(id_make(h->channel), RDMA_CM_EVENT_USER, 0,
				   1) ? __LINE__ : 0;
}

/* At the address of the child's id the parent has nothing, or an id. */
TEST(RA_02_parent_reads_what_the_child_has_made)
{
	struct heritage h;

	h.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, h.channel);
	EXPECT_EQ(0, child_wait(child_start(make_and_leave, &h)));
	EXPECT_EQ(0, no_event(h.channel));
	EXPECT_EQ(0, child_wait(child_start(make_and_leave, &h)));
	h.id = id_make(h.channel);
	EXPECT_EQ(0, no_event(h.channel));
	EXPECT_EQ(0, id_lives(h.id));
	EXPECT_EQ(0, rdma_destroy_id(h.id));
	rdma_destroy_event_channel(h.channel);
}

/*
 * Parent and child read one channel: each event goes to one of them, and the
 * parent does not wait for acks of events that the child read.
 */
#define EVENTS	400

static int read_events(struct rdma_event_channel *channel, char *seen)
{
	struct rdma_cm_event *event;
	uint64_t arg;

	do {
		if (rdma_get_cm_event(channel, &event))
			return __LINE__;
		arg = event->param.arg;
		rdma_ack_cm_event(event);
		if (arg < EVENTS)
			seen[arg]++;
	} while (arg < EVENTS);
	return 0;
}

struct readers {
	struct heritage h;
	char *seen[2];
};

static int read_as_child(void *arg)
{
	struct readers *r = arg;

	return read_events(r->h.channel, r->seen[1]) ? 1 : 0;
}

static void *read_as_parent(void *arg)
{
	struct readers *r = arg;

	return read_events(r->h.channel, r->seen[0]) ? arg : NULL;
}

TEST(RA_02_parent_and_child_read_one_channel)
{
	int i, events = rounds_of(EVENTS);
	struct readers r;
	pthread_t thread;
	void *failed;
	char *shared;
	pid_t pid;

	TH_LOG("%d events, 2 readers", events);
	shared = mmap(NULL, 2 * EVENTS, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	r.seen[0] = shared;
	r.seen[1] = shared + EVENTS;
	r.h.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, r.h.channel);
	r.h.id = id_make(r.h.channel);

	pid = child_start(read_as_child, &r);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_as_parent, &r));
	for (i = 0; i < events; i++)
		ASSERT_EQ(0, rdma_write_cm_event(r.h.id, RDMA_CM_EVENT_USER, 0,
						 i));
	/* One end for each */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdma_write_cm_event(r.h.id, RDMA_CM_EVENT_USER, 0,
						 EVENTS));
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
	EXPECT_EQ(0, child_wait(pid));
	for (i = 0; i < events; i++)
		EXPECT_EQ(1, r.seen[0][i] + r.seen[1][i]) {
			TH_LOG("event %d", i);
		}
	EXPECT_EQ(0, channel_readable(r.h.channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(r.h.id));
	rdma_destroy_event_channel(r.h.channel);
	munmap(shared, 2 * EVENTS);
}

TEST_HARNESS_MAIN
