// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GET_PATHS and DROP_PATHS at the uAPI: the cached path of a route, and its
 * effect on the next route; sizes and texts; other users and namespaces; a
 * query that is outstanding while its path is dropped; all of them at once.
 */
#include "uapi.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"

#define ROOM		64
#define PEER		"10.66.0.3"
#define OTHER		"10.66.0.4"
#define PORT		7497
#define THREADS		2
#define ROUNDS		60
#define NO_ROOM		UINT32_MAX

FIXTURE(paths) {
	int fd;
	long usual;
	struct rdma_cmx_cached_path list[ROOM];
	struct rdma_cmx_get_paths get;
	struct rdma_cmx_drop_paths drop;
};

static int paths_get(FIXTURE_DATA(paths) *self)
{
	self->get.paths = (uintptr_t)self->list;
	if (!self->get.max_paths)
		self->get.max_paths = ROOM;
	self->get.path_size = sizeof(self->list[0]);
	return call(self->fd, GET_PATHS, &self->get);
}

static int paths_drop(FIXTURE_DATA(paths) *self)
{
	return call(self->fd, DROP_PATHS, &self->drop);
}

/* Resolves a route to @peer on a new id. 1: sent a query, 0: from the cache. */
static int route(int fd, const char *peer)
{
	long before = number_get(COUNTERS "routes");
	union event_buf buf;
	uint32_t id;
	int ret;

	ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
	      id_resolve_addr(fd, id, NULL, peer, PORT) ?:
	      event_want(fd, EV_ADDR_RESOLVED, &buf) ?:
	      id_resolve_route(fd, id) ?:
	      event_want(fd, EV_ROUTE_RESOLVED, &buf);
	id_destroy(fd, id);
	return ret ?: number_get(COUNTERS "routes") != before;
}

/* Bytes of a PathRecord: DGID, SGID, P_Key */
static const uint8_t *dgid_of(const struct rdma_cmx_cached_path *path)
{
	return (const uint8_t *)path->path.path_rec + 8;
}

/* Finds the current path to the GID of @path in the list. */
static const struct rdma_cmx_cached_path *
path_find(FIXTURE_DATA(paths) *self, const uint8_t dgid[16])
{
	uint32_t i;

	for (i = 0; i < self->get.num_paths && i < ROOM; i++)
		if (!memcmp(dgid_of(&self->list[i]), dgid, 16))
			return &self->list[i];
	return NULL;
}

FIXTURE_SETUP(paths)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->usual = number_get(PARAMETERS "sa_cache_ms");
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	memset(&self->get, 0, sizeof(self->get));
	memset(&self->drop, 0, sizeof(self->drop));
	ASSERT_EQ(0, paths_drop(self));
}

FIXTURE_TEARDOWN(paths)
{
	close(self->fd);
	EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults clear"));
	EXPECT_EQ(0, number_set(PARAMETERS "sa_cache_ms", self->usual));
	EXPECT_TRUE(nothing_left());
}

