// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An unprivileged user against the queue of events: events without end that
 * nobody reads, a close that takes quadratic time, and a reader that stops in
 * a page fault while others need its id. Each event is delivered once and in
 * order, whoever destroys, leaves, migrates or kills meanwhile.
 */
#include "common.h"
#include "limits.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "../harness.h"

#define MAX_EVENTS	"/sys/module/rdma_ucmx/parameters/max_events"
#define LIMIT		64
#define PATIENCE_S	20

FIXTURE(events) {
	int fd, other;
	long max;
};

FIXTURE_SETUP(events)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	self->max = number_get(MAX_EVENTS);
	ASSERT_LT(0, self->max);
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(events)
{
	number_set(MAX_EVENTS, self->max);
	close(self->fd);
	close(self->other);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_ids"));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
	EXPECT_EQ(0, counter("live_queries"));
}

static int listener_new(int fd, uint32_t *id, uint16_t *port)
{
	struct rdma_cmx_id_query query = {};
	int ret;

	ret = id_create(fd, RDMA_PS_TCP, 1, id) ?:
	      id_bind(fd, *id, ADDR_RDMA, 0) ?: id_listen(fd, *id);
	query.id = *id;
	ret = ret ?: call(fd, ID_QUERY, &query);
	*port = addr_port(&query.info.src);
	return ret;
}

static int connect_start(int fd, uint16_t port, uint32_t *id)
{
	union event_buf buf;

	return id_create(fd, RDMA_PS_TCP, 2, id) ?:
	       id_resolve_addr(fd, *id, NULL, ADDR_RDMA, port) ?:
	       event_want(fd, EV_ADDR_RESOLVED, &buf) ?:
	       id_resolve_route(fd, *id) ?:
	       event_want(fd, EV_ROUTE_RESOLVED, &buf) ?:
	       id_connect(fd, *id);
}

/* Write until it is refused; how many were taken, LIMIT * 4 at most. */
static int write_much(int fd, uint32_t id)
{
	int i, ret = 0;

	for (i = 0; i < 4 * LIMIT && !ret; i++)
		ret = id_write_event(fd, id, i, i);
	return ret == -EAGAIN ? i - 1 : i;
}

/* Events of an id that is not accepted wait unseen, and count as any other. */
TEST_F(events, write_to_a_request)
{
	uint32_t listener, active, passive;
	union event_buf buf;
	uint16_t port;
	int i;

	ASSERT_EQ(0, listener_new(self->fd, &listener, &port));
	ASSERT_EQ(0, connect_start(self->other, port, &active));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	passive = buf.ev.obj;
	number_set(MAX_EVENTS, LIMIT);
	EXPECT_EQ(LIMIT, write_much(self->fd, passive));
	EXPECT_FALSE(event_pending(self->fd));
	/* The file has no room for another id's events either. */
	EXPECT_EQ(-EAGAIN, id_write_event(self->fd, listener, 0, 0));
	number_set(MAX_EVENTS, self->max);
	/* They come when it is accepted, all and in order. */
	ASSERT_EQ(0, id_accept(self->fd, passive, 3));
	for (i = 0; i < LIMIT; i++) {
		ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
		ASSERT_EQ(i, buf.ev.status);
		ASSERT_EQ(3, buf.ev.uid);
	}
	EXPECT_EQ(LIMIT, id_destroy(self->fd, passive));
	number_set(MAX_EVENTS, LIMIT);
	EXPECT_EQ(LIMIT, write_much(self->fd, listener));
}

