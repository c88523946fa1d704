// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, KA-02: two threads in the library, of which one stops at a chosen
 * command until the other is done, or waits for it. The commands of both come
 * through here, and the unlocks.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_ioctl.h>

#include "intercept.h"
#include "process.h"

#define PORT_INTER	7698
#define PORT_TEXT	"7698"

#define PORT_NOBODY	7697		/* has no listener */
#define NOBODY_TEXT	"7697"

/*
 * When @command is done the thread that called it starts another one, which
 * destroys the id, and goes on when that one waits or has ended.
 */
static __thread unsigned long command;	/* or 0 */
static __thread bool locked;		/* not before it has unlocked */
static __thread bool slow;		/* give way after each unlock, too */

static struct {
	void (*destroy)(struct rdma_cm_id *id);
	struct rdma_cm_id *id;
	pthread_t thread;
	pid_t tid;			/* atomic */
	bool ended;			/* atomic */
	bool there;			/* it waited: the id is still whole */
	struct ibv_qp *qp;		/* of the id then */
} overlap;

static void *destroyer(void *arg)
{
	__atomic_store_n(&overlap.tid, gettid(), __ATOMIC_SEQ_CST);
	overlap.destroy(overlap.id);
	__atomic_store_n(&overlap.ended, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void overlap_begin(void)
{
	pid_t tid;

	command = 0;
	if (pthread_create(&overlap.thread, NULL, destroyer, NULL))
		abort();
	while (!(tid = __atomic_load_n(&overlap.tid, __ATOMIC_SEQ_CST)))
		usleep(1000);
	thread_sleeps(tid, SYS_futex);
	overlap.there = !__atomic_load_n(&overlap.ended, __ATOMIC_SEQ_CST);
	if (overlap.there)
		overlap.qp = overlap.id->qp;
}

/*
 * A connect by name: UNREACHABLE comes to a thread that waits with it until
 * another one has had the end, DEVICE_REMOVAL.
 */
static struct {
	bool armed;
	sem_t read;			/* it has UNREACHABLE */
	sem_t removed;			/* the other has got DEVICE_REMOVAL */
} late;

static void late_change(struct rdma_cmx_event *ev)
{
	if (ev->event == RDMA_CM_EVENT_REJECTED) {
		ev->event = RDMA_CM_EVENT_UNREACHABLE;
		ev->status = -ETIMEDOUT;
		sem_post(&late.read);
		sem_wait(&late.removed);
	}
}

/*
 * The argument of a USER event that is made one of @type, as if the kernel had
 * reported it, of the first membership, whose leave counts it, too
 */
#define MADE(type)	(0x6d616400 | (type))

static struct {
	uint64_t uid;
	uint32_t handle;
	uint32_t made;
} membership;

static void event_make(struct rdma_cmx_event *ev)
{
	if (ev->event != RDMA_CMX_EV_USER || (ev->obj_uid & ~0xffULL) != MADE(0))
		return;
	ev->event = ev->obj_uid & 0xff;
	ev->obj_uid = membership.uid;
	ev->obj = membership.handle;
	if (ev->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    ev->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		membership.made++;
}

static void membership_left(struct rdma_cmx_destroy *leave)
{
	if (leave->handle == membership.handle)
		leave->events_reported += membership.made;
}

static void membership_set(const struct rdma_cmx_join *join)
{
	if (membership.uid)
		return;
	membership.uid = join->uid;
	membership.handle = join->mc;
}

/*
 * Another process that reads the file takes the event that would wake a thread,
 * which is about to wait.
 */
static struct {
	bool armed;
	sem_t waits;			/* the thread is */
	sem_t taken;			/* and may go on */
} thief;

static void thief_take(int fd)
{
	uint64_t buf[RDMA_CMX_MAX_EVENT / sizeof(uint64_t)];
	struct rdma_cmx_get_events get = {
		.size = sizeof(get),
		.max_events = 1,
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
		.reader = 1,
	};

	thief.armed = false;
	if (syscall(SYS_ioctl, fd, RDMA_CMX_IO(GET_EVENTS), &get))
		abort();
	sem_post(&thief.taken);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *mutex);
	int ret;

	if (!real)
		real = dlsym(RTLD_NEXT, __func__);
	ret = real(mutex);
	if (locked) {
		locked = false;
		overlap_begin();
	} else if (slow && !command) {
		/* On a busy machine that may be too short to see a failure. */
		usleep(20000);
		thread_sleeps(overlap.tid, SYS_futex);
	}
	return ret;
}

static int shared_fd;		/* of the calls without a channel */
/* Commands of this thread for a reply; the server accepts in another one. */
static __thread int steps;

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	struct rdma_cmx_get_events *get;
	int ret;

	if (thief.armed && request == RDMA_CMX_IO(GET_EVENTS)) {
		sem_post(&thief.waits);
		sem_wait(&thief.taken);
	}
	ret = ioctl_real(fd, request, arg);
	if (request == RDMA_CMX_IO(GETADDRINFO))
		shared_fd = fd;
	if (request == RDMA_CMX_IO(CONN_QP_ATTR) ||
	    request == RDMA_CMX_IO(ACCEPT))
		steps++;
	if (ret && errno == EBADF && request == command) {
		overlap_begin();
		errno = EBADF;
	}
	if (ret)
		return ret;
	if (request == RDMA_CMX_IO(GET_EVENTS)) {
		get = arg;
		if (late.armed)
			late_change((void *)(uintptr_t)get->buf);
		event_make((void *)(uintptr_t)get->buf);
	}
	if (request == RDMA_CMX_IO(JOIN))
		membership_set(arg);
	if (request == RDMA_CMX_IO(LEAVE))
		membership_left(arg);
	if (thief.armed && request == RDMA_CMX_IO(WRITE_EVENT))
		thief_take(fd);
	if (request != command)
		return ret;
	/*
	 * The library has a lock there that the other thread takes: of names,
	 * or of the id.
	 */
	if (request == RDMA_CMX_IO(RESOLVE_ADDRINFO) ||
	    request == RDMA_CMX_IO(JOIN))
		locked = true;
	else
		overlap_begin();
	return ret;
}

FIXTURE(interleaved) {
	struct sockaddr_storage ss;
	struct server server;
	struct rdma_cm_id *id;		/* synchronous */
	struct ibv_qp_init_attr qp;
	struct rdmacmx_connect_attr attr;
};

FIXTURE_SETUP(interleaved)
{
	memset(self, 0, sizeof(*self));
	server_start(&self->server, PORT_INTER);
	self->id = id_make(NULL);
	addr_make(&self->ss, OWN4, PORT_INTER);
	self->qp.cap.max_send_wr = 1;
	self->qp.cap.max_recv_wr = 1;
	self->qp.cap.max_send_sge = 1;
	self->qp.cap.max_recv_sge = 1;
	self->attr.qp_init_attr = &self->qp;
}

FIXTURE_TEARDOWN(interleaved)
{
	EXPECT_EQ(0, server_end(&self->server));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

#define ADDR(self)	((struct sockaddr *)&(self)->ss)

static int id_route(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (rdma_resolve_addr(id, NULL, addr, 30000) ||
	    rdma_resolve_route(id, 30000))
		return -1;
	return qp_make(id, IBV_QPT_RC);
}

/* At the next @request of this thread, destroy @id. */
static void overlap_set(struct rdma_cm_id *id, unsigned long request,
			void (*destroy)(struct rdma_cm_id *id))
{
	overlap.id = id;
	overlap.destroy = destroy;
	overlap.tid = 0;
	overlap.ended = false;
	command = request;
}

/* The call ends when the other thread has begun to destroy the id, which waits. */
#define OVERTAKEN(id, request, call) do {				\
	overlap_set(id, RDMA_CMX_IO(request), rdma_destroy_ep);		\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(ECANCELED, errno);					\
	ASSERT_EQ(0, command);						\
	pthread_join(overlap.thread, NULL);				\
	EXPECT_TRUE(overlap.there);					\
} while (0)

TEST_F(interleaved, RA_02_destroy_in_resolve_addr)
{
	OVERTAKEN(self->id, RESOLVE_ADDR,
		  rdma_resolve_addr(self->id, NULL, ADDR(self), 30000));
}

TEST_F(interleaved, RA_02_destroy_in_resolve_route)
{
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, ADDR(self), 30000));
	OVERTAKEN(self->id, RESOLVE_ROUTE, rdma_resolve_route(self->id, 30000));
}

