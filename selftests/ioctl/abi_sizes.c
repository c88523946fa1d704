// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checks of the ABI for each command: sizes, unknown numbers, bytes that must
 * be zero, unknown bits, bad pointers, private data.
 */
#include "ioctl.h"

#include <stddef.h>
#include <sys/mman.h>

#include "harness.h"

/* An unknown id: a valid command fails with its errno. */
#define NO_ID	12345

static const struct {
	unsigned int cmd;
	uint32_t size;
	uint32_t min_size;	/* smallest valid size */
	uint32_t in_size;	/* size of the input part */
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
	CMD_MIN(INIT_QP_ATTR, rdma_cmx_init_qp_attr, 160),
	CMD_MIN(CONNECT, rdma_cmx_connect, 48),
	CMD(LISTEN, rdma_cmx_listen),
	CMD_MIN(ACCEPT, rdma_cmx_connect, 48),
	CMD(REJECT, rdma_cmx_reject),
	CMD(DISCONNECT, rdma_cmx_id_arg),
	CMD(NOTIFY, rdma_cmx_id_arg),
	CMD(WRITE_EVENT, rdma_cmx_write_event),
	CMD_MIN(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo, 184),
	CMD_MIN(GIVE_NAMES, rdma_cmx_give_names, 24),
	CMD(QUERY_ADDRINFO, rdma_cmx_query_addrinfo),
	CMD_MIN(GETADDRINFO, rdma_cmx_getaddrinfo, 200),
	CMD_MIN(JOIN, rdma_cmx_join, 72),
	CMD_MIN(LEAVE, rdma_cmx_destroy, 24),
	CMD_IN(CONN_QP_ATTR, rdma_cmx_conn_qp_attr, 24),
	CMD(JOIN_MANY, rdma_cmx_join_many),
	CMD(ADVERTISE, rdma_cmx_advertise),
	CMD(WITHDRAW, rdma_cmx_destroy),
	CMD(QUERY_ADVERTISED, rdma_cmx_query_advertised),
	CMD(GET_SERVICES, rdma_cmx_get_services),
	CMD_MIN(RESOLVE_ANY, rdma_cmx_resolve_any, 32),
	CMD(QUERY_CANDIDATES, rdma_cmx_query_candidates),
	CMD(GET_PATHS, rdma_cmx_get_paths),
	CMD(DROP_PATHS, rdma_cmx_drop_paths),
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

FIXTURE(sizes) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(sizes)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd) TH_LOG("%s: %s", RDMA_CMX_DEVICE,
				      strerror(errno));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
}

FIXTURE_TEARDOWN(sizes)
{
	close(self->fd);
}

