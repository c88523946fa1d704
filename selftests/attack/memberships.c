// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user tries to end memberships of others on RoCE v2. IP counts the members
 * of a group for each netdevice, so a leave without a join ends another
 * membership: of the kernel, which then does not reply to neighbour discovery,
 * or of a program. The user moves the id to another netdevice between join and
 * leave, or waits until the netdevice has dropped the join: because it was
 * removed, moved to another network namespace or had a small MTU. Another user
 * joins without limit.
 */
#include "uapi.h"

#include <net/if.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "harness.h"

#define USER		4711
#define NEIGHBOUR	"ff02::1:ff00:1"	/* of fd96::1, and of fd55::1 */
#define GROUP6		"ff15::55:a1"
#define GROUP4		"239.55.0.161"
#define GROUPS_MAX	PARAMETERS "groups_per_user"
#define SHARE		64

/* Number of members of @group on a netdevice, from IPv6 */
static int users6(const char *dev, const char *group)
{
	char line[256], name[32], hex[33], want[33];
	struct in6_addr addr;
	int users, found = 0;
	FILE *f = fopen("/proc/net/igmp6", "r");

	inet_pton(AF_INET6, group, &addr);
	for (int i = 0; i < 16; i++)
		sprintf(want + 2 * i, "%02x", addr.s6_addr[i]);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d %31s %32s %d", name, hex, &users) == 3 &&
		    !strcmp(name, dev) && !strcmp(hex, want))
			found = users;
	if (f)
		fclose(f);
	return found;
}

static int users4(const char *dev, const char *group)
{
	char line[256], name[32] = "", word[32];
	uint32_t want = inet_addr(group), hex;
	FILE *f = fopen("/proc/net/igmp", "r");
	int users, found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*d %31[^: \t]", word) == 1 &&
		    line[0] != '\t')
			strcpy(name, word);
		else if (sscanf(line, " %8x %d", &hex, &users) == 2 &&
			 !strcmp(name, dev) && hex == want)
			found = users;
	}
	if (f)
		fclose(f);
	return found;
}

static int users(const char *dev, const char *group)
{
	return strchr(group, ':') ? users6(dev, group) : users4(dev, group);
}

/* IPv6 joins the group of a new address in a work item. */
static int users6_wait(const char *dev, const char *group)
{
	double end = now_ms() + 60000;

	while (!users6(dev, group) && now_ms() < end)
		poll(NULL, 0, 20);
	return users6(dev, group);
}

/* Joins with a socket, as any program may. */
static int member(const char *dev, const char *group)
{
	struct ipv6_mreq m6 = { .ipv6mr_interface = if_nametoindex(dev) };
	struct ip_mreqn m4 = { .imr_ifindex = if_nametoindex(dev) };
	bool v6 = inet_pton(AF_INET6, group, &m6.ipv6mr_multiaddr) == 1;
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	int ret;

	if (v6) {
		ret = setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &m6,
				 sizeof(m6));
	} else {
		inet_pton(AF_INET, group, &m4.imr_multiaddr);
		ret = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4,
				 sizeof(m4));
	}
	if (!ret)
		return fd;
	close(fd);
	return -1;
}

/* The end of a former device, in a work item, frees its name last. */
static int bed_add(void)
{
	return system("ip link add atk0 type dummy && "
		      "ip link set atk0 up multicast on && "
		      "ip addr add 10.96.0.1/24 dev atk0 && "
		      "ip addr add fd96::1/64 dev atk0 nodad || exit; "
		      "for i in $(seq 300); do "
		      "rdma link add rxe_atk type rxe netdev atk0 && exit; "
		      "sleep 0.1; done; exit 1");
}

/* A netdevice without RDMA, and a neighbour behind it */
static int pair_add(void)
{
	return system("ip netns add atk && "
		      "ip link add atk0 type veth peer name atk1 netns atk && "
		      "ip addr add fd96::1/64 dev atk0 nodad && "
		      "ip link set atk0 up && "
		      "ip -n atk addr add fd96::2/64 dev atk1 nodad && "
		      "ip -n atk link set atk1 up");
}

