// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, GAI-13, SV-01 on a mocked device (mock.h): a thread with a pending
 * cancellation ends at the first cancellation point, which must not be one
 * where it holds a lock, an event or a file of the library. Errors that no
 * testbed returns.
 */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/nameser.h>
#include <resolv.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rdma/rdma_cmx.h>

#include "harness.h"
#include "mock.h"
#include "process.h"

FIXTURE(calls) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(calls)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
	/* A lock that a thread has taken along stops the test. */
	alarm(60);
}

FIXTURE_TEARDOWN(calls)
{
	cmx_id(self->id)->dev = NULL;
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

/* Runs @fn in a thread that is cancelled there. False: inside the library. */
struct doomed {
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

static void *doomed_run(void *arg)
{
	struct doomed *d = arg;

	pthread_cancel(pthread_self());
	d->fn(d->arg);
	d->done = true;
	pthread_testcancel();
	return NULL;
}

static bool doomed_call(void (*fn)(void *arg), void *arg)
{
	struct doomed d = { .fn = fn, .arg = arg };
	pthread_t thread;

	if (pthread_create(&thread, NULL, doomed_run, &d))
		abort();
	pthread_join(thread, NULL);
	return d.done;
}

static void channel_destroy(void *channel)
{
	rdma_destroy_event_channel(channel);
}

TEST_F(calls, RA_02_cancelled_when_it_closes_a_channel)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int fd = channel->fd;

	ASSERT_LE(0, fcntl(fd, F_GETFD));
	EXPECT_TRUE(doomed_call(channel_destroy, channel));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
}

/* The event moves the queue pair to ERROR. */
static void event_get(void *arg)
{
	FIXTURE_DATA(calls) *self = arg;
	struct rdma_cm_event *event;

	if (!rdma_get_cm_event(self->channel, &event))
		rdma_ack_cm_event(event);
}

TEST_F(calls, RA_02_cancelled_when_it_reads_a_reject)
{
	mock_qp(self->id, false);
	mock_event(self->id, RDMA_CM_EVENT_REJECTED);
	mock.cancels = true;
	EXPECT_TRUE(doomed_call(event_get, self));
	mock.cancels = false;
	/* Waits for a thread that processes an event. */
	rdma_destroy_qp(self->id);
}

static void qp_destroy(void *id)
{
	rdma_destroy_qp(id);
}

/* libibverbs closes a completion channel with its lock of the device. */
TEST_F(calls, RA_02_cancelled_when_it_destroys_a_queue_pair)
{
	mock_qp(self->id, true);
	mock.cancels = true;
	EXPECT_TRUE(doomed_call(qp_destroy, self->id));
	EXPECT_EQ(NULL, self->id->recv_cq_channel);
}

static void care(void *id)
{
	cmx_id_cared_for(id);
}

/* The destroy call checks with the lock of the id whether the parent exists. */
TEST_F(calls, RA_02_cancelled_when_it_looks_for_the_parent)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(!doomed_call(care, cmx_id(self->id)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* The lookup of a name. No server responds at the port. */
int getaddrinfo(const char *name, const char *service,
		const struct addrinfo *hints, struct addrinfo **list)
{
	struct sockaddr_in *server = &_res.nsaddr_list[0];

	if (res_init())
		abort();
	_res.nscount = 1;
	server->sin_family = AF_INET;
	server->sin_port = htons(9);
	server->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	_res.res_h_errno = TRY_AGAIN;
	return EAI_AGAIN;
}

static void lookup(void *result)
{
	char buf[CMX_NAMES_BUF];
	size_t len = sizeof(buf);

	*(int *)result = cmx_libc_lookup("host.cmx.test", buf, &len);
}

TEST(GAI_13_cancelled_when_it_probes_servers)
{
	int files = fds_open(), result = 0;

	EXPECT_TRUE(doomed_call(lookup, &result));
	EXPECT_EQ(EAGAIN, result);
	EXPECT_EQ(files, fds_open());
}

static int sem_waits;

/* The first wait is interrupted. */
int sem_wait(sem_t *sem)
{
	if (!sem_waits++)
		return cmx_err(EINTR);
	while (sem_trywait(sem))
		sched_yield();
	return 0;
}

/* A thread looks up the service, and has the semaphore of the call. */
TEST_F(calls, RAI_01_interrupted_start)
{
	EXPECT_EQ(0, rdma_resolve_addrinfo(self->id, "10.55.0.2", "cmx-none",
					   NULL));
	EXPECT_EQ(2, sem_waits);
}

/* The queue pair is in ERROR then: the peer does not wait for its timeout. */
TEST_F(calls, RA_02_accept_that_reserves_nothing_rejects)
{
	static const int errors[] = { EAGAIN, ENOMEM };
	struct rdma_conn_param param = {};
	uint64_t dev[64] = {};		/* a device without read depths */
	unsigned int i;

	cmx_id(self->id)->dev = (void *)dev;
	mock_qp(self->id, false);
	for (i = 0; i < 2; i++) {
		mock.accept_error = errors[i];
		errno = 0;
		EXPECT_EQ(-1, rdma_accept(self->id, &param));
		EXPECT_EQ(errors[i], errno);
		EXPECT_EQ(i + 1, mock.rejects);
	}
	/* Others are of rdma_cm, which rejects. */
	mock.accept_error = EINVAL;
	EXPECT_EQ(-1, rdma_accept(self->id, &param));
	EXPECT_EQ(2, mock.rejects);
	/* A queue pair of the program is as it was: it may accept again. */
	self->id->qp = NULL;
	mock.accept_error = EAGAIN;
	EXPECT_EQ(-1, rdma_accept(self->id, &param));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(2, mock.rejects);
}

/* Each verb on a device that was removed, as of mlx5, fails with EIO. */
TEST_F(calls, RA_02_verbs_of_a_removed_device)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
		.qp_type = IBV_QPT_RC,
	};

	mock_qp(self->id, false);
	mock.verbs_error = EIO;
	errno = 0;
	EXPECT_EQ(-1, rdma_disconnect(self->id));
	EXPECT_EQ(EIO, errno);
	mock.removed = true;
	errno = 0;
	EXPECT_EQ(-1, rdma_disconnect(self->id));
	EXPECT_EQ(ENODEV, errno);

	self->id->qp = NULL;
	errno = 0;
	EXPECT_EQ(-1, rdma_create_qp(self->id, NULL, &init));
	EXPECT_EQ(ENODEV, errno);
	mock.removed = false;
	errno = 0;
	EXPECT_EQ(-1, rdma_create_qp(self->id, NULL, &init));
	EXPECT_EQ(EIO, errno);
}

static void *join(void *id)
{
	struct sockaddr_in group = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0xef370101),
	};

	return (void *)(intptr_t)rdma_join_multicast(id, (void *)&group, NULL);
}

