// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user against the limits of the event queue: operations with unread events,
 * unread connection requests, and a close that takes quadratic time.
 */
#include "uapi.h"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "harness.h"

#define MAX_EVENTS	UCMX_PARAMETERS "max_events"
#define LIMIT		64
#define WAIT_S	60
#define USER	1000

FIXTURE(queue) {
	int fd, other;
	long max;
};

/* The administrator sets it while the user has files open. */
static int max_events_set(long max)
{
	return user_leave() || number_set(MAX_EVENTS, max) || user_enter(USER);
}

FIXTURE_SETUP(queue)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	self->max = number_get(MAX_EVENTS);
	ASSERT_LT(0, self->max);
	ASSERT_EQ(0, user_enter(USER));
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(queue)
{
	EXPECT_EQ(0, max_events_set(self->max));
	close(self->fd);
	close(self->other);
	EXPECT_TRUE(nothing_left());
}

/* Writes until an error. Number of accepted events, LIMIT * 4 at most. */
static int write_much(int fd, uint32_t id)
{
	int i, ret = 0;

	for (i = 0; i < 4 * LIMIT && !ret; i++)
		ret = id_write_event(fd, id, i, i);
	return ret == -EAGAIN ? i - 1 : i;
}

/* Events of an id that is not accepted are not reported, but count. */
TEST_F(queue, write_to_a_request)
{
	uint32_t listener, active, passive;
	union event_buf buf;
	uint16_t port;
	int i;

	ASSERT_EQ(0, listener_new(self->fd, 1, &listener, &port));
	ASSERT_EQ(0, connect_start(self->other, 2, port, &active));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	passive = buf.ev.obj;
	ASSERT_EQ(0, max_events_set(LIMIT));
	EXPECT_EQ(LIMIT, write_much(self->fd, passive));
	EXPECT_FALSE(event_pending(self->fd));
	/* The file accepts no event of another id. */
	EXPECT_EQ(-EAGAIN, id_write_event(self->fd, listener, 0, 0));
	ASSERT_EQ(0, max_events_set(self->max));
	/* After the accept they are reported, all and in order. */
	ASSERT_EQ(0, id_accept(self->fd, passive, 3));
	for (i = 0; i < LIMIT; i++) {
		ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
		ASSERT_EQ(i, buf.ev.status);
		ASSERT_EQ(3, buf.ev.uid);
	}
	EXPECT_EQ(LIMIT, id_destroy(self->fd, passive));
	ASSERT_EQ(0, max_events_set(LIMIT));
	EXPECT_EQ(LIMIT, write_much(self->fd, listener));
}

/* One operation fails again and again, and its events are unread. */
TEST_F(queue, errors_without_end)
{
	int i, ret = 0, done = 0;
	union event_buf buf;
	uint32_t id;

	ASSERT_EQ(0, max_events_set(LIMIT));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	for (i = 0; i < 40000 && done < 4 * LIMIT; i++) {
		ret = id_resolve_addr(self->fd, id, NULL, ADDR_PLAIN, 9000);
		if (ret == -EAGAIN)
			break;
		/* EINVAL: the last operation has not ended. */
		if (ret == -EINVAL)
			poll(NULL, 0, 1);
		else if (!ret)
			done++;
		else
			break;
	}
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_GE(LIMIT + 1, done);
	/* No operation lost its event, and the queue has space again. */
	for (i = 0; i < done; i++)
		ASSERT_EQ(0, event_want(self->fd, EV_ADDR_ERROR, &buf));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_PLAIN, 9000));
	EXPECT_EQ(0, event_want(self->fd, EV_ADDR_ERROR, &buf));
	EXPECT_EQ(done + 1, id_destroy(self->fd, id));
}

/* An operation that reports an event fails before it starts. */
TEST_F(queue, each_operation_is_refused)
{
	struct rdma_cmx_resolve_addrinfo ai = {};
	uint32_t id, udp, mc, listener, active;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, listener_new(self->other, 1, &listener, &port));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &udp));
	ASSERT_EQ(0, id_bind(self->fd, udp, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, port));
	ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
	ASSERT_EQ(0, max_events_set(LIMIT));
	ASSERT_EQ(LIMIT, write_much(self->fd, udp));
	EXPECT_EQ(-EAGAIN, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA,
					   port));
	EXPECT_EQ(-EAGAIN, id_resolve_route(self->fd, id));
	EXPECT_EQ(-EAGAIN, id_connect(self->fd, id));
	EXPECT_EQ(-EAGAIN, mc_join(self->fd, udp, GROUP, 1, &mc));
	ai.id = id;
	ai.query.node = (uintptr_t)ADDR_RDMA;
	ai.query.node_len = strlen(ADDR_RDMA);
	EXPECT_EQ(-EAGAIN, call(self->fd, RESOLVE_ADDRINFO, &ai));
	/* None of them had an effect. */
	ASSERT_EQ(LIMIT, id_destroy(self->fd, udp) + LIMIT);
	EXPECT_EQ(0, id_resolve_route(self->fd, id));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
	EXPECT_EQ(0, id_connect(self->fd, id));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_REQUEST, &buf));
	EXPECT_EQ(0, connect_start(self->fd, 2, port, &active));
}

