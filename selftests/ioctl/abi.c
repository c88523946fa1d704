// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The discipline of the ABI: sizes, unknown numbers, reserved fields, flags,
 * bad pointers, and the layout that old binaries rely on.
 */
#include "ioctl.h"

#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

#include "harness.h"

#define LAYOUT(type, bytes)						\
	_Static_assert(sizeof(type) == (bytes) && sizeof(type) % 8 == 0, #type)
LAYOUT(struct rdma_cmx_addr, 48);
LAYOUT(struct rdma_cmx_id_info, 216);
LAYOUT(struct rdma_cmx_get_info, 56);
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
LAYOUT(struct rdma_cmx_init_qp_attr, 160);
LAYOUT(struct rdma_cmx_conn_param, 280);
LAYOUT(struct rdma_cmx_conn_qp_attr, 24 + sizeof(struct ib_uverbs_qp_attr));
LAYOUT(struct rdma_cmx_connect, 304);
LAYOUT(struct rdma_cmx_listen, 16);
LAYOUT(struct rdma_cmx_reject, 272);
LAYOUT(struct rdma_cmx_id_arg, 16);
LAYOUT(struct rdma_cmx_write_event, 24);
LAYOUT(struct rdma_cmx_ai_query, 176);
LAYOUT(struct rdma_cmx_ai_entry, 136);
LAYOUT(struct rdma_cmx_resolve_addrinfo, 184);
LAYOUT(struct rdma_cmx_give_names, 40);
LAYOUT(struct rdma_cmx_query_addrinfo, 24);
LAYOUT(struct rdma_cmx_getaddrinfo, 200);
LAYOUT(struct rdma_cmx_mc_param, 24);
LAYOUT(struct rdma_cmx_join, 104);
LAYOUT(struct rdma_cmx_join_item, 96);
LAYOUT(struct rdma_cmx_join_many, 32);
_Static_assert(offsetof(struct rdma_cmx_event, param) == 48, "param");
_Static_assert(offsetof(struct rdma_cmx_ai_entry, src) == 40, "src");

/* What may grow is the last of each struct that has it. */
#define LAST(type, field)						\
	_Static_assert(offsetof(type, field) +				\
		       sizeof(((type *)0)->field) == sizeof(type), #type)
LAST(struct rdma_cmx_event, param);
LAST(struct rdma_cmx_id_bind, info);
LAST(struct rdma_cmx_id_query, info);
LAST(struct rdma_cmx_connect, param);
LAST(struct rdma_cmx_resolve_addrinfo, query);
LAST(struct rdma_cmx_getaddrinfo, query);
LAST(struct rdma_cmx_join, param);
LAST(struct rdma_cmx_join_item, param);

static const struct {
	unsigned int cmd;
	uint32_t size;
	uint32_t min_size;	/* a struct may end here */
	uint32_t in_size;	/* the rest only goes out */
	const char *name;
} commands[] = {
#define CMD_SIZES(n, type, min, in) \
	{ RDMA_CMX_IO(n), sizeof(struct type), min, in, #n }
#define CMD_MIN(n, type, min) CMD_SIZES(n, type, min, sizeof(struct type))
#define CMD_IN(n, type, in) CMD_SIZES(n, type, sizeof(struct type), in)
#define CMD(n, type) CMD_MIN(n, type, sizeof(struct type))
	CMD_MIN(GET_INFO, rdma_cmx_get_info, 24),
	CMD(GET_EVENTS, rdma_cmx_get_events),
	CMD(ID_CREATE, rdma_cmx_id_create),
	CMD_MIN(ID_DESTROY, rdma_cmx_destroy, 24),
	CMD(ID_BIND, rdma_cmx_id_bind),
	CMD(ID_QUERY, rdma_cmx_id_query),
	CMD(ID_SET_OPTION, rdma_cmx_id_set_option),
	CMD(ID_MIGRATE, rdma_cmx_id_migrate),
	CMD(RESOLVE_ADDR, rdma_cmx_resolve_addr),
	CMD(RESOLVE_ROUTE, rdma_cmx_resolve_route),
	CMD_IN(INIT_QP_ATTR, rdma_cmx_init_qp_attr, 16),
	CMD_MIN(CONNECT, rdma_cmx_connect, 48),
	CMD(LISTEN, rdma_cmx_listen),
	CMD_MIN(ACCEPT, rdma_cmx_connect, 48),
	CMD(REJECT, rdma_cmx_reject),
	CMD(DISCONNECT, rdma_cmx_id_arg),
	CMD(NOTIFY, rdma_cmx_id_arg),
	CMD(WRITE_EVENT, rdma_cmx_write_event),
	CMD(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo),
	CMD_MIN(GIVE_NAMES, rdma_cmx_give_names, 24),
	CMD(QUERY_ADDRINFO, rdma_cmx_query_addrinfo),
	CMD(GETADDRINFO, rdma_cmx_getaddrinfo),
	CMD_MIN(JOIN, rdma_cmx_join, 72),
	CMD_MIN(LEAVE, rdma_cmx_destroy, 24),
	CMD_IN(CONN_QP_ATTR, rdma_cmx_conn_qp_attr, 24),
	CMD(JOIN_MANY, rdma_cmx_join_many),
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

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

TEST_F(abi, numbers)
{
	unsigned int i;
	uint64_t buf[512] = {};

	EXPECT_EQ(26, COMMANDS);
	for (i = 0; i < COMMANDS; i++)
		EXPECT_EQ(i, _IOC_NR(commands[i].cmd));

	*(uint32_t *)buf = sizeof(buf);
	for (i = COMMANDS; i < 256; i++)
		EXPECT_EQ(-ENOTTY,
			  raw(self->fd, _IO(RDMA_CMX_IOC_TYPE, i), buf));
	/* Another type, or a size or direction in the number. */
	EXPECT_EQ(-ENOTTY, raw(self->fd, _IO(RDMA_CMX_IOC_TYPE + 1, 0), buf));
	EXPECT_EQ(-ENOTTY, raw(self->fd, _IOWR(RDMA_CMX_IOC_TYPE, 0,
					       struct rdma_cmx_get_info), buf));
	EXPECT_EQ(-1, write(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(abi, size_too_small)
{
	uint64_t buf[512];
	unsigned int i;

	for (i = 0; i < COMMANDS; i++) {
		memset(buf, 0, sizeof(buf));
		*(uint32_t *)buf = commands[i].min_size - 1;
		EXPECT_EQ(-EINVAL, raw(self->fd, commands[i].cmd, buf))
			TH_LOG("%s", commands[i].name);
		*(uint32_t *)buf = 0;
		EXPECT_EQ(-EINVAL, raw(self->fd, commands[i].cmd, buf))
			TH_LOG("%s", commands[i].name);
	}
}

TEST_F(abi, size_too_long)
{
	uint8_t buf[8192];
	unsigned int i;

	for (i = 0; i < COMMANDS; i++) {
		/* The unknown part is not zero: in its last byte. */
		memset(buf, 0, sizeof(buf));
		*(uint32_t *)buf = commands[i].size + 24;
		buf[commands[i].size + 23] = 1;
		EXPECT_EQ(-E2BIG, raw(self->fd, commands[i].cmd, buf))
			TH_LOG("%s", commands[i].name);
		/* More than any struct will ever have. */
		memset(buf, 0, sizeof(buf));
		*(uint32_t *)buf = 4097;
		EXPECT_EQ(-E2BIG, raw(self->fd, commands[i].cmd, buf))
			TH_LOG("%s", commands[i].name);
		*(uint32_t *)buf = UINT32_MAX;
		EXPECT_EQ(-E2BIG, raw(self->fd, commands[i].cmd, buf))
			TH_LOG("%s", commands[i].name);
	}
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

/* MODULE/parameters/NAME */
static long parameter(const char *name)
{
	char path[128];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%ld", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

static int parameter_set(const char *name, long value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fprintf(f, "%ld", value);
	return fclose(f);
}

TEST_F(abi, limits)
{
	static const struct {
		const char *name;
		size_t at;
	} limits[] = {
#define LIMIT_OF(path, name) { path, offsetof(struct rdma_cmx_get_info, name) }
#define LIMIT(name) LIMIT_OF("rdma_ucmx/parameters/" #name, name)
		LIMIT(max_ids), LIMIT(max_requests), LIMIT(max_user_requests),
		LIMIT(max_events), LIMIT(max_backlog),
		LIMIT_OF("rdma_cmx/parameters/groups_per_user",
			 max_user_groups),
	};
	struct rdma_cmx_get_info info;
	unsigned int i, k;
	uint32_t value;
	long now;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		now = parameter(limits[i].name);
		ASSERT_LT(0, now);
		for (k = 0; k < 2; k++) {
			/* As it is, and as it was changed */
			ASSERT_EQ(0, parameter_set(limits[i].name, now + k));
			memset(&info, 0xa5, sizeof(info));
			ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
			memcpy(&value, (char *)&info + limits[i].at, 4);
			EXPECT_EQ(now + k, value)
				TH_LOG("%s", limits[i].name);
		}
		ASSERT_EQ(0, parameter_set(limits[i].name, now));
	}
	EXPECT_EQ(RDMA_CMX_MAX_JOINS, info.max_joins);
	EXPECT_EQ(RDMA_CMX_MAX_EVENT, info.max_event);
	EXPECT_EQ(0, info.reserved);
	/* The form before max_user_groups */
	memset(&info, 0, sizeof(info));
	info.size = 48;
	ASSERT_EQ(0, ioctl(self->fd, RDMA_CMX_IO(GET_INFO), &info));
	EXPECT_NE(0, info.max_private_data);
	EXPECT_EQ(0, info.max_user_groups);
}

/* A size above the limit is refused, and no smaller one. */
TEST_F(abi, limit_of_private_data)
{
	struct rdma_cmx_connect conn = { .id = 12345 };
	struct rdma_cmx_reject rej = { .id = 12345 };
	struct rdma_cmx_get_info info = {};

	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	conn.param.private_data_len = info.max_private_data;
	rej.private_data_len = info.max_private_data;
	EXPECT_EQ(-ENOENT, call(self->fd, CONNECT, &conn));
	EXPECT_EQ(-ENOENT, call(self->fd, ACCEPT, &conn));
	EXPECT_EQ(-ENOENT, call(self->fd, REJECT, &rej));
	conn.param.private_data_len++;
	rej.private_data_len++;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
	EXPECT_EQ(-EINVAL, call(self->fd, ACCEPT, &conn));
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &rej));
}

/*
 * Where the host's names are not the caller's the kernel looks up none, also
 * none that it knows: the caller's libc has to.
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
	/* Nothing of the initial namespace can be bound to from here. */
	ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
	EXPECT_EQ(-EADDRNOTAVAIL, id_bind(fd, id, ADDR_RDMA, 0));
	close(fd);
}

TEST_F(abi, bad_pointers)
{
	uint8_t *page, *edge;
	unsigned int i;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + 4096, 4096));
	for (i = 0; i < COMMANDS; i++) {
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].cmd, NULL));
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].cmd,
				       (void *)0xffff800000000000));
		/* The last byte that is read is not there. */
		edge = page + 4096 - commands[i].in_size + 1;
		memcpy(edge, &commands[i].size, 4);
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].cmd, edge))
			TH_LOG("%s", commands[i].name);
	}
	munmap(page, 4096);
}

