// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ABI: the layout that old binaries rely on, the limits that GET_INFO
 * reports, what other roots and namespaces may do, addresses, options, memory
 * that is read-only. Sizes and unknown bits are in abi_sizes.c.
 */
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
/* All fields have the same offsets on 32 and 64 bits, without padding. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#include <rdma/rdma_cmx_ioctl.h>
#pragma GCC diagnostic pop

#include "ioctl.h"

#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

#include "harness.h"

#define LAYOUT(type, bytes)						\
	_Static_assert(sizeof(type) == (bytes) && sizeof(type) % 8 == 0, #type)
LAYOUT(struct rdma_cmx_addr, 48);
LAYOUT(struct rdma_cmx_id_info, 216);
LAYOUT(struct rdma_cmx_get_info, 88);
LAYOUT(struct rdma_cmx_event, 96);
LAYOUT(struct rdma_cmx_get_events, 32);
LAYOUT(struct rdma_cmx_id_create, 32);
LAYOUT(struct rdma_cmx_destroy, 32);
LAYOUT(struct rdma_cmx_id_bind, 280);
LAYOUT(struct rdma_cmx_id_query, 376);
LAYOUT(struct rdma_cmx_id_set_option, 32);
LAYOUT(struct rdma_cmx_id_migrate, 32);
LAYOUT(struct rdma_cmx_resolve_addr, 112);
LAYOUT(struct rdma_cmx_resolve_route, 16);
LAYOUT(struct rdma_cmx_init_qp_attr, 168);
LAYOUT(struct rdma_cmx_conn_param, 280);
LAYOUT(struct rdma_cmx_conn_qp_attr, 24 + sizeof(struct ib_uverbs_qp_attr));
LAYOUT(struct rdma_cmx_connect, 304);
LAYOUT(struct rdma_cmx_listen, 16);
LAYOUT(struct rdma_cmx_reject, 272);
LAYOUT(struct rdma_cmx_id_arg, 16);
LAYOUT(struct rdma_cmx_write_event, 24);
LAYOUT(struct rdma_cmx_ai_query, 192);
LAYOUT(struct rdma_cmx_ai_entry, 144);
LAYOUT(struct rdma_cmx_resolve_addrinfo, 200);
LAYOUT(struct rdma_cmx_give_names, 40);
LAYOUT(struct rdma_cmx_query_addrinfo, 24);
LAYOUT(struct rdma_cmx_getaddrinfo, 216);
LAYOUT(struct rdma_cmx_mc_param, 24);
LAYOUT(struct rdma_cmx_join, 104);
LAYOUT(struct rdma_cmx_join_item, 96);
LAYOUT(struct rdma_cmx_join_many, 32);
LAYOUT(struct rdma_cmx_advertise, 240);
LAYOUT(struct rdma_cmx_service_port, 40);
LAYOUT(struct rdma_cmx_query_advertised, 40);
LAYOUT(struct rdma_cmx_service_record, 168);
LAYOUT(struct rdma_cmx_get_services, 176);
LAYOUT(struct rdma_cmx_any_qp, 16);
LAYOUT(struct rdma_cmx_resolve_any, 328);
LAYOUT(struct rdma_cmx_candidate_info, 128);
LAYOUT(struct rdma_cmx_query_candidates, 40);
LAYOUT(struct rdma_cmx_cached_path, 96);
LAYOUT(struct rdma_cmx_get_paths, 96);
LAYOUT(struct rdma_cmx_drop_paths, 96);
_Static_assert(offsetof(struct rdma_cmx_get_info, max_user_groups) == 48, "");
_Static_assert(offsetof(struct rdma_cmx_get_info, max_services) == 56, "");
_Static_assert(offsetof(struct rdma_cmx_event, param) == 48, "param");
_Static_assert(offsetof(struct rdma_cmx_ai_entry, src) == 40, "src");
_Static_assert(offsetof(struct rdma_cmx_ai_entry, gid_index) == 136, "gid");
_Static_assert(offsetof(struct rdma_cmx_ai_query, dev) == 176, "dev");
_Static_assert(offsetof(struct rdma_cmx_advertise, name) == 48, "name");
_Static_assert(offsetof(struct rdma_cmx_service_port, gid) == 24, "gid");
_Static_assert(offsetof(struct rdma_cmx_cached_path, path) == 24, "path");

/* A field that may grow is the last one of each struct. */
#define LAST(type, field)						\
	_Static_assert(offsetof(type, field) +				\
		       sizeof(((type *)0)->field) == sizeof(type), #type)
LAST(struct rdma_cmx_event, param);
LAST(struct rdma_cmx_id_bind, info);
LAST(struct rdma_cmx_id_query, info);
LAST(struct rdma_cmx_connect, param);
LAST(struct rdma_cmx_resolve_any, param);
LAST(struct rdma_cmx_resolve_addrinfo, query);
LAST(struct rdma_cmx_getaddrinfo, query);
LAST(struct rdma_cmx_join, param);
LAST(struct rdma_cmx_join_item, param);

/* Limits that GET_INFO does not return */
#define CONSTANT(name, value)						\
	_Static_assert(RDMA_CMX_MAX_##name == (value), #name)
CONSTANT(PRIVATE_DATA, 256);
CONSTANT(NODE, 1024);
CONSTANT(SERVICE, 63);
CONSTANT(ROUTES, 8);
CONSTANT(ANY_QPS, 8);
CONSTANT(SA_SERVICES, 4096);
CONSTANT(SA_RECORDS, 16384);

FIXTURE(abi) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(abi)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd) TH_LOG("%s: %s", RDMA_CMX_DEVICE,
				      strerror(errno));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
}