/* One operation that fails again and again, and nobody reads why. */
TEST_F(events, errors_without_end)
{
	int i, ret = 0, done = 0;
	union event_buf buf;
	uint32_t id;

	number_set(MAX_EVENTS, LIMIT);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	for (i = 0; i < 40000 && done < 4 * LIMIT; i++) {
		ret = id_resolve_addr(self->fd, id, NULL, ADDR_PLAIN, 9000);
		if (ret == -EAGAIN)
			break;
		/* EINVAL: the last one is not over. */
		if (ret == -EINVAL)
			poll(NULL, 0, 1);
		else if (!ret)
			done++;
		else
			break;
	}
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_GE(LIMIT + 1, done);
	/* Nothing was refused that it had begun, and room is room again. */
	for (i = 0; i < done; i++)
		ASSERT_EQ(0, event_want(self->fd, EV_ADDR_ERROR, &buf));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_PLAIN, 9000));
	EXPECT_EQ(0, event_want(self->fd, EV_ADDR_ERROR, &buf));
	EXPECT_EQ(done + 1, id_destroy(self->fd, id));
}

/* Whatever ends with an event is refused before it starts. */
TEST_F(events, each_operation_is_refused)
{
	struct rdma_cmx_resolve_addrinfo ai = {};
	uint32_t id, udp, mc, listener, active;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, listener_new(self->other, &listener, &port));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &udp));
	ASSERT_EQ(0, id_bind(self->fd, udp, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, port));
	ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
	number_set(MAX_EVENTS, LIMIT);
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
	/* None has done anything. */
	ASSERT_EQ(LIMIT, id_destroy(self->fd, udp) + LIMIT);
	EXPECT_EQ(0, id_resolve_route(self->fd, id));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
	EXPECT_EQ(0, id_connect(self->fd, id));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_REQUEST, &buf));
	EXPECT_EQ(0, connect_start(self->fd, port, &active));
}

/* Nor do events gather in a file that others are moved to. */
TEST_F(events, migrate_to_a_full_file)
{
	struct rdma_cmx_id_migrate migrate = {};
	union event_buf buf;
	uint32_t id;
	int i;

	number_set(MAX_EVENTS, LIMIT);
	ASSERT_EQ(0, id_create(self->other, RDMA_PS_UDP, 1, &id));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &migrate.id));
	migrate.src_fd = self->fd;
	ASSERT_EQ(LIMIT, write_much(self->other, id));
	ASSERT_EQ(0, id_write_event(self->fd, migrate.id, 77, 0));
	EXPECT_EQ(-EAGAIN, call(self->other, ID_MIGRATE, &migrate));
	/* It is where it was, and moves when there is room. */
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