/* What cannot be answered is not done either. */
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

#define EXPECT_RESERVED(cmd, type, field) do {				\
	struct type arg_ = {};						\
	memset(&arg_.field, 0xff, sizeof(arg_.field));			\
	EXPECT_EQ(-EINVAL, call(self->fd, cmd, &arg_))			\
		TH_LOG(#cmd "." #field);				\
} while (0)

TEST_F(abi, reserved_fields)
{
	EXPECT_RESERVED(ID_BIND, rdma_cmx_id_bind, reserved);
	EXPECT_RESERVED(ID_QUERY, rdma_cmx_id_query, reserved);
	EXPECT_RESERVED(ID_DESTROY, rdma_cmx_destroy, reserved);
	EXPECT_RESERVED(LEAVE, rdma_cmx_destroy, reserved);
	EXPECT_RESERVED(ID_SET_OPTION, rdma_cmx_id_set_option, reserved);
	EXPECT_RESERVED(ID_MIGRATE, rdma_cmx_id_migrate, reserved);
	EXPECT_RESERVED(RESOLVE_ADDR, rdma_cmx_resolve_addr, reserved);
	EXPECT_RESERVED(RESOLVE_ROUTE, rdma_cmx_resolve_route, reserved);
	EXPECT_RESERVED(INIT_QP_ATTR, rdma_cmx_init_qp_attr, reserved);
	EXPECT_RESERVED(CONN_QP_ATTR, rdma_cmx_conn_qp_attr, reserved);
	EXPECT_RESERVED(CONNECT, rdma_cmx_connect, reserved);
	EXPECT_RESERVED(CONNECT, rdma_cmx_connect, uid);
	EXPECT_RESERVED(ACCEPT, rdma_cmx_connect, reserved);
	EXPECT_RESERVED(LISTEN, rdma_cmx_listen, reserved);
	EXPECT_RESERVED(REJECT, rdma_cmx_reject, reserved);
	EXPECT_RESERVED(REJECT, rdma_cmx_reject, reserved2);
	EXPECT_RESERVED(REJECT, rdma_cmx_reject, reason);
	EXPECT_RESERVED(DISCONNECT, rdma_cmx_id_arg, reserved);
	EXPECT_RESERVED(DISCONNECT, rdma_cmx_id_arg, event);
	EXPECT_RESERVED(NOTIFY, rdma_cmx_id_arg, reserved);
	EXPECT_RESERVED(WRITE_EVENT, rdma_cmx_write_event, event);
	EXPECT_RESERVED(JOIN, rdma_cmx_join, reserved);
	EXPECT_RESERVED(JOIN_MANY, rdma_cmx_join_many, reserved);
	EXPECT_RESERVED(GETADDRINFO, rdma_cmx_getaddrinfo, reserved);
	EXPECT_RESERVED(GETADDRINFO, rdma_cmx_getaddrinfo, query.reserved);
	EXPECT_RESERVED(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo,
			query.reserved);
}