TEST_F(interleaved, RAI_07_destroy_in_resolve_addrinfo)
{
	OVERTAKEN(self->id, RESOLVE_ADDRINFO,
		  rdma_resolve_addrinfo(self->id, OWN4, PORT_TEXT, NULL));
}

TEST_F(interleaved, KA_02_destroy_in_connect_name)
{
	OVERTAKEN(self->id, RESOLVE_ADDRINFO,
		  rdmacmx_connect_name(self->id, OWN4, PORT_TEXT, NULL,
				       &self->attr));
}

TEST_F(interleaved, RA_02_destroy_in_connect)
{
	addr_make(&self->ss, OWN4, PORT_NOBODY);
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	OVERTAKEN(self->id, CONNECT, rdma_connect(self->id, NULL));
	EXPECT_NE(NULL, overlap.qp);
}

TEST_F(interleaved, RA_02_destroy_in_disconnect)
{
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	ASSERT_EQ(0, rdma_connect(self->id, NULL));
	OVERTAKEN(self->id, DISCONNECT, rdma_disconnect(self->id));
	EXPECT_NE(NULL, overlap.qp);
}

/* The thread that connects prepares the queue pair for the peer's reply. */
TEST_F(interleaved, RA_02_destroy_while_the_reply_is_processed)
{
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	OVERTAKEN(self->id, CONN_QP_ATTR, rdma_connect(self->id, NULL));
	EXPECT_NE(NULL, overlap.qp);
}

