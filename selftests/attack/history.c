// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fixes of drivers/infiniband/core/ucma.c and cma.c since 2018, and those
 * of addr.c, multicast.c and sa_query.c that have a like here, by class.
 * Each test repeats the attack behind a class as an ordinary user; the comment
 * names the upstream fixes and how this project excludes the class. KASAN,
 * lockdep and kmemleak of the debug kernel are the judges of the races.
 *
 * Classes without a separate test here:
 *  - "Fix Spectre v1 vulnerability" (ucma): the dispatch table is indexed by
 *    array_index_nospec(); a handle is looked up in an xarray.
 *  - commands by write(), whose credentials are the opener's (ucma, 2016):
 *    there is no write(). ioctl/abi checks that.
 *  - "Put a lock around every call to the rdma_cm layer" and "Lock the handler
 *    in ucma_set_ib_path()" (ucma): ucmx_id.mutex surrounds each use of the
 *    rdma_cm id, and a route that a user sets is reported under the handler
 *    lock. races/commands runs each command against the others.
 *  - "Fix rdma_ucm_query... struct padding" and "Don't infoleak GRH fields"
 *    (ucma, core): records are built in zeroed memory. security/leaks.
 *  - "Fix use-after-free access in ucma_close", "fix a use-after-free in
 *    ucma_resolve_ip()" (ucma): the file stays until an ioctl returns;
 *    races/commands closes it during each command.
 *  - "Fix the locking of ctx->file", "Fix locking for ctx->events_reported"
 *    (ucma): an id's file changes under both locks; attack/migration.
 *  - "Do not send IGMP leaves for sendonly Multicast groups" (cma):
 *    mcast/roce_reports.sh counts them.
 *  - "Fix use after free race in roce multicast join" (cma): memberships of
 *    the core have a work item that leaving waits for; races/many.
 *  - "ucma_context reference leak in error path", "Fix refcount 0 incr in
 *    ucma_get_ctx()" (ucma): each command gets its id by ucmx_id_lock() and has
 *    one way out; faults/id and its like fail each allocation, and no object is
 *    left.
 *  - "Change backlog into an atomic" (ucma): ucmx_listener.waiting;
 *    attack/queue_limits.
 *  - "Fix rdma_resolve_route() memory leak" (cma): a path of the user's takes
 *    the place of what an earlier resolution left; sa/option,
 *    SEC_path_after_error_leaves_nothing.
 *  - "Fix leaking the multicast GID table reference" (cma, core): a group has
 *    one address handle attribute, and whoever ends the group gives it back,
 *    whether its event was read or not; attack/memberships removes the device.
 *  - "Use correct address when leaving multicast group" (cma): a membership
 *    remembers where it joined; attack/memberships.
 *  - "Initialize ib_sa_multicast structure to 0 when join" (cma): struct
 *    cmx_group is assigned as a whole.
 *  - "Fix hang when cma_netevent_callback fails to queue_work" (cma): work that
 *    was queued already gives the second reference back; cmx_sa_lookup_kick(),
 *    kunit lookup_race.
 *  - "prevent rdma id destroy during cma_iw_handler" (cma): no id is destroyed
 *    in its handler but by the handler's result; system/siw.sh has iWARP.
 *  - "Add missing locking to rdma_accept()", "Fix locking for the
 *    RDMA_CM_CONNECT state" (cma): ACCEPT holds the handler lock; ioctl/cm,
 *    lockdep.
 *  - "Protect RMW with qp_mutex" (cma): options are set under ucmx_id.mutex;
 *    races/commands.
 *  - "Remove open coding of overflow checking for private_data_len" (cma):
 *    lengths are 32 bits wide until they are checked; ioctl/abi_sizes.
 *  - "Fix arguments order in net device validation", "Use output interface for
 *    net_dev check", "Do not ignore net namespace for unbound cm_id" (cma):
 *    a device counts in its namespace; security/namespaces.sh, races/netns.sh.
 *  - "fix null-ptr-deref Read in cma_cleanup" (cma): faults/load fails each
 *    step of the init, and the module is loaded again.
 *  - "Fix race with netevent_callback()/rdma_addr_cancel()" (addr): one work
 *    item for each neighbour ends its resolution; attack/neighbours.
 *  - "Be strict with gid size", "Check for the presence of LS_NLA_TYPE_DGID
 *    correctly" (addr): no netlink here. The lengths of a key that a helper
 *    writes are checked; kunit names.
 *  - "Fix rb-tree corruption on MGID reassignment in join_handler" (multicast):
 *    groups are in the tree of an id by the address that was requested, which
 *    does not change when the SA answers.
 *  - "Resolving use-after-free in ib_nl_send_msg" (sa_query): a lookup is in
 *    the port's lists only when it is complete; kunit lookup_race.
 *  - "Use strscpy_pad instead of memcpy to copy a string" (sa_query): names in
 *    records are padded with zeros; security/leaks.
 *  - "Fix sa_local_svc_timeout_ms read race", "Enforce min retry interval and
 *    deadline" (sa_query): a parameter is read once and clamped;
 *    cmx_sa_timeout().
 *  - "Allow path records to exactly fit the output buffer" (ucma): a record
 *    that has the size of the buffer is written; ioctl/events,
 *    no_space_keeps_the_event. Path records are in structs of a fixed size.
 *  - "Using the standard locking pattern when delivering the removal event",
 *    "Simplify DEVICE_REMOVAL for internal_id" (cma): the handler marks the id
 *    under its lock and starts a work item, which destroys under
 *    ucmx_id.mutex; attack/removal, races/device.
 *  - "Don't overwrite sgid_attr after device is released" (cma), "Don't access
 *    cm_id after its destruction" (core): whoever destroys takes ucmx_id.cm
 *    away first, and what the device gives is read only under the mutex while
 *    it is there; attack/removal.
 *  - "Consolidate the destruction of a cma_multicast in one place" (cma):
 *    cmx_group_leave() is the one place; attack/memberships.
 *  - "Fix workqueue crash in cma_netevent_work_handler" (cma): each work item
 *    is initialized once, when its object is made.
 *  - "Fix hardware address comparison length in netevent callback" (cma):
 *    nothing compares hardware addresses. The GID of a neighbour is read from
 *    a copy of the largest length; attack/neighbours.
 *  - "add missed unregister_pernet_subsys in init failure" (cma): as
 *    cma_cleanup, above.
 *  - "Update CMA destination address on rdma_resolve_addr" (core): rdma_cm
 *    alone has the addresses of an id, and ID_QUERY reads them there.
 *  - "Consider scope_id while binding to ipv6 ll address" (cma): rdma_cm alone
 *    compares addresses; ioctl/ids, bind_to_link_local.
 *  - "Let cma_resolve_ib_dev() continue search even after empty entry" (cma):
 *    a search of a GID table is rdma_find_gid() or looks at each entry.
 *  - "Resolv use-after-free in ib_nl_make_request" (sa_query): as
 *    ib_nl_send_msg, above: no request that can end is touched after it is
 *    sent without a reference.
 * Without a like here: default_roce_mode_store and make_cma_ports (configfs),
 * res_to_rt (restrack), static rates and GID lookups of iWARP, neighbours
 * without ARP, whose MAC address ib_core finds.
 */