TEST_F(abi, unknown_flags)
{
	struct rdma_cmx_connect conn = { .id = self->id, .flags = 1 };
	struct rdma_cmx_getaddrinfo gai = { .query.flags = 1u << 31 };
	struct rdma_cmx_resolve_addrinfo rai = {
		.id = self->id, .query.flags = 1u << 31,
	};
	struct rdma_cmx_id_set_option opt = { .id = self->id, .level = 77 };
	struct rdma_cmx_id_bind bind = { .id = self->id, .flags = 1 };
	struct rdma_cmx_id_query query = { .id = self->id, .flags = 1 };

	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_BIND, &bind));
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, CONNECT, &conn));
	conn.flags = 1u << 31;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ACCEPT, &conn));
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, GETADDRINFO, &gai));
	/* Names that come later need a waiter. */
	gai.query.flags = RDMA_CMX_AIQ_NAMES_LATER;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, GETADDRINFO, &gai));
	gai.query.flags = 0;
	gai.query.ai_flags = 1u << 31;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, GETADDRINFO, &gai));
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, RESOLVE_ADDRINFO, &rai));
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_SET_OPTION, &opt));
	opt.level = RDMA_OPTION_ID;
	opt.optname = 77;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_SET_OPTION, &opt));
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
	bind.addr.data[14] = 1;		/* first byte behind sockaddr_in */
	EXPECT_EQ(-EINVAL, call(self->fd, ID_BIND, &bind));
	EXPECT_EQ(-EADDRNOTAVAIL, id_bind(self->fd, self->id, "203.0.113.7",
					  0));
	EXPECT_EQ(-EINVAL, id_resolve_addr(self->fd, self->id, NULL, NULL, 0));
}

