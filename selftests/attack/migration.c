// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user migrates ids between files while others write events to them, read and
 * destroy: each event is delivered once, in order, and to a file that has the
 * id.
 */
#include "uapi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "harness.h"

#define WAIT_S	60
#define USER	1000

FIXTURE(migration) {
	int fd, other;
};

FIXTURE_SETUP(migration)
{
	const struct rlimit realtime = { 1, 1 };

	ASSERT_TRUE(counter_wait("live_files", 0));
	/* A host may let its users have it, see query_moved(). */
	ASSERT_EQ(0, setrlimit(RLIMIT_RTPRIO, &realtime));
	ASSERT_EQ(0, user_enter(USER));
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(migration)
{
	close(self->fd);
	close(self->other);
	EXPECT_TRUE(nothing_left());
}

/* Several ids in one queue, and one of them moves. */
TEST_F(migration, order)
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
 * readers of both files take all events.
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

TEST_F(migration, once_and_only_once)
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
		/* DESTROY reports the number of events that the readers got. */
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

TEST_F(migration, migrate_counts_the_old_file)
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

/* A reader of an event can use the id in it. */
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

	/* The waker lets it run. */
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &first))
		m->unknown++;
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

TEST_F(migration, use_what_has_moved)
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
		end = now_ms() + WAIT_S * 1000;
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

struct mover {
	int fd[2], failed;
	uint32_t id;
	atomic_int probes;
	atomic_bool over;
};

#define MOVES	25	/* back and forth, at least */

static void *move_back_and_forth(void *arg)
{
	struct rdma_cmx_id_migrate m;
	struct mover *v = arg;
	int i;

	/* Until the other thread has probed as often */
	for (i = 0; (i < 2 * MOVES || v->probes < MOVES) && !v->failed; i++) {
		m = (struct rdma_cmx_id_migrate){
			.id = v->id, .src_fd = v->fd[i & 1],
		};
		v->failed = call(v->fd[!(i & 1)], ID_MIGRATE, &m);
		v->id = m.new_id;
	}
	v->over = true;
	return NULL;
}

static int numeric_resolve(int fd)
{
	static char buf[4096];
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)ADDR_RDMA,
		.query.node_len = strlen(ADDR_RDMA),
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
	};

	return call(fd, GETADDRINFO, &arg);
}

/* An id with many events, some memberships and a resolution */
static int loaded_new(int fd, int events, int groups, uint32_t *id)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.query.flags = RDMA_CMX_AIQ_NAMES_LATER,
		.query.node = (uintptr_t)"later.example",
		.query.node_len = 13,
		.query.timeout_ms = 3600000,
	};
	int ret = id_create(fd, RDMA_PS_UDP, 1, id) ?:
		  id_bind(fd, *id, ADDR_RDMA, 0), i;
	char group[32];
	uint32_t mc;

	for (i = 0; !ret && i < groups; i++) {
		snprintf(group, sizeof(group), "239.55.8.%d", 1 + i);
		ret = mc_join(fd, *id, group, 1, &mc);
	}
	for (i = 0; !ret && i < events; i++)
		ret = id_write_event(fd, *id, i, 0);
	arg.id = *id;
	return ret ?: call(fd, RESOLVE_ADDRINFO, &arg);
}

/* The limits are above the sum of the id that moves and of another command. */
TEST_F_TIMEOUT(migration, what_moves_counts_once, 300)
{
	enum { EVENTS = 2000, GROUPS = 5 };
	static struct {
		const char *path;
		long value, old;
	} limits[] = {
		{ UCMX_PARAMETERS "max_events", EVENTS + GROUPS + 2 },
		{ UCMX_PARAMETERS "max_ids", 1 + GROUPS + 2 },
		{ UCMX_PARAMETERS "max_requests", 2 },
	};
	int i, events = 0, ids = 0, requests = 0;
	struct mover mover = { .fd = { self->fd, self->other } };
	uint32_t probe, id;
	pthread_t thread;

	ASSERT_EQ(0, loaded_new(self->fd, EVENTS, GROUPS, &mover.id));
	ASSERT_EQ(0, id_create(self->other, RDMA_PS_TCP, 1, &probe));
	ASSERT_EQ(0, id_bind(self->other, probe, ADDR_RDMA, 0));
	ASSERT_EQ(0, user_leave());
	for (i = 0; i < 3; i++) {
		limits[i].old = number_get(limits[i].path);
		EXPECT_EQ(0, number_set(limits[i].path, limits[i].value));
	}
	ASSERT_EQ(0, user_enter(USER));
	ASSERT_EQ(0, pthread_create(&thread, NULL, move_back_and_forth,
				    &mover));
	for (; !mover.over; mover.probes++) {
		/* The id has no address: the check of the limit comes first. */
		events += id_resolve_route(self->other, probe) != -EINVAL;
		if (id_create(self->other, RDMA_PS_TCP, 1, &id))
			ids++;
		else
			id_destroy(self->other, id);
		requests += numeric_resolve(self->other) != 0;
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, user_leave());
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, number_set(limits[i].path, limits[i].old));
	TH_LOG("%d tries", mover.probes);
	EXPECT_EQ(0, mover.failed);
	EXPECT_EQ(0, events);
	EXPECT_EQ(0, ids);
	EXPECT_EQ(0, requests);
}