static void bed_del(void)
{
	system("rdma link del rxe_atk 2>/dev/null;"
	       "for d in atk0 atk1; do ip link del $d 2>/dev/null; done;"
	       "ip netns del atk 2>/dev/null");
}

/* The addresses of each test, by family */
static const struct family {
	const char *group;
	const char *source;	/* of eth0 */
	const char *beyond;	/* behind mgmt0 */
	const char *own;	/* of atk0 */
} families[] = {
	{ GROUP6, "fd55::1", "fd77::2", "fd96::1" },
	{ GROUP4, "10.55.0.1", "192.168.77.2", "10.96.0.1" },
};

#define FAMILIES	2

FIXTURE(memberships) {
	int fd;
	uint32_t id[FAMILIES];
	uint32_t mc[FAMILIES];
	bool bed;
};

FIXTURE_SETUP(memberships)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(memberships)
{
	setresuid(0, 0, 0);
	close(self->fd);
	if (self->bed)
		bed_del();
	EXPECT_TRUE(number_gone(COUNTERS "live_members"));
	/* The log of ib_core for a leaked GID reference of a membership */
	EXPECT_NE(0, system("dmesg | grep 'rxe_atk: GID entry ref leak'"));
}

/* Creates an id of an unprivileged user, bound to @addr. None on error. */
static int user_id(int fd, const char *addr, uint32_t *id)
{
	int i, ret;

	if (setresuid(USER, USER, 0))
		return -errno;
	ret = id_create(fd, RDMA_PS_UDP, 1, id);
	/* The GIDs of a new device appear later. */
	for (i = 0; !ret && i < 1200; i++) {
		ret = id_bind(fd, *id, addr, 0);
		if (ret != -ENODEV && ret != -EADDRNOTAVAIL)
			break;
		poll(NULL, 0, 50);
		if (i < 1199)
			ret = 0;
	}
	return ret;
}

static int user_joins(int fd, uint32_t id, const char *group, uint32_t *mc)
{
	union event_buf buf;

	return mc_join(fd, id, group, 2, mc) ?:
	       event_want(fd, EV_MULTICAST_JOIN, &buf);
}

/* The join is on one netdevice, the leave on another. */
TEST_F(memberships, id_moves)
{
	const struct family *family;
	union event_buf buf;
	int i, fd;

	for (i = 0; i < FAMILIES; i++) {
		family = &families[i];
		fd = member("mgmt0", family->group);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, user_id(self->fd, family->source, &self->id[i]));
		ASSERT_EQ(0, user_joins(self->fd, self->id[i], family->group,
					&self->mc[i]));
		EXPECT_EQ(1, users("eth0", family->group));
		ASSERT_EQ(0, id_resolve_addr(self->fd, self->id[i],
					     family->source, family->beyond, 7));
		ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
		EXPECT_EQ(1, mc_leave(self->fd, self->mc[i]));
		EXPECT_EQ(1, users("mgmt0", family->group));
		EXPECT_EQ(0, users("eth0", family->group));
		close(fd);
	}
}

/* Likewise, with the group of neighbour discovery */
TEST(neighbour_discovery)
{
	int fd = dev_open(O_NONBLOCK), eth, atk;
	union event_buf buf;
	uint32_t id, mc;

	ASSERT_EQ(0, pair_add()) bed_del();
	eth = users6("eth0", NEIGHBOUR);
	atk = users6_wait("atk0", NEIGHBOUR);
	EXPECT_EQ(1, atk);
	EXPECT_EQ(0, user_id(fd, "fd55::1", &id));
	EXPECT_EQ(0, user_joins(fd, id, NEIGHBOUR, &mc));
	EXPECT_EQ(eth + 1, users6("eth0", NEIGHBOUR));
	EXPECT_EQ(0, id_resolve_addr(fd, id, "fd55::1", "fd96::2", 7));
	EXPECT_EQ(0, event_want(fd, EV_ADDR_RESOLVED, &buf));
	EXPECT_LE(0, id_destroy(fd, id));
	setresuid(0, 0, 0);
	close(fd);
	EXPECT_EQ(eth, users6("eth0", NEIGHBOUR));
	EXPECT_EQ(atk, users6("atk0", NEIGHBOUR));
	EXPECT_EQ(0, system("ip -n atk neigh flush all && ip netns exec atk "
			    "ping -6 -c 3 -W 30 fd96::1 >/dev/null"));
	bed_del();
}

