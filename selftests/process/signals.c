// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, RAI-01: signals. A signal interrupts rdma_get_cm_event() like read();
 * with SA_RESTART it continues. Calls that wait for their event, and
 * rdma_getaddrinfo(), always continue. No event is lost.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "process.h"

#define PORT_SIGNALS	7660

static volatile sig_atomic_t caught;

static void handler(int sig)
{
	caught++;
}

static void handler_set(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	caught = 0;
	sigaction(SIGUSR1, &action, NULL);
}

/*
 * Sends signals to this thread from another one, until it is stopped. The
 * harness uses SIGALRM itself.
 */
struct storm {
	pthread_t thread;
	pthread_t target;
	int pause_us;
	int end;		/* atomic */
};

static void *storm_run(void *arg)
{
	struct storm *storm = arg;

	while (!__atomic_load_n(&storm->end, __ATOMIC_ACQUIRE)) {
		pthread_kill(storm->target, SIGUSR1);
		usleep(storm->pause_us);
	}
	return NULL;
}

/* The storm has started when this returns. */
static int storm_start(struct storm *storm, int pause_us)
{
	int ret;

	storm->target = pthread_self();
	storm->pause_us = pause_us;
	storm->end = 0;
	ret = pthread_create(&storm->thread, NULL, storm_run, storm);
	while (!ret && !caught)
		usleep(1000);
	return ret;
}

static void storm_end(struct storm *storm)
{
	__atomic_store_n(&storm->end, 1, __ATOMIC_RELEASE);
	pthread_join(storm->thread, NULL);
}

FIXTURE(signals)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(signals)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = id_make(self->channel);
}

FIXTURE_TEARDOWN(signals)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

/* Sends one signal to a thread that sleeps in ioctl(), then an event. */
struct poke {
	pthread_t thread;
	pthread_t target;
	pid_t tid;
	struct rdma_cm_id *id;	/* NULL: no event */
	struct rdma_event_channel *channel;
	bool asleep;
};

static void *poke_run(void *arg)
{
	struct poke *poke = arg;

	poke->asleep = thread_sleeps(poke->tid, SYS_ioctl);
	pthread_kill(poke->target, SIGUSR1);
	while (!caught)
		usleep(1000);
	if (poke->id)
		rdma_write_cm_event(poke->id, RDMA_CM_EVENT_USER, 0, 7);
	return NULL;
}

TEST_F(signals, RA_02_get_cm_event_is_interrupted)
{
	struct poke poke = { .target = pthread_self(), .tid = gettid() };
	struct rdma_cm_event *event = NULL;

	handler_set(0);
	ASSERT_EQ(0, pthread_create(&poke.thread, NULL, poke_run, &poke));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_cm_event(self->channel, &event));
	EXPECT_EQ(EINTR, errno);
	EXPECT_EQ(NULL, event);
	pthread_join(poke.thread, NULL);
	EXPECT_TRUE(poke.asleep);
	EXPECT_EQ(1, caught);
	/* The channel works as before. */
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 1));
	EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(self->channel, NULL));
}

TEST_F(signals, RA_02_get_cm_event_goes_on_with_SA_RESTART)
{
	struct poke poke = { .target = pthread_self(), .tid = gettid(),
			     .id = self->id };
	struct rdma_cm_event *event;

	handler_set(SA_RESTART);
	ASSERT_EQ(0, pthread_create(&poke.thread, NULL, poke_run, &poke));
	ASSERT_EQ(0, rdma_get_cm_event(self->channel, &event));
	EXPECT_EQ(1, caught);
	EXPECT_EQ(7, event->param.arg);
	rdma_ack_cm_event(event);
	pthread_join(poke.thread, NULL);
	EXPECT_TRUE(poke.asleep);
}

/*
 * A handler that forks, while the call continues in parent and child. The
 * parent's rdma_destroy_id() does not wait for events that the child read.
 */
static volatile sig_atomic_t child_is;	/* its pid in the parent, -1 in it */

static void fork_handler(int sig)
{
	pid_t pid = fork();

	child_is = pid > 0 ? pid : -1;
}

#define LAST	1

/* Wakes one reader after the other, until the child has read and exited. */
static void *feed_run(void *arg)
{
	struct poke *poke = arg;
	int status = -1;

	poke->asleep = thread_sleeps(poke->tid, SYS_ioctl);
	pthread_kill(poke->target, SIGUSR1);
	while (!child_is)
		usleep(1000);
	while (child_is > 0 && !waitpid(child_is, &status, WNOHANG)) {
		rdma_write_cm_event(poke->id, RDMA_CM_EVENT_USER, 0, 0);
		usleep(1000);
	}
	rdma_write_cm_event(poke->id, RDMA_CM_EVENT_USER, status, LAST);
	return NULL;
}