#define JOINS	200

/* Holds the id's mutex for as long as its joins take. */
struct joins {
	int fd;
	uint32_t id;
	struct rdma_cmx_join_item items[JOINS];
	atomic_bool over;
};

static void *joins_run(void *arg)
{
	struct joins *j = arg;
	struct rdma_cmx_join_many many = {
		.id = j->id, .items = (uintptr_t)j->items, .count = JOINS,
		.item_size = sizeof(j->items[0]),
	};

	call(j->fd, JOIN_MANY, &many);
	j->over = true;
	return NULL;
}

struct leave {
	int fd, ret;
	uint32_t mc;
	atomic_bool ready, *go;
};

static void *leave_run(void *arg)
{
	struct leave *l = arg;

	l->ready = true;
	while (!*l->go)
		sched_yield();
	l->ret = mc_leave(l->fd, l->mc);
	return NULL;
}

static int max_ids_set(long max)
{
	return user_leave() || number_set(UCMX_PARAMETERS "max_ids", max) ||
	       user_enter(USER);
}

/* How many ids can @fd have now? */
static int ids_of(int fd)
{
	uint32_t id;
	int n = 0;

	while (n < 2 * JOINS && !id_create(fd, RDMA_PS_UDP, 1, &id))
		n++;
	return n;
}

/*
 * While an id is locked, two commands to leave a membership of it wait, and one to
 * move the id. The membership ends once, in the file that has it then.
 */
TEST_F_TIMEOUT(migration, leave_what_moves, 900)
{
	enum { MAX = 2 * JOINS };
	const int rounds = kernel_slow() ? 8 : 20;
	long max = number_get(UCMX_PARAMETERS "max_ids");
	int round, i, n, moved = 0, waited = 0;
	static struct joins joins;
	struct rdma_cmx_id_migrate m;
	struct leave leave[2];
	pthread_t thread[3];
	atomic_bool go;
	double end;
	char group[32];
	long before;
	uint32_t mc;

	for (i = 0; i < JOINS; i++) {
		snprintf(group, sizeof(group), "239.55.7.%d", 1 + i);
		addr_set(&joins.items[i].addr, group, 0);
	}
	for (round = 0; round < rounds; round++) {
		m = (struct rdma_cmx_id_migrate){ .src_fd = self->fd };
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &m.id));
		ASSERT_EQ(0, id_bind(self->fd, m.id, ADDR_RDMA, 0));
		ASSERT_EQ(0, mc_join(self->fd, m.id, GROUP, 1, &mc));
		joins.fd = self->fd;
		joins.id = m.id;
		joins.over = false;
		go = false;
		for (i = 0; i < 2; i++) {
			leave[i] = (struct leave){ self->fd, .mc = mc,
						   .go = &go };
			ASSERT_EQ(0, pthread_create(&thread[i], NULL,
						    leave_run, &leave[i]));
			while (!leave[i].ready)
				sched_yield();
		}
		before = counter("memberships");
		ASSERT_EQ(0, pthread_create(&thread[2], NULL, joins_run,
					    &joins));
		end = now_ms() + WAIT_S * 1000;
		while (counter("memberships") < before + 2 && now_ms() < end)
			;
		waited += !joins.over;
		/* Now the one, now the other is the first to wait. */
		if (round % 2)
			go = true;
		i = call(self->other, ID_MIGRATE, &m);
		go = true;
		for (n = 0; n < 3; n++)
			pthread_join(thread[n], NULL);
		ASSERT_EQ(0, i);
		n = 0;
		for (i = 0; i < 2; i++) {
			n += leave[i].ret >= 0;
			EXPECT_TRUE(leave[i].ret >= 0 ||
				    leave[i].ret == -ENOENT);
		}
		EXPECT_GE(1, n);
		moved += !n;
		EXPECT_EQ(!n, mc_leave(self->other, mc) >= 0);
		EXPECT_LE(0, id_destroy(self->other, m.new_id));
		EXPECT_EQ(0, counter("live_mcs"));
	}
	TH_LOG("%d of %d waited, %d had moved", waited, rounds, moved);
	/* None counts for the wrong file. */
	ASSERT_EQ(0, max_ids_set(MAX / 2));
	i = ids_of(self->fd);
	n = ids_of(self->other);
	ASSERT_EQ(0, max_ids_set(max));
	EXPECT_EQ(MAX / 2, i);
	EXPECT_EQ(MAX / 2, n);
}

TEST_HARNESS_MAIN