/* A join on a netdevice of the test */
#define JOINED() do {							\
	ASSERT_EQ(0, bed_add());					\
	self->bed = true;						\
	for (int i = 0; i < FAMILIES; i++) {				\
		ASSERT_EQ(0, user_id(self->fd, families[i].own,		\
				     &self->id[i]));			\
		ASSERT_EQ(0, user_joins(self->fd, self->id[i],		\
					families[i].group,		\
					&self->mc[i]));			\
		ASSERT_EQ(1, users("atk0", families[i].group));		\
	}								\
	ASSERT_EQ(0, setresuid(0, 0, 0));				\
} while (0)

/* Number of members of each family's group */
#define USERS(count, dev) do {						\
	for (int i = 0; i < FAMILIES; i++)				\
		EXPECT_EQ(count, users(dev, families[i].group));	\
} while (0)

#define LEFT() do {							\
	for (int i = 0; i < FAMILIES; i++)				\
		EXPECT_EQ(1, mc_leave(self->fd, self->mc[i]));		\
} while (0)

#define DESTROYED() do {						\
	for (int i = 0; i < FAMILIES; i++)				\
		EXPECT_LE(0, id_destroy(self->fd, self->id[i]));	\
} while (0)

/* Memberships of others */
#define OTHERS(fds) do {						\
	for (int i = 0; i < FAMILIES; i++) {				\
		fds[i] = member("atk0", families[i].group);		\
		ASSERT_LE(0, fds[i]);					\
	}								\
} while (0)

#define CLOSED(fds) do {						\
	for (int i = 0; i < FAMILIES; i++)				\
		close(fds[i]);						\
} while (0)

TEST_F(memberships, netdevice_renamed)
{
	JOINED();
	ASSERT_EQ(0, system("ip link set atk0 down && "
			    "ip link set atk0 name atk1 && "
			    "ip link set atk1 up"));
	USERS(1, "atk1");
	LEFT();
	USERS(0, "atk1");
}

/* IP drops all members, and then the id joins again. */
TEST_F(memberships, netdevice_with_a_small_mtu)
{
	int fds[FAMILIES];

	JOINED();
	ASSERT_EQ(0, system("ip link set atk0 mtu 60"));
	USERS(0, "atk0");
	ASSERT_EQ(0, system("ip link set atk0 mtu 1500"));
	USERS(1, "atk0");
	OTHERS(fds);
	LEFT();
	USERS(1, "atk0");
	CLOSED(fds);
	USERS(0, "atk0");
}

/* A leave while IP has no member: no leave follows later. */
TEST_F(memberships, left_with_a_small_mtu)
{
	int fds[FAMILIES];

	JOINED();
	ASSERT_EQ(0, system("ip link set atk0 mtu 60"));
	LEFT();
	ASSERT_EQ(0, system("ip link set atk0 mtu 1500"));
	USERS(0, "atk0");
	OTHERS(fds);
	USERS(1, "atk0");
	CLOSED(fds);
}

/* The netdevice returns with the same index. */
TEST_F(memberships, netdevice_in_another_namespace)
{
	int fds[FAMILIES];

	JOINED();
	ASSERT_EQ(0, system("ip netns add atk && "
			    "timeout 60 ip link set atk0 netns atk && "
			    "timeout 60 ip -n atk link set atk0 netns 1 && "
			    "ip link set atk0 up"));
	USERS(0, "atk0");
	OTHERS(fds);
	DESTROYED();
	USERS(1, "atk0");
	CLOSED(fds);
}