#include "uapi.h"

#include <pthread.h>
#include <sys/mman.h>

#include "harness.h"

#define ROUNDS	200

FIXTURE(history) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(history)
{
	ASSERT_EQ(0, user_become(65534));
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
}

FIXTURE_TEARDOWN(history)
{
	close(self->fd);
}

static int option_set(int fd, uint32_t id, uint32_t level, uint32_t name,
		      const void *value, uint32_t len)
{
	struct rdma_cmx_id_set_option arg = {
		.id = id, .level = level, .optname = name,
		.optval = (uintptr_t)value, .optlen = len,
	};

	return call(fd, ID_SET_OPTION, &arg);
}

static int qp_attr(int fd, uint32_t id, uint32_t state)
{
	struct rdma_cmx_init_qp_attr arg = { .id = id, .qp_state = state };

	return call(fd, INIT_QP_ATTR, &arg);
}

/*
 * ucma: "Fix access to non-initialized CM_ID object", "Ensure that CM_ID
 * exists prior to access it", "Check that device is connected prior to access
 * it", "Check that device exists prior to accessing it", "Don't allow setting
 * RDMA_OPTION_IB_PATH without an RDMA device". An id is visible when it is
 * complete, and commands that need a device look for one.
 */
TEST_F(history, commands_before_their_time)
{
	struct rdma_cmx_conn_qp_attr conn = { .id = self->id };
	struct rdma_cmx_id_arg arg = { .id = self->id };
	struct rdma_cmx_id_query query = { .id = self->id };
	struct rdma_cmx_reject reject = { .id = self->id };
	struct ib_path_rec_data path = { .flags = IB_PATH_GMP |
		IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL };
	uint32_t mc;

	EXPECT_EQ(-EINVAL, qp_attr(self->fd, self->id, 1));
	EXPECT_EQ(-EINVAL, call(self->fd, CONN_QP_ATTR, &conn));
	EXPECT_GT(0, id_resolve_route(self->fd, self->id));
	EXPECT_GT(0, id_connect(self->fd, self->id));
	EXPECT_GT(0, id_accept(self->fd, self->id, 2));
	EXPECT_GT(0, call(self->fd, REJECT, &reject));
	EXPECT_GT(0, call(self->fd, DISCONNECT, &arg));
	arg.event = 3;
	EXPECT_GT(0, call(self->fd, NOTIFY, &arg));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, GROUP, 1, &mc));
	EXPECT_EQ(-EINVAL, option_set(self->fd, self->id, RDMA_OPTION_IB,
				      RDMA_OPTION_IB_PATH, &path,
				      sizeof(path)));
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(0, query.info.node_guid);
	EXPECT_FALSE(event_pending(self->fd));
}