TEST_F(paths, of_a_route)
{
	long hits = number_get(COUNTERS "paths_hits");
	long gone = number_get(COUNTERS "paths_forgotten");
	const struct rdma_cmx_cached_path *path;
	const uint8_t *rec;
	uint8_t dgid[16];

	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(0, self->get.num_paths);
	ASSERT_EQ(1, route(self->fd, PEER));
	ASSERT_EQ(0, paths_get(self));
	ASSERT_EQ(1, self->get.num_paths);
	path = &self->list[0];
	rec = (const uint8_t *)path->path.path_rec;
	memcpy(dgid, dgid_of(path), 16);
	EXPECT_EQ(1, path->port_num);
	EXPECT_LE(1, path->num_paths);
	EXPECT_EQ(0, path->reserved);
	EXPECT_GE(600000, path->age_ms);
	EXPECT_LT(0, path->left_ms);
	EXPECT_GE(3600000, path->left_ms);
	/* GIDs of the subnet, and its P_Key */
	EXPECT_EQ(0xfe, rec[8]);
	EXPECT_EQ(0xfe, rec[24]);
	EXPECT_EQ(0x7f, rec[50] & 0x7f);
	EXPECT_EQ(0xff, rec[51]);

	/* A route in another process would not send a query, either. */
	ASSERT_EQ(0, route(self->fd, PEER));
	EXPECT_LT(hits, number_get(COUNTERS "paths_hits"));
	ASSERT_EQ(1, route(self->fd, OTHER));
	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(2, self->get.num_paths);

	/* For one GID */
	memcpy(self->drop.dgid, dgid, 16);
	ASSERT_EQ(0, paths_drop(self));
	EXPECT_EQ(1, self->drop.num_paths);
	EXPECT_EQ(gone + 1, number_get(COUNTERS "paths_forgotten"));
	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(1, self->get.num_paths);
	EXPECT_EQ(NULL, path_find(self, dgid));
	ASSERT_EQ(0, route(self->fd, OTHER));
	ASSERT_EQ(1, route(self->fd, PEER));
	ASSERT_EQ(0, paths_get(self));
	EXPECT_NE(NULL, path_find(self, dgid));

	memset(self->drop.dgid, 0, 16);
	ASSERT_EQ(0, paths_drop(self));
	EXPECT_EQ(2, self->drop.num_paths);
	ASSERT_EQ(0, paths_drop(self));
	EXPECT_EQ(0, self->drop.num_paths);
	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(0, self->get.num_paths);
	ASSERT_EQ(1, route(self->fd, OTHER));
}

/* Without a lifetime paths are neither used nor listed. */
TEST_F(paths, without_a_cache)
{
	ASSERT_EQ(1, route(self->fd, PEER));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(0, self->get.num_paths);
	ASSERT_EQ(0, paths_drop(self));
	EXPECT_EQ(0, self->drop.num_paths);
}

/* An event of a port invalidates its paths, in a work item of ib_core. */
TEST_F(paths, of_an_event)
{
	long outdated = number_get(COUNTERS "paths_outdated"), counted;
	long events = number_get(COUNTERS "sa_events");
	double end = now_ms() + 60000;

	ASSERT_EQ(1, route(self->fd, PEER));
	ASSERT_EQ(0, paths_get(self));
	ASSERT_EQ(1, self->get.num_paths);
	ASSERT_EQ(0, fabric_bash("for n in 1 2 3 4; do knob_set $(fab_dev $n)"
				 " event client_reregister; done"));
	/* Those of the other ports may be late, too. */
	do {
		poll(NULL, 0, 5);
		ASSERT_EQ(0, paths_get(self));
		counted = number_get(COUNTERS "paths_outdated");
	} while ((self->get.num_paths || counted <= outdated ||
		  number_get(COUNTERS "sa_events") < events + 4) &&
		 now_ms() < end);
	EXPECT_EQ(0, self->get.num_paths);
	EXPECT_LT(outdated, counted);
}