/* The removal does not wait for the members. */
TEST_F(memberships, netdevice_goes)
{
	JOINED();
	ASSERT_EQ(0, system("timeout 60 ip link del atk0"));
	DESTROYED();
	ASSERT_EQ(0, bed_add());
	USERS(0, "atk0");
}

/* Joins @count groups from @first on. Number of successful joins. */
static int join_some(int fd, uint32_t id, int first, int count, int *error)
{
	static struct rdma_cmx_join_item items[SHARE];
	struct rdma_cmx_join_many arg = {
		.id = id,
		.items = (uintptr_t)items,
		.count = count,
		.item_size = sizeof(items[0]),
	};
	char group[INET6_ADDRSTRLEN];
	int i;

	memset(items, 0, sizeof(items));
	for (i = 0; i < count; i++) {
		snprintf(group, sizeof(group), "ff15::a:%x", first + i);
		addr_set(&items[i].addr, group, 0);
	}
	i = call(fd, JOIN_MANY, &arg);
	if (i)
		return i;
	for (i = 0; i < count; i++)
		if (items[i].error)
			*error = items[i].error;
	return arg.joined;
}

/* Each user has one limit for all processes, files and ids. */
TEST(groups_of_one_user)
{
	int fd = dev_open(O_NONBLOCK), fd2 = dev_open(O_NONBLOCK), error = 0;
	long usual = number_get(GROUPS_MAX);
	uint32_t id, id2, mc;

	ASSERT_LT(SHARE, usual);
	ASSERT_EQ(0, number_set(GROUPS_MAX, SHARE));
	ASSERT_EQ(0, user_id(fd, "fd55::1", &id));
	ASSERT_EQ(0, user_id(fd2, "fd55::1", &id2));
	EXPECT_EQ(SHARE, join_some(fd, id, 0, SHARE, &error));
	EXPECT_EQ(0, error);
	EXPECT_EQ(0, join_some(fd2, id2, SHARE, 10, &error));
	EXPECT_EQ(EAGAIN, abs(error));
	EXPECT_EQ(-EAGAIN, mc_join(fd2, id2, "ff15::a:ffff", 2, &mc));
	ASSERT_EQ(0, setresuid(0, 0, 0) ||
		     setresuid(USER + 1, USER + 1, 0));
	EXPECT_EQ(0, mc_join(fd2, id2, "ff15::a:ffff", 2, &mc));
	EXPECT_LE(0, mc_leave(fd2, mc));

	/* The group counts for the user who joined, whoever ends it. */
	EXPECT_LE(0, id_destroy(fd, id));
	ASSERT_EQ(0, setresuid(0, 0, 0) || setresuid(USER, USER, 0));
	EXPECT_EQ(10, join_some(fd2, id2, SHARE, 10, &error));
	EXPECT_LE(0, id_destroy(fd2, id2));
	setresuid(0, 0, 0);
	EXPECT_EQ(0, number_set(GROUPS_MAX, usual));
	close(fd);
	close(fd2);
	EXPECT_TRUE(number_gone(COUNTERS "live_members"));
}