TEST_F(interleaved, KA_02_destroy_while_the_reply_is_processed)
{
	OVERTAKEN(self->id, CONN_QP_ATTR,
		  rdmacmx_connect_name(self->id, OWN4, PORT_TEXT, NULL,
				       &self->attr));
	EXPECT_NE(NULL, overlap.qp);
}

/* The second join finds the id whole, and that it is being destroyed. */
TEST_F(interleaved, MC_10_destroy_in_join_many)
{
	struct sockaddr_storage group[2];
	struct rdmacmx_join_attr attr[2] = {};
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < 2; i++)
		attr[i].addr = addr_make(&group[i], i ? "239.55.9.2" :
							"239.55.9.1", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	/* JOIN holds the lock that destroying takes; then it reads its event. */
	overlap_set(id, RDMA_CMX_IO(GET_EVENTS), rdma_destroy_ep);
	slow = true;
	EXPECT_EQ(0, rdmacmx_join_many(id, attr, 2));
	slow = false;
	EXPECT_EQ(ECANCELED, attr[0].error);
	EXPECT_EQ(ECANCELED, attr[1].error);
	ASSERT_EQ(0, command);
	pthread_join(overlap.thread, NULL);
	EXPECT_TRUE(overlap.there);
	rdma_destroy_ep(self->id);
}

TEST_F(interleaved, RA_02_destroy_in_accept)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request, *client;

	ASSERT_NE(NULL, channel);
	listener = id_listening(NULL, PORT_INTER + 1);
	client = id_ready(channel, PORT_INTER + 1);
	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, rdma_connect(client, NULL));
	ASSERT_EQ(0, rdma_get_request(listener, &request));
	ASSERT_EQ(0, qp_make(request, IBV_QPT_RC));
	OVERTAKEN(request, ACCEPT, rdma_accept(request, NULL));
	EXPECT_NE(NULL, overlap.qp);
	rdma_destroy_ep(client);
	rdma_destroy_ep(listener);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

