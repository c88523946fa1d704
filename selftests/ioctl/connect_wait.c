// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CONNECT of ids beyond the limit of outstanding requests: it returns 0, and
 * the kernel sends the request later. Until then the id behaves as with an
 * outstanding REQ.
 *
 * The listener accepts nothing. connect_window is 64, so 16 requests may be
 * outstanding to it: 8 of all users, and one more of this user.
 */
#include "uapi.h"

#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define WINDOW		PARAMETERS "connect_window"
#define QUEUE		PARAMETERS "connect_queue"
#define WAIT_MS		PARAMETERS "connect_wait_ms"
#define REPLY_MS	PARAMETERS "connect_reply_ms"
#define OUTSTANDING	9

FIXTURE(wait) {
	long window, queue, ms, reply;
	int fd, other;
	uint16_t port;
	uint32_t listener, out[OUTSTANDING];
};

FIXTURE_SETUP(wait)
{
	bool full = false;
	int i, tries;
	uint32_t id;

	ASSERT_TRUE(counter_wait("live_files", 0));
	ASSERT_TRUE(waits_are(0));
	self->window = number_get(WINDOW);
	self->queue = number_get(QUEUE);
	self->ms = number_get(WAIT_MS);
	self->reply = number_get(REPLY_MS);
	ASSERT_EQ(0, number_set(WINDOW, 64));
	/* Longer than the test on a slow host */
	ASSERT_EQ(0, number_set(REPLY_MS, 3600000));
	for (tries = 0; tries < 3; tries++) {
		self->fd = dev_open(O_NONBLOCK);
		self->other = dev_open(O_NONBLOCK);
		ASSERT_EQ(0, listener_new(self->fd, 1, &self->listener,
					  &self->port));
		for (i = 0; i < OUTSTANDING; i++)
			ASSERT_EQ(0, connect_start(self->other, 2, self->port,
						   &self->out[i]));
		ASSERT_EQ(0, number_get(WAITS));
		ASSERT_EQ(0, connect_start(self->other, 2, self->port, &id));
		full = number_get(WAITS) == 1;
		if (full)
			break;
		/* The limit is that of an earlier listener at the port. */
		close(self->other);
		close(self->fd);
	}
	ASSERT_TRUE(full);
	ASSERT_LE(0, id_destroy(self->other, id));
	ASSERT_EQ(0, number_get(WAITS));
}

FIXTURE_TEARDOWN(wait)
{
	number_set(WINDOW, self->window);
	number_set(QUEUE, self->queue);
	number_set(WAIT_MS, self->ms);
	number_set(REPLY_MS, self->reply);
	close(self->other);
	close(self->fd);
	EXPECT_TRUE(waits_are(0));
	EXPECT_TRUE(nothing_left());
}

/* Accepts the next @n requests. */
static int accept_some(int fd, int n)
{
	union event_buf buf;
	int i, ret;

	for (i = 0; i < n; i++) {
		do {
			ret = event_next(fd, &buf);
			if (ret)
				return ret;
		} while (buf.ev.event != EV_CONNECT_REQUEST);
		ret = id_accept(fd, buf.ev.obj, 3);
		if (ret)
			return ret;
	}
	return 0;
}

/* Waits for the next event of the active side. Its type, or an errno < 0. */
static int next_of(int fd, uint32_t *id)
{
	union event_buf buf;
	int ret = event_next(fd, &buf);

	*id = buf.ev.id;
	return ret ?: buf.ev.event;
}

/* All requests arrive, and all are accepted. */
TEST_F(wait, all_connect)
{
	uint32_t id[40], got;
	int i, j, n = 40, seen = 0;

	for (i = 0; i < n; i++)
		ASSERT_EQ(0, connect_start(self->other, 2, self->port, &id[i]));
	EXPECT_TRUE(number_get(WAITS) > 0);
	ASSERT_EQ(0, accept_some(self->fd, n + OUTSTANDING));
	for (i = 0; i < n + OUTSTANDING; i++) {
		ASSERT_EQ(EV_CONNECT_RESPONSE, next_of(self->other, &got));
		for (j = 0; j < n; j++)
			seen += got == id[j];
	}
	EXPECT_EQ(n, seen);
	EXPECT_TRUE(waits_are(0));
}

