// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user has the file of many ids in many epoll sets, or polls one such set very
 * often. Each event of an id wakes all of them. The removal of the device, and the
 * ids of others, do not wait for that.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "ioctl.h"

#include "harness.h"

#define DEVICE_ADDR	"10.97.0.1"
#define COPIES		125
#define IDS		400
#define NESTED		60000
#define FILES		16
#define ROUNDS		20
#define DEBTS		4
#define ALICE		4711
#define BOB		4712
#define WAIT_MS		60000
/* However few pollers a fast machine needs time for */
#define PROMPT_MS	3000

/* A poller takes longer on a slow kernel. */
static int sets_of(int n)
{
	return kernel_slow() ? n / 4 : n;
}

static int files_allow(void)
{
	struct rlimit files = { 2 * NESTED, 2 * NESTED };

	return setrlimit(RLIMIT_NOFILE, &files);
}

/* A file in @n epoll sets, COPIES times in each */
struct crowd {
	int fd, n, sets[400], copies[COPIES];
};

static bool crowd_make(struct crowd *c, int fd, int n)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int i, j;

	c->fd = fd;
	for (j = 0; j < COPIES; j++) {
		c->copies[j] = dup(fd);
		if (c->copies[j] < 0)
			return false;
	}
	for (i = 0; i < n; i++) {
		c->sets[i] = epoll_create1(0);
		if (c->sets[i] < 0)
			return false;
		c->n = i + 1;
		for (j = 0; j < COPIES; j++)
			if (epoll_ctl(c->sets[i], EPOLL_CTL_ADD, c->copies[j],
				      &ev))
				return false;
	}
	return true;
}

static void crowd_end(struct crowd *c)
{
	int i;

	for (i = 0; i < c->n; i++)
		close(c->sets[i]);
	for (i = 0; i < COPIES; i++)
		close(c->copies[i]);
	close(c->fd);
}

/* A set of @fd alone: added first, it is woken last. */
static int witness_make(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int set = epoll_create1(0);

	return set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev) ? -1 : set;
}

static bool woken(int set, int wait_ms)
{
	struct epoll_event ev;

	return epoll_wait(set, &ev, 1, wait_ms) == 1;
}

FIXTURE(pollers) {
	int fd;
	struct crowd crowd;
};

FIXTURE_SETUP(pollers)
{
	ASSERT_EQ(0, files_allow());
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(pollers)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
}

/*
 * Time in milliseconds to wake all pollers; @witness is woken last. The first
 * call measures a long wake-up.
 */
static double wake_ms(int fd, int witness)
{
	double start, ms = 0;
	uint32_t id;
	int i;

	if (id_create(fd, RDMA_PS_TCP, 1, &id))
		return -1;
	for (i = 0; i < 2; i++) {
		start = now_ms();
		if (id_write_event(fd, id, 0, 0) || !woken(witness, WAIT_MS))
			return -1;
		ms = now_ms() - start;
	}
	return id_destroy(fd, id) < 0 ? -1 : ms;
}

/*
 * The device of @n ids goes, and last that of an id of another file: how long
 * that takes, or -1.
 */
static double removal_ms(int fd, int other, int n)
{
	union event_buf buf;
	double start, ms;
	uint32_t id;
	int i, ret;

	ret = system("ip link add cmxrm0 type dummy && "
		     "ip addr add " DEVICE_ADDR "/24 dev cmxrm0 && "
		     "ip link set cmxrm0 up && "
		     "rdma link add rxe_rm type rxe netdev cmxrm0");
	for (i = 0; !ret && i < n; i++)
		ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
		      id_bind(fd, id, DEVICE_ADDR, 0);
	ret = ret ?: id_create(other, RDMA_PS_TCP, 2, &id) ?:
	      id_bind(other, id, DEVICE_ADDR, 0);
	start = now_ms();
	ret = ret ?: system("rdma link del rxe_rm &") ?:
	      event_want(other, EV_DEVICE_REMOVAL, &buf);
	ms = now_ms() - start;
	ret = ret ?: system("i=0; while rdma link show rxe_rm >/dev/null 2>&1 && "
			    "[ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; "
			    "ip link del cmxrm0");
	return ret ? -1 : ms;
}

/* With a wake-up for each id it took as long as all of these. */
TEST_F_TIMEOUT(pollers, removal, 280)
{
	int i, witness, fd = dev_open(O_NONBLOCK);
	struct crowd *c = &self->crowd;
	double wake, all, most;

	witness = witness_make(fd);
	ASSERT_LE(0, witness);
	ASSERT_TRUE(crowd_make(c, fd, sets_of(400)));
	wake = wake_ms(fd, witness);
	ASSERT_LT(0, wake);
	most = IDS * wake / 2 > PROMPT_MS ? IDS * wake / 2 : PROMPT_MS;
	/* Again if the guest has stopped meanwhile */
	for (i = 0; i < 3; i++) {
		all = removal_ms(fd, self->fd, IDS);
		if (all < most)
			break;
	}
	TH_LOG("a wake-up takes %.1f ms, the removal %.0f ms", wake, all);
	EXPECT_LT(0, all);
	EXPECT_GT(most, all);
	/* All pollers are woken. */
	for (i = 0; i < c->n; i++)
		EXPECT_TRUE(woken(c->sets[i], WAIT_MS));
	close(witness);
	crowd_end(c);
}