/* Migrated ids do not exceed the limit of the new file. */
TEST_F(queue, migrate_to_a_full_file)
{
	struct rdma_cmx_id_migrate migrate = {};
	union event_buf buf;
	uint32_t id;
	int i;

	ASSERT_EQ(0, max_events_set(LIMIT));
	ASSERT_EQ(0, id_create(self->other, RDMA_PS_UDP, 1, &id));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &migrate.id));
	migrate.src_fd = self->fd;
	ASSERT_EQ(LIMIT, write_much(self->other, id));
	ASSERT_EQ(0, id_write_event(self->fd, migrate.id, 77, 0));
	EXPECT_EQ(-EAGAIN, call(self->other, ID_MIGRATE, &migrate));
	/* The id stays in the old file, and moves when the queue has space. */
	EXPECT_EQ(0, id_write_event(self->fd, migrate.id, 78, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, event_next(self->other, &buf));
	ASSERT_EQ(0, call(self->other, ID_MIGRATE, &migrate));
	EXPECT_EQ(-EAGAIN, id_write_event(self->other, id, 0, 0));
	EXPECT_EQ(2, id_destroy(self->other, id));
	for (i = 77; i < 79; i++) {
		ASSERT_EQ(0, event_next(self->other, &buf));
		EXPECT_EQ(i, buf.ev.status);
	}
	EXPECT_FALSE(event_pending(self->other));
	EXPECT_EQ(2, id_destroy(self->other, migrate.new_id));
}

/* Unread connection requests */
TEST_F(queue, requests_unread)
{
	const int few = 8, many = 24;
	union event_buf buf;
	uint32_t listener, id;
	int i, rejected = 0, read = 0;
	uint16_t port;

	ASSERT_EQ(0, listener_new(self->fd, 1, &listener, &port));
	ASSERT_EQ(0, max_events_set(few));
	for (i = 0; i < many; i++) {
		ASSERT_EQ(0, connect_start(self->other, 2, port, &id));
		/* A request is unread, or rejected. */
		if (i >= few) {
			ASSERT_EQ(0, event_want(self->other, EV_REJECTED,
						&buf));
			rejected++;
		} else {
			ASSERT_TRUE(counter_wait("live_ids", 2 * (i + 1) + 1));
		}
	}
	EXPECT_EQ(many - few, rejected);
	/* The passive id of a rejected request ends after the reject. */
	EXPECT_TRUE(counter_wait("live_ids", 1 + many + few));
	while (!events_get(self->fd, &buf, sizeof(buf), 1, NULL))
		read += buf.ev.event == EV_CONNECT_REQUEST;
	EXPECT_EQ(few, read);
	/* Unread requests migrate and end with their listener. */
	for (i = 0; i < few; i++)
		ASSERT_EQ(0, connect_start(self->other, 2, port, &id));
	ASSERT_TRUE(counter_wait("live_ids", 1 + many + 3 * few));
	id_destroy(self->fd, listener);
	EXPECT_TRUE(counter_wait("live_ids", many + 2 * few));
}

#define CGROUPS	"/sys/fs/cgroup"
#define GROUP_DIR	CGROUPS "/cmx_events"

static int text_set(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	int ret;

	if (!f)
		return -1;
	ret = fputs(text, f) < 0;
	return fclose(f) || ret ? -1 : 0;
}

/* Bytes of kernel objects that are charged to the group */
static long group_slab(void)
{
	FILE *f = fopen(GROUP_DIR "/memory.stat", "r");
	char line[128];
	long bytes = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "slab_unreclaimable %ld", &bytes) == 1)
			break;
	if (f)
		fclose(f);
	return bytes;
}