/*
 * The same on a channel: until the connection is established the queue pair is
 * none of the program's.
 */
TEST_F(interleaved, KA_02_destroy_of_a_queue_pair_that_connects)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	overlap_set(id, RDMA_CMX_IO(CONN_QP_ATTR), rdma_destroy_qp);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL,
					  &self->attr));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, NULL));
	pthread_join(overlap.thread, NULL);
	EXPECT_TRUE(overlap.there);
	EXPECT_NE(NULL, overlap.qp);
	/* It became the program's meanwhile. */
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(0, rdma_destroy_id(id));

	/* Between two events it stays, and goes with the id. */
	id = id_make(channel);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, NOBODY_TEXT, NULL,
					  &self->attr));
	while (!id->qp && channel_readable(channel, WAIT_MS) == 1) {
		rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0);
		event_take(channel, NULL);
	}
	rdma_destroy_qp(id);
	EXPECT_NE(NULL, id->qp);
	rdma_destroy_ep(id);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

static int disconnected;		/* the errno */

static void disconnect(struct rdma_cm_id *id)
{
	disconnected = rdma_disconnect(id) ? errno : 0;
}

/*
 * While a thread works on a connect by name another one waits. It is refused,
 * unless the connection is established then.
 */
TEST_F(interleaved, KA_02_disconnect_while_it_connects)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	overlap_set(id, RDMA_CMX_IO(CONNECT), disconnect);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL,
					  &self->attr));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, NULL));
	ASSERT_EQ(0, command);
	pthread_join(overlap.thread, NULL);
	EXPECT_TRUE(overlap.there);
	EXPECT_TRUE(!disconnected || disconnected == EINVAL);
	rdma_destroy_ep(id);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (rdma_destroy_id(id))
		abort();
}

/* As id_ready(), by name: the program creates the queue pair, and connects. */
static struct rdma_cm_id *id_ready_by_name(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = id_make(channel);

	if (!rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL, NULL) &&
	    event_take(channel, NULL) == RDMA_CM_EVENT_ROUTE_RESOLVED &&
	    !qp_make(id, IBV_QPT_RC))
		return id;
	rdma_destroy_ep(id);
	return NULL;
}

/* The reader has the reply, which is no step of another id with its handle. */
static void destroy_when_read(struct __test_metadata *_metadata,
			      FIXTURE_DATA(interleaved) *self, bool named)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_comp_channel *comp;
	struct rdma_cm_id *id;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp;
	int i;

	ASSERT_NE(NULL, channel);
	self->server.leaves = true;
	/* Holds the device, too. */
	ASSERT_EQ(0, rdma_migrate_id(self->id, channel));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	id = named ? id_ready_by_name(channel) : id_ready(channel, PORT_INTER);
	ASSERT_NE(NULL, id);
	qp = id->qp;
	cq[0] = id->send_cq;
	cq[1] = id->recv_cq;
	ASSERT_EQ(0, rdma_connect(id, NULL));
	ASSERT_EQ(1, channel_readable(channel, WAIT_MS));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0));
	overlap_set(id, RDMA_CMX_IO(GET_EVENTS), destroy_id);
	steps = 0;
	EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(channel, NULL));
	pthread_join(overlap.thread, NULL);
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(0, steps);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	for (i = 0; i < 2; i++) {
		comp = cq[i]->channel;
		EXPECT_EQ(0, ibv_destroy_cq(cq[i]));
		EXPECT_EQ(0, ibv_destroy_comp_channel(comp));
	}
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(channel);
}

TEST_F(interleaved, RA_02_destroy_when_the_reply_is_read)
{
	destroy_when_read(_metadata, self, false);
}

TEST_F(interleaved, KA_02_destroy_when_the_reply_is_read)
{
	destroy_when_read(_metadata, self, true);
}

static struct rdma_event_channel *elsewhere;

static void migrate(struct rdma_cm_id *id)
{
	if (rdma_migrate_id(id, elsewhere))
		abort();
}