TEST_F(signals, RA_02_handler_forks_while_get_cm_event_goes_on)
{
	struct sigaction action = { .sa_handler = fork_handler,
				    .sa_flags = SA_RESTART };
	struct poke poke = { .target = pthread_self(), .tid = gettid(),
			     .id = self->id };
	struct rdma_cm_event *event;
	bool last;

	child_is = 0;
	sigaction(SIGUSR1, &action, NULL);
	ASSERT_EQ(0, pthread_create(&poke.thread, NULL, feed_run, &poke));
	do {
		ASSERT_EQ(0, rdma_get_cm_event(self->channel, &event));
		if (child_is < 0)
			_exit(rdma_ack_cm_event(event));
		last = event->param.arg == LAST;
		if (last)
			EXPECT_EQ(0, event->status);
		rdma_ack_cm_event(event);
	} while (!last);
	pthread_join(poke.thread, NULL);
	EXPECT_TRUE(poke.asleep);
	EXPECT_LT(0, child_is);
}

/*
 * The same in a call on a synchronous id. The child reads the event while the
 * parent waits in its handler, and destroys its copy of the id.
 */
static volatile sig_atomic_t fork_status;	/* of the child; -1: none yet */

static void wait_handler(int sig)
{
	fork_handler(sig);
	if (child_is > 0)
		fork_status = child_wait(child_is);
}

static void *reject_run(void *arg)
{
	struct poke *poke = arg;
	struct rdma_cm_event *event;
	struct rdma_cm_id *request;

	if (event_wait(poke->channel, &event, WAIT_MS))
		return arg;
	request = event->id;
	rdma_ack_cm_event(event);
	poke->asleep = thread_sleeps(poke->tid, SYS_ioctl);
	pthread_kill(poke->target, SIGUSR1);
	while (!child_is)
		usleep(1000);
	if (rdma_reject(request, NULL, 0) || rdma_destroy_id(request))
		return arg;
	while (fork_status == -1)
		usleep(1000);
	return rdma_write_cm_event(poke->id, RDMA_CM_EVENT_USER, 0, 0) ? arg :
									 NULL;
}

TEST_F(signals, RA_02_handler_forks_in_a_synchronous_call)
{
	struct sigaction action = { .sa_handler = wait_handler };
	struct poke poke = { .target = pthread_self(), .tid = gettid(),
			     .id = id_make(NULL), .channel = self->channel };
	struct rdma_cm_id *listener, *id = poke.id;
	struct sockaddr_storage ss;
	void *failed;
	int ret;

	child_is = 0;
	fork_status = -1;
	sigaction(SIGUSR1, &action, NULL);
	listener = id_listening(self->channel, PORT_SIGNALS);
	addr_make(&ss, OWN4, PORT_SIGNALS);
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, (void *)&ss, 30000));
	ASSERT_EQ(0, rdma_resolve_route(id, 30000));
	ASSERT_EQ(0, qp_make(id, IBV_QPT_RC));
	ASSERT_EQ(0, pthread_create(&poke.thread, NULL, reject_run, &poke));
	errno = 0;
	ret = rdma_connect(id, NULL);
	if (child_is < 0)
		_exit(!ret || errno != ECONNREFUSED || rdma_destroy_id(id));
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(EINTR, errno);
	pthread_join(poke.thread, &failed);
	EXPECT_EQ(NULL, failed);
	EXPECT_TRUE(poke.asleep);
	EXPECT_EQ(0, fork_status);
	rdma_destroy_ep(id);
	EXPECT_EQ(0, rdma_destroy_id(listener));
}

#define EVENTS	2000

static void *events_write(void *arg)
{
	struct rdma_cm_id *id = arg;
	int i, events = rounds_of(EVENTS);

	for (i = 0; i < events; i++)
		while (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, i))
			usleep(1000);
	return NULL;
}