FIXTURE_TEARDOWN(abi)
{
	close(self->fd);
}

static int raw(int fd, unsigned int cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

TEST_F(abi, longer_but_zero)
{
	struct {
		struct rdma_cmx_get_info info;
		uint8_t more[64];
	} arg = { .info.size = sizeof(arg) };
	int i;

	ASSERT_EQ(0, raw(self->fd, RDMA_CMX_IO(GET_INFO), &arg));
	EXPECT_EQ(sizeof(arg), arg.info.size);
	EXPECT_EQ(RDMA_CMX_ABI_VERSION, arg.info.abi_version);
	EXPECT_NE(0, arg.info.max_ids);
	EXPECT_NE(0, arg.info.max_requests);
	EXPECT_TRUE(arg.info.features & RDMA_CMX_FEATURE_NAMES);
	for (i = 0; i < sizeof(arg.more); i++)
		EXPECT_EQ(0, arg.more[i]);
}

TEST_F(abi, limits)
{
	static const struct {
		const char *name;
		size_t at;
	} limits[] = {
#define LIMIT_OF(path, name) { path, offsetof(struct rdma_cmx_get_info, name) }
#define LIMIT(name) LIMIT_OF(UCMX_PARAMETERS #name, name)
		LIMIT(max_ids), LIMIT(max_requests), LIMIT(max_user_requests),
		LIMIT(max_events), LIMIT(max_backlog),
#define CORE(path, name) LIMIT_OF("/sys/module/rdma_cmx/parameters/" path, name)
		CORE("groups_per_user", max_user_groups),
		CORE("services_per_user", max_user_services),
		CORE("services_max", max_services),
		CORE("connect_queue", max_user_connects),
		CORE("connect_wait_ms", max_connect_wait_ms),
		CORE("names_waiting_per_user", max_user_names),
		CORE("sa_waiting_per_user", max_user_sa_queries),
		CORE("sa_kb_per_user", max_user_sa_kb),
		CORE("sa_max_records", max_sa_records),
		CORE("query_timeout_max_ms", max_timeout_ms),
	};
	static const uint32_t older[] = {
		offsetof(struct rdma_cmx_get_info, max_user_groups),
		offsetof(struct rdma_cmx_get_info, max_services),
	};
	struct rdma_cmx_get_info info;
	unsigned int i, k;
	uint32_t value;
	long now;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		now = number_get(limits[i].name);
		ASSERT_LT(0, now);
		for (k = 0; k < 2; k++) {
			/* The initial and the changed value */
			ASSERT_EQ(0, number_set(limits[i].name, now + k));
			memset(&info, 0xa5, sizeof(info));
			ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
			memcpy(&value, (char *)&info + limits[i].at, 4);
			EXPECT_EQ(now + k, value)
				TH_LOG("%s", limits[i].name);
		}
		ASSERT_EQ(0, number_set(limits[i].name, now));
	}
	EXPECT_EQ(RDMA_CMX_MAX_JOINS, info.max_joins);
	EXPECT_EQ(RDMA_CMX_MAX_EVENT, info.max_event);
	/* The structs of older callers */
	for (i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
		memset(&info, 0, sizeof(info));
		info.size = older[i];
		ASSERT_EQ(0, ioctl(self->fd, RDMA_CMX_IO(GET_INFO), &info));
		EXPECT_NE(0, *(uint32_t *)((char *)&info + older[i] - 4));
		EXPECT_EQ(0, *(uint32_t *)((char *)&info + older[i]));
	}
}