static void *id_event(void *channel)
{
	struct rdma_cm_event *event;
	void *id;

	if (rdma_get_cm_event(channel, &event))
		return NULL;
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

/*
 * In a process that has forked. While the join waits, only the reader of an
 * event of that id waits for it.
 */
TEST_F(calls, RA_02_events_of_other_ids_during_a_join)
{
	pthread_mutex_t rtnl = PTHREAD_MUTEX_INITIALIZER;
	struct caller joiner, reader;
	struct rdma_cm_id *other;
	pid_t pid;

	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_UDP));
	pid = fork();
	if (!pid)
		_exit(0);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	mock.rtnl = &rtnl;
	pthread_mutex_lock(&rtnl);
	caller_start(&joiner, join, self->id);
	ASSERT_TRUE(caller_sleeps(&joiner, SYS_futex));
	mock_event(self->id, RDMA_CM_EVENT_USER);
	caller_start(&reader, id_event, self->channel);
	ASSERT_TRUE(caller_sleeps(&reader, SYS_futex));

	mock_event(other, RDMA_CM_EVENT_USER);
	EXPECT_EQ(other, id_event(self->channel));
	pthread_mutex_unlock(&rtnl);
	EXPECT_EQ(NULL, caller_end(&joiner));
	EXPECT_EQ(self->id, caller_end(&reader));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

/* What a child does with an inherited id and its event: 0 on success */
static int heir(struct rdma_event_channel *channel, struct rdma_cm_id *id,
		struct rdma_cm_event *event)
{
	if (rdma_ack_cm_event(event))
		return 1;
	mock_event(id, RDMA_CM_EVENT_USER);
	if (id_event(channel) != id)
		return 2;
	return rdma_destroy_id(id) ? 3 : 0;
}

