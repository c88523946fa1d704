// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ids as objects: handles, limits, files, processes, migration (RA-02). */
#include "ioctl.h"

#include <net/if.h>
#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define MAX_IDS	UCMX_PARAMETERS "max_ids"

FIXTURE(ids) {
	int fd;
};

FIXTURE_SETUP(ids)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(counter_wait("live_files", 1));
}

FIXTURE_TEARDOWN(ids)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_ids"));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
	EXPECT_EQ(0, counter("live_queries"));
}

TEST_F(ids, create_and_destroy)
{
	uint32_t a, b;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &a));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &b));
	EXPECT_NE(0, a);
	EXPECT_NE(a, b);
	EXPECT_EQ(2, counter("live_ids"));
	EXPECT_EQ(0, id_destroy(self->fd, a));
	EXPECT_EQ(-ENOENT, id_destroy(self->fd, a));
	EXPECT_EQ(0, id_destroy(self->fd, b));
	EXPECT_EQ(0, counter("live_ids"));
	EXPECT_EQ(-ENOENT, id_destroy(self->fd, 0));
	EXPECT_EQ(-ENOENT, id_destroy(self->fd, UINT32_MAX));
}

TEST_F(ids, bad_create)
{
	struct rdma_cmx_id_create arg = { .port_space = RDMA_PS_IB, .uid = 1 };
	uint32_t id;

	EXPECT_EQ(-EINVAL, id_create(self->fd, 0, 1, &id));
	EXPECT_EQ(-EINVAL, id_create(self->fd, 0x10106, 1, &id));
	EXPECT_EQ(-EINVAL, id_create(self->fd, RDMA_PS_TCP, 0, &id));
	arg.qp_type = 1000;
	EXPECT_EQ(-EINVAL, call(self->fd, ID_CREATE, &arg));
	arg.qp_type = QPT_RC;
	EXPECT_EQ(0, call(self->fd, ID_CREATE, &arg));
}

/* The kernel accepts only the QP type that it uses. */
TEST_F(ids, types_and_port_spaces)
{
	static const struct {
		uint32_t ps;
		uint32_t types;
	} good[] = {
		{ RDMA_PS_TCP, 1 << QPT_RC },
		{ RDMA_PS_UDP, 1 << QPT_UD },
		{ RDMA_PS_IPOIB, 1 << QPT_UD },
		{ RDMA_PS_IB, 1 << QPT_RC | 1 << QPT_UC | 1 << QPT_UD |
			      1 << QPT_RAW_PACKET | 1 << QPT_XRC_INI |
			      1 << QPT_XRC_TGT },
	};
	struct rdma_cmx_id_create arg = { .uid = 1 };
	unsigned int i, type;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		for (type = 0; type < 32; type++) {
			arg.port_space = good[i].ps;
			arg.qp_type = type;
			EXPECT_EQ(good[i].types >> type & 1 ? 0 : -EINVAL,
				  call(self->fd, ID_CREATE, &arg))
				TH_LOG("space %#x type %u", arg.port_space,
				       type);
		}
	}
}

TEST_F(ids, foreign_handles)
{
	struct rdma_cmx_id_query query = {};
	uint32_t id;
	int other = dev_open(0);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	query.id = id;
	EXPECT_EQ(-ENOENT, call(other, ID_QUERY, &query));
	EXPECT_EQ(-ENOENT, id_destroy(other, id));
	EXPECT_EQ(-ENOENT, id_bind(other, id, ADDR_RDMA, 0));
	EXPECT_EQ(-ENOENT, id_write_event(other, id, 0, 0));
	close(other);
	EXPECT_EQ(0, call(self->fd, ID_QUERY, &query));
}

/* Each command on a destroyed id */
TEST_F(ids, stale_handles)
{
	struct rdma_cmx_id_query query = {};
	struct rdma_cmx_id_arg arg = {};
	struct rdma_cmx_init_qp_attr attr = { .qp_state = 1 };
	struct rdma_cmx_reject rej = {};
	struct rdma_cmx_query_addrinfo qai = {};
	struct rdma_cmx_resolve_addrinfo rai = {};
	struct rdma_cmx_id_set_option opt = {};
	uint32_t id, mc;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, id_destroy(self->fd, id));
	query.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(-ENOENT, id_bind(self->fd, id, ADDR_RDMA, 0));
	EXPECT_EQ(-ENOENT, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, 1));
	EXPECT_EQ(-ENOENT, id_resolve_route(self->fd, id));
	EXPECT_EQ(-ENOENT, id_listen(self->fd, id));
	EXPECT_EQ(-ENOENT, id_connect(self->fd, id));
	EXPECT_EQ(-ENOENT, id_accept(self->fd, id, 1));
	EXPECT_EQ(-ENOENT, id_write_event(self->fd, id, 0, 0));
	EXPECT_EQ(-ENOENT, mc_join(self->fd, id, GROUP, 1, &mc));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, id));
	arg.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, DISCONNECT, &arg));
	EXPECT_EQ(-ENOENT, call(self->fd, NOTIFY, &arg));
	attr.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, INIT_QP_ATTR, &attr));
	rej.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, REJECT, &rej));
	qai.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, QUERY_ADDRINFO, &qai));
	rai.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, RESOLVE_ADDRINFO, &rai));
	opt.id = id;
	EXPECT_EQ(-ENOENT, call(self->fd, ID_SET_OPTION, &opt));
}

