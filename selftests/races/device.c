// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OPS-04: the removal of the device, with ids of each kind, and with commands
 * of many threads on shared ids. The results of the commands hardly matter: the
 * calls end, and no object is left. fuzz/ioctl has the same without a removal.
 */
#include "uapi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "harness.h"

#define THREADS	6
#define IDS	4

FIXTURE(device) {
};

FIXTURE_SETUP(device)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
}

FIXTURE_TEARDOWN(device)
{
	EXPECT_TRUE(nothing_left());
}

struct arena {
	_Atomic int fd[2];
	_Atomic uint32_t id[IDS];
	_Atomic uint32_t mc;
	_Atomic uint32_t conn;
	atomic_bool stop;
	_Atomic long calls;
};

struct player {
	struct arena *arena;
	unsigned int seed;
	bool destroys;
};

static void addrinfo_some(int fd, uint32_t id, unsigned int r)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };
	struct rdma_cmx_query_addrinfo query = { .id = id };
	struct rdma_cmx_give_names give = { .id = id, .error = ENOENT };
	uint64_t buf[128];

	switch (r % 4) {
	case 0:
		arg.query.node = (uintptr_t)"races.example";
		arg.query.node_len = 13;
		arg.query.flags = RDMA_CMX_AIQ_NAMES_LATER;
		call(fd, RESOLVE_ADDRINFO, &arg);
		break;
	case 1:
		arg.query.node = (uintptr_t)ADDR_RDMA;
		arg.query.node_len = strlen(ADDR_RDMA);
		call(fd, RESOLVE_ADDRINFO, &arg);
		break;
	case 2:
		call(fd, GIVE_NAMES, &give);
		break;
	case 3:
		query.buf = (uintptr_t)buf;
		query.buf_len = sizeof(buf);
		call(fd, QUERY_ADDRINFO, &query);
		break;
	}
}

static void events_some(struct arena *a, int fd)
{
	union {
		struct rdma_cmx_event ev;
		char space[4096];
	} buf;
	struct rdma_cmx_event *ev = &buf.ev;
	uint32_t count, i;

	if (events_get(fd, &buf, sizeof(buf), 0, &count))
		return;
	for (i = 0; i < count; i++) {
		if (ev->event == EV_CONNECT_REQUEST)
			a->conn = ev->obj;
		ev = (void *)ev + ev->len;
	}
}

/* Runs one random command on a random id. */
static void play(struct player *p)
{
	struct arena *a = p->arena;
	unsigned int r = rand_r(&p->seed), s = rand_r(&p->seed);
	int fd = a->fd[s & 1], other = a->fd[~s & 1];
	uint32_t id = a->id[(s >> 1) % IDS], mc;
	struct rdma_cmx_id_query query = { .id = id };
	struct rdma_cmx_id_arg arg = { .id = id };
	struct rdma_cmx_init_qp_attr attr = { .id = id, .qp_state = 1 };
	struct rdma_cmx_id_migrate mig = { .id = id, .src_fd = other };
	struct rdma_cmx_reject rej = { .id = a->conn };

	switch (r % 20) {
	case 0: id_bind(fd, id, ADDR_RDMA, 0); break;
	case 1: id_resolve_addr(fd, id, NULL, ADDR_RDMA, 9000); break;
	case 2: id_resolve_route(fd, id); break;
	case 3: id_connect(fd, id); break;
	case 4: id_listen(fd, id); break;
	case 5: id_accept(fd, a->conn, 5); break;
	case 6: call(fd, DISCONNECT, &arg); break;
	case 7: call(fd, ID_QUERY, &query); break;
	case 8: call(fd, INIT_QP_ATTR, &attr); break;
	case 9: id_write_event(fd, id, 1, 2); break;
	case 10:
		if (!mc_join(fd, id, GROUP, 1, &mc))
			a->mc = mc;
		break;
	case 11: mc_leave(fd, a->mc); break;
	case 12: case 13: addrinfo_some(fd, id, s >> 8); break;
	case 14: case 15: case 16: events_some(a, fd); break;
	case 17:
		if (!call(fd, ID_MIGRATE, &mig))
			a->id[(s >> 1) % IDS] = mig.new_id;
		break;
	case 18:
		if (s & 0x100)
			call(fd, REJECT, &rej);
		else
			id_destroy(fd, a->conn);
		break;
	case 19:
		if (!p->destroys)
			break;
		id_destroy(fd, id);
		if (!id_create(fd, s & 0x100 ? RDMA_PS_TCP : RDMA_PS_UDP, 1,
			       &id))
			a->id[(s >> 1) % IDS] = id;
		break;
	}
	a->calls++;
}

