// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast memberships as objects (MC-01, MC-05, MC-06, MC-13). */
#include "ioctl.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "harness.h"

#define WAIT_MS 60000

FIXTURE(mcast) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(mcast)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
}

FIXTURE_TEARDOWN(mcast)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
}

TEST_F(mcast, join_and_leave)
{
	union event_buf buf;
	uint32_t mc;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 77, &mc));
	EXPECT_NE(0, mc);
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(1, buf.ev.uid);
	EXPECT_EQ(self->id, buf.ev.id);
	EXPECT_EQ(mc, buf.ev.obj);
	EXPECT_EQ(77, buf.ev.obj_uid);
	EXPECT_EQ(0, buf.ev.status);
	EXPECT_EQ(RDMA_CMX_EVENT_UD | RDMA_CMX_EVENT_MC_PARAM, buf.ev.flags);
	EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	EXPECT_NE(0, buf.ev.param.ud.qkey);
	EXPECT_EQ(1, buf.ev.param.ud.ah_attr.is_global);
	EXPECT_EQ(1, buf.ev.param.ud.ah_attr.port_num);
	EXPECT_EQ(1, counter("live_mcs"));
	EXPECT_EQ(1, mc_leave(self->fd, mc));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, mc));
	EXPECT_EQ(1, id_destroy(self->fd, self->id));
}

TEST_F(mcast, misuse)
{
	struct rdma_cmx_join arg = { .id = self->id };
	uint32_t id, mc;

	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, NULL, 1, &mc));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, "10.55.0.2", 1, &mc));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, "fd55::2", 1, &mc));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, "0.0.0.0", 1, &mc));
	addr_set(&arg.addr, GROUP, 0);
	arg.join_flags = 2;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &arg));
	arg.join_flags = 1u << 31;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &arg));
	arg.join_flags = 0;
	arg.addr.data[45] = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &arg));

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &id));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, id, GROUP, 1, &mc));
	/* A handle of another type */
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, 0));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, UINT32_MAX));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
}

/* Two memberships of one group on one id: each has an event. */
TEST_F(mcast, same_group_twice)
{
	struct rdma_cmx_join arg = { .id = self->id, .join_flags = 1 };
	uint32_t mc[3];
	union event_buf buf;
	unsigned int seen = 0;
	int i;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 100, &mc[0]));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 101, &mc[1]));
	EXPECT_NE(mc[0], mc[1]);
	addr_set(&arg.addr, GROUP, 0);
	EXPECT_EQ(-EADDRINUSE, call(self->fd, JOIN, &arg));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		seen |= 1 << (buf.ev.obj_uid - 100);
		EXPECT_EQ(mc[buf.ev.obj_uid - 100], buf.ev.obj);
		EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	}
	EXPECT_EQ(3, seen);
	/*
	 * The older one leaves, the newer one stays; a third one shares its
	 * group.
	 */
	EXPECT_EQ(1, mc_leave(self->fd, mc[0]));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 102, &mc[2]));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(102, buf.ev.obj_uid);
	EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	EXPECT_EQ(1, mc_leave(self->fd, mc[1]));
	EXPECT_EQ(1, mc_leave(self->fd, mc[2]));
	EXPECT_FALSE(event_pending(self->fd));
	/* All have left: a join with the other flag succeeds. */
	EXPECT_EQ(0, call(self->fd, JOIN, &arg));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
}

/* A leave drops only the unread event of its membership. */
/* A thread that waits for an event of the channel. */
struct waiter {
	pthread_t thread;
	int fd;
	bool polls;		/* it calls poll(), otherwise it reads */
	_Atomic pid_t tid;
	int ret;
	union event_buf buf;
};

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;
	struct pollfd pfd = { .fd = w->fd, .events = POLLIN };
	uint32_t count;

	w->tid = syscall(SYS_gettid);
	if (w->polls)
		w->ret = poll(&pfd, 1, -1) == 1 ? 0 : -errno;
	if (!w->ret)
		w->ret = events_get(w->fd, &w->buf, sizeof(w->buf), 1, &count);
	return NULL;
}

