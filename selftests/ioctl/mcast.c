// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships as objects, and their parameters (MC-01, MC-05 to
 * MC-08, MC-13). mcast_many.c joins many groups with one call.
 */
#include "mcast.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define WAIT_MS 60000

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

/* A leave drops only the unread event of its membership. */
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

TEST_HARNESS_MAIN