static int raw(int fd, unsigned int cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

TEST_F(sizes, numbers)
{
	uint64_t buf[512] = { sizeof(buf) };
	unsigned int i, dir;

	EXPECT_EQ(34, COMMANDS);
	for (i = 0; i < COMMANDS; i++) {
		EXPECT_EQ(i, _IOC_NR(commands[i].cmd));
		/* Another direction, size or type in the number */
		for (dir = 1; dir < 4; dir++)
			EXPECT_EQ(-ENOTTY, raw(self->fd, commands[i].cmd |
					       dir << _IOC_DIRSHIFT, buf));
		EXPECT_EQ(-ENOTTY, raw(self->fd, commands[i].cmd |
				       8 << _IOC_SIZESHIFT, buf));
		EXPECT_EQ(-ENOTTY,
			  raw(self->fd, _IO(RDMA_CMX_IOC_TYPE + 1, i), buf));
	}
	for (i = COMMANDS; i < 256; i++)
		EXPECT_EQ(-ENOTTY,
			  raw(self->fd, _IO(RDMA_CMX_IOC_TYPE, i), buf));
	EXPECT_EQ(-1, write(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, read(self->fd, buf, sizeof(buf)));
	EXPECT_EQ(EINVAL, errno);
}

/* Zeroes with a size field of @size */
static int call_zero(int fd, unsigned int cmd, uint32_t size)
{
	uint64_t buf[1024] = { size };

	return raw(fd, cmd, buf);
}

TEST_F(sizes, too_small)
{
	unsigned int i;
	uint32_t size;

	for (i = 0; i < COMMANDS; i++)
		for (size = 0; size < commands[i].min_size; size++)
			EXPECT_EQ(-EINVAL, call_zero(self->fd, commands[i].cmd,
						     size))
				TH_LOG("command %u: %u bytes", i, size);
}

/* Bytes that an older or newer caller's struct lacks or adds are zero. */
TEST_F(sizes, shorter_and_longer)
{
	unsigned int i;
	uint32_t size;
	int whole;

	for (i = 0; i < COMMANDS; i++) {
		whole = call_zero(self->fd, commands[i].cmd, commands[i].size);
		/* The kernel reads the struct, and rejects only its content. */
		EXPECT_NE(-E2BIG, whole);
		EXPECT_NE(-ENOTTY, whole);
		EXPECT_NE(-EFAULT, whole);
		for (size = commands[i].min_size;
		     size <= commands[i].size + 64; size++)
			EXPECT_EQ(whole, call_zero(self->fd, commands[i].cmd,
						   size))
				TH_LOG("%s: %u bytes", commands[i].name, size);
		EXPECT_EQ(whole, call_zero(self->fd, commands[i].cmd, 4096));
	}
}

TEST_F(sizes, too_long)
{
	static const uint32_t large[] = {
		4097, 8192, 0x7fffffff, 0x80000000, UINT32_MAX,
	};
	unsigned int i, k;
	uint8_t buf[512];

	for (i = 0; i < COMMANDS; i++) {
		/* More than any struct will have */
		for (k = 0; k < sizeof(large) / sizeof(large[0]); k++)
			EXPECT_EQ(-E2BIG, call_zero(self->fd, commands[i].cmd,
						    large[k]))
				TH_LOG("%s: %u", commands[i].name, large[k]);
		/* A nonzero byte at each place of the unknown part */
		for (k = commands[i].size; k < commands[i].size + 40; k++) {
			memset(buf, 0, sizeof(buf));
			*(uint32_t *)buf = commands[i].size + 40;
			buf[k] = 1;
			EXPECT_EQ(-E2BIG, raw(self->fd, commands[i].cmd, buf))
				TH_LOG("%s: byte %u", commands[i].name, k);
		}
	}
}

/* The kernel reads and writes nothing behind an older caller's struct. */
TEST_F(sizes, old_caller)
{
	union {
		struct rdma_cmx_get_info info;
		struct rdma_cmx_join join;
		uint8_t bytes[256];
	} arg;
	int i;

	memset(&arg, 0xa5, sizeof(arg));
	arg.info.size = 24;
	EXPECT_EQ(0, raw(self->fd, RDMA_CMX_IO(GET_INFO), &arg));
	EXPECT_EQ(24, arg.info.size);
	EXPECT_EQ(RDMA_CMX_ABI_VERSION, arg.info.abi_version);
	EXPECT_NE(0, arg.info.max_ids);
	for (i = 24; i < sizeof(arg); i++)
		EXPECT_EQ(0xa5, arg.bytes[i]);

	memset(&arg, 0xa5, sizeof(arg));
	memset(&arg, 0, 72);
	arg.join.size = 72;
	arg.join.id = NO_ID;
	EXPECT_EQ(-ENOENT, raw(self->fd, RDMA_CMX_IO(JOIN), &arg));
	for (i = 72; i < sizeof(arg); i++)
		EXPECT_EQ(0xa5, arg.bytes[i]);
}

/* No CM message has room for more than 255 bytes. */
TEST_F(sizes, private_data)
{
	struct rdma_cmx_get_info info = {};
	struct rdma_cmx_connect conn;
	struct rdma_cmx_reject rej;
	unsigned int len, i;
	int want;

	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	EXPECT_EQ(255, info.max_private_data);
	for (len = 0; len < 300; len++) {
		want = len <= 255 ? -ENOENT : -EINVAL;
		memset(&conn, 0, sizeof(conn));
		conn.id = NO_ID;
		conn.param.private_data_len = len;
		memset(conn.param.private_data, 1, len < 256 ? len : 256);
		EXPECT_EQ(want, call(self->fd, CONNECT, &conn));
		EXPECT_EQ(want, call(self->fd, ACCEPT, &conn));
		memset(&rej, 0, sizeof(rej));
		rej.id = NO_ID;
		rej.private_data_len = len;
		memset(rej.private_data, 1, len < 256 ? len : 256);
		EXPECT_EQ(want, call(self->fd, REJECT, &rej));
	}
	/* The kernel reads no private data past its length. */
	for (i = 0; i < 256; i++) {
		memset(&conn, 0, sizeof(conn));
		conn.id = NO_ID;
		conn.param.private_data_len = i;
		conn.param.private_data[i] = 1;
		EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
		EXPECT_EQ(-EINVAL, call(self->fd, ACCEPT, &conn));
		memset(&rej, 0, sizeof(rej));
		rej.id = NO_ID;
		rej.private_data_len = i;
		rej.private_data[i] = 1;
		EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &rej));
	}
	memset(&conn, 0, sizeof(conn));
	conn.id = NO_ID;
	conn.param.qp_num = 1 << 24;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
	/* An id without a device */
	memset(&conn, 0, sizeof(conn));
	conn.id = self->id;
	EXPECT_EQ(-EINVAL, call(self->fd, CONNECT, &conn));
}

