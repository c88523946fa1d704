// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Outstanding resolutions at the uAPI (RAI-01 to RAI-07): names that the
 * library gives later, deadlines, limits, migration. port_later.c gives a port.
 */
#include "addrinfo.h"
#include "uapi.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define MAX_REQUESTS	UCMX_PARAMETERS "max_requests"
#define MAX_USER_REQUESTS UCMX_PARAMETERS "max_user_requests"

TEST_F(addrinfo, asynchronous)
{
	union event_buf buf;
	uint64_t space[512];
	uint32_t len, need;

	EXPECT_EQ(-ENOENT, result_get(self->fd, self->id, space,
				      sizeof(space), &len));
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(-EBUSY, resolve_later(self->fd, self->id, NODE));
	EXPECT_EQ(-ENOENT, result_get(self->fd, self->id, space,
				      sizeof(space), &len));
	ASSERT_EQ(0, names_give(self->fd, self->id, 0));
	EXPECT_EQ(-ESRCH, names_give(self->fd, self->id, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
				&buf));
	EXPECT_EQ(0, buf.ev.status);
	EXPECT_EQ(self->id, buf.ev.id);
	EXPECT_EQ(sizeof(buf.ev), buf.ev.len);

	EXPECT_EQ(-ENOSPC, result_get(self->fd, self->id, space, 8, &need));
	EXPECT_LT(3 * sizeof(struct rdma_cmx_ai_entry), need);
	EXPECT_EQ(-EFAULT, result_get(self->fd, self->id, NULL, 4096, &len));
	ASSERT_EQ(0, result_get(self->fd, self->id, space, need, &len));
	EXPECT_EQ(need, len);
	EXPECT_EQ(0, answer_check(space, len));
	/* A second read fails. */
	EXPECT_EQ(-ENOENT, result_get(self->fd, self->id, space,
				      sizeof(space), &len));
	EXPECT_EQ(1, id_destroy(self->fd, self->id));
}

/* RAI-02: the result can be read before the event. */
TEST_F(addrinfo, result_before_event)
{
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	union event_buf buf;
	uint64_t space[512];
	uint32_t len;

	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, names_give(self->fd, self->id, 0));
	ASSERT_EQ(1, poll(&pfd, 1, 60000));
	ASSERT_EQ(0, result_get(self->fd, self->id, space, sizeof(space),
				&len));
	EXPECT_EQ(0, answer_check(space, len));
	EXPECT_EQ(-EBUSY, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
				&buf));
	/* RAI-07: a second request, and one more while the result is unread */
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, names_give(self->fd, self->id, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
				&buf));
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	EXPECT_EQ(-ENOENT, result_get(self->fd, self->id, space,
				      sizeof(space), &len));
	ASSERT_EQ(0, names_give(self->fd, self->id, ENOENT));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR, &buf));
}

/* An invalid query does not drop an earlier result. */
TEST_F(addrinfo, result_survives_invalid_query)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };
	union event_buf buf;
	uint64_t space[512];
	struct names n;
	uint32_t len;

	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, names_give(self->fd, self->id, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
				&buf));
	query_make(&arg.query, NODE);
	arg.query.names_len = names_make(&n);
	arg.query.names = (uintptr_t)&n;
	n.head.version = RDMA_CMX_NAMES_VERSION_PORTS + 1;
	EXPECT_EQ(-EBADMSG, call(self->fd, RESOLVE_ADDRINFO, &arg));
	ASSERT_EQ(0, result_get(self->fd, self->id, space, sizeof(space),
				&len));
	EXPECT_EQ(0, answer_check(space, len));
	EXPECT_FALSE(event_pending(self->fd));
}

/* RAI-03, RAI-04: late failures are events, early ones are not. */
TEST_F(addrinfo, failures)
{
	static const int errors[] = {
		ENOENT, ENODATA, EAGAIN, ETIMEDOUT, ECONNREFUSED, EIO,
	};
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };
	struct rdma_cmx_give_names give = { .id = self->id };
	union event_buf buf;
	struct names n;
	uint32_t len;
	int i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
		ASSERT_EQ(0, names_give(self->fd, self->id, errors[i]));
		ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR,
					&buf));
		EXPECT_EQ(-errors[i], buf.ev.status);
		EXPECT_EQ(-ENOENT, result_get(self->fd, self->id, &buf,
					      sizeof(buf), &len));
	}
	query_make(&arg.query, NODE);
	arg.query.ai_flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_DNS;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, RESOLVE_ADDRINFO, &arg));
	arg.query.ai_flags = RDMA_CMX_AI_NUMERICHOST;
	EXPECT_EQ(-ENOENT, call(self->fd, RESOLVE_ADDRINFO, &arg));
	EXPECT_FALSE(event_pending(self->fd));

	/* Malformed names leave the query outstanding. */
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give.error = 5000;
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give.error = 0;
	give.names_len = names_make(&n);
	give.names = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, GIVE_NAMES, &give));
	give.names = (uintptr_t)&n;
	n.head.addr_count = 100;
	EXPECT_EQ(-EBADMSG, call(self->fd, GIVE_NAMES, &give));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(0, names_give(self->fd, self->id, 0));
	EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
				&buf));
	/* Names are not checked or copied without a pending query. */
	EXPECT_EQ(-ESRCH, call(self->fd, GIVE_NAMES, &give));
}