/* Does the thread sleep in its call? An earlier wake-up is not necessary. */
static bool waiter_sleeps(struct waiter *w)
{
	long nr = w->polls ? SYS_poll : SYS_ioctl;
	double end = now_ms() + WAIT_MS;
	char path[64], text[64];
	FILE *f;

	for (; now_ms() < end; usleep(1000)) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall",
			 w->tid);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
		if (text[0] >= '0' && text[0] <= '9' && atol(text) == nr)
			return true;
	}
	return false;
}

/* The join of a second membership shares the group of the first. */
TEST_F(mcast, a_join_wakes)
{
	struct timespec end;
	struct waiter w;
	uint32_t mcs[2];
	int i;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, 0));
	for (i = 0; i < 4; i++) {
		w = (struct waiter) { .fd = self->fd, .polls = i / 2 };
		ASSERT_EQ(0, pthread_create(&w.thread, NULL, waiter_run, &w));
		EXPECT_TRUE(waiter_sleeps(&w));
		EXPECT_EQ(0, mc_join(self->fd, self->id, GROUP, 70 + i,
				     &mcs[i % 2]));
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += WAIT_MS / 1000;
		if (pthread_timedjoin_np(w.thread, NULL, &end)) {
			EXPECT_STREQ("woken by the join", "asleep");
			/* Another event ends the wait. */
			id_write_event(self->fd, self->id, 0, 0);
			pthread_join(w.thread, NULL);
		}
		EXPECT_EQ(0, w.ret);
		EXPECT_EQ(EV_MULTICAST_JOIN, w.buf.ev.event);
		EXPECT_EQ(70 + i, w.buf.ev.obj_uid);
		if (i % 2) {
			EXPECT_EQ(1, mc_leave(self->fd, mcs[0]));
			EXPECT_EQ(1, mc_leave(self->fd, mcs[1]));
		}
	}
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
}

TEST_F(mcast, leave_with_unread_event)
{
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	union event_buf buf;
	uint32_t a, b;
	int round;

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 1, &a));
		ASSERT_EQ(0, mc_join(self->fd, self->id, "239.55.0.2", 2, &b));
		if (round & 1) {
			ASSERT_EQ(1, poll(&pfd, 1, 60000));
		}
		EXPECT_EQ(0, mc_leave(self->fd, a));
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(2, buf.ev.obj_uid);
		EXPECT_FALSE(event_pending(self->fd));
		EXPECT_EQ(1, mc_leave(self->fd, b));
	}
}

TEST_F(mcast, destroy_with_memberships)
{
	uint32_t mc[8];
	char group[32];
	int i;

	for (i = 0; i < 8; i++) {
		snprintf(group, sizeof(group), "239.55.1.%d", i / 2);
		ASSERT_EQ(0, mc_join(self->fd, self->id, group, i, &mc[i]));
	}
	EXPECT_LE(0, id_destroy(self->fd, self->id));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(-ENOENT, mc_leave(self->fd, mc[i]));
}

TEST_F(mcast, foreign_and_unanswerable)
{
	struct rdma_cmx_join *arg;
	int other = dev_open(0);
	uint32_t mc;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 1, &mc));
	EXPECT_EQ(-ENOENT, mc_leave(other, mc));
	close(other);

	arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	arg->size = sizeof(*arg);
	arg->id = self->id;
	addr_set(&arg->addr, "239.55.0.9", 0);
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(JOIN), arg));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(1, counter("live_mcs"));
	munmap(arg, 4096);
}