/*
 * In another root directory the kernel resolves no names, not even known ones:
 * the caller's libc has to.
 */
TEST_F(abi, other_root)
{
	struct rdma_cmx_getaddrinfo gai = {};
	struct rdma_cmx_get_info info = {};
	uint64_t buf[64];

	gai.buf = (uintptr_t)buf;
	gai.buf_len = sizeof(buf);
	gai.query.node = (uintptr_t)"v4only.cmx.test";
	gai.query.node_len = 15;
	gai.query.timeout_ms = 60000;
	/* The usual 4 s may be too short. The runner restores the file. */
	ASSERT_EQ(0, system("sed -i 's/--timeout [0-9]*/--timeout 20/' "
			    "/etc/request-key.d/rdma-cmx.conf"));
	ASSERT_EQ(0, call(self->fd, GETADDRINFO, &gai));
	ASSERT_EQ(0, unshare(CLONE_FS));
	ASSERT_EQ(0, chroot("/tmp"));
	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	EXPECT_FALSE(info.features & RDMA_CMX_FEATURE_NAMES);
	EXPECT_EQ(-ENOKEY, call(self->fd, GETADDRINFO, &gai));
	gai.query.node = (uintptr_t)"10.55.0.2";
	gai.query.node_len = 9;
	EXPECT_EQ(0, call(self->fd, GETADDRINFO, &gai));
}

TEST_F(abi, other_mounts)
{
	struct rdma_cmx_resolve_addrinfo rai = {};
	struct rdma_cmx_get_info info = {};
	uint32_t id;

	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	EXPECT_FALSE(info.features & RDMA_CMX_FEATURE_NAMES);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	rai.id = id;
	rai.query.node = (uintptr_t)"v4only.cmx.test";
	rai.query.node_len = 15;
	EXPECT_EQ(-ENOKEY, call(self->fd, RESOLVE_ADDRINFO, &rai));
	rai.query.flags = RDMA_CMX_AIQ_NAMES_LATER;
	EXPECT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &rai));
}

TEST_F(abi, other_namespace)
{
	struct rdma_cmx_getaddrinfo gai = {};
	struct rdma_cmx_get_info info = {};
	uint64_t buf[64];
	uint32_t id;
	int fd;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	fd = dev_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, call(fd, GET_INFO, &info));
	EXPECT_FALSE(info.features & RDMA_CMX_FEATURE_NAMES);
	gai.buf = (uintptr_t)buf;
	gai.buf_len = sizeof(buf);
	gai.query.node = (uintptr_t)"storage.cmx.test";
	gai.query.node_len = 16;
	EXPECT_EQ(-ENOKEY, call(fd, GETADDRINFO, &gai));
	/* An id here cannot bind to an address of the initial namespace. */
	ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
	EXPECT_EQ(-EADDRNOTAVAIL, id_bind(fd, id, ADDR_RDMA, 0));
	close(fd);
}

/* A command whose output cannot be written has no effect. */
TEST_F(abi, read_only_struct)
{
	struct rdma_cmx_id_create *create;
	struct rdma_cmx_id_query query = {};
	struct rdma_cmx_destroy *destroy;
	struct rdma_cmx_id_bind *bind;
	long live = counter("live_ids");
	uint32_t id, mc;
	void *page;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	create = page;
	create->size = sizeof(*create);
	create->port_space = RDMA_PS_TCP;
	create->qp_type = QPT_RC;
	create->uid = 7;
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, raw(self->fd, RDMA_CMX_IO(ID_CREATE), page));
	EXPECT_EQ(live, counter("live_ids"));

	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ | PROT_WRITE));
	bind = page;
	memset(bind, 0, sizeof(*bind));
	bind->size = sizeof(*bind);
	bind->id = self->id;
	addr_set(&bind->addr, ADDR_RDMA, 0);
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, raw(self->fd, RDMA_CMX_IO(ID_BIND), page));
	query.id = self->id;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(0, query.info.port_num);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &id));
	ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, id, GROUP, 2, &mc));

	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ | PROT_WRITE));
	destroy = page;
	memset(destroy, 0, sizeof(*destroy));
	destroy->size = sizeof(*destroy);
	destroy->handle = mc;
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, raw(self->fd, RDMA_CMX_IO(LEAVE), page));
	EXPECT_LE(0, mc_leave(self->fd, mc));

	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ | PROT_WRITE));
	destroy->handle = id;
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, raw(self->fd, RDMA_CMX_IO(ID_DESTROY), page));
	EXPECT_LE(0, id_destroy(self->fd, id));
	munmap(page, 4096);
}