TEST_F(addrinfo, deadline)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };
	union event_buf buf;
	double start = now_ms();

	query_make(&arg.query, NODE);
	arg.query.flags |= RDMA_CMX_AIQ_NAMES_LATER;
	arg.query.timeout_ms = 200;
	ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &arg));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR, &buf));
	EXPECT_EQ(-ETIMEDOUT, buf.ev.status);
	/* A timer may expire up to a tick early: 10 ms at most. */
	EXPECT_LE(190, now_ms() - start);
	EXPECT_EQ(-ESRCH, names_give(self->fd, self->id, 0));
}

/* RAI-07: destroy is prompt and nothing of the request is left. */
TEST_F(addrinfo, destroy_outstanding)
{
	struct rdma_cmx_resolve_addrinfo arg = {};
	double start = now_ms();
	uint32_t id;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		if (i & 1) {
			/* The name server never responds. */
			arg.id = id;
			query_make(&arg.query, "outstanding.silent.test");
			arg.query.timeout_ms = 60000;
			ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &arg));
		} else {
			ASSERT_EQ(0, resolve_later(self->fd, id, NODE));
		}
		EXPECT_EQ(0, id_destroy(self->fd, id));
	}
	/* Long before the deadline of the name */
	EXPECT_GT(40000, now_ms() - start);
	EXPECT_EQ(0, counter("live_queries"));
	EXPECT_FALSE(event_pending(self->fd));
}

TEST_F(addrinfo, limit)
{
	long old = number_get(MAX_REQUESTS);
	union event_buf buf;
	uint32_t id[3];
	int i;

	ASSERT_LT(0, old);
	ASSERT_EQ(0, number_set(MAX_REQUESTS, 2));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, i + 1, &id[i]));
	EXPECT_EQ(0, resolve_later(self->fd, id[0], NODE));
	EXPECT_EQ(0, resolve_later(self->fd, id[1], NODE));
	EXPECT_EQ(-EAGAIN, resolve_later(self->fd, id[2], NODE));
	EXPECT_EQ(0, names_give(self->fd, id[0], 0));
	EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	EXPECT_EQ(0, resolve_later(self->fd, id[2], NODE));
	EXPECT_EQ(0, id_destroy(self->fd, id[1]));
	EXPECT_EQ(0, resolve_later(self->fd, id[0], NODE));
	EXPECT_EQ(0, number_set(MAX_REQUESTS, old));
}

#define KILLS	10
#define GIVEN	8	/* ids, whose names one process gives */

/* So many names that a signal arrives while the kernel works on them */
static int names_give_many(int fd, uint32_t id)
{
	static struct {
		struct rdma_cmx_names head;
		struct rdma_cmx_names_addr addr[RDMA_CMX_NAMES_MAX_ADDRS];
	} names = {
		.head.version = RDMA_CMX_NAMES_VERSION,
		.head.addr_count = RDMA_CMX_NAMES_MAX_ADDRS,
	};
	struct rdma_cmx_give_names arg = {
		.id = id, .names = (uintptr_t)&names,
		.names_len = sizeof(names),
	};
	int i;

	for (i = 0; i < RDMA_CMX_NAMES_MAX_ADDRS; i++) {
		names.addr[i].family = AF_INET;
		memcpy(names.addr[i].addr,
		       (uint8_t[]){ 203, 0, i >> 8, i }, 4);
	}
	return call(fd, GIVE_NAMES, &arg);
}

/* An errno of the kernel alone, ERESTARTSYS */
#define KERNEL_ERRNO	512

/* True if the next event does not report the end of a resolution */
static bool end_is_wrong(int fd)
{
	union event_buf buf;

	return event_next(fd, &buf) || buf.ev.status <= -KERNEL_ERRNO ||
	       (buf.ev.event != RDMA_CMX_EV_ADDRINFO_RESOLVED &&
		buf.ev.event != RDMA_CMX_EV_ADDRINFO_ERROR);
}

/*
 * A process is killed while it gives names. Others have the file, and read the
 * events: 0, or the number of wrong ones.
 */