/* MC-07: the bed's IPv6 address has a RoCE v2 GID. */
TEST_F(mcast, ipv6_group)
{
	struct rdma_cmx_join arg = {};
	union event_buf buf;
	uint32_t id, mc, mc4;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 9, &id));
	ASSERT_EQ(0, id_bind(self->fd, id, "fd55::1", 0));
	ASSERT_EQ(0, mc_join(self->fd, id, "ff15::55:1", 5, &mc));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(mc, buf.ev.obj);
	EXPECT_EQ(5, buf.ev.obj_uid);
	EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	EXPECT_EQ(0x1234567, buf.ev.param.ud.qkey);
	addr_set(&arg.addr, "ff15::55:1", 0);
	EXPECT_EQ(0, memcmp(buf.ev.param.ud.ah_attr.grh.dgid,
			    arg.addr.data + 6, 16));
	EXPECT_EQ(1, mc_leave(self->fd, mc));
	/* A source of the other family cannot send to it. */
	EXPECT_EQ(-EAFNOSUPPORT,
		  mc_join(self->fd, self->id, "ff15::55:1", 5, &mc4));
	/* The destroy ends the memberships, joined or pending. */
	ASSERT_EQ(0, mc_join(self->fd, id, "ff15::55:1", 6, &mc));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	ASSERT_EQ(0, mc_join(self->fd, id, "ff15::55:2", 7, &mc));
	EXPECT_LE(2, id_destroy(self->fd, id));
	EXPECT_FALSE(event_pending(self->fd));
}

/*
 * An id that is not accepted joins. Its events wait in the id, and end with the
 * membership. An error here is a use after free on the debug kernel.
 */
TEST_F(mcast, before_accept)
{
	struct rdma_cmx_join arg = {
		.uid = 4,
		.param = { .mask = RDMA_CMX_MC_QKEY, .qkey = 0x1111 },
	};
	uint32_t listener, active, passive, kept;
	union event_buf buf;

	ASSERT_EQ(0, request_get(self->fd, RDMA_PS_UDP, 3, &listener, &active,
				 &passive));
	arg.id = passive;
	addr_set(&arg.addr, "239.55.1.61", 0);
	ASSERT_EQ(0, call(self->fd, JOIN, &arg));
	kept = arg.mc;
	addr_set(&arg.addr, "239.55.1.62", 0);
	ASSERT_EQ(0, call(self->fd, JOIN, &arg));
	/* The event is not visible; if it is late the test covers less. */
	usleep(200000);
	EXPECT_EQ(0, mc_leave(self->fd, arg.mc));
	ASSERT_EQ(0, id_accept(self->fd, passive, 5));
	do {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		EXPECT_NE(arg.mc, buf.ev.obj);
	} while (buf.ev.event != EV_MULTICAST_JOIN);
	EXPECT_EQ(kept, buf.ev.obj);
	EXPECT_LE(1, id_destroy(self->fd, passive));
}

static struct rdma_cmx_mc_param *event_param(struct rdma_cmx_event *ev)
{
	return ev->flags & RDMA_CMX_EVENT_MC_PARAM ?
	       (void *)ev + ev->header_len : NULL;
}

/* MC-08 on RoCE: the attributes of a sender's packets */
TEST_F(mcast, parameters)
{
	struct rdma_cmx_join arg = {
		.id = self->id,
		.param = {
			.mask = RDMA_CMX_MC_QKEY | RDMA_CMX_MC_SL |
				RDMA_CMX_MC_TRAFFIC_CLASS |
				RDMA_CMX_MC_FLOW_LABEL |
				RDMA_CMX_MC_HOP_LIMIT,
			.qkey = 0x11223344,
			.sl = 3,
			.traffic_class = 0x68,
			.flow_label = 0xabcde,
			.hop_limit = 7,
		},
	};
	struct rdma_cmx_mc_param *param;
	union event_buf buf;

	addr_set(&arg.addr, GROUP, 0);
	ASSERT_EQ(0, call(self->fd, JOIN, &arg));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(0x11223344, buf.ev.param.ud.qkey);
	EXPECT_EQ(3, buf.ev.param.ud.ah_attr.sl);
	EXPECT_EQ(0x68, buf.ev.param.ud.ah_attr.grh.traffic_class);
	EXPECT_EQ(0xabcde, buf.ev.param.ud.ah_attr.grh.flow_label);
	EXPECT_EQ(7, buf.ev.param.ud.ah_attr.grh.hop_limit);
	param = event_param(&buf.ev);
	ASSERT_NE(NULL, param);
	EXPECT_EQ(sizeof(*param), buf.ev.mc_param_len);
	EXPECT_EQ(arg.param.mask | RDMA_CMX_MC_MTU, param->mask);
	EXPECT_EQ(0x11223344, param->qkey);
	EXPECT_EQ(7, param->hop_limit);
	EXPECT_EQ(3, param->mtu);

	/* The same parameters share the group, other ones do not. */
	ASSERT_EQ(0, call(self->fd, JOIN, &arg));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	arg.param.qkey++;
	EXPECT_EQ(-EADDRINUSE, call(self->fd, JOIN, &arg));
	memset(&arg.param, 0, sizeof(arg.param));
	EXPECT_EQ(-EADDRINUSE, call(self->fd, JOIN, &arg));
	arg.flags = RDMA_CMX_JOIN_PERSISTENT;
	addr_set(&arg.addr, "239.55.0.3", 0);
	EXPECT_EQ(0, call(self->fd, JOIN, &arg));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
}

