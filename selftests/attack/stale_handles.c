// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes of a user share two files. They create, migrate and destroy ids by
 * handles that they guess, with cookies of earlier ids, while the places of
 * handles are reused; some are killed. A cookie destroys its own id, once, and
 * no charge is lost.
 */
#include "uapi.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"

#define USER		1000
#define ACTORS		6
#define GUESSES		64
#define UIDS		20000
#define MOST		100
#define STALE_OWNER	0xdead
#define ROUNDS		(kernel_slow() ? 600 : 2500)

/* All handles of a file, in the order in which it gave them */
struct given {
	atomic_uint count;
	_Atomic uint32_t handle[UIDS];
};

struct guess {
	atomic_int side;
	_Atomic uint32_t handle;
	_Atomic uint64_t uid;
};

struct shared {
	_Atomic uint64_t uids;
	atomic_int created[UIDS], destroyed[UIDS];
	struct guess guess[GUESSES];
	struct given given[2];
	atomic_int wrong, moved, stale, ended;
};

FIXTURE(stale) {
	int fd[2];
	long max_ids;
	struct shared *s;
};

FIXTURE_SETUP(stale)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	self->max_ids = number_get(UCMX_PARAMETERS "max_ids");
	self->s = mmap(NULL, sizeof(*self->s), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->s);
	ASSERT_EQ(0, user_enter(USER));
	self->fd[0] = dev_open(O_NONBLOCK);
	self->fd[1] = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd[0]);
	ASSERT_LE(0, self->fd[1]);
}

FIXTURE_TEARDOWN(stale)
{
	EXPECT_EQ(0, user_leave());
	number_set(UCMX_PARAMETERS "max_ids", self->max_ids);
	close(self->fd[0]);
	close(self->fd[1]);
	EXPECT_TRUE(nothing_left());
}

static int destroy(int fd, uint32_t handle, uint64_t owner, uint64_t uid)
{
	struct rdma_cmx_destroy arg = {
		.handle = handle, .owner = owner, .uid = uid,
	};

	return call(fd, ID_DESTROY, &arg);
}

static int migrate(int to, int from, uint64_t owner, uint32_t *handle)
{
	struct rdma_cmx_id_migrate arg = {
		.id = *handle, .src_fd = from, .owner = owner,
	};
	int ret = call(to, ID_MIGRATE, &arg);

	*handle = ret ? *handle : arg.new_id;
	return ret;
}

static void guess_set(struct shared *s, struct guess *g, int side,
		      uint32_t handle, uint64_t uid)
{
	struct given *given = &s->given[side];

	given->handle[given->count++ % UIDS] = handle;
	g->side = side;
	g->handle = handle;
	g->uid = uid;
}

/* The three fields of a guess may be of three ids. */
static void actor_step(struct shared *s, const int *fd, int what, int n)
{
	struct guess *g = &s->guess[n % GUESSES];
	uint64_t uid = g->uid, old = s->guess[n / 7 % GUESSES].uid;
	uint32_t handle = g->handle;
	struct rdma_cmx_id_query query = { .id = n % 2 ? handle : n % 40 };
	struct rdma_cmx_event ev[4];
	uint32_t count = 0, i;
	int side = g->side;

	switch (what) {
	case 0:
	case 1:
		uid = ++s->uids;
		if (uid >= UIDS)
			return;
		s->created[uid] = 1;
		if (id_create(fd[n & 1], RDMA_PS_TCP, uid, &handle))
			s->created[uid] = 0;
		else
			guess_set(s, g, n & 1, handle, uid);
		break;
	case 2:
		uid = n % 3 ? uid : old;
		if (!uid || destroy(fd[side], handle, 0, uid))
			s->stale++;
		else
			s->destroyed[uid]++;
		break;
	case 3:
		s->wrong += !destroy(fd[side], handle, STALE_OWNER, 0);
		s->wrong += !destroy(fd[side], handle, 0, UIDS + 1);
		s->wrong += !migrate(fd[!side], fd[side], STALE_OWNER,
				     &handle);
		break;
	case 4:
		if (!migrate(fd[!side], fd[side], 0, &handle)) {
			guess_set(s, g, !side, handle, uid);
			s->moved++;
		}
		break;
	case 5:
		id_write_event(fd[side], handle, 0, 7);
		events_get(fd[!side], ev, sizeof(ev), 0, &count);
		for (i = 0; i < count && i < 4; i++)
			s->wrong += !ev[i].uid || ev[i].uid >= UIDS ||
				    !s->created[ev[i].uid];
		break;
	default:
		call(fd[n >> 8 & 1], ID_QUERY, &query);
		query.id = 0u - n % 3;
		s->wrong += call(fd[side], ID_QUERY, &query) != -ENOENT;
	}
}