TEST_F(ids, limit)
{
	long old = number_get(MAX_IDS);
	uint32_t id[5];
	int i;

	ASSERT_LT(0, old);
	ASSERT_EQ(0, number_set(MAX_IDS, 4));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &id[i]));
	EXPECT_EQ(-EMFILE, id_create(self->fd, RDMA_PS_UDP, 1, &id[4]));
	/* Each file has a separate limit. */
	i = dev_open(0);
	EXPECT_EQ(0, id_create(i, RDMA_PS_UDP, 1, &id[4]));
	close(i);
	EXPECT_EQ(0, id_destroy(self->fd, id[0]));
	EXPECT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &id[0]));
	EXPECT_EQ(0, number_set(MAX_IDS, old));
}

TEST_F(ids, bind_and_query)
{
	struct rdma_cmx_id_bind bind = {};
	struct rdma_cmx_id_query query = {};
	uint32_t id, other;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	bind.id = id;
	addr_set(&bind.addr, ADDR_RDMA, 0);
	ASSERT_EQ(0, call(self->fd, ID_BIND, &bind));
	EXPECT_EQ(AF_INET, bind.info.src.family);
	EXPECT_NE(0, addr_port(&bind.info.src));
	EXPECT_NE(0, bind.info.node_guid);
	EXPECT_EQ(1, bind.info.port_num);
	EXPECT_EQ(AF_IB, bind.info.src_ib.family);
	query.id = id;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(0, memcmp(&query.info, &bind.info, sizeof(bind.info)));
	EXPECT_EQ(-EINVAL, id_bind(self->fd, id, ADDR_RDMA, 0));

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &other));
	EXPECT_EQ(-EADDRINUSE, id_bind(self->fd, other, ADDR_RDMA,
				       addr_port(&bind.info.src)));
	EXPECT_EQ(-ENODEV, id_bind(self->fd, other, ADDR_PLAIN, 0));
}

/* Addresses of two interfaces with a device each */
#define SECOND_ADDR	"10.97.1.1"
#define SECOND_PEER	"10.97.1.2"

static int second_add(void)
{
	return system("ip link add cmxid0 type dummy && "
		      "ip addr add " SECOND_ADDR "/24 dev cmxid0 && "
		      "ip link set cmxid0 up && "
		      "rdma link add rxe_id type rxe netdev cmxid0");
}

/* A new id whose ID_BIND, or RESOLVE_ADDR with a source, has failed */
static int failed_new(int fd, uint16_t port, bool resolve, uint32_t *id)
{
	int ret = id_create(fd, RDMA_PS_TCP, 1, id);

	if (ret)
		return ret;
	if (resolve) {
		struct rdma_cmx_resolve_addr arg = {
			.id = *id, .timeout_ms = 60000,
		};

		addr_set(&arg.src, ADDR_RDMA, port);
		addr_set(&arg.dst, ADDR_RDMA, 1);
		ret = call(fd, RESOLVE_ADDR, &arg);
	} else {
		ret = id_bind(fd, *id, ADDR_RDMA, port);
	}
	return ret == -EADDRINUSE ? 0 : -EPROTO;
}

/* RA-02: a command that fails to bind leaves the id unbound. */
TEST_F(ids, failed_bind)
{
	struct rdma_cmx_id_query query = {};
	struct rdma_cmx_id_bind bind = {};
	union event_buf ev;
	uint32_t id;
	int i;

	EXPECT_EQ(0, second_add());
	EXPECT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &bind.id));
	addr_set(&bind.addr, ADDR_RDMA, 0);
	EXPECT_EQ(0, call(self->fd, ID_BIND, &bind));
	for (i = 0; i < 2; i++) {
		uint16_t port = addr_port(&bind.info.src);

		EXPECT_EQ(0, failed_new(self->fd, port, i, &id));
		query.id = id;
		EXPECT_EQ(0, call(self->fd, ID_QUERY, &query));
		EXPECT_EQ(0, query.info.src.family);
		EXPECT_EQ(0, query.info.dst.family);
		EXPECT_EQ(0, id_bind(self->fd, id, SECOND_ADDR, 0));
		EXPECT_EQ(0, failed_new(self->fd, port, i, &id));
		EXPECT_EQ(0, id_resolve_addr(self->fd, id, NULL, SECOND_PEER,
					     1));
		EXPECT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &ev));
	}
	close(self->fd);
	self->fd = dev_open(O_NONBLOCK);
	EXPECT_EQ(0, system("rdma link del rxe_id && ip link del cmxid0"));
}