#define EXPECT_PARAM(error, field, bit, value) do {			\
	struct rdma_cmx_join arg_ = { .id = self->id };			\
	addr_set(&arg_.addr, GROUP, 0);					\
	arg_.param.mask = bit;						\
	arg_.param.field = value;					\
	EXPECT_EQ(error, call(self->fd, JOIN, &arg_))			\
		TH_LOG(#field " " #value);				\
} while (0)

TEST_F(mcast, parameters_misuse)
{
	struct rdma_cmx_join arg = { .id = self->id };
	union event_buf buf;

	EXPECT_PARAM(-EINVAL, qkey, 0, 1);
	EXPECT_PARAM(-EINVAL, qkey, RDMA_CMX_MC_QKEY, 0);
	EXPECT_PARAM(-EINVAL, sl, RDMA_CMX_MC_SL, 16);
	EXPECT_PARAM(-EINVAL, sl, 0, 1);
	EXPECT_PARAM(-EINVAL, flow_label, RDMA_CMX_MC_FLOW_LABEL, 0x100000);
	EXPECT_PARAM(-EINVAL, mtu, RDMA_CMX_MC_MTU, 0);
	EXPECT_PARAM(-EINVAL, mtu, RDMA_CMX_MC_MTU, 6);
	EXPECT_PARAM(-EINVAL, rate, RDMA_CMX_MC_RATE, 1);
	EXPECT_PARAM(-EINVAL, rate, RDMA_CMX_MC_RATE, 64);
	EXPECT_PARAM(-EINVAL, pkey, RDMA_CMX_MC_PKEY, 0x8000);
	EXPECT_PARAM(-EINVAL, hop_limit, 0, 1);
	EXPECT_PARAM(-EINVAL, traffic_class, 0, 1);
	EXPECT_PARAM(-EINVAL, reserved[4], 0, 1);
	EXPECT_PARAM(-EOPNOTSUPP, qkey, 1u << 8, 0);
	EXPECT_PARAM(-EOPNOTSUPP, qkey, 1u << 31, 0);
	/* RoCE has no subnet manager. */
	EXPECT_PARAM(-EOPNOTSUPP, mtu, RDMA_CMX_MC_MTU, 4);
	EXPECT_PARAM(-EOPNOTSUPP, rate, RDMA_CMX_MC_RATE, 3);
	EXPECT_PARAM(-EOPNOTSUPP, pkey, RDMA_CMX_MC_PKEY, 0xffff);
	arg.flags = 2;
	addr_set(&arg.addr, GROUP, 0);
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, JOIN, &arg));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));

	/* The struct of an older caller ends with the address. */
	arg.size = 72;
	arg.flags = 0xdead;
	EXPECT_EQ(0, ioctl(self->fd, RDMA_CMX_IO(JOIN), &arg));
	EXPECT_EQ(0xdead, arg.flags);
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
}