/* The thread that has the lock of the id exists only in the parent. */
TEST_F(calls, RA_02_inherited_during_a_join)
{
	pthread_mutex_t rtnl = PTHREAD_MUTEX_INITIALIZER;
	struct rdma_cm_event *event;
	struct caller joiner;
	int status;
	pid_t pid;

	mock_event(self->id, RDMA_CM_EVENT_USER);
	ASSERT_EQ(0, rdma_get_cm_event(self->channel, &event));
	mock.rtnl = &rtnl;
	pthread_mutex_lock(&rtnl);
	caller_start(&joiner, join, self->id);
	ASSERT_TRUE(caller_sleeps(&joiner, SYS_futex));
	pid = fork();
	if (!pid) {
		alarm(60);
		_exit(heir(self->channel, self->id, event));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	pthread_mutex_unlock(&rtnl);
	EXPECT_EQ(NULL, caller_end(&joiner));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

/* Its handle is that of another process's id with the same cookie. */
TEST_F(calls, RA_02_event_of_another_handle)
{
	uint32_t handle = cmx_id(self->id)->handle;

	cmx_id(self->id)->handle++;
	mock_event(self->id, RDMA_CM_EVENT_USER);
	cmx_id(self->id)->handle = handle;
	EXPECT_EQ(NULL, id_event(self->channel));
	EXPECT_EQ(0, cmx_id(self->id)->events_taken);
}

/* The id that is created, and two pipes: its cookie, and the end of the call */
static int created[2], fails[2];

static int create_fails(uint64_t uid)
{
	char end;

	if (write(created[1], &uid, sizeof(uid)) < 0)
		abort();
	return read(fails[0], &end, 1) < 0 ? errno : EMFILE;
}

static void *id_create(void *channel)
{
	struct rdma_cm_id *id;

	return (void *)(intptr_t)(rdma_create_id(channel, &id, NULL,
						 RDMA_PS_TCP) ? errno : 0);
}

/*
 * In a process that has forked, likewise. The call fails while another thread
 * has the event, and looks at the handle: the id is freed afterwards.
 */
TEST_F(calls, RA_02_event_of_an_id_that_is_not_created)
{
	struct caller creator, reader;
	struct cmx_id *id;
	uint64_t uid;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(0);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	ASSERT_EQ(0, pipe(created));
	ASSERT_EQ(0, pipe(fails));
	mock.creates = create_fails;
	caller_start(&creator, id_create, self->channel);
	ASSERT_EQ((ssize_t)sizeof(uid), read(created[0], &uid, sizeof(uid)));
	id = cmx_cookie_object(uid);
	pthread_mutex_lock(&id->lock);
	mock_foreign_event(uid);
	caller_start(&reader, id_event, self->channel);
	ASSERT_TRUE(caller_sleeps(&reader, SYS_futex));

	ASSERT_EQ(1, write(fails[1], "", 1));
	ASSERT_TRUE(caller_sleeps(&creator, SYS_futex));
	pthread_mutex_unlock(&id->lock);
	EXPECT_EQ(EMFILE, (intptr_t)caller_end(&creator));
	EXPECT_EQ(NULL, caller_end(&reader));
	mock.creates = NULL;
}

/*
 * The program retries with the same attributes, perhaps without the id's SRQ or
 * for another id.
 */
TEST_F(calls, RA_02_failed_queues_leave_the_attributes)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_init_attr_ex ex = { .qp_type = IBV_QPT_RC }, ex_was = ex;
	struct ibv_srq_init_attr_ex srq_ex = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
	}, srq_was = srq_ex;
	struct ibv_pd pd = {};
	struct ibv_srq srq;

	mock_qp(self->id, true);
	self->id->qp = NULL;
	pd.context = self->id->verbs;
	self->id->pd = &pd;
	self->id->srq = &srq;
	mock.verbs_error = ENOMEM;
	EXPECT_EQ(-1, rdma_create_qp(self->id, NULL, &init));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(NULL, init.srq);
	EXPECT_EQ(NULL, init.send_cq);
	EXPECT_EQ(NULL, init.recv_cq);
	EXPECT_EQ(-1, rdma_create_qp_ex(self->id, &ex));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(0, memcmp(&ex, &ex_was, sizeof(ex_was)));
	EXPECT_EQ(-1, rdma_create_srq_ex(self->id, &srq_ex));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(0, memcmp(&srq_ex, &srq_was, sizeof(srq_was)));
}

