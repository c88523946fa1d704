// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-02: connects by name of two threads. One has an event that it has not
 * processed yet, or is in a call, and the other one ends the connect: nothing
 * comes after the last event, and no queue pair or lookup is left.
 *
 * The commands of both come through here, and the unlocks.
 */
#include <semaphore.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_ioctl.h>
#include <rdma/rdma_verbs.h>

#include "intercept.h"
#include "overlap.h"
#include "process.h"
#include "unlock.h"

#define PORT_LATE	7696
#define PORT_TEXT	"7696"

static __thread unsigned int unlocks;	/* the last one lets late.tid go on */
static bool last_unlock;		/* there were fewer */

/*
 * The next @event of a connect by name comes to a thread that waits with it
 * until another one has had the end, DEVICE_REMOVAL, or destroys the id.
 */
static struct {
	int event;			/* or 0 */
	pid_t tid;			/* of that thread; these two are atomic */
	bool done;			/* it is done with the event */
	sem_t read;			/* it has the event */
	sem_t go;			/* it may process it */
} late;

static __thread bool late_thread;

#define REMOVAL		0x72656d	/* a USER event that is made one */

static void late_change(struct rdma_cmx_event *ev)
{
	if (late.event && ev->event == late.event) {
		late.event = 0;
		sem_post(&late.read);
		sem_wait(&late.go);
		late_thread = true;
		__atomic_store_n(&late.tid, gettid(), __ATOMIC_SEQ_CST);
	} else if (ev->event == RDMA_CMX_EV_USER && ev->obj_uid == REMOVAL) {
		ev->event = RDMA_CM_EVENT_DEVICE_REMOVAL;
		ev->status = 0;
	}
}

static void late_is_done(void)
{
	if (late_thread)
		__atomic_store_n(&late.done, true, __ATOMIC_SEQ_CST);
}

/* That thread goes on until it is done with the event, or waits for the id. */
static void late_goes_on(void)
{
	long long end = now_ms() + WAIT_MS;
	pid_t tid;

	sem_post(&late.go);
	while (!(tid = __atomic_load_n(&late.tid, __ATOMIC_SEQ_CST)))
		usleep(1000);
	while (!__atomic_load_n(&late.done, __ATOMIC_SEQ_CST) &&
	       !thread_in_call(tid, SYS_futex) && now_ms() < end)
		usleep(1000);
}

/* Of a name, by a thread of the library: it ends after the id. */
static struct {
	bool armed;
	pid_t tid;			/* of that thread, atomic */
	int given;			/* its results, likewise */
} lookup;

int getaddrinfo(const char *node, const char *service,
		const struct addrinfo *hints, struct addrinfo **res)
{
	int (*real)(const char *, const char *, const struct addrinfo *,
		    struct addrinfo **) = dlsym(RTLD_NEXT, __func__);
	long long end = now_ms() + WAIT_MS;

	if (lookup.armed) {
		__atomic_store_n(&lookup.tid, gettid(), __ATOMIC_SEQ_CST);
		while (!caller_ended(&overlap.caller) && now_ms() < end)
			usleep(1000);
	}
	return real(node, service, hints, res);
}

static void unlock_intercept(void)
{
	if (unlocks && !--unlocks)
		late_goes_on();
}

static void command_begins(unsigned long request)
{
	if (request == RDMA_CMX_IO(GET_EVENTS))
		late_is_done();
	if (request == RDMA_CMX_IO(GIVE_NAMES))
		__atomic_add_fetch(&lookup.given, 1, __ATOMIC_SEQ_CST);
	/* It waits for acks, and so for that thread. */
	if (request == RDMA_CMX_IO(ID_DESTROY) && unlocks) {
		last_unlock = true;
		unlocks = 0;
		late_goes_on();
	}
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	struct rdma_cmx_get_events *get;
	int ret;

	command_begins(request);
	ret = ioctl_real(fd, request, arg);
	if (ret)
		return ret;
	if (request == RDMA_CMX_IO(GET_EVENTS)) {
		get = arg;
		late_change((void *)(uintptr_t)get->buf);
	}
	if (request == command)
		overlap_begin();
	return 0;
}

FIXTURE(late) {
	struct server server;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_qp_init_attr qp;
	struct rdmacmx_connect_attr attr;
};

FIXTURE_SETUP(late)
{
	memset(self, 0, sizeof(*self));
	server_start(&self->server, PORT_LATE);
	/* A reply that comes to nothing is rejected. */
	self->server.leaves = true;
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = id_make(self->channel);
	self->qp.cap.max_send_wr = 1;
	self->qp.cap.max_recv_wr = 1;
	self->qp.cap.max_send_sge = 1;
	self->qp.cap.max_recv_sge = 1;
	self->attr.qp_init_attr = &self->qp;
}

FIXTURE_TEARDOWN(late)
{
	rdma_destroy_id(self->id);
	rdma_destroy_event_channel(self->channel);
	EXPECT_EQ(0, server_end(&self->server));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
	EXPECT_TRUE(queue_pairs_gone());
}

static int connect_name(FIXTURE_DATA(late) *self, struct rdma_cm_id *id,
			const char *node)
{
	return rdmacmx_connect_name(id, node, PORT_TEXT, NULL, &self->attr);
}

static void *late_reader(void *arg)
{
	intptr_t event = event_take(arg, NULL);

	late_is_done();
	return (void *)event;
}

static int late_start(struct rdma_event_channel *channel, int event,
		      pthread_t *thread)
{
	late.event = event;
	late.tid = 0;
	late.done = false;
	sem_init(&late.read, 0, 0);
	sem_init(&late.go, 0, 0);
	return pthread_create(thread, NULL, late_reader, channel);
}