/* Connection requests that nobody reads */
TEST_F(events, requests_unread)
{
	const int few = 8, many = 24;
	union event_buf buf;
	uint32_t listener, id;
	int i, rejected = 0, left, read = 0;
	uint16_t port;

	ASSERT_EQ(0, listener_new(self->fd, &listener, &port));
	number_set(MAX_EVENTS, few);
	for (i = 0; i < many; i++) {
		ASSERT_EQ(0, connect_start(self->other, port, &id));
		/* It is unread, or refused. */
		if (i >= few) {
			ASSERT_EQ(0, event_want(self->other, EV_REJECTED,
						&buf));
			rejected++;
		} else {
			ASSERT_TRUE(counter_wait("live_ids", 2 * (i + 1) + 1));
		}
	}
	EXPECT_EQ(many - few, rejected);
	left = counter("live_ids");
	EXPECT_EQ(1 + many + few, left);
	while (!events_get(self->fd, &buf, sizeof(buf), 1, NULL))
		read += buf.ev.event == EV_CONNECT_REQUEST;
	EXPECT_EQ(few, read);
	/* Those that wait unread move and go with their listener. */
	for (i = 0; i < few; i++)
		ASSERT_EQ(0, connect_start(self->other, port, &id));
	ASSERT_TRUE(counter_wait("live_ids", 1 + many + 3 * few));
	id_destroy(self->fd, listener);
	EXPECT_EQ(many + 2 * few, counter("live_ids"));
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

/* Bytes of kernel objects that the group pays for */
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

/* A process of the group that listens until the pipe is closed */
static pid_t group_listen(int fd, int port_pipe)
{
	uint32_t listener;
	uint16_t port;
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	if (text_set(GROUP_DIR "/cgroup.procs", "0") ||
	    listener_new(fd, &listener, &port) ||
	    write(port_pipe, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	while (read(port_pipe, &c, 1) > 0)
		;
	_exit(0);
}

/* Who listens pays for requests that nobody reads. */
TEST_F(events, requests_are_charged)
{
	const int requests = 200;
	const long bytes = requests * 512;
	double end = now_ms() + PATIENCE_S * 1000;
	uint16_t port = 0;
	uint32_t id;
	long before;
	int i, sv[2];
	pid_t pid;

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
	EXPECT_EQ(sizeof(port), read(sv[0], &port, sizeof(port)));
	before = group_slab();
	for (i = 0; i < requests; i++)
		if (connect_start(self->other, port, &id))
			break;
	EXPECT_EQ(requests, i);
	EXPECT_TRUE(counter_wait("live_ids", 1 + 2 * requests));
	/* The numbers of a group are some seconds old. */
	while (group_slab() < before + bytes && now_ms() < end)
		poll(NULL, 0, 50);
	TH_LOG("%d requests: %ld bytes", requests, group_slab() - before);
	EXPECT_LE(before + bytes, group_slab());
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(sv[0]);
	EXPECT_EQ(0, rmdir(GROUP_DIR));
}

#define SPIN_DIR	CGROUPS "/cmx_spin"

/* Has each charge of others to this processor take a batch of pages. */
static pid_t charge_spin(int cpu)
{
	pid_t pid = fork();
	cpu_set_t set;
	int p[2];

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (text_set(SPIN_DIR "/cgroup.procs", "0") ||
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

/* Who listens above memory.high is throttled, and nobody else. */
TEST_F_TIMEOUT(events, requests_above_memory_high, 110)
{
	int requests = 60, i, cpus = sysconf(_SC_NPROCESSORS_ONLN), sv[2];
	pid_t pid, spin[4] = {};
	uint32_t listener, active, passive;
	int third = dev_open(O_NONBLOCK);
	uint16_t port = 0;

	ASSERT_LE(0, third);
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
	while (requests && !connect_start(self->other, port, &active))
		requests--;
	EXPECT_EQ(0, requests);
	EXPECT_EQ(0, connect_pair(third, &listener, &active, &passive));
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

/* Processor time to close a file with that many ids and events; < 0: error */
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
	/* Those of one id are far apart. */
	for (j = 0; j < events; j++)
		for (i = 0; i < ids; i++)
			if (id_write_event(fd, id[i], j, i))
				return -1;
	free(id);
	start = cpu_ms();
	close(fd);
	return cpu_ms() - start;
}

/* Eight times as much takes about eight times as long, not 64 times. */
TEST_F(events, close_is_linear)
{
	double small = 1e9, large;
	int i;

	for (i = 0; i < 3; i++) {
		large = close_time(1024, 4);
		ASSERT_LE(0, large);
		if (large < small)
			small = large;
	}
	/* The clock of a busy guest may stand still for a tick. */
	if (small < 4)
		small = 4;
	large = close_time(8192, 4);
	ASSERT_LE(0, large);
	TH_LOG("1,024 ids: %.1f ms, 8,192 ids: %.1f ms", small, large);
	EXPECT_LT(large, small * 24);
}

/* Several ids in one queue, and one of them moves. */
TEST_F(events, order)
{
	struct rdma_cmx_id_migrate migrate = {};
	enum { IDS = 5, EACH = 200 };
	uint32_t id[IDS];
	union event_buf buf;
	int i, n;

	for (i = 0; i < IDS; i++)
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, i + 1, &id[i]));
	for (n = 0; n < IDS * EACH; n++)
		ASSERT_EQ(0, id_write_event(self->fd, id[n * 7 % IDS], n, 0));
	for (n = 0; n < 20; n++) {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		ASSERT_EQ(n, buf.ev.status);
	}
	migrate.id = id[3];
	migrate.src_fd = self->fd;
	ASSERT_EQ(0, call(self->other, ID_MIGRATE, &migrate));
	EXPECT_EQ(4, migrate.events_reported);
	EXPECT_EQ(4, id_destroy(self->fd, id[1]));
	for (n = 20; n < IDS * EACH; n++) {
		if (n * 7 % IDS == 1)
			continue;
		ASSERT_EQ(0, event_next(n * 7 % IDS == 3 ? self->other :
							   self->fd, &buf));
		ASSERT_EQ(n, buf.ev.status);
		ASSERT_EQ(n * 7 % IDS + 1, buf.ev.uid);
	}
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_FALSE(event_pending(self->other));
	EXPECT_EQ(EACH, id_destroy(self->other, migrate.new_id));
	EXPECT_EQ(EACH, id_destroy(self->fd, id[0]));
}

/*
 * Owners write to their ids, move them to and fro and destroy them, while
 * readers of both files take what comes.
 */
#define OWNERS	3
#define LIVES	12
#define WRITES	24
#define IDS	(OWNERS * LIVES)

struct traffic {
	int fd[2];
	_Atomic int seen[IDS][WRITES];
	_Atomic int got[IDS];	/* events of an id */
	int written[IDS];
	int reported[IDS];
	_Atomic int left;	/* owners that work */
	_Atomic int wrong;
};

struct actor {
	struct traffic *t;
	pthread_t thread;
	int nr;
};

static void *traffic_read(void *arg)
{
	struct actor *me = arg;
	struct traffic *t = me->t;
	struct rdma_cmx_event ev[3];
	uint32_t count, i;
	bool last;

	do {
		last = !t->left;
		while (!events_get(t->fd[me->nr & 1], ev, sizeof(ev), 0,
				   &count)) {
			if (!count || count > 3)
				t->wrong++;
			for (i = 0; i < count && i < 3; i++) {
				if (ev[i].uid < 1 || ev[i].uid > IDS ||
				    ev[i].obj_uid >= WRITES) {
					t->wrong++;
					continue;
				}
				t->seen[ev[i].uid - 1][ev[i].obj_uid]++;
				t->got[ev[i].uid - 1]++;
			}
		}
	} while (!last);
	return NULL;
}

static void *traffic_own(void *arg)
{
	struct rdma_cmx_id_migrate m;
	struct actor *me = arg;
	struct traffic *t = me->t;
	int life, nr, side, i;
	uint32_t id;

	for (life = 0; life < LIVES; life++) {
		nr = me->nr * LIVES + life;
		side = life & 1;
		if (id_create(t->fd[side], RDMA_PS_UDP, nr + 1, &id)) {
			t->wrong++;
			continue;
		}
		for (i = 0; i < WRITES; i++) {
			if (id_write_event(t->fd[side], id, 0, i))
				t->wrong++;
			if (i % 5 != 4)
				continue;
			m = (struct rdma_cmx_id_migrate){
				.id = id, .src_fd = t->fd[side],
			};
			side = !side;
			if (call(t->fd[side], ID_MIGRATE, &m))
				t->wrong++;
			id = m.new_id;
		}
		t->written[nr] = WRITES;
		/* Every third lives on until all is read. */
		t->reported[nr] = life % 3 ? id_destroy(t->fd[side], id) : -1;
	}
	t->left--;
	return NULL;
}

TEST_F(events, once_and_only_once)
{
	struct actor owner[OWNERS], reader[4];
	static struct traffic t;
	int i, j, lost = 0, twice = 0;

	t.fd[0] = self->fd;
	t.fd[1] = self->other;
	t.left = OWNERS;
	for (i = 0; i < 4; i++) {
		reader[i] = (struct actor){ .t = &t, .nr = i };
		ASSERT_EQ(0, pthread_create(&reader[i].thread, NULL,
					    traffic_read, &reader[i]));
	}
	for (i = 0; i < OWNERS; i++) {
		owner[i] = (struct actor){ .t = &t, .nr = i };
		ASSERT_EQ(0, pthread_create(&owner[i].thread, NULL,
					    traffic_own, &owner[i]));
	}
	for (i = 0; i < OWNERS; i++)
		pthread_join(owner[i].thread, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(reader[i].thread, NULL);
	EXPECT_EQ(0, atomic_load(&t.wrong));
	for (i = 0; i < IDS; i++) {
		for (j = 0; j < t.written[i]; j++) {
			twice += t.seen[i][j] > 1;
			lost += t.reported[i] < 0 && !t.seen[i][j];
		}
		/* What DESTROY says is what the readers got. */
		if (t.reported[i] >= 0) {
			EXPECT_EQ(t.reported[i], atomic_load(&t.got[i]));
		}
	}
	EXPECT_EQ(0, twice);
	EXPECT_EQ(0, lost);
}

/* The number that MIGRATE gives is of events handed out by the old file. */
static void *read_until_stopped(void *arg)
{
	struct actor *me = arg;
	struct rdma_cmx_event ev[8];

	while (me->t->left)
		events_get(me->t->fd[1], ev, sizeof(ev), 0, NULL);
	return NULL;
}

TEST_F(events, migrate_counts_the_old_file)
{
	struct rdma_cmx_id_migrate m;
	static struct traffic t;
	struct actor reader = { .t = &t };
	int round, i, wrong = 0;
	union event_buf buf;

	t.fd[1] = self->other;
	t.left = 1;
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, read_until_stopped,
				    &reader));
	for (round = 0; round < 400; round++) {
		m = (struct rdma_cmx_id_migrate){ .src_fd = self->fd };
		if (id_create(self->fd, RDMA_PS_UDP, 1, &m.id))
			break;
		for (i = 0; i < 5; i++)
			id_write_event(self->fd, m.id, i, 0);
		if (event_next(self->fd, &buf) ||
		    call(self->other, ID_MIGRATE, &m))
			break;
		wrong += m.events_reported != 1;
		id_destroy(self->other, m.new_id);
	}
	t.left = 0;
	pthread_join(reader.thread, NULL);
	EXPECT_EQ(400, round);
	EXPECT_EQ(0, wrong);
}

/* Whoever reads an event can use the id in it. */
struct moved {
	int fd;
	_Atomic int got, unknown;
	_Atomic bool over;
};

static void *query_moved(void *arg)
{
	struct sched_param first = { .sched_priority = 1 };
	struct moved *m = arg;
	struct pollfd pfd = { m->fd, POLLIN, 0 };
	struct rdma_cmx_id_query query;
	struct rdma_cmx_event ev;

	/* Whoever wakes it lets it run. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!m->over) {
		poll(&pfd, 1, 100);
		if (events_get(m->fd, &ev, sizeof(ev), 1, NULL))
			continue;
		query = (struct rdma_cmx_id_query){ .id = ev.id };
		if (call(m->fd, ID_QUERY, &query))
			m->unknown++;
		m->got++;
	}
	return NULL;
}

TEST_F(events, use_what_has_moved)
{
	enum { ROUNDS = 20, EACH = 512 };
	static struct moved moved;
	struct rdma_cmx_id_migrate m;
	pthread_t thread;
	int round, i;
	double end;

	moved.fd = self->other;
	ASSERT_EQ(0, pthread_create(&thread, NULL, query_moved, &moved));
	for (round = 0; round < ROUNDS; round++) {
		m = (struct rdma_cmx_id_migrate){ .src_fd = self->fd };
		if (id_create(self->fd, RDMA_PS_UDP, 1, &m.id))
			break;
		for (i = 0; i < EACH; i++)
			if (id_write_event(self->fd, m.id, i, 0))
				break;
		if (i < EACH || call(self->other, ID_MIGRATE, &m))
			break;
		end = now_ms() + PATIENCE_S * 1000;
		while (moved.got < (round + 1) * EACH && now_ms() < end)
			poll(NULL, 0, 1);
		if (id_destroy(self->other, m.new_id) != EACH)
			break;
	}
	moved.over = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(ROUNDS, round);
	EXPECT_EQ(ROUNDS * EACH, atomic_load(&moved.got));
	EXPECT_EQ(0, atomic_load(&moved.unknown));
}

/* Whoever reads that a group is joined can leave it. */
struct joining {
	int fd, rounds, left, refused;
};

static void *join_much(void *arg)
{
	struct joining *j = arg;
	uint32_t id, mc;
	int i;

	if (id_create(j->fd, RDMA_PS_UDP, 1, &id) ||
	    id_bind(j->fd, id, ADDR_RDMA, 0) ||
	    mc_join(j->fd, id, GROUP, 1, &mc))
		return NULL;
	/* The group is there already: the event comes at once. */
	for (i = 0; i < j->rounds; i++)
		if (mc_join(j->fd, id, GROUP, 2, &mc))
			j->refused++;
	return NULL;
}

TEST_F(events, leave_what_was_announced)
{
	struct joining j = { .fd = self->fd, .rounds = 2000 };
	union event_buf buf;
	pthread_t thread;
	int unknown = 0, left = 0, seen = 0;

	ASSERT_EQ(0, pthread_create(&thread, NULL, join_much, &j));
	while (seen < j.rounds && !event_want(self->fd, EV_MULTICAST_JOIN,
					      &buf)) {
		if (buf.ev.obj_uid != 2)
			continue;
		seen++;
		if (mc_leave(self->fd, buf.ev.obj) == 1)
			left++;
		else
			unknown++;
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, j.refused);
	EXPECT_EQ(j.rounds, left);
	EXPECT_EQ(0, unknown);
}

/* Handles do not count what others have. */
TEST_F(events, handles_of_memberships)
{
	uint32_t id, other, mc[8], theirs, i, near = 0;
	char text[16];

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &id));
	ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_create(self->other, RDMA_PS_UDP, 1, &other));
	ASSERT_EQ(0, id_bind(self->other, other, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->other, other, GROUP, 1, &theirs));
	for (i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "239.55.3.%u", i + 1);
		ASSERT_EQ(0, mc_join(self->fd, id, text, 1, &mc[i]));
		ASSERT_NE(0, mc[i]);
		near += mc[i] - theirs + 1000 < 2000;
	}
	EXPECT_GT(2, near);
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, theirs));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, 0));
	for (i = 0; i < 8; i++)
		EXPECT_LE(0, mc_leave(self->fd, mc[i]));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, mc[0]));
}