/*
 * ucma: "Limit possible option size", "Correct option size check using optlen".
 * A length above the largest value is refused before memory is allocated.
 */
TEST_F(history, option_sizes)
{
	static const uint32_t sizes[] = { 0, 2, 9, 4096, 1 << 20, ~0u, ~0u - 71 };
	char value[4096] = {};
	int i, name;

	for (i = 0; i < 7; i++) {
		for (name = 0; name < 8; name++)
			EXPECT_GT(0, option_set(self->fd, self->id,
						RDMA_OPTION_ID, name, value,
						sizes[i]));
		EXPECT_GT(0, option_set(self->fd, self->id, RDMA_OPTION_IB,
					RDMA_OPTION_IB_PATH, value, sizes[i]));
		EXPECT_GT(0, option_set(self->fd, self->id, ~0u, ~0u, value,
					sizes[i]));
	}
}

/* ucma: "Check that user doesn't overflow QP state". */
TEST_F(history, qp_states)
{
	static const uint32_t states[] = { 7, 255, 256, 1u << 31, ~0u };
	int i;

	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(-EINVAL, qp_attr(self->fd, self->id, states[i]));
}

/*
 * ucma: "Don't allow join attempts for unsupported AF family", "Check AF
 * family prior resolving address", "Introduce safer rdma_addr_size()
 * variants"; cma: "Distinguish between sockaddr_in and sockaddr_in6 by size".
 * Each address is checked by its family, in a buffer of the largest one.
 */
TEST_F(history, families)
{
	struct rdma_cmx_resolve_addr resolve = { .id = self->id };
	struct rdma_cmx_id_bind bind = { .id = self->id };
	struct rdma_cmx_join join = { .id = self->id, .uid = 1 };
	static const uint16_t families[] = { 0, 1, 3, 16, 28, 38, 255, 0xffff };
	int i;

	for (i = 0; i < 8; i++) {
		memset(&bind.addr, 0xff, sizeof(bind.addr));
		bind.addr.family = families[i];
		resolve.dst = bind.addr;
		join.addr = bind.addr;
		EXPECT_EQ(-EINVAL, call(self->fd, ID_BIND, &bind));
		EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ADDR, &resolve));
		addr_set(&resolve.dst, ADDR_RDMA, 1);
		resolve.src = bind.addr;
		EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ADDR, &resolve));
		memset(&resolve.src, 0, sizeof(resolve.src));
	}
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	for (i = 0; i < 8; i++) {
		join.addr.family = families[i];
		EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &join));
	}
	EXPECT_FALSE(event_pending(self->fd));
}

/* cma: "Allow UD qp_type to join multicast only". */
TEST_F(history, join_needs_datagrams)
{
	uint32_t id, mc;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
	ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, id, GROUP, 1, &mc));
	EXPECT_FALSE(event_pending(self->fd));
}

/*
 * cma: "Ensure rdma_addr_cancel() happens before issuing more requests", "Fix
 * unbalanced cm_id reference count during address resolve", "Do not change
 * route.addr.src_addr outside state checks", "Do not change
 * route.addr.src_addr.ss_family"; ucma: "fix a use-after-free in
 * ucma_resolve_ip()". An address of the subnet that no host has is outstanding
 * while the id is used otherwise and destroyed. One command at a time uses an
 * id; destroying it ends the resolution.
 */