/* A positive status is of the reply to a SIDR_REQ, and chosen by the peer. */
TEST(RA_02_status_of_a_peer)
{
	static const struct {
		int status, error;
	} unreachable[] = {
		{ 1, ECONNREFUSED }, { EINTR, ECONNREFUSED },
		{ 255, ECONNREFUSED }, { -ETIMEDOUT, ETIMEDOUT },
	};
	struct rdma_cm_id *id;
	size_t i;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	for (i = 0; i < ARRAY_SIZE(unreachable); i++) {
		mock.status = unreachable[i].status;
		mock_event(id, RDMA_CM_EVENT_UNREACHABLE);
		errno = 0;
		EXPECT_EQ(-1, cmx_complete(cmx_id(id)));
		EXPECT_EQ(unreachable[i].error, errno);
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
}

static long seconds_ahead;

/* The clock of the library */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int ret = syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += seconds_ahead;
	return ret;
}

static int services_error;
static unsigned int services_calls, services_most;

/* The last one takes longer than the library retries. */
static int services_end(void)
{
	if (++services_calls == services_most)
		seconds_ahead += 31;
	return services_error;
}

/* A signal ends each query, or the records grow from query to query. */
TEST(SV_01_queries_that_do_not_end)
{
	static const int errors[] = { EINTR, ENOSPC };
	struct rdmacmx_service_record *records;
	unsigned int i;

	mock.services = services_end;
	services_most = 3;
	for (i = 0; i < 2; i++) {
		services_calls = 0;
		services_error = errors[i];
		errno = 0;
		EXPECT_EQ(-1, rdmacmx_get_services(NULL, "a", &records, NULL));
		EXPECT_EQ(ETIMEDOUT, errno);
		EXPECT_EQ(services_most, services_calls);
	}
}

static unsigned int lists;

struct ibv_device **ibv_get_device_list(int *num)
{
	lists++;
	if (num)
		*num = 0;
	return calloc(1, sizeof(struct ibv_device *));
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

/* Any node of the fabric chooses the number of records. */
TEST(SV_01_records_of_a_device_without_a_provider)
{
	struct rdmacmx_service_record *records;

	mock.records = 16384;
	ASSERT_EQ(16384, rdmacmx_get_services(NULL, "a", &records, NULL));
	EXPECT_STREQ("", records[0].device);
	EXPECT_STREQ("", records[16383].device);
	EXPECT_EQ(1, lists);
	free(records);
}

/*
 * The program has closed what it had not opened. The number is that of a device
 * that rejects unknown commands with EINVAL, as /dev/net/tun does.
 */
TEST(GAI_13_file_is_another_device)
{
	int fd = cmx_file_shared(false), other = open("/dev/zero", O_RDONLY);
	struct rdma_addrinfo *res;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	rdma_getaddrinfo("10.55.0.2", "7471", NULL, &res);
	EXPECT_EQ(1, mock.lookups);
	ASSERT_EQ(fd, dup2(other, fd));
	rdma_getaddrinfo("10.55.0.2", "7471", NULL, &res);
	EXPECT_EQ(2, mock.lookups);
	EXPECT_NE(fd, cmx_file_shared(false));
	/* Not the library's file any more */
	EXPECT_LE(0, fcntl(fd, F_GETFD));
	/* The device has an error with the same number. */
	mock.lookup_error = EINVAL;
	EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo("10.55.0.2", "7471", NULL, &res));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(3, mock.lookups);
}

/* A command that has failed does not mean that the module lacks it. */
TEST_F(calls, KA_02_features)
{
	mock.info_error = EIO;
	EXPECT_EQ(-1, rdmacmx_connect_name(self->id, "10.55.0.2", "1", NULL,
					   NULL));
	EXPECT_EQ(EIO, errno);
	mock.info_error = 0;
	EXPECT_EQ(-1, rdmacmx_connect_name(self->id, "10.55.0.2", "1", NULL,
					   NULL));
	EXPECT_EQ(EOPNOTSUPP, errno);
	mock.features = RDMA_CMX_FEATURE_CONNECT;
	EXPECT_EQ(0, rdmacmx_connect_name(self->id, "10.55.0.2", "1", NULL,
					  NULL));
}

TEST_HARNESS_MAIN