/*
 * A reader whose buffer is a page that is not there until somebody serves the
 * fault: it stops in the middle of GET_EVENTS.
 */
FIXTURE(stopped) {
	int fd, other, uffd;
	void *page;
	uint32_t id, next;
	struct rdma_cmx_get_events arg;
	int ret;
	pthread_t reader;
	bool reading;
};

static void *stopped_read(void *arg)
{
	FIXTURE_DATA(stopped) *s = arg;

	s->ret = call(s->fd, GET_EVENTS, &s->arg);
	return NULL;
}

FIXTURE_SETUP(stopped)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	ASSERT_TRUE(counter_wait("live_files", 0));
	self->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (self->uffd < 0)
		return;
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_API, &api));
	self->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	reg.range.start = (uintptr_t)self->page;
	reg.range.len = 4096;
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_REGISTER, &reg));
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->arg.buf = (uintptr_t)self->page;
	self->arg.buf_len = 4096;
}

/* SKIP in the setup would not keep the harness from running the test. */
#define NEED_FAULTS()							\
	do {								\
		if (self->uffd < 0)					\
			SKIP(return, "no userfaultfd");			\
	} while (0)

FIXTURE_TEARDOWN(stopped)
{
	if (self->uffd < 0)
		return;
	close(self->uffd);
	if (self->reading)
		pthread_join(self->reader, NULL);
	close(self->fd);
	close(self->other);
	munmap(self->page, 4096);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_ids"));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
}