/* Starts a process of the group that listens until the pipe is closed. */
static pid_t group_listen(int fd, int port_pipe)
{
	uint32_t listener;
	uint16_t port;
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	if (text_set(GROUP_DIR "/cgroup.procs", "0") || user_become(USER) ||
	    listener_new(fd, 1, &listener, &port) ||
	    write(port_pipe, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	while (read(port_pipe, &c, 1) > 0)
		;
	_exit(0);
}

/* Unread requests are charged to the listener. */
TEST_F(queue, requests_are_charged)
{
	const int requests = 200;
	const long bytes = requests * 512;
	double end = now_ms() + WAIT_S * 1000;
	uint16_t port = 0;
	uint32_t id;
	long before;
	int i, sv[2];
	pid_t pid;

	ASSERT_EQ(0, user_leave());
	text_set(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(GROUP_DIR, 0755);
	if (group_slab() < 0) {
		rmdir(GROUP_DIR);
		SKIP(return, "no memory controller");
	}
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = group_listen(self->fd, sv[1]);
	ASSERT_LT(0, pid);
	close(sv[1]);
	ASSERT_EQ(0, user_enter(USER));
	EXPECT_EQ(sizeof(port), read(sv[0], &port, sizeof(port)));
	before = group_slab();
	for (i = 0; i < requests; i++)
		if (connect_start(self->other, 2, port, &id))
			break;
	EXPECT_EQ(requests, i);
	EXPECT_TRUE(counter_wait("live_ids", 1 + 2 * requests));
	/* The statistics of a group lag some seconds. */
	while (group_slab() < before + bytes && now_ms() < end)
		poll(NULL, 0, 50);
	TH_LOG("%d requests: %ld bytes", requests, group_slab() - before);
	EXPECT_LE(before + bytes, group_slab());
	ASSERT_EQ(0, user_leave());
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(sv[0]);
	EXPECT_EQ(0, rmdir(GROUP_DIR));
}

#define SPIN_DIR	CGROUPS "/cmx_spin"

/* Makes each charge of others to this processor charge a batch of pages. */
static pid_t charge_spin(int cpu)
{
	pid_t pid = fork();
	cpu_set_t set;
	int p[2];

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (text_set(SPIN_DIR "/cgroup.procs", "0") || user_become(USER) ||
	    sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	while (!pipe(p)) {
		close(p[0]);
		close(p[1]);
	}
	_exit(1);
}

static void reap(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Only the listener is throttled above memory.high. */
TEST_F_TIMEOUT(queue, requests_above_memory_high, 280)
{
	int requests = 60, i, cpus = sysconf(_SC_NPROCESSORS_ONLN), sv[2];
	pid_t pid, spin[4] = {};
	uint32_t listener, active, passive;
	int third = dev_open(O_NONBLOCK);
	uint16_t port = 0;

	ASSERT_LE(0, third);
	ASSERT_EQ(0, user_leave());
	text_set(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(GROUP_DIR, 0755);
	mkdir(SPIN_DIR, 0755);
	if (group_slab() < 0) {
		rmdir(GROUP_DIR);
		rmdir(SPIN_DIR);
		close(third);
		SKIP(return, "no memory controller");
	}
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = group_listen(self->fd, sv[1]);
	close(sv[1]);
	EXPECT_EQ(sizeof(port), read(sv[0], &port, sizeof(port)));
	EXPECT_EQ(0, text_set(GROUP_DIR "/memory.high", "4096"));
	for (i = 0; i < cpus && i < 4; i++)
		spin[i] = charge_spin(i);
	ASSERT_EQ(0, user_enter(USER));
	while (requests && !connect_start(self->other, 2, port, &active))
		requests--;
	EXPECT_EQ(0, requests);
	EXPECT_EQ(0, connect_pair(third, &listener, &active, &passive));
	ASSERT_EQ(0, user_leave());
	for (i = 0; i < 4; i++)
		reap(spin[i]);
	reap(pid);
	close(sv[0]);
	close(third);
	EXPECT_EQ(0, rmdir(GROUP_DIR));
	EXPECT_EQ(0, rmdir(SPIN_DIR));
}

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* Processor time to close a file with these ids and events; < 0: error */
static double close_time(int ids, int events)
{
	int fd = dev_open(O_NONBLOCK), i, j;
	uint32_t *id = calloc(ids, sizeof(*id));
	double start;

	if (fd < 0 || !id)
		return -1;
	for (i = 0; i < ids; i++)
		if (id_create(fd, RDMA_PS_TCP, i + 1, &id[i]))
			return -1;
	/* The events of one id are far apart. */
	for (j = 0; j < events; j++)
		for (i = 0; i < ids; i++)
			if (id_write_event(fd, id[i], j, i))
				return -1;
	free(id);
	start = cpu_ms();
	close(fd);
	return cpu_ms() - start;
}

/* The time is linear: about eight times as long for eight times as many. */
TEST_F(queue, close_is_linear)
{
	double small = 1e9, large;
	int i;

	for (i = 0; i < 3; i++) {
		large = close_time(1024, 4);
		ASSERT_LE(0, large);
		if (large < small)
			small = large;
	}
	/* The clock of a busy guest may stop for a tick. */
	if (small < 4)
		small = 4;
	/*
	 * Time that the host steals from the guest counts as the process's
	 * time.
	 */
	for (i = 0; i < 10; i++) {
		large = close_time(8192, 4);
		ASSERT_LE(0, large);
		if (large < small * 24)
			break;
	}
	TH_LOG("1,024 ids: %.1f ms, 8,192 ids: %.1f ms", small, large);
	EXPECT_LT(large, small * 24);
}

/* Ids and memberships with an unread event each, for both parts of a test */
#define OBJECTS		16

struct objects {
	uint32_t destroy[2 * OBJECTS];
	uint32_t migrate[2 * OBJECTS];
	uint32_t leave[2 * OBJECTS];
};

static int objects_make(int fd, uint32_t udp, struct objects *o)
{
	long events = counter("events");
	char group[32];
	int i;

	for (i = 0; i < 2 * OBJECTS; i++) {
		snprintf(group, sizeof(group), "239.55.5.%d", i + 1);
		if (id_create(fd, RDMA_PS_TCP, 1, &o->destroy[i]) ||
		    id_create(fd, RDMA_PS_TCP, 1, &o->migrate[i]) ||
		    mc_join(fd, udp, group, 1, &o->leave[i]) ||
		    id_write_event(fd, o->destroy[i], 0, 0) ||
		    id_write_event(fd, o->migrate[i], 0, 0))
			return -1;
	}
	return counter_wait("events", events + 6 * OBJECTS) ? 0 : -1;
}

struct times {
	double destroy, migrate, leave;
};

/* Adds the processor time since @start, or keeps the least one. */
static void time_note(double *t, double start, bool least)
{
	double ms = cpu_ms() - start;

	if (!least)
		*t += ms / OBJECTS;
	else if (ms < *t)
		*t = ms;
}

/*
 * The mean or the least processor time of each command, for half of the objects.
 * The clock of a busy guest may stop for a tick, so one time may be 0.
 */
static int times_get(int fd, int other, const struct objects *o, bool least,
		     struct times *t)
{
	int first = least ? OBJECTS : 0;
	int i, ret = 0;

	*t = (struct times){};
	if (least)
		*t = (struct times){ 1e9, 1e9, 1e9 };
	for (i = first; i < first + OBJECTS && !ret; i++) {
		struct rdma_cmx_id_migrate migrate = {
			.id = o->migrate[i],
			.src_fd = fd,
		};
		double start = cpu_ms();

		ret = id_destroy(fd, o->destroy[i]);
		time_note(&t->destroy, start, least);
		start = cpu_ms();
		ret = ret ?: call(other, ID_MIGRATE, &migrate);
		time_note(&t->migrate, start, least);
		start = cpu_ms();
		ret = ret ?: mc_leave(fd, o->leave[i]);
		time_note(&t->leave, start, least);
	}
	return ret;
}

/* The end of an object does not walk the events of others. */
TEST_F(queue, other_events_cost_nothing)
{
	const double ratio = 4;
	struct times few, many;
	uint32_t udp, id;
	struct objects o;
	int i;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &udp));
	ASSERT_EQ(0, id_bind(self->fd, udp, ADDR_RDMA, 0));
	ASSERT_EQ(0, objects_make(self->fd, udp, &o));
	ASSERT_EQ(0, times_get(self->fd, self->other, &o, false, &few));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	for (i = 0; i < 60000; i++)
		ASSERT_EQ(0, id_write_event(self->fd, id, i, i));
	ASSERT_EQ(0, times_get(self->fd, self->other, &o, true, &many));
	TH_LOG("destroy %.3f to %.3f ms, migrate %.3f to %.3f, leave %.3f to %.3f",
	       few.destroy, many.destroy, few.migrate, many.migrate,
	       few.leave, many.leave);
	EXPECT_LT(many.destroy, few.destroy * ratio);
	EXPECT_LT(many.migrate, few.migrate * ratio);
	EXPECT_LT(many.leave, few.leave * ratio);
}

TEST_HARNESS_MAIN
