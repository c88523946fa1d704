// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The SA of one port sends long responses, the SAs of the other ports none, so
 * queries keep their responses until the deadline. A user with many queries
 * keeps no more than sa_kb_per_user. A query of another user succeeds
 * meanwhile.
 */
#include "uapi.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define ADDR_CLIENT	"10.66.0.2"
#define FAKE_LOG	"/tmp/test/fake.log"
#define PARAMETER	PARAMETERS "sa_kb_per_user"

#define PROCESSES	2	/* of the attacker */
#define QUERIES		8	/* of a process, one for each thread */
#define ALL		(PROCESSES * QUERIES)
#define TIMEOUT		540000	/* longer than the test on a slow host */
#define WAIT		300000	/* for all responses */
#define SETTLE		60000

/*
 * The SA sends all segments of a response without waiting for an ACK. A pause
 * before the next response lets the receiver catch up: a lost segment would
 * cost the time until the retry.
 */
#define PAUSE_MS	"200"
#define RECORDS		"200"
#define RESPONSE	(200 * 176L)	/* bytes of 200 ServiceRecords */
#define LIMIT_KB	200
/* Responses that fit, since other memory of a response is less than the rest */
#define FIT		(LIMIT_KB * 1024 / RESPONSE)

/* Queries a service at all ports and waits. 0 or a negative errno. */
static int query_all(int fd, const char *service)
{
	char buf[4096];
	struct rdma_cmx_getaddrinfo arg = {
		.query.ai_flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
		.query.timeout_ms = TIMEOUT,
		.query.service = (uintptr_t)service,
		.query.service_len = strlen(service),
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
	};

	return call(fd, GETADDRINFO, &arg);
}

struct query {
	int fd;
	int out;
	char service[32];
};

static void *query_run(void *arg)
{
	struct query *q = arg;

	if (query_all(q->fd, q->service) == -EAGAIN &&
	    write(q->out, "r", 1) != 1)
		_exit(1);
	return NULL;
}

/*
 * Starts a process of user 2000 that queries services and stays. It writes a
 * byte to @out for each query that fails.
 */
static pid_t attacker_start(int process, int out)
{
	struct query queries[QUERIES];
	pid_t pid = fork();
	pthread_t thread;
	int fd, i;

	if (pid)
		return pid;
	fd = user_become(2000) ? -1 : dev_open(0);
	for (i = 0; i < QUERIES; i++) {
		queries[i].fd = fd;
		queries[i].out = out;
		snprintf(queries[i].service, sizeof(queries[i].service),
			 "memory-%d-%d", process, i);
		if (fd < 0 || pthread_create(&thread, NULL, query_run,
					     &queries[i]))
			_exit(1);
	}
	for (;;)
		pause();
}

static int resolve(void *service)
{
	int fd = dev_open(O_NONBLOCK);

	return -(fd < 0 ? fd : service_query(fd, ADDR_CLIENT, service, TIMEOUT)
				?: query_result(fd));
}

/* Queries by the port whose SA responds. 0 or an errno. */
static int user_query(uid_t uid, char *service)
{
	return user_end(user_start(uid, resolve, service));
}

static bool fake_ready(void)
{
	char text[16] = "";
	FILE *file = fopen(FAKE_LOG, "re");

	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return !strcmp(text, "ready\n");
}

/* Starts the SA of the second device. Its process. */
static pid_t fake_start(void)
{
	double end = now_ms() + WAIT;
	pid_t pid;

	unlink(FAKE_LOG);
	pid = fork();
	if (!pid) {
		execl("/bin/bash", "bash", "-c",
		      ". /usr/lib/rdma-cmx/selftests/lib.sh; "
		      ". /usr/lib/rdma-cmx/selftests/fabric.sh; "
		      "exec /usr/lib/rdma-cmx/selftests/sa/tools/fake "
		      "-C $(fab_dev 4) -V $(fab_dev 2) -d " PAUSE_MS " "
		      "-n " RECORDS " good "
		      ">" FAKE_LOG " 2>&1", NULL);
		_exit(127);
	}
	while (!fake_ready() && now_ms() < end)
		poll(NULL, 0, 20);
	return pid;
}