/* Wait until somebody stands in the fault. */
static bool stopped_wait(FIXTURE_DATA(stopped) *s)
{
	struct pollfd pfd = { s->uffd, POLLIN, 0 };
	struct uffd_msg msg;

	return poll(&pfd, 1, PATIENCE_S * 1000) == 1 &&
	       read(s->uffd, &msg, sizeof(msg)) == sizeof(msg);
}

static bool stopped_start(FIXTURE_DATA(stopped) *s)
{
	s->reading = !pthread_create(&s->reader, NULL, stopped_read, s);
	return s->reading && stopped_wait(s);
}

static int stopped_end(FIXTURE_DATA(stopped) *s)
{
	struct uffdio_zeropage zero = {
		.range = { (uintptr_t)s->page, 4096 },
	};

	if (ioctl(s->uffd, UFFDIO_ZEROPAGE, &zero))
		return -errno;
	pthread_join(s->reader, NULL);
	s->reading = false;
	return s->ret;
}

/* One command in a thread of its own; false if it does not come back. */
struct command {
	int (*run)(int fd, uint32_t handle);
	int fd, ret;
	uint32_t handle;
	pthread_t thread;
};

static void *command_run(void *arg)
{
	struct command *c = arg;

	c->ret = c->run(c->fd, c->handle);
	return NULL;
}