/* A listener that receives all requests before it accepts any */
TEST_F(wait, listener_wants_all)
{
	union event_buf buf;
	uint32_t id, passive[30];
	int i, n = 30;

	ASSERT_EQ(0, number_set(REPLY_MS, 1000));
	for (i = OUTSTANDING; i < n; i++)
		ASSERT_EQ(0, connect_start(self->other, 2, self->port, &id));
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
		passive[i] = buf.ev.obj;
	}
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, id_accept(self->fd, passive[i], 3));
	for (i = 0; i < n; i++)
		ASSERT_EQ(EV_CONNECT_RESPONSE, next_of(self->other, &id));
}

/* Calls on a waiting id */
TEST_F(wait, calls)
{
	struct rdma_cmx_id_migrate migrate = {};
	struct rdma_cmx_connect accept = {};
	struct rdma_cmx_reject reject = {};
	struct rdma_cmx_id_arg arg = {};
	union event_buf buf;
	bool responded = false;
	uint32_t id, got;
	int accepted = 0;

	ASSERT_EQ(0, connect_start(self->other, 7, self->port, &id));
	ASSERT_EQ(1, number_get(WAITS));
	EXPECT_EQ(-EINVAL, id_connect(self->other, id));
	EXPECT_EQ(-EINVAL, id_resolve_route(self->other, id));
	EXPECT_EQ(-EINVAL, id_resolve_addr(self->other, id, NULL, ADDR_RDMA,
					   self->port));
	EXPECT_EQ(-EINVAL, id_bind(self->other, id, ADDR_RDMA, 0));
	EXPECT_EQ(-EINVAL, id_listen(self->other, id));
	accept.id = id;
	accept.uid = 7;
	EXPECT_EQ(-EINVAL, call(self->other, ACCEPT, &accept));
	reject.id = id;
	EXPECT_EQ(-EINVAL, call(self->other, REJECT, &reject));
	arg.id = id;
	arg.event = 5;	/* IB_EVENT_COMM_EST */
	EXPECT_EQ(-EINVAL, call(self->other, NOTIFY, &arg));
	EXPECT_FALSE(event_pending(self->other));
	EXPECT_EQ(1, number_get(WAITS));

	/* The id migrates, and connects there. */
	migrate.src_fd = self->other;
	migrate.id = id;
	ASSERT_EQ(0, call(self->fd, ID_MIGRATE, &migrate));
	EXPECT_EQ(1, number_get(WAITS));
	/*
	 * Requests arrive in any order. One may be accepted before another
	 * arrives, and its response may come before the last request.
	 */
	while (accepted < OUTSTANDING + 1 || !responded) {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		if (buf.ev.event == EV_CONNECT_REQUEST) {
			ASSERT_EQ(0, id_accept(self->fd, buf.ev.obj, 3));
			accepted++;
		} else if (buf.ev.id == migrate.new_id) {
			ASSERT_EQ(EV_CONNECT_RESPONSE, buf.ev.event);
			EXPECT_EQ(7, buf.ev.uid);
			responded = true;
		}
	}
	EXPECT_EQ(EV_CONNECT_RESPONSE, next_of(self->other, &got));
}

/* DISCONNECT ends the wait with an event; the id may connect again. */
TEST_F(wait, disconnect)
{
	struct rdma_cmx_id_arg arg = {};
	union event_buf buf;
	uint32_t id;

	ASSERT_EQ(0, connect_start(self->other, 7, self->port, &id));
	ASSERT_EQ(1, number_get(WAITS));
	arg.id = id;
	ASSERT_EQ(0, call(self->other, DISCONNECT, &arg));
	EXPECT_EQ(0, number_get(WAITS));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_ERROR, &buf));
	EXPECT_EQ(id, buf.ev.id);
	EXPECT_EQ(-ECONNABORTED, buf.ev.status);
	EXPECT_EQ(-EINVAL, call(self->other, DISCONNECT, &arg));
	EXPECT_EQ(0, id_connect(self->other, id));
	EXPECT_EQ(1, number_get(WAITS));
	EXPECT_EQ(3, id_destroy(self->other, id));
	EXPECT_EQ(0, number_get(WAITS));
}