/*
 * A thread reads @event, and another one has the removal before the first one
 * processes it. That one gets the program's next event.
 */
static int read_before_the_removal(FIXTURE_DATA(late) *self, int event)
{
	void *got = NULL;
	pthread_t thread;

	if (late_start(self->channel, event, &thread) ||
	    connect_name(self, self->id, OWN4))
		return -1;
	sem_wait(&late.read);
	rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, REMOVAL);
	if (event_take(self->channel, NULL) != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return -1;
	sem_post(&late.go);
	rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0);
	pthread_join(thread, &got);
	if ((intptr_t)got != RDMA_CM_EVENT_USER)
		event_take(self->channel, NULL);
	return (intptr_t)got;
}

/* Nothing comes after the last event: a failure is in process/interleaved. */
TEST_F(late, KA_02_route_is_read_before_the_removal)
{
	EXPECT_EQ(RDMA_CM_EVENT_USER,
		  read_before_the_removal(self, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

TEST_F(late, KA_02_reply_is_read_before_the_removal)
{
	EXPECT_EQ(RDMA_CM_EVENT_USER,
		  read_before_the_removal(self,
					  RDMA_CM_EVENT_CONNECT_RESPONSE));
}

/*
 * A thread has the reply, and processes it at some moment while another one
 * destroys the endpoint: in each case the queue pair goes, too.
 */
TEST_F(late, KA_02_destroy_before_the_reply_is_processed)
{
	struct rdma_cm_id *id;
	pthread_t thread;
	unsigned int n;
	void *event;

	for (n = 1; !last_unlock; n++) {
		id = id_make(self->channel);
		ASSERT_EQ(0, late_start(self->channel,
					RDMA_CM_EVENT_CONNECT_RESPONSE,
					&thread));
		ASSERT_EQ(0, connect_name(self, id, OWN4));
		sem_wait(&late.read);
		unlocks = n;
		rdma_destroy_ep(id);
		ASSERT_EQ(0, unlocks);
		rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0);
		pthread_join(thread, &event);
		if ((intptr_t)event == RDMA_CM_EVENT_USER)
			continue;
		EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, (intptr_t)event);
		EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(self->channel, NULL));
	}
	TH_LOG("%u moments", n - 1);
}

/* At @request of the call of a synchronous id, another thread destroys it. */
#define OVERTAKEN(request, node) do {					\
	overlap_set(id_make(NULL), RDMA_CMX_IO(request),		\
		    overlap_destroy_id);				\
	EXPECT_EQ(-1, connect_name(self, overlap.id, node));		\
	EXPECT_EQ(ECANCELED, errno);					\
	ASSERT_EQ(0, command);						\
	caller_end(&overlap.caller);					\
} while (0)

/* The program does not know the queue pair: the id takes it along. */
TEST_F(late, KA_02_destroy_the_id_while_the_reply_is_processed)
{
	OVERTAKEN(CONN_QP_ATTR, OWN4);
}

/* The call begins to look the name up when the other thread waits for it. */
TEST_F(late, KA_02_destroy_before_the_lookup)
{
	long long end = now_ms() + WAIT_MS;
	char path[64];
	pid_t tid;

	ASSERT_EQ(0, setenv("RDMACMX_NAMES", "libc", 1));
	lookup.armed = true;
	OVERTAKEN(GET_INFO, NAME_V4);
	while (!(tid = __atomic_load_n(&lookup.tid, __ATOMIC_SEQ_CST)) &&
	       now_ms() < end)
		usleep(1000);
	ASSERT_NE(0, tid);
	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (!access(path, F_OK) && now_ms() < end)
		usleep(1000);
	/* It has no id any more to give the addresses to. */
	EXPECT_EQ(0, __atomic_load_n(&lookup.given, __ATOMIC_SEQ_CST));
}

static void *qp_destroyer(void *arg)
{
	rdma_destroy_qp(arg);
	return NULL;
}

/*
 * rdma_destroy_qp() waits until the events of the completion queues are
 * acknowledged. Meanwhile another thread takes an event of the id.
 */
TEST_F(late, KA_02_destroy_of_a_queue_pair_waits_for_acks)
{
	struct rdma_cm_id *id = self->id;
	struct caller destroyer;
	struct timespec end;
	pthread_t reader;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char buf[8];
	void *ptr;

	ASSERT_EQ(0, connect_name(self, id, OWN4));
	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, ibv_req_notify_cq(id->recv_cq, 0));
	ASSERT_EQ(0, rdma_post_recv(id, NULL, buf, sizeof(buf), mr));
	/* The queue pair gets the state ERR, and the receive a completion. */
	ASSERT_EQ(0, rdma_disconnect(id));
	ASSERT_EQ(0, ibv_get_cq_event(id->recv_cq_channel, &cq, &ptr));
	caller_start(&destroyer, qp_destroyer, id);
	ASSERT_TRUE(caller_sleeps(&destroyer, SYS_futex));
	ASSERT_EQ(0, pthread_create(&reader, NULL, late_reader, self->channel));
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_MS / 1000;
	EXPECT_EQ(0, pthread_timedjoin_np(reader, &ptr, &end));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, (intptr_t)ptr);
	ibv_ack_cq_events(cq, 1);
	caller_end(&destroyer);
	EXPECT_EQ(NULL, id->qp);
	rdma_dereg_mr(mr);
}

TEST_HARNESS_MAIN