static bool command_ends(struct command *c)
{
	struct timespec end;

	if (pthread_create(&c->thread, NULL, command_run, c))
		return false;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	return !pthread_timedjoin_np(c->thread, NULL, &end);
}

static int two_ids(FIXTURE_DATA(stopped) *s)
{
	return id_create(s->fd, RDMA_PS_UDP, 1, &s->id) ?:
	       id_create(s->fd, RDMA_PS_UDP, 2, &s->next) ?:
	       id_write_event(s->fd, s->id, 11, 0) ?:
	       id_write_event(s->fd, s->next, 12, 0) ?:
	       id_write_event(s->fd, s->id, 13, 0) ?:
	       id_write_event(s->fd, s->next, 14, 0);
}

TEST_F_TIMEOUT(stopped, destroy_does_not_wait, 120)
{
	struct rdma_cmx_event *ev = self->page;
	struct command destroy = { .run = id_destroy, .fd = self->fd };
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, two_ids(self));
	ASSERT_TRUE(stopped_start(self));
	destroy.handle = self->id;
	ends = command_ends(&destroy);
	EXPECT_TRUE(ends);
	EXPECT_EQ(0, stopped_end(self));
	if (!ends)
		pthread_join(destroy.thread, NULL);
	/* The id's events were never handed out, the other's both are. */
	EXPECT_EQ(0, destroy.ret);
	ASSERT_EQ(2, self->arg.count);
	EXPECT_EQ(12, ev[0].status);
	EXPECT_EQ(14, ev[1].status);
	EXPECT_EQ(2, id_destroy(self->fd, self->next));
}