/* A privileged Q_Key needs a capability. */
TEST_F(mcast, parameters_privileged)
{
	EXPECT_PARAM(0, qkey, RDMA_CMX_MC_QKEY, 0x80010000);
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	EXPECT_PARAM(-EPERM, qkey, RDMA_CMX_MC_QKEY, 0x80010001);
	/* A capability of a user namespace is not enough. */
	ASSERT_EQ(0, unshare(CLONE_NEWUSER));
	EXPECT_PARAM(-EPERM, qkey, RDMA_CMX_MC_QKEY, 0x80010002);
}

#define MANY	256

static void items_set(struct rdma_cmx_join_item *items, int count)
{
	char group[32];
	int i;

	memset(items, 0, count * sizeof(*items));
	for (i = 0; i < count; i++) {
		snprintf(group, sizeof(group), "239.56.%d.%d", i >> 8, i & 255);
		addr_set(&items[i].addr, group, 0);
		items[i].uid = 1000 + i;
	}
}

static unsigned int bytes_set(const uint8_t *bytes, size_t len)
{
	unsigned int n = 0;

	while (len--)
		n += bytes[len] != 0;
	return n;
}

/* MC-10 */
TEST_F(mcast, many_groups)
{
	struct rdma_cmx_join_item items[MANY];
	struct rdma_cmx_join_many arg = {
		.id = self->id,
		.items = (uintptr_t)items,
		.count = MANY,
		.item_size = sizeof(items[0]),
	};
	bool seen[MANY] = {};
	union event_buf buf;
	unsigned int i, k;

	items_set(items, MANY);
	ASSERT_EQ(0, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(MANY, arg.joined);
	EXPECT_EQ(MANY, counter("live_mcs"));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		k = buf.ev.obj_uid - 1000;
		ASSERT_GT(MANY, k);
		EXPECT_FALSE(seen[k]);
		seen[k] = true;
		EXPECT_EQ(0, items[k].error);
		EXPECT_EQ(items[k].mc, buf.ev.obj);
		/* The last four bytes of the MGID are the group's. */
		EXPECT_EQ(k & 255, buf.ev.param.ud.ah_attr.grh.dgid[15]);
	}
	for (i = 0; i < MANY; i += 2)
		EXPECT_EQ(1, mc_leave(self->fd, items[i].mc));
	EXPECT_EQ(MANY / 2, counter("live_mcs"));
	EXPECT_LE(0, id_destroy(self->fd, self->id));
	EXPECT_EQ(0, counter("live_mcs"));
}

TEST_F(mcast, many_groups_some_refused)
{
	struct rdma_cmx_join_item items[6];
	struct rdma_cmx_join_many arg = {
		.id = self->id,
		.items = (uintptr_t)items,
		.count = 6,
		.item_size = sizeof(items[0]),
	};
	union event_buf buf;
	int i;

	items_set(items, 6);
	addr_set(&items[0].addr, "10.55.0.2", 0);
	items[2].join_flags = 7;
	items[3].param.mask = RDMA_CMX_MC_MTU;
	items[3].param.mtu = 4;
	items[4].addr = items[1].addr;
	items[4].join_flags = 1;
	ASSERT_EQ(0, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(2, arg.joined);
	EXPECT_EQ(-EINVAL, items[0].error);
	EXPECT_EQ(0, items[1].error);
	EXPECT_EQ(-EINVAL, items[2].error);
	EXPECT_EQ(-EOPNOTSUPP, items[3].error);
	EXPECT_EQ(-EADDRINUSE, items[4].error);
	EXPECT_EQ(0, items[5].error);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(!items[i].mc, !!items[i].error);
	EXPECT_EQ(2, counter("live_mcs"));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_FALSE(event_pending(self->fd));
}

/* Items of a newer caller, whose extra fields are zero or not */
TEST_F(mcast, many_groups_longer_items)
{
	static const uint32_t sizes[] = {
		sizeof(struct rdma_cmx_join_item) + 1,
		sizeof(struct rdma_cmx_join_item) + 24, 4096,
	};
	static struct rdma_cmx_join_item items[3];
	static uint8_t space[3 * 4096];
	struct rdma_cmx_join_many arg = {
		.id = self->id, .items = (uintptr_t)space, .count = 3,
	};
	union event_buf buf;
	unsigned int i, k;

	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		arg.item_size = sizes[k];
		memset(space, 0, sizeof(space));
		items_set(items, 3);
		for (i = 0; i < 3; i++)
			memcpy(space + i * sizes[k], &items[i],
			       sizeof(items[i]));
		/* The last byte of the last item is in no known field. */
		space[3 * sizes[k] - 1] = 1;
		EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
		EXPECT_EQ(0, counter("live_mcs"));
		space[3 * sizes[k] - 1] = 0;
		ASSERT_EQ(0, call(self->fd, JOIN_MANY, &arg));
		EXPECT_EQ(3, arg.joined);
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN,
						&buf));
			memcpy(&items[i], space + i * sizes[k],
			       sizeof(items[i]));
			EXPECT_EQ(0, items[i].error);
			EXPECT_NE(0, items[i].mc);
			EXPECT_EQ(1000 + i, items[i].uid);
		}
		/* The bytes between the items are unchanged. */
		for (i = 0; i < 3; i++)
			EXPECT_EQ(0, bytes_set(space + i * sizes[k] +
					       sizeof(items[0]),
					       sizes[k] - sizeof(items[0])));
		for (i = 0; i < 3; i++)
			EXPECT_EQ(1, mc_leave(self->fd, items[i].mc));
	}
}