static pid_t actor_start(struct shared *s, const int *fd, int nr, int rounds)
{
	unsigned int seed = nr + 1;
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	for (i = 0; i < rounds || rounds < 0; i++)
		actor_step(s, fd, rand_r(&seed) % 7, rand_r(&seed));
	s->ended++;
	_exit(0);
}

/* Destroys all ids of a file by their handles. */
static int ids_end(int fd, const struct given *given)
{
	unsigned int i;
	int n = 0;

	for (i = 0; i < given->count && i < UIDS; i++)
		n += id_destroy(fd, given->handle[i]) >= 0;
	return n;
}

/* The charges of the files are their @live ids: there is room for the rest. */
static bool charges_are(const int *fd, int live)
{
	int i, n = 0, most = live + MOST;
	uint32_t id;

	if (user_leave() || number_set(UCMX_PARAMETERS "max_ids", most) ||
	    user_enter(USER))
		return false;
	for (i = 0; i < 2; i++)
		while (n <= 2 * most && !id_create(fd[i], RDMA_PS_TCP, 1, &id))
			n++;
	return n == 2 * most - live;
}

TEST_F(stale, cookies_of_reused_handles)
{
	int i, live = 0, twice = 0;
	struct shared *s = self->s;
	pid_t pids[ACTORS];

	for (i = 0; i < ACTORS; i++)
		pids[i] = actor_start(s, self->fd, i, ROUNDS);
	for (i = 0; i < ACTORS; i++)
		EXPECT_EQ(0, user_end(pids[i]));
	for (i = 0; i < UIDS; i++) {
		twice += s->destroyed[i] > s->created[i];
		live += s->created[i] - s->destroyed[i];
	}
	TH_LOG("%d ids, %d moves, %d stale cookies", (int)s->uids, s->moved,
	       s->stale);
	EXPECT_LT(100, s->moved);
	EXPECT_LT(100, s->stale);
	EXPECT_EQ(0, s->wrong);
	EXPECT_EQ(0, twice);
	EXPECT_EQ(live, counter("live_ids"));
	EXPECT_TRUE(s->given[0].count < UIDS && s->given[1].count < UIDS);
	EXPECT_EQ(live, ids_end(self->fd[0], &s->given[0]) +
			ids_end(self->fd[1], &s->given[1]));
	EXPECT_TRUE(charges_are(self->fd, 0));
}

/* In the middle of any command. The files stay open here. */
TEST_F(stale, of_killed_processes)
{
	unsigned int seed = 5;
	pid_t pids[ACTORS];
	int i;

	for (i = 0; i < ACTORS; i++)
		pids[i] = actor_start(self->s, self->fd, i, -1);
	for (i = 0; i < 10 * ACTORS; i++) {
		poll(NULL, 0, rand_r(&seed) % 20);
		pids_kill(&pids[i % ACTORS], 1);
		pids[i % ACTORS] = actor_start(self->s, self->fd, i, -1);
	}
	pids_kill(pids, ACTORS);
	EXPECT_EQ(0, self->s->wrong);
	EXPECT_TRUE(charges_are(self->fd, counter("live_ids")));
}

TEST_HARNESS_MAIN