static int migrate_from;

static int migrate(int fd, uint32_t id)
{
	struct rdma_cmx_id_migrate m = { .id = id, .src_fd = migrate_from };

	return call(fd, ID_MIGRATE, &m) ?: (int)m.events_reported;
}

TEST_F_TIMEOUT(stopped, migrate_does_not_wait, 120)
{
	struct command move = { .run = migrate, .fd = self->other };
	struct rdma_cmx_event *ev = self->page;
	union event_buf buf;
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, two_ids(self));
	ASSERT_TRUE(stopped_start(self));
	migrate_from = self->fd;
	move.handle = self->id;
	ends = command_ends(&move);
	EXPECT_TRUE(ends);
	if (ends) {
		ASSERT_EQ(0, event_next(self->other, &buf));
		EXPECT_EQ(11, buf.ev.status);
	}
	EXPECT_EQ(0, stopped_end(self));
	if (!ends)
		pthread_join(move.thread, NULL);
	EXPECT_EQ(0, move.ret);
	ASSERT_EQ(2, self->arg.count);
	EXPECT_EQ(12, ev[0].status);
	EXPECT_EQ(14, ev[1].status);
	ASSERT_EQ(0, event_next(self->other, &buf));
	EXPECT_EQ(13, buf.ev.status);
	EXPECT_FALSE(event_pending(self->other));
}