TEST_F(history, resolutions_one_after_another)
{
	union event_buf buf;
	uint32_t id;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, "10.55.0.77",
					     1));
		EXPECT_EQ(-EINVAL, id_resolve_addr(self->fd, id, NULL,
						   "fd55::77", 1));
		EXPECT_EQ(-EINVAL, id_bind(self->fd, id, ADDR_RDMA, 0));
		EXPECT_EQ(-EINVAL, id_resolve_route(self->fd, id));
		if (i % 2)
			ASSERT_LE(0, id_destroy(self->fd, id));
	}
	/* The close of the file destroys the rest; another file is used. */
	close(self->fd);
	self->fd = dev_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
	ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, 1));
	EXPECT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
}

/*
 * ucma: "Lock the handler in ucma_write_cm_event()". A user's event is queued
 * while rdma_cm reports one: each arrives once.
 */
TEST_F(history, event_beside_the_handlers)
{
	struct rdma_cmx_event *ev;
	union event_buf buf;
	int i, n, user, resolved;
	uint32_t id;

	close(self->fd);
	self->fd = dev_open(0);
	ASSERT_LE(0, self->fd);
	ev = &buf.ev;
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, 1));
		ASSERT_EQ(0, id_write_event(self->fd, id, 0, 1));
		user = 0;
		resolved = 0;
		for (n = 0; n < 2; n++) {
			ASSERT_EQ(0, event_next(self->fd, &buf));
			user += ev->event == RDMA_CMX_EV_USER;
			resolved += ev->event == EV_ADDR_RESOLVED;
		}
		EXPECT_EQ(1, user);
		EXPECT_EQ(1, resolved);
		EXPECT_FALSE(event_pending(self->fd));
		EXPECT_EQ(2, id_destroy(self->fd, id));
	}
}

/*
 * core: "Refactor rdma_bind_addr" (CVE-2023-2176); cma: "Fix listener leak in
 * rdma_cma_listen_on_all() failure", "Fix deadlock on &lock in
 * rdma_cma_listen_on_all() error unwind", "Split apart the multiple uses of the
 * same list heads", "Protect bind_list and listen_list while finding matching
 * cm id". Binding and listening twice, on any address and on
 * one, in each order.
 */
TEST_F(history, bind_and_listen_again)
{
	uint32_t id, other;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		const char *addr = i % 2 ? ADDR_RDMA : "0.0.0.0";

		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 3, &other));
		ASSERT_EQ(0, id_bind(self->fd, id, addr, 17471));
		EXPECT_EQ(-EINVAL, id_bind(self->fd, id, "::", 17471));
		ASSERT_EQ(0, id_listen(self->fd, id));
		/* As on stock, an id can listen again on any address. */
		id_listen(self->fd, id);
		EXPECT_EQ(-EINVAL, id_bind(self->fd, id, ADDR_RDMA, 17472));
		ret = id_bind(self->fd, other, addr, 17471);
		/*
		 * cma_check_port(): a wildcard that conflicts has another
		 * errno.
		 */
		EXPECT_EQ(i % 2 ? -EADDRINUSE : -EADDRNOTAVAIL, ret);
		EXPECT_EQ(-EINVAL, id_resolve_addr(self->fd, id, NULL,
						   ADDR_RDMA, 17471));
		ASSERT_LE(0, id_destroy(self->fd, i % 4 < 2 ? id : other));
		ASSERT_LE(0, id_destroy(self->fd, i % 4 < 2 ? other : id));
	}
}

struct rival {
	int fd, src;
	uint32_t handle;
	int (*run)(struct rival *r);
	int ret;
};

static int rival_leave(struct rival *r)
{
	return mc_leave(r->fd, r->handle);
}

static int rival_destroy(struct rival *r)
{
	return id_destroy(r->fd, r->handle);
}

static int rival_migrate(struct rival *r)
{
	struct rdma_cmx_id_migrate arg = { .id = r->handle, .src_fd = r->src };

	return call(r->fd, ID_MIGRATE, &arg);
}

static void *rival_main(void *arg)
{
	struct rival *r = arg;

	r->ret = r->run(r);
	return NULL;
}

static void rivals_run(struct rival *a, struct rival *b)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, rival_main, a))
		abort();
	rival_main(b);
	pthread_join(thread, NULL);
}

/*
 * ucma: "fix a possible use-after-free bug" (CVE-2018-14734), "Protect mc
 * during concurrent multicast leaves", "Add missing locking around
 * rdma_leave_multicast()". One of two concurrent leaves succeeds: it removes
 * the handle under the id's mutex.
 */