/* All steps of the reply use one handle. Elsewhere it is another id's. */
TEST_F(interleaved, RA_02_migrate_while_the_reply_is_processed)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id, *other;

	elsewhere = rdma_create_event_channel();
	ASSERT_NE(NULL, elsewhere);
	ASSERT_NE(NULL, channel);
	other = id_make(elsewhere);
	id = id_ready(channel, PORT_INTER);
	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	overlap_set(id, RDMA_CMX_IO(CONN_QP_ATTR), migrate);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, NULL));
	ASSERT_EQ(0, command);
	pthread_join(overlap.thread, NULL);
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(elsewhere, id->channel);
	rdma_destroy_ep(id);
	rdma_destroy_ep(other);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(elsewhere);
}

static void *late_reader(void *arg)
{
	return (void *)(intptr_t)event_take(arg, NULL);
}

/* Nothing comes after the last event. */
TEST_F(interleaved, KA_02_failure_is_read_before_the_removal)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	pthread_t thread;
	void *event;

	ASSERT_NE(NULL, channel);
	sem_init(&late.read, 0, 0);
	sem_init(&late.removed, 0, 0);
	late.armed = true;
	id = id_make(channel);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, NOBODY_TEXT, NULL,
					  &self->attr));
	ASSERT_EQ(0, pthread_create(&thread, NULL, late_reader, channel));
	sem_wait(&late.read);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0,
					 MADE(RDMA_CM_EVENT_DEVICE_REMOVAL)));
	EXPECT_EQ(RDMA_CM_EVENT_DEVICE_REMOVAL, event_take(channel, NULL));
	sem_post(&late.removed);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0));
	pthread_join(thread, &event);
	EXPECT_EQ(RDMA_CM_EVENT_USER, (intptr_t)event);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

static void *request_reader(void *arg)
{
	struct rdma_cm_id *request;

	return (void *)(intptr_t)(rdma_get_request(arg, &request) ? errno : 0);
}

/* As a child that reads the channel of an inherited id */
TEST_F(interleaved, RA_02_destroy_while_another_process_takes_the_event)
{
	struct rdma_cm_id *listener = id_listening(NULL, PORT_INTER + 1);
	pthread_t thread;
	void *err;

	sem_init(&thief.waits, 0, 0);
	sem_init(&thief.taken, 0, 0);
	rdma_destroy_ep(self->id);
	thief.armed = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, request_reader, listener));
	sem_wait(&thief.waits);
	EXPECT_EQ(0, rdma_destroy_id(listener));
	pthread_join(thread, &err);
	EXPECT_EQ(ECANCELED, (intptr_t)err);
	EXPECT_FALSE(thief.armed);
}

/* Not the end of any call; the program can read it when it has a channel. */
TEST_F(interleaved, RA_02_address_change_in_a_call)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	int i;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0,
						 MADE(RDMA_CM_EVENT_ADDR_CHANGE)));
	ASSERT_EQ(0, rdma_connect(self->id, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, self->id->event->event);
	EXPECT_EQ(0, rdma_disconnect(self->id));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, self->id->event->event);
	ASSERT_EQ(0, rdma_migrate_id(self->id, channel));
	ASSERT_EQ(0, event_wait(channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_CHANGE, event->event);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(0, event->param.arg);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

/* Nor is it a failure of a listener. */
TEST_F(interleaved, RA_02_address_change_before_a_request)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request, *client;

	ASSERT_NE(NULL, channel);
	rdma_destroy_ep(self->id);
	listener = id_listening(NULL, PORT_INTER + 1);
	client = id_ready(channel, PORT_INTER + 1);
	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, rdma_write_cm_event(listener, RDMA_CM_EVENT_USER, 0,
					 MADE(RDMA_CM_EVENT_ADDR_CHANGE)));
	ASSERT_EQ(0, rdma_connect(client, NULL));
	ASSERT_EQ(0, rdma_get_request(listener, &request));
	rdma_destroy_ep(request);
	rdma_destroy_ep(client);
	ASSERT_EQ(0, rdma_migrate_id(listener, channel));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_CHANGE, event_take(channel, NULL));
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