static long responses(void)
{
	return number_get(COUNTERS "live_sa_responses");
}

static long refused(void)
{
	return number_get(COUNTERS "sa_memory_refused");
}

#define wait_until(cond, ms) ({						\
	double end_ = now_ms() + (ms);					\
									\
	while (!(cond) && now_ms() < end_)				\
		poll(NULL, 0, 20);					\
	(cond);								\
})

FIXTURE(memory) {
	long limit, timeout, cache, longest;
	pid_t fake, pids[PROCESSES];
	int pipe[2];
};

FIXTURE_SETUP(memory)
{
	self->limit = number_get(PARAMETER);
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->cache = number_get(PARAMETERS "sa_cache_ms");
	self->longest = number_get(PARAMETERS "query_timeout_max_ms");
	ASSERT_LT(0, self->limit);
	/* Queries without a response stay outstanding, and the cache is off. */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 30000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_max_ms", TIMEOUT));
	ASSERT_EQ(0, number_set(PARAMETER, LIMIT_KB));
	ASSERT_EQ(0, pipe(self->pipe));
	ASSERT_EQ(0, fabric_bash("sm_pause"));
	self->fake = fake_start();
	ASSERT_TRUE(fake_ready());
	/* Responses of other tests and of the cache are freed. */
	ASSERT_TRUE(number_gone(COUNTERS "live_sa_responses"));
}

FIXTURE_TEARDOWN(memory)
{
	int status = -1;

	pids_kill(self->pids, PROCESSES);
	/* Only the queries had references: no SA has responded since. */
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_responses"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_bytes"));
	/* The user may have as many responses as before. */
	EXPECT_EQ(0, user_query(2000, "after"));
	if (self->fake > 0) {
		kill(self->fake, SIGTERM);
		EXPECT_EQ(self->fake, waitpid(self->fake, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, fabric_bash("sm_resume"));
	number_set(PARAMETER, self->limit);
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_cache_ms", self->cache);
	number_set(PARAMETERS "query_timeout_max_ms", self->longest);
	/* Queries without a waiter end at their next retry. */
	EXPECT_EQ(0, fabric_bash("for dev in $(cat $fab_state/devices); do "
				 "knob_set $dev event client_reregister; done"));
	EXPECT_TRUE(number_gone(COUNTERS "live_queries"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
}

TEST_F_TIMEOUT(memory, SEC_of_one_user, 800)
{
	long before = refused(), kept;
	struct pollfd in = { .fd = self->pipe[0], .events = POLLIN };
	int i, n;
	char c;

	for (i = 0; i < PROCESSES; i++) {
		self->pids[i] = attacker_start(i, self->pipe[1]);
		ASSERT_LT(0, self->pids[i]);
	}
	EXPECT_TRUE(wait_until(refused() - before >= ALL - FIT, WAIT));
	/* A failed query keeps no response, though the other SAs are silent. */
	EXPECT_TRUE(wait_until(responses() <= FIT, SETTLE));
	kept = responses();
	TH_LOG("%ld of %d responses are kept, %ld refused", kept, ALL,
	       refused() - before);
	EXPECT_GE(LIMIT_KB * 1024, kept * RESPONSE);
	EXPECT_GE(LIMIT_KB * 1024, number_get(COUNTERS "live_sa_bytes"));
	EXPECT_EQ(FIT, kept);
	/* Those queries have failed, without a wait for the other SAs. */
	for (n = 0; n < ALL - FIT; n++) {
		if (poll(&in, 1, SETTLE) != 1 || read(in.fd, &c, 1) != 1)
			break;
	}
	EXPECT_EQ(ALL - FIT, n);

	EXPECT_EQ(0, user_query(3000, "others"));
	EXPECT_EQ(EAGAIN, user_query(2000, "more"));
	/* Its response is freed after the query has ended. */
	EXPECT_TRUE(wait_until(responses() == FIT, SETTLE));
}

TEST(parameter)
{
	long limit = number_get(PARAMETER);

	EXPECT_EQ(-1, number_set(PARAMETER, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, number_set(PARAMETER, -1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(limit, number_get(PARAMETER));
}

TEST_HARNESS_MAIN