TEST_F(history, two_leave)
{
	struct rival a = { .fd = self->fd, .run = rival_leave }, b;
	uint32_t mc;
	int i;

	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 7, &mc));
		a.handle = mc;
		b = a;
		rivals_run(&a, &b);
		EXPECT_EQ(-ENOENT, a.ret < b.ret ? a.ret : b.ret);
		EXPECT_LE(0, a.ret < b.ret ? b.ret : a.ret);
	}
}

/*
 * ucma: "Fix use after free in destroy id flow", "Do not miss ctx destruction
 * steps in some cases". One of two concurrent destroys succeeds.
 */
TEST_F(history, two_destroy)
{
	struct rival a = { .fd = self->fd, .run = rival_destroy }, b;
	uint32_t mc;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &a.handle));
		ASSERT_EQ(0, id_bind(self->fd, a.handle, ADDR_RDMA, 0));
		ASSERT_EQ(0, mc_join(self->fd, a.handle, GROUP, 7, &mc));
		b = a;
		rivals_run(&a, &b);
		EXPECT_EQ(-ENOENT, a.ret < b.ret ? a.ret : b.ret);
		EXPECT_LE(0, a.ret < b.ret ? b.ret : a.ret);
	}
}

/*
 * ucma: "Rework ucma_migrate_id() to avoid races with destroy"
 * (CVE-2020-36385), "Fix missing validation of the source file". The id is
 * destroyed or migrated. After a migration the old file does not have it.
 */
TEST_F(history, migrate_against_destroy)
{
	struct rival a = { .run = rival_migrate, .src = self->fd };
	struct rival b = { .run = rival_destroy, .fd = self->fd };
	int i, pipes[2];

	a.fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, a.fd);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &a.handle));
		ASSERT_EQ(0, id_write_event(self->fd, a.handle, 0, 1));
		b.handle = a.handle;
		rivals_run(&a, &b);
		if (a.ret)
			EXPECT_EQ(-ENOENT, a.ret);
		if (b.ret < 0)
			EXPECT_EQ(-ENOENT, b.ret);
		EXPECT_NE(a.ret == 0, b.ret >= 0);
	}
	/* Files of other types */
	ASSERT_EQ(0, pipe(pipes));
	a.src = pipes[0];
	EXPECT_EQ(-EINVAL, rival_migrate(&a));
	a.src = -1;
	EXPECT_EQ(-EBADF, rival_migrate(&a));
	close(a.fd);
}

struct guesser {
	int fd;
	bool stop;
	int hits;
};

static void *guess(void *arg)
{
	struct guesser *g = arg;
	uint32_t handle;

	while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED)) {
		for (handle = 1; handle < 64; handle++)
			g->hits += mc_leave(g->fd, handle) >= 0;
	}
	return NULL;
}

/*
 * ucma: "Serialize join and leave on copy_to_user failure". A membership whose
 * handle could not be written is invisible: a guess of its handle fails.
 */
TEST_F(history, join_that_cannot_be_written)
{
	struct guesser g = { .fd = self->fd };
	struct rdma_cmx_join *join;
	pthread_t thread;
	char *page;
	int i;

	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	join = (void *)page;
	join->size = sizeof(*join);
	join->id = self->id;
	join->uid = 1;
	addr_set(&join->addr, GROUP, 0);
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	ASSERT_EQ(0, pthread_create(&thread, NULL, guess, &g));
	for (i = 0; i < ROUNDS; i++) {
		errno = 0;
		EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(JOIN), join));
		EXPECT_EQ(EFAULT, errno);
	}
	__atomic_store_n(&g.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, g.hits);
	EXPECT_FALSE(event_pending(self->fd));
	munmap(page, 4096);
}

/*
 * ucma: "Fix use-after-free bug in ucma_create_uevent", "Fix error cases around
 * ucma_alloc_ctx()"; cma: "Add missing error handling of listen_id", "Execute
 * rdma_cm destruction from a handler properly". Unread requests end with the
 * listener or with its file.
 */
TEST_F(history, unread_requests)
{
	uint32_t listener, active[8];
	union event_buf buf;
	int i, round, fd;
	uint16_t port;

	for (round = 0; round < 4; round++) {
		fd = dev_open(O_NONBLOCK);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, listener_new(fd, 1, &listener, &port));
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, connect_start(self->fd, 2 + i, port,
						   &active[i]));
		if (round % 2)
			ASSERT_LE(0, id_destroy(fd, listener));
		close(fd);
		for (i = 0; i < 8; i++)
			ASSERT_LE(0, id_destroy(self->fd, active[i]));
	}
	while (event_pending(self->fd))
		ASSERT_EQ(0, event_next(self->fd, &buf));
}

TEST_HARNESS_MAIN