/* A server that polls its listener finds nothing to read. */
TEST_F(interleaved, RA_02_address_change_of_a_polled_listener)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request;
	int i;

	ASSERT_NE(NULL, channel);
	rdma_destroy_ep(self->id);
	listener = id_listening(NULL, PORT_INTER + 1);
	ASSERT_EQ(0, fcntl(listener->channel->fd, F_SETFL, O_NONBLOCK));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_write_cm_event(listener, RDMA_CM_EVENT_USER, 0,
						 MADE(RDMA_CM_EVENT_ADDR_CHANGE)));
		errno = 0;
		EXPECT_EQ(-1, rdma_get_request(listener, &request));
		EXPECT_EQ(EAGAIN, errno);
		EXPECT_EQ(0, channel_readable(listener->channel, 0));
	}
	ASSERT_EQ(0, rdma_migrate_id(listener, channel));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_CHANGE, event_take(channel, NULL));
	/* Once */
	ASSERT_EQ(0, rdma_migrate_id(listener, NULL));
	ASSERT_EQ(0, rdma_migrate_id(listener, channel));
	EXPECT_EQ(0, channel_readable(channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

/* The kernel rejoins a group while the id joins another one. */
TEST_F(interleaved, MC_13_rejoin_in_a_synchronous_join)
{
	struct sockaddr_storage group[2];
	struct rdma_cm_id *id;
	int i;

	rdma_destroy_ep(self->id);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	for (i = 0; i < 2; i++) {
		addr_make(&group[i], i ? "239.55.9.2" : "239.55.9.1", 0);
		ASSERT_EQ(0, rdma_join_multicast(id, (void *)&group[i],
						 &group[i]));
		EXPECT_EQ(&group[i], id->event->param.ud.private_data);
		ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0,
						 MADE(RDMA_CM_EVENT_MULTICAST_JOIN)));
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
}

static struct sockaddr_storage groups[2];
static void (*meanwhile)(struct rdma_cm_id *id);
static int joined;			/* the errno */

static void join_second(struct rdma_cm_id *id)
{
	joined = rdma_join_multicast(id, (void *)&groups[1], &groups[1]) ?
		 errno : 0;
}

static void *join_first(void *id)
{
	/* The event of the join is there when the command returns. */
	overlap_set(id, RDMA_CMX_IO(JOIN), meanwhile);
	return (void *)(intptr_t)(rdma_join_multicast(id, (void *)&groups[0],
						      &groups[0]) ? errno : 0);
}

/* With a deadline */
static int thread_join(pthread_t thread, void **ret)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_MS / 1000;
	return pthread_timedjoin_np(thread, ret, &end);
}

/* Each call waits for its own join: the second one for the end of the first. */
TEST_F(interleaved, MC_13_two_synchronous_joins)
{
	struct rdma_cm_id *id;
	pthread_t thread;
	void *err = NULL;
	int i;

	rdma_destroy_ep(self->id);
	for (i = 0; i < 2; i++)
		addr_make(&groups[i], i ? "239.55.9.4" : "239.55.9.3", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	meanwhile = join_second;
	ASSERT_EQ(0, pthread_create(&thread, NULL, join_first, id));
	ASSERT_EQ(0, thread_join(thread, &err));
	EXPECT_EQ(NULL, err);
	pthread_join(overlap.thread, NULL);
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(0, joined);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, id->event->event);
	EXPECT_EQ(&groups[1], id->event->param.ud.private_data);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, rdma_leave_multicast(id, (void *)&groups[i]));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

static int left;			/* the errno */

static void leave_first(struct rdma_cm_id *id)
{
	left = rdma_leave_multicast(id, (void *)&groups[0]) ? errno : 0;
}