static int names_of_a_killed(int fd)
{
	uint32_t id[GIVEN];
	int i, bad;
	pid_t pid;

	for (i = 0; i < GIVEN; i++)
		if (id_create(fd, RDMA_PS_TCP, 1, &id[i]) ||
		    resolve_later(fd, id[i], NODE))
			return -1;
	pid = fork();
	if (!pid) {
		for (i = 0; i < GIVEN; i++)
			names_give_many(fd, id[i]);
		pause();
		_exit(0);
	}
	bad = end_is_wrong(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (i = 0; i < GIVEN; i++)
		names_give_many(fd, id[i]);
	for (i = 1; i < GIVEN; i++)
		bad += end_is_wrong(fd);
	for (i = 0; i < GIVEN; i++)
		id_destroy(fd, id[i]);
	return bad;
}

TEST_F(addrinfo, giver_is_killed)
{
	int i;

	for (i = 0; i < KILLS; i++)
		EXPECT_EQ(0, names_of_a_killed(self->fd));
}

/* Results and outstanding queries migrate with their id. */
TEST_F(addrinfo, migrate)
{
	struct rdma_cmx_id_migrate arg = { .id = self->id, .src_fd = self->fd };
	int to = dev_open(O_NONBLOCK);
	union event_buf buf;
	uint64_t space[512];
	uint32_t len;

	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, call(to, ID_MIGRATE, &arg));
	EXPECT_EQ(-ENOENT, names_give(self->fd, self->id, 0));
	EXPECT_EQ(0, names_give(to, arg.new_id, 0));
	ASSERT_EQ(0, event_want(to, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	ASSERT_EQ(0, result_get(to, arg.new_id, space, sizeof(space), &len));
	EXPECT_EQ(0, answer_check(space, len));
	close(to);
}

/* A request does not move to a user who has as many as are allowed. */
TEST_F(addrinfo, migrate_to_a_user_at_the_limit)
{
	struct rdma_cmx_id_migrate arg = { .id = self->id, .src_fd = self->fd };
	long old = number_get(MAX_USER_REQUESTS);
	union event_buf buf;
	int to = other_user_open();
	uint32_t id;

	ASSERT_LT(0, old);
	ASSERT_LE(0, to);
	ASSERT_EQ(0, id_create(to, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, resolve_later(to, id, NODE));
	ASSERT_EQ(0, number_set(MAX_USER_REQUESTS, 1));
	EXPECT_EQ(-EAGAIN, call(to, ID_MIGRATE, &arg));
	/* The id did not migrate, and its count was released. */
	EXPECT_EQ(0, names_give(self->fd, self->id, 0));
	EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	EXPECT_EQ(0, id_destroy(to, id));
	EXPECT_EQ(0, call(to, ID_MIGRATE, &arg));
	EXPECT_EQ(0, number_set(MAX_USER_REQUESTS, old));
	close(to);
}

/* An id whose result was read counts for no user, and migrates. */
TEST_F(addrinfo, migrate_a_taken_result)
{
	struct rdma_cmx_id_migrate arg = { .id = self->id, .src_fd = self->fd };
	long old = number_get(MAX_USER_REQUESTS);
	long file = number_get(MAX_REQUESTS);
	union event_buf buf;
	uint64_t space[512];
	int to = other_user_open();
	uint32_t id, len;

	ASSERT_LT(0, old);
	ASSERT_LE(0, to);
	ASSERT_EQ(0, id_create(to, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, resolve_later(to, id, NODE));
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, names_give(self->fd, self->id, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	ASSERT_EQ(0, result_get(self->fd, self->id, space, sizeof(space), &len));
	ASSERT_EQ(0, number_set(MAX_USER_REQUESTS, 1));
	/* Also to a file above a lowered limit */
	ASSERT_EQ(0, number_set(MAX_REQUESTS, 0));
	EXPECT_EQ(0, call(to, ID_MIGRATE, &arg));
	EXPECT_EQ(0, number_set(MAX_USER_REQUESTS, old));
	EXPECT_EQ(0, number_set(MAX_REQUESTS, file));
	close(to);
}

/* A request does not migrate to a file at the limit. */
TEST_F(addrinfo, migrate_to_a_file_at_the_limit)
{
	struct rdma_cmx_id_migrate arg = { .id = self->id, .src_fd = self->fd };
	long old = number_get(MAX_REQUESTS);
	int to = dev_open(O_NONBLOCK);
	uint32_t id;

	ASSERT_LT(0, old);
	ASSERT_EQ(0, id_create(to, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	ASSERT_EQ(0, resolve_later(to, id, NODE));
	ASSERT_EQ(0, number_set(MAX_REQUESTS, 1));
	EXPECT_EQ(-EAGAIN, call(to, ID_MIGRATE, &arg));
	EXPECT_EQ(0, id_destroy(to, id));
	EXPECT_EQ(0, call(to, ID_MIGRATE, &arg));
	EXPECT_EQ(0, number_set(MAX_REQUESTS, old));
	EXPECT_EQ(0, names_give(to, arg.new_id, 0));
	close(to);
}

static void on_alarm(int sig)
{
}

/* A signal ends a wait for a name server. */
TEST_F(addrinfo, interrupted)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct rdma_cmx_getaddrinfo arg = {};
	double start = now_ms();
	uint64_t buf[64];
	int ret;

	sigaction(SIGALRM, &sa, NULL);
	query_make(&arg.query, "interrupted.silent.test");
	arg.query.timeout_ms = 60000;
	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	ualarm(300000, 100000);
	ret = call(self->fd, GETADDRINFO, &arg);
	ualarm(0, 0);
	if (ret == -ENOKEY)
		SKIP(return, "no name helper is installed");
	EXPECT_EQ(-EINTR, ret);
	/* Long before the deadline of the name */
	EXPECT_GT(40000, now_ms() - start);
}

TEST_HARNESS_MAIN