TEST_F(abi, misaligned_struct)
{
	uint8_t space[64] = {};
	struct rdma_cmx_id_create arg = {
		.size = sizeof(arg), .port_space = RDMA_PS_TCP,
		.qp_type = QPT_RC, .uid = 5,
	};

	memcpy(space + 3, &arg, sizeof(arg));
	ASSERT_EQ(0, raw(self->fd, RDMA_CMX_IO(ID_CREATE), space + 3));
	memcpy(&arg, space + 3, sizeof(arg));
	EXPECT_NE(0, arg.id);
	EXPECT_EQ(0, id_destroy(self->fd, arg.id));
}

TEST_F(abi, addresses)
{
	struct rdma_cmx_id_bind bind = { .id = self->id };

	EXPECT_EQ(-EINVAL, call(self->fd, ID_BIND, &bind));
	bind.addr.family = AF_UNIX;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_BIND, &bind));
	addr_set(&bind.addr, ADDR_RDMA, 0);
	bind.addr.data[45] = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_BIND, &bind));
	bind.addr.data[45] = 0;
	bind.addr.data[14] = 1;		/* first byte after sockaddr_in */
	EXPECT_EQ(-EINVAL, call(self->fd, ID_BIND, &bind));
	EXPECT_EQ(-EADDRNOTAVAIL, id_bind(self->fd, self->id, "203.0.113.7",
					  0));
	EXPECT_EQ(-EINVAL, id_resolve_addr(self->fd, self->id, NULL, NULL, 0));
}

TEST_F(abi, options)
{
	struct rdma_cmx_id_set_option opt = { .id = self->id };
	struct ib_path_rec_data path[2] = {};
	uint8_t tos = 8;
	int one = 1;

	opt.optval = (uintptr_t)&tos;
	opt.optlen = 1;
	EXPECT_EQ(0, call(self->fd, ID_SET_OPTION, &opt));
	opt.optlen = 2;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
	opt.optlen = 1;
	opt.optval = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, ID_SET_OPTION, &opt));
	opt.optname = RDMA_OPTION_ID_REUSEADDR;
	opt.optval = (uintptr_t)&one;
	opt.optlen = sizeof(one);
	EXPECT_EQ(0, call(self->fd, ID_SET_OPTION, &opt));
	opt.optname = RDMA_OPTION_ID_AFONLY;
	EXPECT_EQ(0, call(self->fd, ID_SET_OPTION, &opt));
	opt.optlen = UINT32_MAX;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
	opt.level = RDMA_OPTION_IB;
	opt.optname = RDMA_OPTION_IB_PATH;
	opt.optlen = 71;
	opt.optval = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, ID_SET_OPTION, &opt));
	opt.optval = (uintptr_t)path;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
	/* No record with the required flags; then an unbound id */
	opt.optlen = sizeof(path);
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
	path[1].flags = 0x2b;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
}

/* Unset fields contain no bytes of the kernel's stack. */
TEST_F(abi, no_kernel_memory)
{
	struct rdma_cmx_id_query query;
	const uint8_t *p = (void *)&query.paths;
	int i;

	memset(&query, 0xff, sizeof(query));
	query.id = self->id;
	query.flags = 0;
	query.reserved = 0;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	for (i = 0; i < sizeof(query.paths); i++)
		EXPECT_EQ(0, p[i]);
	EXPECT_EQ(0, query.info.node_guid);
	EXPECT_EQ(0, query.info.port_num);
	EXPECT_EQ(0, query.info.src.family);
	EXPECT_EQ(0, query.info.dst.family);
	for (i = 0; i < sizeof(query.info.reserved); i++)
		EXPECT_EQ(0, query.info.reserved[i]);
}

TEST_HARNESS_MAIN