/* No slot before the timeout */
TEST_F(wait, too_long)
{
	union event_buf buf;
	uint32_t id;

	ASSERT_EQ(0, number_set(WAIT_MS, 1));
	ASSERT_EQ(0, connect_start(self->other, 7, self->port, &id));
	ASSERT_EQ(0, event_want(self->other, EV_UNREACHABLE, &buf));
	EXPECT_EQ(id, buf.ev.id);
	EXPECT_EQ(-ETIMEDOUT, buf.ev.status);
	/* No request was sent, and the id can connect again. */
	ASSERT_EQ(0, number_set(WAIT_MS, self->ms));
	EXPECT_EQ(0, id_connect(self->other, id));
	EXPECT_EQ(1, number_get(WAITS));
}

/* CONNECT of an id with a route of RESOLVE_ANY, which sets the deadline */
static int connect_any(int fd, const char *addr, uint16_t port, uint32_t ms,
		       uint32_t *id)
{
	struct rdma_cmx_resolve_addrinfo name = {
		.query.node = (uintptr_t)addr,
		.query.node_len = strlen(addr),
		.query.port_space = RDMA_PS_TCP,
		.query.port = htons(port),
		.query.flags = RDMA_CMX_AIQ_PORT,
	};
	struct rdma_cmx_resolve_any any = {
		.flags = RDMA_CMX_ANY_CONNECT, .timeout_ms = ms,
	};
	union event_buf buf;
	int ret;

	ret = id_create(fd, RDMA_PS_TCP, 7, id);
	name.id = *id;
	any.id = *id;
	return ret ?: call(fd, RESOLVE_ADDRINFO, &name) ?:
	       event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf) ?:
	       call(fd, RESOLVE_ANY, &any) ?:
	       event_want(fd, EV_ROUTE_RESOLVED, &buf) ?:
	       id_connect(fd, *id);
}

/*
 * The wait does not count for the deadline of RESOLVE_ANY: a CONNECT that gets
 * its slot after that time connects.
 */
TEST_F(wait, deadline_without_the_wait)
{
	const uint32_t ms = 20000;
	double call = now_ms(), sent, granted;
	union event_buf buf;
	uint32_t id;

	ASSERT_EQ(0, connect_any(self->other, addr_rdma, self->port, ms, &id));
	sent = now_ms();
	ASSERT_EQ(1, number_get(WAITS));
	while (now_ms() < call + ms + 1000)
		poll(NULL, 0, 100);
	EXPECT_FALSE(event_pending(self->other));
	granted = now_ms();
	ASSERT_EQ(0, number_set(WINDOW, 0));
	ASSERT_EQ(0, accept_some(self->fd, OUTSTANDING + 1));
	do {
		ASSERT_EQ(0, event_next(self->other, &buf));
	} while (buf.ev.id != id);
	/* On a slow host its own time may pass. */
	if (buf.ev.event == EV_UNREACHABLE) {
		EXPECT_LE(ms, now_ms() - granted + sent - call);
	} else {
		EXPECT_EQ(EV_CONNECT_RESPONSE, buf.ev.event);
	}
}

/* The maximum of the wait passes before a slot is free. */
TEST_F(wait, deadline)
{
	union event_buf buf;
	uint32_t id;
	double end;
	int ret;

	ASSERT_EQ(0, connect_any(self->other, addr_rdma, self->port, 60000,
				 &id));
	ASSERT_EQ(1, number_get(WAITS));
	/* It counts for waits that have begun, too. */
	ASSERT_EQ(0, number_set(WAIT_MS, 1));
	ASSERT_EQ(0, event_want(self->other, EV_UNREACHABLE, &buf));
	EXPECT_EQ(-ETIMEDOUT, buf.ev.status);
	EXPECT_EQ(id, buf.ev.id);

	/* No request was sent, and the id can connect again. */
	ASSERT_EQ(0, number_set(WINDOW, 0));
	EXPECT_TRUE(waits_are(0));
	end = now_ms() + 60000;
	while ((ret = id_connect(self->other, id)) && now_ms() < end)
		poll(NULL, 0, 10);
	EXPECT_EQ(0, ret);
}