/* A link-local address that both interfaces have */
#define LINK_LOCAL	"fe80::55:77"

static int link_local_add(void)
{
	return second_add() ||
	       system("ip addr add " LINK_LOCAL "/64 dev eth0 nodad && "
		      "ip addr add " LINK_LOCAL "/64 dev cmxid0 nodad");
}

static int link_local_del(void)
{
	return system("ip addr del " LINK_LOCAL "/64 dev eth0") ||
	       system("rdma link del rxe_id && ip link del cmxid0");
}

/* Binds a new id to it with the scope of an interface, NULL: with none. */
static int link_local_bind(int fd, const char *scope, uint16_t port,
			   struct rdma_cmx_id_info *info)
{
	struct rdma_cmx_id_bind bind = {};
	struct sockaddr_in6 in6;
	int ret;

	ret = id_create(fd, RDMA_PS_TCP, 1, &bind.id);
	addr_set(&bind.addr, LINK_LOCAL, port);
	memcpy(&in6, &bind.addr, sizeof(in6));
	in6.sin6_scope_id = scope ? if_nametoindex(scope) : 0;
	memcpy(&bind.addr, &in6, sizeof(in6));
	ret = ret ?: call(fd, ID_BIND, &bind);
	*info = bind.info;
	return ret;
}

/* The device has the GID of a new address after a moment. */
static int link_local_wait(int fd, const char *scope, uint16_t port,
			   struct rdma_cmx_id_info *info)
{
	double end = now_ms() + 60000;
	int ret;

	while ((ret = link_local_bind(fd, scope, port, info)) == -ENODEV &&
	       now_ms() < end)
		poll(NULL, 0, 20);
	return ret;
}

static uint32_t scope_of(const struct rdma_cmx_id_info *info)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, &info->src, sizeof(in6));
	return in6.sin6_family == AF_INET6 ? in6.sin6_scope_id : 0;
}

/* RA-02: the scope of a link-local address selects device and port number. */
TEST_F(ids, bind_to_link_local)
{
	struct rdma_cmx_id_info info, first, second;
	uint16_t port;

	EXPECT_EQ(0, link_local_add());
	EXPECT_EQ(0, link_local_wait(self->fd, "eth0", 0, &first));
	port = addr_port(&first.src);
	EXPECT_EQ(if_nametoindex("eth0"), scope_of(&first));
	EXPECT_EQ(0, link_local_wait(self->fd, "cmxid0", port, &second));
	EXPECT_EQ(if_nametoindex("cmxid0"), scope_of(&second));
	EXPECT_EQ(port, addr_port(&second.src));
	EXPECT_NE(0, first.node_guid);
	EXPECT_NE(first.node_guid, second.node_guid);
	EXPECT_EQ(-EADDRINUSE, link_local_bind(self->fd, "eth0", port, &info));
	EXPECT_EQ(-ENODEV, link_local_bind(self->fd, "mgmt0", 0, &info));
	EXPECT_EQ(-EINVAL, link_local_bind(self->fd, NULL, 0, &info));
	close(self->fd);
	self->fd = dev_open(O_NONBLOCK);
	EXPECT_EQ(0, link_local_del());
}