TEST_F(sizes, bad_pointers)
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
		/* The last byte of the input is not mapped. */
		edge = page + 4096 - commands[i].in_size + 1;
		memcpy(edge, &commands[i].size, 4);
		EXPECT_EQ(-EFAULT, raw(self->fd, commands[i].cmd, edge))
			TH_LOG("%s", commands[i].name);
	}
	munmap(page, 4096);
}

/* Each byte of a field that must be zero */
#define EXPECT_RESERVED(cmd, type, field) do {				\
	struct type arg_;						\
	unsigned int at_;						\
									\
	for (at_ = 0; at_ < sizeof(arg_.field); at_++) {		\
		memset(&arg_, 0, sizeof(arg_));				\
		((uint8_t *)&arg_.field)[at_] = 0x40;			\
		EXPECT_EQ(-EINVAL, call(self->fd, cmd, &arg_))		\
			TH_LOG(#cmd "." #field " byte %u", at_);	\
	}								\
} while (0)

TEST_F(sizes, reserved_fields)
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
	EXPECT_RESERVED(ADVERTISE, rdma_cmx_advertise, reserved);
	EXPECT_RESERVED(WITHDRAW, rdma_cmx_destroy, reserved);
	EXPECT_RESERVED(QUERY_ADVERTISED, rdma_cmx_query_advertised, reserved);
	EXPECT_RESERVED(GET_SERVICES, rdma_cmx_get_services, reserved);
	EXPECT_RESERVED(QUERY_CANDIDATES, rdma_cmx_query_candidates, flags);
	EXPECT_RESERVED(GETADDRINFO, rdma_cmx_getaddrinfo, reserved);
	EXPECT_RESERVED(GETADDRINFO, rdma_cmx_getaddrinfo, query.reserved);
	EXPECT_RESERVED(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo,
			query.reserved);
	/* A flag announces a port. */
	EXPECT_RESERVED(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo,
			query.port);
	/* Fields of the device */
	EXPECT_RESERVED(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo, query.dev);
	EXPECT_RESERVED(RESOLVE_ADDRINFO, rdma_cmx_resolve_addrinfo,
			query.dev_port);
}

/* Each undefined bit */
TEST_F(sizes, unknown_flags)
{
	struct rdma_cmx_resolve_addrinfo rai = { .id = NO_ID };
	struct rdma_cmx_id_query query = { .id = self->id };
	struct rdma_cmx_id_bind bind = { .id = self->id };
	struct rdma_cmx_connect conn = { .id = NO_ID };
	struct rdma_cmx_getaddrinfo gai = {};
	unsigned int i;

	for (i = 0; i < 32; i++) {
		bind.flags = 1u << i;
		EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_BIND, &bind));
		query.flags = 1u << i;
		EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_QUERY, &query));
		conn.flags = 1u << i;
		EXPECT_EQ(-EOPNOTSUPP, call(self->fd, CONNECT, &conn));
		EXPECT_EQ(conn.flags == RDMA_CMX_ACCEPT_NO_PARAM ?
			  -ENOENT : -EOPNOTSUPP,
			  call(self->fd, ACCEPT, &conn));
		rai.query.flags = 1u << i;
		EXPECT_EQ(i < 3 ? -ENOENT : i == 3 ? -EINVAL :
			  -EOPNOTSUPP,
			  call(self->fd, RESOLVE_ADDRINFO, &rai));
		/* Names that the caller gives later need an id. */
		gai.query.flags = 1u << i;
		gai.query.ai_flags = 0;
		EXPECT_EQ(gai.query.flags == RDMA_CMX_AIQ_PORT ?
			  -ENOSPC : -EOPNOTSUPP,
			  call(self->fd, GETADDRINFO, &gai));
		gai.query.flags = RDMA_CMX_AIQ_PORT;
		gai.query.ai_flags = 1u << i;
		if (i >= 6)
			EXPECT_EQ(-EOPNOTSUPP,
				  call(self->fd, GETADDRINFO, &gai));
	}
}

TEST_F(sizes, unknown_options)
{
	struct rdma_cmx_id_set_option opt = { .id = self->id, .level = 77 };

	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_SET_OPTION, &opt));
	opt.level = RDMA_OPTION_ID;
	opt.optname = 77;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, ID_SET_OPTION, &opt));
}

/* With the flag each byte of the parameters must be zero. */
TEST_F(sizes, accept_without_parameters)
{
	struct rdma_cmx_connect conn;
	unsigned int i;

	for (i = 0; i <= sizeof(conn.param); i++) {
		memset(&conn, 0, sizeof(conn));
		conn.id = NO_ID;
		conn.flags = RDMA_CMX_ACCEPT_NO_PARAM;
		if (i < sizeof(conn.param))
			((uint8_t *)&conn.param)[i] = 1;
		EXPECT_EQ(i < sizeof(conn.param) ? -EINVAL : -ENOENT,
			  call(self->fd, ACCEPT, &conn))
			TH_LOG("byte %u", i);
	}
}

TEST_HARNESS_MAIN