/* One join of the group reports an event to each membership. */
TEST(one_group_many_times)
{
	enum { TIMES = 2 * RDMA_CMX_MAX_JOINS, POLLS = 8 };
	static struct rdma_cmx_join_item items[TIMES];
	static int got[TIMES];
	struct epoll_event ready = { .events = EPOLLIN };
	int fd = dev_open(O_NONBLOCK), ep[POLLS], i, wrong = 0, seen = 0;
	struct rdma_cmx_join_many arg = {
		.count = RDMA_CMX_MAX_JOINS,
		.item_size = sizeof(items[0]),
	};
	union event_buf buf;

	ASSERT_EQ(0, user_id(fd, ADDR_RDMA, &arg.id));
	for (i = 0; i < POLLS; i++) {
		ep[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_EQ(0, epoll_ctl(ep[i], EPOLL_CTL_ADD, fd, &ready));
	}
	for (i = 0; i < TIMES; i++) {
		items[i].uid = i;
		addr_set(&items[i].addr, GROUP4, 0);
	}
	for (i = 0; i < TIMES; i += RDMA_CMX_MAX_JOINS) {
		arg.items = (uintptr_t)&items[i];
		ASSERT_EQ(0, call(fd, JOIN_MANY, &arg));
		EXPECT_EQ(RDMA_CMX_MAX_JOINS, arg.joined);
	}
	for (i = 0; i < POLLS; i++)
		EXPECT_EQ(1, epoll_wait(ep[i], &ready, 1, 60000));
	while (seen < TIMES && !event_want(fd, EV_MULTICAST_JOIN, &buf)) {
		seen++;
		if (buf.ev.obj_uid >= TIMES || got[buf.ev.obj_uid]++)
			wrong++;
	}
	EXPECT_EQ(TIMES, seen);
	EXPECT_EQ(0, wrong);
	EXPECT_FALSE(event_pending(fd));
	EXPECT_EQ(TIMES, id_destroy(fd, arg.id));
	setresuid(0, 0, 0);
	for (i = 0; i < POLLS; i++)
		close(ep[i]);
	close(fd);
	EXPECT_TRUE(number_gone(COUNTERS "live_members"));
}

/* A thread that reads the join event can leave the group. */
struct joining {
	int fd, rounds, refused;
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
	/* The group exists, so the event is reported at once. */
	for (i = 0; i < j->rounds; i++)
		if (mc_join(j->fd, id, GROUP, 2, &mc))
			j->refused++;
	return NULL;
}

TEST(leave_what_was_announced)
{
	struct joining j = { .fd = dev_open(O_NONBLOCK), .rounds = kernel_slow() ? 200 : 2000 };
	union event_buf buf;
	pthread_t thread;
	int unknown = 0, left = 0, seen = 0;

	ASSERT_EQ(0, pthread_create(&thread, NULL, join_much, &j));
	while (seen < j.rounds && !event_want(j.fd, EV_MULTICAST_JOIN, &buf)) {
		if (buf.ev.obj_uid != 2)
			continue;
		seen++;
		if (mc_leave(j.fd, buf.ev.obj) == 1)
			left++;
		else
			unknown++;
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, j.refused);
	EXPECT_EQ(j.rounds, left);
	EXPECT_EQ(0, unknown);
	close(j.fd);
	EXPECT_TRUE(nothing_left());
}

/* A handle does not reveal the objects of other users. */
TEST(handles_of_memberships)
{
	uint32_t id, other, mc[8], theirs, i, near = 0;
	int fd = dev_open(O_NONBLOCK), fd2 = dev_open(O_NONBLOCK);
	char text[16];

	ASSERT_EQ(0, id_create(fd, RDMA_PS_UDP, 1, &id));
	ASSERT_EQ(0, id_bind(fd, id, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_create(fd2, RDMA_PS_UDP, 1, &other));
	ASSERT_EQ(0, id_bind(fd2, other, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(fd2, other, GROUP, 1, &theirs));
	for (i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "239.55.3.%u", i + 1);
		ASSERT_EQ(0, mc_join(fd, id, text, 1, &mc[i]));
		ASSERT_NE(0, mc[i]);
		near += mc[i] - theirs + 1000 < 2000;
	}
	EXPECT_GT(2, near);
	EXPECT_EQ(-ENOENT, mc_leave(fd, theirs));
	EXPECT_EQ(-ENOENT, mc_leave(fd, 0));
	for (i = 0; i < 8; i++)
		EXPECT_LE(0, mc_leave(fd, mc[i]));
	EXPECT_EQ(-ENOENT, mc_leave(fd, mc[0]));
	close(fd);
	close(fd2);
	EXPECT_TRUE(nothing_left());
}

TEST_HARNESS_MAIN