TEST_F(abi, connection_parameters)
{
	struct rdma_cmx_connect conn = { .id = self->id };
	struct rdma_cmx_reject rej = { .id = self->id };

	conn.param.private_data_len = 257;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
	EXPECT_EQ(-EINVAL, call(self->fd, ACCEPT, &conn));
	conn.param.private_data_len = UINT16_MAX;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
	conn.param.private_data_len = 3;
	conn.param.private_data[3] = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
	rej.private_data_len = UINT16_MAX;
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &rej));
	rej.private_data_len = 0;
	rej.private_data[255] = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &rej));
	/* Not bound to any device. */
	memset(&conn, 0, sizeof(conn));
	conn.id = self->id;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
}

/* Parameters that would not be taken */
TEST_F(abi, accept_without_parameters)
{
	struct rdma_cmx_connect conn;
	unsigned int i;

	for (i = 0; i <= sizeof(conn.param); i++) {
		memset(&conn, 0, sizeof(conn));
		conn.id = 12345;
		conn.flags = RDMA_CMX_ACCEPT_NO_PARAM;
		if (i < sizeof(conn.param))
			((uint8_t *)&conn.param)[i] = 1;
		EXPECT_EQ(i < sizeof(conn.param) ? -EINVAL : -ENOENT,
			  call(self->fd, ACCEPT, &conn))
			TH_LOG("byte %u", i);
	}
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
	/* No record with the flags that are wanted; then an unbound id. */
	opt.optlen = sizeof(path);
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
	path[1].flags = 0x2b;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
}

/* An unset field must not have bytes of the kernel's stack. */
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