/* The file has one set, and that has the pollers: those of poll(), any number. */
TEST_F_TIMEOUT(pollers, nested, 280)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd *fds = calloc(NESTED, sizeof(*fds));
	pid_t pids[8];
	int set, fd, i;

	fd = dev_open(O_NONBLOCK);
	set = epoll_create1(0);
	ASSERT_LE(0, set);
	ASSERT_NE(NULL, fds);
	ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev));
	for (i = 0; i < NESTED; i++)
		fds[i].fd = set;
	for (i = 0; i < 8; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(poll(fds, NESTED, -1));
	}
	EXPECT_LT(0, removal_ms(fd, self->fd, IDS));
	EXPECT_TRUE(woken(set, WAIT_MS));
	for (i = 0; i < 8; i++) {
		kill(pids[i], SIGKILL);
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	}
	close(set);
	close(fd);
	free(fds);
}

/* A poller that is one of many gets each event, also with EPOLLET. */
TEST_F_TIMEOUT(pollers, edges, 280)
{
	struct crowd *c = &self->crowd;
	union event_buf buf;
	uint32_t id;
	int set, i;

	ASSERT_TRUE(crowd_make(c, dev_open(O_NONBLOCK), sets_of(80)));
	set = witness_make(c->fd);
	ASSERT_LE(0, set);
	ASSERT_EQ(0, id_create(c->fd, RDMA_PS_TCP, 1, &id));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, id_write_event(c->fd, id, 0, i));
		ASSERT_TRUE(woken(set, WAIT_MS));
		if (i % 2)
			ASSERT_EQ(0, event_next(c->fd, &buf));
	}
	close(set);
	crowd_end(c);
}

/* A file of a user that all those pollers wait for */
struct slow {
	struct crowd crowd;
	int fd, witness;
	uint32_t id;
};

static bool slow_make(struct slow *s, uid_t uid, int n)
{
	/* A file is of the user that opens it. */
	if (setresuid(uid, 0, 0))
		return false;
	s->fd = dev_open(O_NONBLOCK);
	if (s->fd < 0 || setresuid(0, 0, 0) ||
	    id_create(s->fd, RDMA_PS_TCP, 1, &s->id))
		return false;
	s->witness = witness_make(s->fd);
	return s->witness >= 0 && crowd_make(&s->crowd, s->fd, n);
}

static void slow_end(struct slow *s)
{
	close(s->witness);
	crowd_end(&s->crowd);
}

/* How many of @n files have not been woken; then all are, and have no event. */
static int slow_drain(struct slow *s, int n)
{
	union event_buf buf;
	bool done[FILES];
	int i, late = 0;

	for (i = 0; i < n; i++) {
		done[i] = woken(s[i].witness, 0);
		late += !done[i];
	}
	for (i = 0; i < n; i++)
		if ((!done[i] && !woken(s[i].witness, WAIT_MS)) ||
		    event_next(s[i].fd, &buf))
			return -1;
	return late;
}

/*
 * Events of all files of one user, each with very many pollers, and of a file of
 * another one: its pollers are not the last to be woken. Now and then they may
 * be: who runs first is the scheduler's decision. A second file of the other one
 * brings the user into debt first, so that work items wake both. A fast machine
 * may need none.
 */
TEST_F_TIMEOUT(pollers, users, 280)
{
	struct slow *alice = calloc(FILES, sizeof(*alice)), bob[2] = {};
	union event_buf buf;
	int i, n, late, first = 0;

	ASSERT_NE(NULL, alice);
	for (i = 0; i < FILES; i++)
		ASSERT_TRUE(slow_make(&alice[i], ALICE, sets_of(32)));
	ASSERT_TRUE(slow_make(&bob[0], BOB, sets_of(8)));
	ASSERT_TRUE(slow_make(&bob[1], BOB, sets_of(32)));
	for (n = 0; n < ROUNDS; n++) {
		for (i = 0; i < FILES; i++)
			ASSERT_EQ(0, id_write_event(alice[i].fd, alice[i].id,
						    0, n));
		for (i = 0; i < DEBTS; i++)
			ASSERT_EQ(0, id_write_event(bob[1].fd, bob[1].id, 0, n));
		ASSERT_EQ(0, id_write_event(bob[0].fd, bob[0].id, 0, n));
		ASSERT_TRUE(woken(bob[0].witness, WAIT_MS));
		ASSERT_EQ(0, event_next(bob[0].fd, &buf));
		late = slow_drain(alice, FILES);
		ASSERT_LE(0, late);
		first += late > 0;
		for (i = 0; i < DEBTS; i++)
			ASSERT_EQ(0, event_next(bob[1].fd, &buf));
	}
	TH_LOG("%d of %d came before", first, ROUNDS);
	EXPECT_LE(ROUNDS / 2, first);
	for (i = 0; i < FILES; i++)
		slow_end(&alice[i]);
	slow_end(&bob[0]);
	slow_end(&bob[1]);
	free(alice);
}

TEST_HARNESS_MAIN