TEST_F(paths, sizes)
{
	struct {
		struct rdma_cmx_cached_path path;
		uint8_t more[24];
	} wide[2];
	size_t i;

	ASSERT_EQ(1, route(self->fd, PEER));
	ASSERT_EQ(1, route(self->fd, OTHER));
	/* One path more than the array has space for */
	memset(self->list, 0xa5, sizeof(self->list));
	self->get.max_paths = 1;
	EXPECT_EQ(-ENOSPC, paths_get(self));
	EXPECT_EQ(2, self->get.num_paths);
	EXPECT_EQ(1, self->list[0].port_num);
	for (i = 0; i < sizeof(self->list[1]); i++)
		ASSERT_EQ(0xa5, ((uint8_t *)&self->list[1])[i]);
	/* Only the count */
	self->get.max_paths = 0;
	self->get.paths = 0;
	self->get.path_size = 0;
	EXPECT_EQ(-ENOSPC, call(self->fd, GET_PATHS, &self->get));
	EXPECT_EQ(2, self->get.num_paths);
	/* Structs of a newer caller, and of older ones */
	memset(wide, 0xa5, sizeof(wide));
	self->get.paths = (uintptr_t)wide;
	self->get.max_paths = 2;
	self->get.path_size = sizeof(wide[0]);
	EXPECT_EQ(0, call(self->fd, GET_PATHS, &self->get));
	EXPECT_EQ(1, wide[1].path.port_num);
	for (i = 0; i < sizeof(wide[1].more); i++)
		EXPECT_EQ(0, wide[1].more[i]);
	self->get.path_size = sizeof(self->list[0]) - 1;
	EXPECT_EQ(-EINVAL, call(self->fd, GET_PATHS, &self->get));
	self->get.path_size = 4097;
	EXPECT_EQ(-E2BIG, call(self->fd, GET_PATHS, &self->get));
	self->get.path_size = sizeof(self->list[0]);
	self->get.paths = 1;
	EXPECT_EQ(-EFAULT, call(self->fd, GET_PATHS, &self->get));
	self->get.paths = (uintptr_t)self->list;
	self->get.max_paths = NO_ROOM;
	EXPECT_EQ(0, call(self->fd, GET_PATHS, &self->get));
	EXPECT_EQ(2, self->get.num_paths);
}

TEST_F(paths, arguments)
{
	struct rdma_cmx_drop_paths *ro;

	ASSERT_EQ(1, route(self->fd, PEER));
	self->get.flags = self->drop.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, paths_get(self));
	EXPECT_EQ(-EOPNOTSUPP, paths_drop(self));
	self->get.flags = self->drop.flags = 0;
	self->get.dev_port = self->drop.dev_port = 1;
	EXPECT_EQ(-EINVAL, paths_get(self));
	EXPECT_EQ(-EINVAL, paths_drop(self));
	memcpy(self->get.dev, "nosuch0", 7);
	memcpy(self->drop.dev, "nosuch0", 7);
	EXPECT_EQ(-ENODEV, paths_get(self));
	EXPECT_EQ(-ENODEV, paths_drop(self));
	self->get.dev[9] = self->drop.dev[9] = 'x';
	EXPECT_EQ(-EINVAL, paths_get(self));
	EXPECT_EQ(-EINVAL, paths_drop(self));
	memset(self->get.dev, 'x', sizeof(self->get.dev));
	memset(self->drop.dev, 'x', sizeof(self->drop.dev));
	EXPECT_EQ(-EINVAL, paths_get(self));
	EXPECT_EQ(-EINVAL, paths_drop(self));
	/* A command whose result cannot be written drops nothing. */
	ro = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ro);
	ro->size = sizeof(*ro);
	ASSERT_EQ(0, mprotect(ro, 4096, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(DROP_PATHS), ro));
	EXPECT_EQ(EFAULT, errno);
	munmap(ro, 4096);
	EXPECT_EQ(0, route(self->fd, PEER));
}

/* As an unprivileged user: the same list, and EPERM; as root of a namespace */
static int user_run(void *arg)
{
	FIXTURE_DATA(paths) *self = arg;

	self->fd = dev_open(O_NONBLOCK);
	if (self->fd < 0 || paths_get(self) || self->get.num_paths != 1)
		return 1;
	if (paths_drop(self) != -EPERM)
		return 2;
	/* Capabilities in another namespace only */
	if (unshare(CLONE_NEWUSER) || paths_drop(self) != -EPERM)
		return 3;
	if (unshare(CLONE_NEWNET))
		return 4;
	memset(self->list, 0, sizeof(self->list));
	if (paths_get(self) || self->get.num_paths || dgid_of(self->list)[0])
		return 5;
	if (paths_drop(self) || self->drop.num_paths)
		return 6;
	close(self->fd);
	return 0;
}

TEST_F(paths, SEC_of_others)
{
	FIXTURE_DATA(paths) copy;
	pid_t pid;

	ASSERT_EQ(1, route(self->fd, PEER));
	copy = *self;
	pid = user_start(1000, user_run, &copy);
	EXPECT_EQ(0, user_end(pid));
	EXPECT_EQ(0, route(self->fd, PEER));
}