static int fd_send(int sock, int fd)
{
	char byte = 0, space[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int fd_receive(int sock)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	int fd = -1;

	if (recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* A passed descriptor keeps the context after the exit of its creator. */
TEST_F(ids, passed_and_duplicated)
{
	struct rdma_cmx_id_query query = {};
	int sock[2], fd, copy, status;
	uint32_t id = 0;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	pid = fork();
	if (!pid) {
		fd = dev_open(0);
		if (id_create(fd, RDMA_PS_TCP, 9, &id) ||
		    id_bind(fd, id, ADDR_RDMA, 0) || fd_send(sock[1], fd) ||
		    write(sock[1], &id, sizeof(id)) != sizeof(id))
			_exit(1);
		_exit(0);
	}
	fd = fd_receive(sock[0]);
	ASSERT_LE(0, fd);
	ASSERT_EQ(sizeof(id), read(sock[0], &id, sizeof(id)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	query.id = id;
	EXPECT_EQ(0, call(fd, ID_QUERY, &query));
	EXPECT_EQ(1, query.info.port_num);
	copy = dup(fd);
	close(fd);
	EXPECT_EQ(0, call(copy, ID_QUERY, &query));
	EXPECT_EQ(0, id_destroy(copy, id));
	close(copy);
	close(sock[0]);
	close(sock[1]);
}

static int migrate(int to, int from, uint32_t id, uint32_t *new_id)
{
	struct rdma_cmx_id_migrate arg = { .id = id, .src_fd = from };
	int ret = call(to, ID_MIGRATE, &arg);

	*new_id = arg.new_id;
	return ret ? ret : (int)arg.events_reported;
}

TEST_F(ids, migrate)
{
	int to = dev_open(O_NONBLOCK), null = open("/dev/null", O_RDONLY);
	uint32_t id, moved, other;
	union event_buf buf;
	int i;

	ASSERT_LE(0, to);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 11, &id));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 12, &other));
	EXPECT_EQ(-EBADF, migrate(to, 9999, id, &moved));
	EXPECT_EQ(-EINVAL, migrate(to, null, id, &moved));
	EXPECT_EQ(-ENOENT, migrate(to, self->fd, 9999, &moved));
	close(null);

	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, id_write_event(self->fd, i & 1 ? other : id, i,
					    0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(0, buf.ev.status);
	EXPECT_EQ(1, migrate(to, self->fd, id, &moved));
	EXPECT_EQ(-ENOENT, id_destroy(self->fd, id));
	/* The unread events of the id migrated in order; others stay. */
	for (i = 2; i < 6; i += 2) {
		ASSERT_EQ(0, event_want(to, RDMA_CMX_EV_USER, &buf));
		EXPECT_EQ(i, buf.ev.status);
		EXPECT_EQ(moved, buf.ev.id);
		EXPECT_EQ(11, buf.ev.uid);
	}
	EXPECT_FALSE(event_pending(to));
	for (i = 1; i < 6; i += 2) {
		ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
		EXPECT_EQ(i, buf.ev.status);
		EXPECT_EQ(12, buf.ev.uid);
	}
	EXPECT_EQ(0, id_write_event(to, moved, 1, 0));
	EXPECT_TRUE(event_pending(to));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(3, id_destroy(to, moved));
	EXPECT_FALSE(event_pending(to));
	close(to);
}

TEST_F(ids, migrate_to_the_same_file)
{
	uint32_t id, moved;
	union event_buf buf;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 11, &id));
	ASSERT_EQ(0, id_write_event(self->fd, id, 5, 0));
	EXPECT_EQ(0, migrate(self->fd, self->fd, id, &moved));
	EXPECT_EQ(id, moved);
	EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(1, id_destroy(self->fd, id));
}

/* Memberships and unread connection requests migrate, too. */
TEST_F(ids, migrate_with_all)
{
	int to = dev_open(O_NONBLOCK);
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	struct rdma_cmx_id_query query = {};
	uint32_t id, mc, listener, active, moved;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 11, &id));
	ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, id, GROUP, 21, &mc));
	EXPECT_LE(0, migrate(to, self->fd, id, &moved));
	ASSERT_EQ(0, event_want(to, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(mc, buf.ev.obj);
	EXPECT_EQ(21, buf.ev.obj_uid);
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, mc));
	EXPECT_EQ(1, mc_leave(to, mc));

	ASSERT_EQ(0, listener_new(self->fd, 1, &listener, &port));
	ASSERT_EQ(0, connect_start(to, 2, port, &active));
	ASSERT_EQ(1, poll(&pfd, 1, 60000));
	EXPECT_EQ(0, migrate(to, self->fd, listener, &moved));
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, event_want(to, EV_CONNECT_REQUEST, &buf));
	EXPECT_EQ(moved, buf.ev.id);
	query.id = buf.ev.obj;
	EXPECT_EQ(-ENOENT, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(0, call(to, ID_QUERY, &query));
	EXPECT_EQ(0, id_accept(to, buf.ev.obj, 3));
	close(to);
}

/* The bits of a handle limit it. */
TEST(max_ids_has_a_limit)
{
	long ids = number_get(MAX_IDS);

	EXPECT_NE(0, number_set(MAX_IDS, 1000001));
	EXPECT_EQ(ids, number_get(MAX_IDS));
	EXPECT_EQ(0, number_set(MAX_IDS, 1000000));
	EXPECT_EQ(0, number_set(MAX_IDS, ids));
}

TEST_HARNESS_MAIN