static void *player_run(void *arg)
{
	struct player *p = arg;

	while (!p->arena->stop)
		play(p);
	return NULL;
}

static int arena_open(struct arena *a)
{
	uint32_t id;
	int i;

	memset(a, 0, sizeof(*a));
	for (i = 0; i < 2; i++) {
		a->fd[i] = dev_open(O_NONBLOCK);
		if (a->fd[i] < 0)
			return -1;
	}
	for (i = 0; i < IDS; i++) {
		if (id_create(a->fd[i & 1], i & 2 ? RDMA_PS_TCP : RDMA_PS_UDP,
			      i + 1, &id))
			return -1;
		a->id[i] = id;
	}
	return 0;
}

static void players_start(struct arena *a, struct player *p, pthread_t *t)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		p[i] = (struct player){ a, i * 7919 + 1, i < 2 };
		if (pthread_create(&t[i], NULL, player_run, &p[i]))
			abort();
	}
}

static void players_stop(struct arena *a, pthread_t *t)
{
	int i;

	a->stop = true;
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Waits for that many calls, or for the deadline. */
static void calls_wait(struct arena *a, long calls, double ms)
{
	double end = now_ms() + ms;
	long start = a->calls;

	while (a->calls - start < calls && now_ms() < end)
		poll(NULL, 0, 5);
}

static int rdma_link(const char *what)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rdma link %s", what);
	return system(cmd);
}

#define LINK_DELETE	"delete rxe0"
#define LINK_ADD	"add rxe0 type rxe netdev eth0"

/* Ids of each kind lose their device: each gets an event, and stays valid. */
TEST_F(device, removal)
{
	struct rdma_cmx_resolve_addrinfo rai = {};
	uint32_t bound, listener, active, passive, unbound, ud, mc, again;
	struct rdma_cmx_id_query query = {};
	unsigned int reported = 0, i;
	union event_buf buf;
	int fd = dev_open(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, connect_pair(fd, &listener, &active, &passive));
	ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 4, &bound));
	ASSERT_EQ(0, id_bind(fd, bound, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 5, &unbound));
	ASSERT_EQ(0, id_create(fd, RDMA_PS_UDP, 6, &ud));
	ASSERT_EQ(0, id_bind(fd, ud, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(fd, ud, GROUP, 60, &mc));
	ASSERT_EQ(0, event_want(fd, EV_MULTICAST_JOIN, &buf));
	rai.id = bound;
	rai.query.node = (uintptr_t)"removed.example";
	rai.query.node_len = 15;
	rai.query.flags = RDMA_CMX_AIQ_NAMES_LATER;
	/* Outstanding until the id is destroyed: a removal may take long. */
	rai.query.timeout_ms = 60000;
	ASSERT_EQ(0, call(fd, RESOLVE_ADDRINFO, &rai));

	/* The removal ends after all ids have released the device. */
	ASSERT_EQ(0, rdma_link(LINK_DELETE));
	while (event_pending(fd)) {
		ASSERT_EQ(0, event_next(fd, &buf));
		if (buf.ev.event == EV_DEVICE_REMOVAL) {
			EXPECT_EQ(0, reported & 1 << buf.ev.uid);
			reported |= 1 << buf.ev.uid;
		}
	}
	/* Listener 1, active 2, passive 3, bound 4, ud 6; not 5. */
	EXPECT_EQ(0x5e, reported);

	for (i = 0; i < 4; i++) {
		query.id = (uint32_t[]){ listener, active, bound, ud }[i];
		EXPECT_EQ(-ENODEV, call(fd, ID_QUERY, &query));
	}
	EXPECT_EQ(-ENODEV, id_bind(fd, bound, ADDR_RDMA, 0));
	EXPECT_EQ(-ENODEV, id_resolve_addr(fd, bound, NULL, ADDR_RDMA, 1));
	EXPECT_EQ(-ENODEV, mc_join(fd, ud, GROUP, 1, &again));
	query.id = unbound;
	EXPECT_EQ(0, call(fd, ID_QUERY, &query));
	/* A destroy of each handle still works. */
	EXPECT_EQ(1, mc_leave(fd, mc));
	EXPECT_EQ(2, id_destroy(fd, ud));
	EXPECT_EQ(1, id_destroy(fd, bound));
	ASSERT_EQ(0, rdma_link(LINK_ADD));
	EXPECT_EQ(0, id_bind(fd, unbound, ADDR_RDMA, 0));
	close(fd);
}