TEST_F(signals, RA_02_no_event_is_lost_in_a_storm)
{
	int i, events = rounds_of(EVENTS), interrupted = 0;
	struct rdma_cm_event *event;
	struct storm storm;
	pthread_t writer;

	handler_set(0);
	ASSERT_EQ(0, storm_start(&storm, 50));
	ASSERT_EQ(0, pthread_create(&writer, NULL, events_write, self->id));
	for (i = 0; i < events; ) {
		if (rdma_get_cm_event(self->channel, &event)) {
			ASSERT_EQ(EINTR, errno);
			interrupted++;
			continue;
		}
		ASSERT_EQ(i, event->param.arg);
		rdma_ack_cm_event(event);
		i++;
	}
	storm_end(&storm);
	pthread_join(writer, NULL);
	TH_LOG("%d events, %d signals, interrupted %d times", events,
	       (int)caught, interrupted);
	EXPECT_LT(0, caught);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* Without a channel each call waits for its event, in spite of signals. */
TEST(RA_02_synchronous_calls_go_on)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	int i, rounds = rounds_of(20);
	struct server server;
	struct rdma_cm_id *id;
	struct storm storm;

	handler_set(0);
	server_start(&server, PORT_SIGNALS);
	ASSERT_EQ(0, storm_start(&storm, 200));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, rdma_getaddrinfo(OWN4, "7660", &hints, &res));
		ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, NULL)) {
			TH_LOG("%s", strerror(errno));
		}
		rdma_freeaddrinfo(res);
		ASSERT_EQ(0, qp_make(id, IBV_QPT_RC));
		ASSERT_EQ(0, rdma_connect(id, NULL)) {
			TH_LOG("%s", strerror(errno));
		}
		EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, id->event->event);
		ASSERT_EQ(0, rdma_disconnect(id));
		rdma_destroy_ep(id);
	}
	storm_end(&storm);
	TH_LOG("%d rounds, %d signals", rounds, (int)caught);
	EXPECT_LT(0, caught);
	EXPECT_EQ(0, server_end(&server));
}

static void *ack_later(void *arg)
{
	struct rdma_cm_event *event = arg;

	/* Signals have interrupted the wait. */
	while (caught < 3)
		usleep(1000);
	rdma_ack_cm_event(event);
	return NULL;
}

TEST(RA_02_destroy_goes_on)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct storm storm;
	pthread_t acker;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0));
	ASSERT_EQ(0, event_wait(channel, &event, WAIT_MS));
	handler_set(0);
	ASSERT_EQ(0, storm_start(&storm, 1000));
	ASSERT_EQ(0, pthread_create(&acker, NULL, ack_later, event));
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_LE(3, caught);
	storm_end(&storm);
	pthread_join(acker, NULL);
	rdma_destroy_event_channel(channel);
}

/*
 * A name server that does not respond: the handler runs at once, and the call
 * ends at its deadline (10 s), with an error of the server.
 */
TEST(RAI_01_getaddrinfo_goes_on)
{
	struct rdma_addrinfo *res = NULL;
	long long start, took;
	struct storm storm;
	char name[128];

	handler_set(0);
	name_fresh("silent.test", name, sizeof(name));
	/* More than ten, unless the host stops for nearly all of the time. */
	ASSERT_EQ(0, storm_start(&storm, 20000));
	start = now_ms();
	EXPECT_EQ(EAI_AGAIN, rdma_getaddrinfo(name, PORT, NULL, &res));
	took = now_ms() - start;
	storm_end(&storm);
	TH_LOG("%lld ms, %d signals", took, (int)caught);
	EXPECT_LT(10, caught);
	/* The helper waits for the silent server for 4 s. */
	EXPECT_LT(3000, took);
	EXPECT_GT(45000, took);
	EXPECT_EQ(NULL, res);
	/* The next call works. */
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, NULL, &res));
	rdma_freeaddrinfo(res);
}

static int query_silent(void *arg)
{
	struct rdma_addrinfo *res;
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	rdma_getaddrinfo(name, PORT, NULL, &res);
	return 0;
}

/* Kills a process that waits for a name. Milliseconds until its end, or -1. */
static long long waiting_kill(int sig)
{
	char path[64], text[64];
	long long start;
	pid_t pid;
	FILE *f;

	pid = child_start(query_silent, NULL);
	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	start = now_ms();
	do {
		usleep(1000);
		f = now_ms() - start < WAIT_MS ? fopen(path, "r") : NULL;
		if (!f) {
			fprintf(stderr, "# %d never waits in ioctl()\n", pid);
			child_wait(pid);
			return -1;
		}
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	} while (strncmp(text, "16 ", 3));	/* ioctl() */
	start = now_ms();
	kill(pid, sig);
	return child_wait(pid) == -sig ? now_ms() - start : -1;
}

TEST(RAI_01_a_waiting_process_can_be_killed)
{
	static const int signals[] = { SIGTERM, SIGKILL };
	long long took;
	size_t i;
	int try;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* A host that stops may take as long, but not each time. */
		for (try = 0; try < 3; try++) {
			took = waiting_kill(signals[i]);
			ASSERT_LE(0, took);
			if (took < 9000)
				break;
		}
		/* Long before the deadline of the name */
		EXPECT_GT(9000, took);
	}
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