/* Errors of rdma_cm are returned at once. */
TEST_F(wait, refused)
{
	struct rdma_cmx_connect arg = { .param.private_data_len = 200 };
	uint32_t id, bound;

	ASSERT_EQ(0, active_new(self->other, 7, self->port, &id));
	arg.id = id;
	EXPECT_EQ(-EINVAL, call(self->other, CONNECT, &arg));
	ASSERT_EQ(0, id_create(self->other, RDMA_PS_TCP, 1, &bound));
	ASSERT_EQ(0, id_bind(self->other, bound, ADDR_RDMA, 0));
	EXPECT_EQ(-EINVAL, id_connect(self->other, bound));
	EXPECT_EQ(-EINVAL, id_connect(self->other, self->out[0]));
	EXPECT_EQ(0, number_get(WAITS));

	/* The queue of a user */
	ASSERT_EQ(0, number_set(QUEUE, 1));
	EXPECT_EQ(0, id_connect(self->other, id));
	ASSERT_EQ(0, active_new(self->other, 7, self->port, &bound));
	EXPECT_EQ(-EAGAIN, id_connect(self->other, bound));
	EXPECT_EQ(1, number_get(WAITS));
	/* Until the other id is destroyed */
	EXPECT_EQ(2, id_destroy(self->other, id));
	EXPECT_EQ(0, id_connect(self->other, bound));
}

/* An id of another file, whose process is killed or closes it */
TEST_F(wait, close)
{
	uint32_t id;
	pid_t pid;
	int fd, i;

	fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, connect_start(fd, 7, self->port, &id));
	EXPECT_EQ(20, number_get(WAITS));
	close(fd);
	EXPECT_EQ(0, number_get(WAITS));

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = dev_open(O_NONBLOCK);
		for (i = 0; i < 20; i++)
			if (connect_start(fd, 7, self->port, &id))
				_exit(1);
		pause();
		_exit(0);
	}
	EXPECT_TRUE(waits_are(20));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_TRUE(waits_are(0));
}

/*
 * The device of some ids is removed. Each id gets one DEVICE_REMOVAL, its last
 * event. The listener has the same device. If rdma_cm removes the listener
 * first, the peers get REJECTED before, also a waiting one that got the slot of
 * another. Returns how many ids with user ids from @uid have their
 * DEVICE_REMOVAL.
 */
static int removals(int fd, uint64_t uid, int n)
{
	bool removed[12] = {};
	union event_buf buf;
	unsigned int i;
	int seen = 0;

	while (seen < n && !event_next(fd, &buf)) {
		i = buf.ev.uid - uid;
		if (i >= (unsigned int)n)
			continue;
		if (removed[i] || (buf.ev.event != EV_REJECTED &&
				   buf.ev.event != EV_DEVICE_REMOVAL)) {
			fprintf(stderr, "# event %u of id %u\n", buf.ev.event, i);
			return -1;
		}
		removed[i] = buf.ev.event == EV_DEVICE_REMOVAL;
		seen += removed[i];
	}
	return seen;
}

TEST_F(wait, device_removal)
{
	const char *usual = addr_rdma;
	uint32_t id[12], got;
	uint16_t port;
	int i;

	if (on_infiniband)
		SKIP(return, "no soft-RoCE device here");
	ASSERT_EQ(0, system("ip link add cmxrm0 type dummy && "
			    "ip addr add 10.97.0.1/24 dev cmxrm0 && "
			    "ip link set cmxrm0 up && "
			    "rdma link add rxe_rm type rxe netdev cmxrm0"));
	addr_rdma = "10.97.0.1";
	EXPECT_EQ(0, listener_new(self->fd, 1, &got, &port));
	for (i = 0; i < 12; i++)
		EXPECT_EQ(0, connect_start(self->other, 10 + i, port, &id[i]));
	addr_rdma = usual;
	EXPECT_EQ(12 - OUTSTANDING, number_get(WAITS));
	EXPECT_EQ(0, system("rdma link del rxe_rm"));
	EXPECT_TRUE(waits_are(0));
	EXPECT_EQ(12, removals(self->other, 10, 12));
	EXPECT_FALSE(event_pending(self->other));
	EXPECT_EQ(-ENODEV, id_connect(self->other, id[11]));
	EXPECT_EQ(0, system("ip link del cmxrm0"));
}

/* Waits until an id can be bound to the device again. */
static bool device_back(void)
{
	double end = now_ms() + 60000;
	int fd = dev_open(O_NONBLOCK), ret;
	uint32_t id;

	do {
		poll(NULL, 0, 20);
		ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
		      id_bind(fd, id, ADDR_RDMA, 0);
	} while (ret && now_ms() < end);
	close(fd);
	return !ret;
}