#define SEEN	64

static void *link_delete(void *arg)
{
	*(int *)arg = rdma_link(LINK_DELETE);
	return NULL;
}

/* The reader of the event of the removal finds the device gone, at once. */
TEST_F(device, removal_seen)
{
	int fd = dev_open(O_NONBLOCK), i, ret = -1, wrong = 0;
	union event_buf buf;
	pthread_t thread;
	uint32_t id, mc;

	ASSERT_LE(0, fd);
	for (i = 0; i < SEEN; i++) {
		ASSERT_EQ(0, id_create(fd, RDMA_PS_UDP, 6, &id));
		ASSERT_EQ(0, id_bind(fd, id, ADDR_RDMA, 0));
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, link_delete, &ret));
	for (i = 0; i < SEEN; i++) {
		if (event_want(fd, EV_DEVICE_REMOVAL, &buf))
			break;
		wrong += mc_join(fd, buf.ev.id, GROUP, 1, &mc) != -ENODEV;
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(SEEN, i);
	EXPECT_EQ(0, wrong);
	EXPECT_FALSE(event_pending(fd));
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, rdma_link(LINK_ADD));
	close(fd);
}

TEST_F(device, removal_unread)
{
	uint32_t id, mc;
	int fd = dev_open(O_NONBLOCK), i;

	/* Close and destroy with the removal event unread */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, id_create(fd, RDMA_PS_UDP, 6, &id));
		ASSERT_EQ(0, id_bind(fd, id, ADDR_RDMA, 0));
		ASSERT_EQ(0, mc_join(fd, id, GROUP, 60, &mc));
		ASSERT_EQ(0, rdma_link(LINK_DELETE));
		if (!i) {
			EXPECT_EQ(0, id_destroy(fd, id));
		} else {
			close(fd);
		}
		ASSERT_EQ(0, rdma_link(LINK_ADD));
	}
}

TEST_F_TIMEOUT(device, removal_under_load, 500)
{
	struct player p[THREADS];
	pthread_t t[THREADS];
	double end = now_ms() + 20000;
	struct arena a;
	int round;

	ASSERT_EQ(0, arena_open(&a));
	players_start(&a, p, t);
	/* Fewer on a slow kernel: a round may take 20 s under KASAN. */
	for (round = 0; round < 2 || (round < 8 && now_ms() < end); round++) {
		calls_wait(&a, 400, 1000);
		EXPECT_EQ(0, rdma_link(LINK_DELETE));
		calls_wait(&a, 100, 200);
		EXPECT_EQ(0, rdma_link(LINK_ADD));
	}
	players_stop(&a, t);
	close(a.fd[0]);
	close(a.fd[1]);
}

TEST_HARNESS_MAIN