TEST_F_TIMEOUT(stopped, leave_does_not_wait, 120)
{
	struct command leave = { .run = mc_leave, .fd = self->fd };
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 5, &leave.handle));
	ASSERT_EQ(1, poll(&pfd, 1, PATIENCE_S * 1000));
	ASSERT_TRUE(stopped_start(self));
	ends = command_ends(&leave);
	EXPECT_TRUE(ends);
	EXPECT_EQ(-EAGAIN, stopped_end(self));
	if (!ends)
		pthread_join(leave.thread, NULL);
	EXPECT_EQ(0, leave.ret);
	EXPECT_EQ(0, id_destroy(self->fd, self->id));
}

/* The new id of a request whose listener goes while the request is read */
TEST_F_TIMEOUT(stopped, request_of_a_destroyed_listener, 120)
{
	struct command destroy = { .run = id_destroy, .fd = self->fd };
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	union event_buf buf;
	uint32_t active;
	uint16_t port;
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, listener_new(self->fd, &destroy.handle, &port));
	ASSERT_EQ(0, connect_start(self->other, port, &active));
	ASSERT_EQ(1, poll(&pfd, 1, PATIENCE_S * 1000));
	ASSERT_TRUE(stopped_start(self));
	ends = command_ends(&destroy);
	EXPECT_TRUE(ends);
	if (ends) {
		EXPECT_EQ(0, event_want(self->other, EV_REJECTED, &buf));
	}
	EXPECT_EQ(-EAGAIN, stopped_end(self));
	if (!ends)
		pthread_join(destroy.thread, NULL);
	EXPECT_EQ(0, destroy.ret);
	EXPECT_EQ(1, counter("live_ids"));
	/* Its handle is free again. */
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
	EXPECT_EQ(0, id_destroy(self->fd, self->id));
}

/* A request that moves with its listener while it is read */
TEST_F_TIMEOUT(stopped, request_of_a_moved_listener, 120)
{
	struct command move = { .run = migrate, .fd = self->other };
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	uint32_t active, handle;
	union event_buf buf;
	uint16_t port;
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, listener_new(self->fd, &move.handle, &port));
	ASSERT_EQ(0, connect_start(self->other, port, &active));
	ASSERT_EQ(1, poll(&pfd, 1, PATIENCE_S * 1000));
	ASSERT_TRUE(stopped_start(self));
	migrate_from = self->fd;
	ends = command_ends(&move);
	EXPECT_TRUE(ends);
	if (ends) {
		ASSERT_EQ(0, event_want(self->other, EV_CONNECT_REQUEST, &buf));
		/* It is nobody's in the old file, whatever its number. */
		for (handle = 0; handle < 8; handle++)
			EXPECT_EQ(-ENOENT, id_destroy(self->fd, handle));
		EXPECT_EQ(0, id_accept(self->other, buf.ev.obj, 3));
	}
	EXPECT_EQ(-EAGAIN, stopped_end(self));
	if (!ends)
		pthread_join(move.thread, NULL);
	EXPECT_EQ(0, move.ret);
}

/* Who is killed in the fault takes nothing along. */
static _Atomic pid_t victim;

static void *victim_kill(void *arg)
{
	stopped_wait(arg);
	kill(victim, SIGKILL);
	return NULL;
}

TEST_F_TIMEOUT(stopped, killed_reader, 120)
{
	union event_buf buf;
	pthread_t killer;
	int status = 0, i;
	pid_t pid;

	NEED_FAULTS();
	ASSERT_EQ(0, two_ids(self));
	ASSERT_EQ(0, pthread_create(&killer, NULL, victim_kill, self));
	/* A process that shares the memory, and so the fault */
	pid = vfork();
	if (!pid) {
		victim = getpid();
		call(self->fd, GET_EVENTS, &self->arg);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	pthread_join(killer, NULL);
	EXPECT_TRUE(WIFSIGNALED(status));
	for (i = 11; i < 15; i++) {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		EXPECT_EQ(i, buf.ev.status);
	}
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(2, id_destroy(self->fd, self->id));
}

TEST_HARNESS_MAIN