/* The last item, or its extra part, is not mapped. */
TEST_F(mcast, many_groups_that_end_early)
{
	static const uint32_t lacks[] = { 1, 24, 25, 96, 120, 121 };
	struct rdma_cmx_join_item items[3];
	struct rdma_cmx_join_many arg = {
		.id = self->id, .count = 3, .item_size = sizeof(items[0]) + 24,
	};
	uint8_t *page, *pos;
	unsigned int i, k;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + 4096, 4096));
	items_set(items, 3);
	for (k = 0; k < sizeof(lacks) / sizeof(lacks[0]); k++) {
		pos = page + 4096 + lacks[k] - 3 * arg.item_size;
		memset(page, 0, 4096);
		for (i = 0; i < 2; i++)
			memcpy(pos + i * arg.item_size, &items[i],
			       sizeof(items[i]));
		arg.items = (uintptr_t)pos;
		EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg))
			TH_LOG("%u bytes short", lacks[k]);
	}
	/* Up to the end of the address space, and past it */
	arg.items = UINT64_MAX - 200;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
	munmap(page, 4096);
}

TEST_F(mcast, many_groups_misuse)
{
	static struct rdma_cmx_join_item items[RDMA_CMX_MAX_JOINS];
	struct rdma_cmx_join_many good = {
		.id = self->id,
		.items = (uintptr_t)items,
		.count = 1,
		.item_size = sizeof(items[0]),
	}, arg = good;
	struct rdma_cmx_get_info info = {};
	void *page;

	items_set(items, RDMA_CMX_MAX_JOINS);
	arg.count = 0;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN_MANY, &arg));
	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	arg.count = info.max_joins + 1;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg.count = UINT32_MAX;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg = good;
	arg.item_size--;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN_MANY, &arg));
	arg.item_size = 0;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN_MANY, &arg));
	/* Each at the limit of the other, and a product that overflows */
	arg.item_size = 4097;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg.item_size = UINT32_MAX;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg.count = RDMA_CMX_MAX_JOINS;
	arg.item_size = 1 << 22;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg = good;
	arg.id = 12345;
	EXPECT_EQ(-ENOENT, call(self->fd, JOIN_MANY, &arg));
	arg = good;
	arg.items = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));

	/* A join whose handle cannot be written is undone. */
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	memcpy(page, items, 10 * sizeof(items[0]));
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	arg = good;
	arg.items = (uintptr_t)page;
	arg.count = 10;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
	munmap(page, 4096);
}

TEST_HARNESS_MAIN