/* The driver is unloaded, with all its devices. */
TEST_F(wait, driver_unload)
{
	uint32_t id;
	int i;

	if (on_infiniband)
		SKIP(return, "no soft-RoCE device here");
	if (access("/sys/module/rdma_rxe/initstate", F_OK))
		SKIP(return, "the kernel has rdma_rxe built in");
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, connect_start(self->other, 10 + i, self->port,
					   &id));
	EXPECT_EQ(3, number_get(WAITS));
	EXPECT_EQ(0, system("rmmod rdma_rxe"));
	EXPECT_TRUE(waits_are(0));
	EXPECT_EQ(3, removals(self->other, 10, 3));
	EXPECT_EQ(0, system("modprobe rdma_rxe && "
			    "rdma link add rxe0 type rxe netdev eth0"));
	EXPECT_TRUE(device_back());
}

/* No event follows when the deadline of a CONNECT passes afterwards. */
TEST_F(wait, removal_and_deadline)
{
	const char *usual = addr_rdma;
	uint32_t listener, gone, id;
	union event_buf buf;
	uint16_t port;
	double start;
	int fd;

	if (on_infiniband)
		SKIP(return, "no soft-RoCE device here");
	fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, system("ip link add cmxrm0 type dummy && "
			    "ip addr add 10.97.0.1/24 dev cmxrm0 && "
			    "ip link set cmxrm0 up && "
			    "rdma link add rxe_rm type rxe netdev cmxrm0"));
	addr_rdma = "10.97.0.1";
	EXPECT_EQ(0, listener_new(self->fd, 1, &listener, &port));
	start = now_ms();
	EXPECT_EQ(0, connect_any(fd, addr_rdma, port, 20000, &gone));
	addr_rdma = usual;
	EXPECT_EQ(0, system("rdma link del rxe_rm"));
	/* On a slow host the deadline, 20 s, may pass before. */
	do {
		ASSERT_EQ(0, event_next(fd, &buf));
		if (buf.ev.event == EV_UNREACHABLE)
			EXPECT_LE(19900, now_ms() - start);
	} while (buf.ev.event == EV_UNREACHABLE || buf.ev.event == EV_REJECTED);
	EXPECT_EQ(EV_DEVICE_REMOVAL, buf.ev.event);
	EXPECT_EQ(gone, buf.ev.id);
	EXPECT_FALSE(event_pending(fd));
	/* This id waits, and ends after the deadline of the first one. */
	ASSERT_EQ(0, number_set(WAIT_MS, 22000));
	EXPECT_EQ(0, connect_any(fd, addr_rdma, self->port, 60000, &id));
	EXPECT_EQ(0, event_want(fd, EV_UNREACHABLE, &buf));
	EXPECT_EQ(id, buf.ev.id);
	EXPECT_EQ(0, system("ip link del cmxrm0"));
	close(fd);
}

/* Waiting ids connect when the limit is removed. */
TEST_F(wait, off)
{
	uint32_t id;
	int i;

	ASSERT_EQ(0, connect_start(self->other, 7, self->port, &id));
	ASSERT_EQ(1, number_get(WAITS));
	ASSERT_EQ(0, number_set(WINDOW, 0));
	EXPECT_TRUE(waits_are(0));
	EXPECT_EQ(0, accept_some(self->fd, OUTSTANDING + 1));
	for (i = 0; i < OUTSTANDING + 1; i++)
		ASSERT_EQ(EV_CONNECT_RESPONSE, next_of(self->other, &id));
	ASSERT_EQ(0, connect_start(self->other, 7, self->port, &id));
	EXPECT_EQ(0, number_get(WAITS));
}

TEST(parameters)
{
	static const long bad[] = { -1, 1, 63, 32769, 1 << 20 };
	static const long good[] = { 0, 64, 32768 };
	long window = number_get(WINDOW);
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_NE(0, number_set(WINDOW, bad[i]));
		EXPECT_EQ(window, number_get(WINDOW));
	}
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		EXPECT_EQ(0, number_set(WINDOW, good[i]));
		EXPECT_EQ(good[i], number_get(WINDOW));
	}
	EXPECT_EQ(0, number_set(WINDOW, window));
	EXPECT_NE(0, number_set(WAIT_MS, 0));
}

TEST_HARNESS_MAIN
