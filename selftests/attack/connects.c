// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Users connect to listeners that do not reply, with many more connects than
 * may be outstanding: to one destination, and to as many destinations as use up
 * the slots of a port. The connects of another user and of root are still sent.
 *
 * connect_window is 64: a destination has 16 slots, the port 64.
 */
#include "uapi.h"

#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define WINDOW		PARAMETERS "connect_window"
#define REPLY_MS	PARAMETERS "connect_reply_ms"
#define WAIT_MS		PARAMETERS "connect_wait_ms"
#define LISTENERS	8
#define CONNECTS	20	/* of an attacker, to each listener */
#define ATTACKERS	3
#define VICTIM_CONNECTS	4
#define VICTIM		3000

static uint16_t ports[LISTENERS + 1];

static bool waits_reach(long n, long max)
{
	double end = now_ms() + 120000;
	long waits;

	do {
		waits = number_get(WAITS);
		if (waits >= n && waits <= max)
			return true;
		poll(NULL, 0, 20);
	} while (now_ms() < end);
	fprintf(stderr, "# %ld wait\n", waits);
	return false;
}

static pid_t attacker_start(uid_t uid, int listeners)
{
	pid_t pid = fork();
	uint32_t id;
	int fd, i;

	if (pid)
		return pid;
	fd = user_become(uid) ? -1 : dev_open(O_NONBLOCK);
	for (i = 0; i < CONNECTS * listeners; i++)
		if (fd < 0 || connect_start(fd, 2, ports[i % listeners], &id))
			_exit(1);
	pause();
	_exit(0);
}

/* Connects one after another. 0, or the number of the failed one. */
static int victim_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK), i;
	union event_buf buf;
	uint32_t id;

	for (i = 1; i <= VICTIM_CONNECTS; i++)
		if (fd < 0 || connect_start(fd, 2, *(uint16_t *)arg, &id) ||
		    event_want(fd, EV_CONNECT_RESPONSE, &buf))
			return i;
	return 0;
}

/* Accepts only requests of process @pid, until it ends. Its exit status. */
static int serve(int fd, pid_t pid)
{
	double end = now_ms() + 120000;
	union event_buf buf;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ms() > end)
			return -ETIME;
		if (!event_pending(fd)) {
			struct pollfd p = { .fd = fd, .events = POLLIN };

			poll(&p, 1, 20);
			continue;
		}
		if (events_get(fd, &buf, sizeof(buf), 1, NULL))
			return -EIO;
		/* param_set() of the tests stores the process id there. */
		if (buf.ev.event == EV_CONNECT_REQUEST &&
		    buf.ev.param.conn.qp_num >> 8 == (pid & 0xffff) &&
		    id_accept(fd, buf.ev.obj, 3))
			return -EPROTO;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

FIXTURE(connects) {
	long window, reply, wait;
	pid_t pids[ATTACKERS];
	int fd;
};

FIXTURE_SETUP(connects)
{
	uint32_t id;
	int i;

	ASSERT_TRUE(counter_wait("live_files", 0));
	self->window = number_get(WINDOW);
	self->reply = number_get(REPLY_MS);
	self->wait = number_get(WAIT_MS);
	ASSERT_EQ(0, number_set(WINDOW, 64));
	/* No attempt ends by itself, on a slow host either. */
	ASSERT_EQ(0, number_set(REPLY_MS, 3600000));
	ASSERT_EQ(0, number_set(WAIT_MS, 3600000));
	self->fd = dev_open(O_NONBLOCK);
	for (i = 0; i <= LISTENERS; i++)
		ASSERT_EQ(0, listener_new(self->fd, i + 1, &id, &ports[i]));
}

FIXTURE_TEARDOWN(connects)
{
	pids_kill(self->pids, ATTACKERS);
	EXPECT_TRUE(waits_reach(0, 0));
	close(self->fd);
	number_set(WINDOW, self->window);
	number_set(REPLY_MS, self->reply);
	number_set(WAIT_MS, self->wait);
	EXPECT_TRUE(nothing_left());
}

/* One listener: 8 connects and one of each attacker are outstanding. */
TEST_F_TIMEOUT(connects, destination, 280)
{
	const long waits = ATTACKERS * CONNECTS - 8 - ATTACKERS;
	int i;

	for (i = 0; i < ATTACKERS; i++)
		self->pids[i] = attacker_start(2000 + i, 1);
	ASSERT_TRUE(waits_reach(waits, waits));
	EXPECT_EQ(0, serve(self->fd, user_start(VICTIM, victim_run, ports)));
	EXPECT_EQ(0, serve(self->fd, user_start(0, victim_run, ports)));
	EXPECT_EQ(waits, number_get(WAITS));
}

/* The slots of the port */
TEST_F_TIMEOUT(connects, port, 280)
{
	const long waits = ATTACKERS * CONNECTS * LISTENERS - 32 - ATTACKERS;
	int i;

	for (i = 0; i < ATTACKERS; i++)
		self->pids[i] = attacker_start(2000 + i, LISTENERS);
	ASSERT_TRUE(waits_reach(waits, waits));
	EXPECT_EQ(0, serve(self->fd, user_start(VICTIM, victim_run,
						ports + LISTENERS)));
	EXPECT_EQ(0, serve(self->fd, user_start(VICTIM, victim_run, ports)));
	EXPECT_EQ(0, serve(self->fd, user_start(0, victim_run, ports)));
	EXPECT_EQ(waits, number_get(WAITS));
}

/* The queue of a user */
TEST_F_TIMEOUT(connects, queue, 280)
{
	long queue = number_get(PARAMETERS "connect_queue");
	long refused = number_get(COUNTERS "connect_refused");
	long slots = number_get(COUNTERS "connect_slots");
	uint32_t id;
	int fd, i, ret = 0;

	self->pids[0] = attacker_start(2000, 1);
	ASSERT_TRUE(waits_reach(CONNECTS - 9, CONNECTS - 9));
	ASSERT_EQ(0, number_set(PARAMETERS "connect_queue", CONNECTS));
	/* This process runs as root, which has a separate queue. */
	fd = dev_open(O_NONBLOCK);
	for (i = 0; i < 2 * CONNECTS && !ret; i++)
		ret = connect_start(fd, 2, ports[0], &id);
	EXPECT_EQ(-EAGAIN, ret);
	/* One was sent, and the last one failed. */
	EXPECT_EQ(CONNECTS + 2, i);
	EXPECT_EQ(refused + 1, number_get(COUNTERS "connect_refused"));
	EXPECT_EQ(slots + 9 + 1, number_get(COUNTERS "connect_slots"));
	close(fd);
	EXPECT_TRUE(waits_reach(CONNECTS - 9, CONNECTS - 9));
	number_set(PARAMETERS "connect_queue", queue);
}

TEST_HARNESS_MAIN