/*
 * The SA responds after the drop. The response may be older than the change
 * that caused the drop, so a route that begins meanwhile sends another query.
 */
TEST_F(paths, outstanding)
{
	long queries = number_get(COUNTERS "routes");
	long timeout = number_get(PARAMETERS "sa_timeout_ms");
	union event_buf buf;
	uint32_t ids[2];
	int i;

	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 20000));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1 + i, &ids[i]));
		ASSERT_EQ(0, id_resolve_addr(self->fd, ids[i], NULL, PEER,
					     PORT));
		ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
	}
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults"
				 " \"delay class=3 method=0x12 attr=0x35 ms=4000\""));
	ASSERT_EQ(0, id_resolve_route(self->fd, ids[0]));
	ASSERT_EQ(0, paths_drop(self));
	EXPECT_EQ(0, self->drop.num_paths);
	queries = number_get(COUNTERS "paths_coalesced");
	ASSERT_EQ(0, id_resolve_route(self->fd, ids[1]));
	EXPECT_EQ(queries, number_get(COUNTERS "paths_coalesced"));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults clear"));
	/* The path of the second one */
	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(1, self->get.num_paths);
	ASSERT_EQ(0, paths_drop(self));
	EXPECT_EQ(1, self->drop.num_paths);

	for (i = 0; i < 2; i++)
		id_destroy(self->fd, ids[i]);
	/* A single one leaves no path. */
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &ids[0]));
	ASSERT_EQ(0, id_resolve_addr(self->fd, ids[0], NULL, PEER, PORT));
	ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults"
				 " \"delay class=3 method=0x12 attr=0x35 ms=4000\""));
	ASSERT_EQ(0, id_resolve_route(self->fd, ids[0]));
	ASSERT_EQ(0, paths_drop(self));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults clear"));
	ASSERT_EQ(0, paths_get(self));
	EXPECT_EQ(0, self->get.num_paths);
	id_destroy(self->fd, ids[0]);
	EXPECT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", timeout));
}

static volatile bool running;

/* Lists, counts and drops, with arrays of any size */
static void *lister(void *arg)
{
	struct rdma_cmx_cached_path list[4];
	struct rdma_cmx_drop_paths drop;
	struct rdma_cmx_get_paths get;
	long n = (long)arg, *done = calloc(1, sizeof(*done));
	int fd = dev_open(O_NONBLOCK), i, ret;

	for (i = 0; running; i++) {
		memset(&get, 0, sizeof(get));
		get.paths = (uintptr_t)list;
		get.max_paths = i % 5;
		get.path_size = sizeof(list[0]);
		ret = call(fd, GET_PATHS, &get);
		if (ret && ret != -ENOSPC)
			break;
		memset(&drop, 0, sizeof(drop));
		if ((i + n) % 8 == 0 && call(fd, DROP_PATHS, &drop))
			break;
		++*done;
		/* The SM runs on the same processor. */
		poll(NULL, 0, 1);
	}
	if (running)
		*done = -1;
	close(fd);
	return done;
}

/* Routes to peers and port events meanwhile, and the removal of a device */
TEST_F_TIMEOUT(paths, turmoil, 200)
{
	int i, rounds = kernel_slow() ? ROUNDS / 3 : ROUNDS;
	static const char *const peers[] = { PEER, "10.66.0.1", "10.66.0.2" };
	pthread_t thread[THREADS];
	long *done;

	running = true;
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, lister,
					    (void *)(long)i));
	for (i = 0; i < rounds; i++) {
		EXPECT_LE(0, route(self->fd, peers[i % 3]));
		if (i % 10 == 5)
			EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 1) event"
						 " client_reregister"));
		if (i == rounds / 2)
			EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 4) plugged 0"));
	}
	running = false;
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], (void **)&done);
		EXPECT_LT(0, *done);
		free(done);
	}
	EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 4) plugged 1"));
}

TEST_HARNESS_MAIN