/* The leave waits for the end of the join, which may fail. */
TEST_F(interleaved, MC_13_leave_in_a_synchronous_join)
{
	struct rdma_cm_id *id;
	pthread_t thread;
	void *err;
	int fails;

	rdma_destroy_ep(self->id);
	addr_make(&groups[0], "239.55.9.5", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	meanwhile = leave_first;
	for (fails = 0; fails < 2; fails++) {
		if (fails)
			ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER,
							 0, 0));
		ASSERT_EQ(0, pthread_create(&thread, NULL, join_first, id));
		ASSERT_EQ(0, thread_join(thread, &err));
		EXPECT_EQ(fails ? EINTR : 0, (intptr_t)err);
		ASSERT_EQ(0, thread_join(overlap.thread, NULL));
		EXPECT_TRUE(overlap.there);
		EXPECT_EQ(fails ? EADDRNOTAVAIL : 0, left);
		errno = 0;
		EXPECT_EQ(-1, rdma_leave_multicast(id, (void *)&groups[0]));
		EXPECT_EQ(EADDRNOTAVAIL, errno);
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/*
 * A join has read that another membership is lost. The leave of that one waits
 * until the event is acked, which no later call does.
 */
TEST_F(interleaved, MC_13_leave_of_a_membership_whose_loss_ends_a_join)
{
	struct rdma_cm_id *id;
	int i;

	rdma_destroy_ep(self->id);
	for (i = 0; i < 2; i++)
		addr_make(&groups[i], i ? "239.55.9.7" : "239.55.9.6", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	ASSERT_EQ(0, rdma_join_multicast(id, (void *)&groups[0], NULL));
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, -ENETDOWN,
					 MADE(RDMA_CM_EVENT_MULTICAST_ERROR)));
	overlap_set(id, RDMA_CMX_IO(GET_EVENTS), leave_first);
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast(id, (void *)&groups[1], NULL));
	EXPECT_EQ(ENETDOWN, errno);
	ASSERT_EQ(0, command);
	ASSERT_EQ(0, thread_join(overlap.thread, NULL));
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(0, left);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The destroy call waits until the leave has left the id. */
TEST_F(interleaved, MC_13_destroy_in_leave)
{
	struct rdma_cm_id *id;

	rdma_destroy_ep(self->id);
	addr_make(&groups[0], "239.55.9.8", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	ASSERT_EQ(0, rdma_join_multicast(id, (void *)&groups[0], NULL));
	overlap_set(id, RDMA_CMX_IO(LEAVE), rdma_destroy_ep);
	EXPECT_EQ(0, rdma_leave_multicast(id, (void *)&groups[0]));
	ASSERT_EQ(0, command);
	ASSERT_EQ(0, thread_join(overlap.thread, NULL));
	EXPECT_TRUE(overlap.there);
}

static void look_up(struct rdma_cm_id *id)
{
	struct rdma_addrinfo *res;

	if (rdma_getaddrinfo(OWN4, PORT_TEXT, NULL, &res))
		abort();
	rdma_freeaddrinfo(res);
}

/* The program has closed the file; two threads see it at a time. */
TEST_F(interleaved, GAI_13_file_is_opened_again_once)
{
	int fds;

	rdma_destroy_ep(self->id);
	look_up(NULL);
	fds = fds_open();
	ASSERT_EQ(0, close(shared_fd));
	overlap_set(NULL, RDMA_CMX_IO(GETADDRINFO), look_up);
	look_up(NULL);
	ASSERT_EQ(0, command);
	pthread_join(overlap.thread, NULL);
	EXPECT_FALSE(overlap.there);
	EXPECT_EQ(fds, fds_open());
	EXPECT_EQ(0, close(shared_fd));
}

TEST_F(interleaved, RA_02_device_removal_in_a_call)
{
	/* A server would wait for the rest of the connection. */
	addr_make(&self->ss, OWN4, PORT_NOBODY);
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0,
					 MADE(RDMA_CM_EVENT_DEVICE_REMOVAL)));
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(self->id, NULL));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(RDMA_CM_EVENT_DEVICE_REMOVAL, self->id->event->event);
	rdma_destroy_ep(self->id);
}

TEST_HARNESS_MAIN
