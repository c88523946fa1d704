/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the tests of failures: the n-th request of a call fails, for each
 * n until the call makes fewer (inject.h). Functions, since a program has one
 * harness; one thread uses a scene.
 */
#ifndef CMX_SELFTEST_SWEEP_H
#define CMX_SELFTEST_SWEEP_H

#include <fcntl.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_verbs.h>

#include "process.h"
#include "inject.h"

#define PORT_FAULTS	7690
#define GROUP		"239.55.70.1"
/* More than the fault points of any call */
#define MOST		60

/* Objects of a call; those that are set afterwards are freed. */
struct scene {
	struct rdma_event_channel *channel, *passive;
	struct rdma_cm_id *id, *listener;
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	struct ibv_context **devices;
	struct rdmacmx_service *service;
	struct server server;
	const char *node;
};

/* One call. All functions return an errno, or 0. */
struct step {
	const char *name;
	int (*before)(struct scene *s);
	int (*call)(struct scene *s);
	bool again;	/* after a failure the call is repeated */
	bool lenient;	/* it succeeds without some of the failed calls */
};

static int result(int ret)
{
	return ret ? errno : 0;
}

static void scene_clear(struct __test_metadata *_metadata, struct scene *s)
{
	if (s->event) {
		struct rdma_cm_id *request = s->event->id;
		bool is_request = s->event->listen_id;

		rdma_ack_cm_event(s->event);
		if (is_request)
			rdma_destroy_ep(request);
	}
	if (s->id) {
		rdma_destroy_qp(s->id);
		rdma_destroy_srq(s->id);
		EXPECT_EQ(0, rdma_destroy_id(s->id));
	}
	if (s->listener)
		EXPECT_EQ(0, rdma_destroy_id(s->listener));
	if (s->server.channel)
		EXPECT_EQ(0, server_end(&s->server));
	if (s->service)
		EXPECT_EQ(0, rdmacmx_withdraw(s->service));
	rdma_freeaddrinfo(s->res);
	rdma_free_devices(s->devices);
	rdma_destroy_event_channel(s->passive);
	rdma_destroy_event_channel(s->channel);
}

/* In the kernel, where work items may end later */
static bool live_back(long before)
{
	long long end = now_ms() + WAIT_MS;

	while (live_objects() > before) {
		if (now_ms() > end)
			return false;
		usleep(10000);
	}
	return true;
}

/* A lookup's thread closes its socket when it ends, after the result. */
static bool fds_back(int before)
{
	long long end = now_ms() + WAIT_MS;

	while (fds_open() > before) {
		if (now_ms() > end)
			return false;
		usleep(10000);
	}
	return true;
}

static void sweep(struct __test_metadata *_metadata, const struct step *step)
{
	struct scene s;
	int n, ret, err, fds;
	long live;

	fds = fds_open();
	live = live_objects();
	for (n = 1; n < MOST; n++) {
		memset(&s, 0, sizeof(s));
		s.channel = rdma_create_event_channel();
		ASSERT_NE(NULL, s.channel);
		ASSERT_EQ(0, step->before ? step->before(&s) : 0) {
			TH_LOG("%s: what is before it: %m", step->name);
		}
		fault_arm(n);
		ret = step->call(&s);
		err = fault_disarm();
		if (!step->lenient || ret)
			EXPECT_EQ(err, ret) {
				TH_LOG("%s, %d", step->name, n);
			}
		if (ret && step->again)
			EXPECT_EQ(0, step->call(&s)) {
				TH_LOG("%s again, %d", step->name, n);
			}
		scene_clear(_metadata, &s);
		if (!err)
			break;
		/* Objects that are opened once stay open. */
		if (n == 1) {
			fds = fds_open();
			live = live_objects();
		}
	}
	TH_LOG("%s: %d fault points", step->name, n - 1);
	EXPECT_LT(1, n);
	EXPECT_GT(MOST, n);
	EXPECT_TRUE(fds_back(fds)) {
		TH_LOG("%s leaves descriptors open", step->name);
	}
	EXPECT_TRUE(live_back(live)) {
		TH_LOG("%s: live objects: %ld", step->name, live_objects());
	}
}

static void sweep_all(struct __test_metadata *_metadata,
		      const struct step *steps, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		sweep(_metadata, &steps[i]);
}

#define SWEEP_ALL(steps)						\
	sweep_all(_metadata, steps, sizeof(steps) / sizeof((steps)[0]))

static inline int has_datagram(struct scene *s)
{
	return rdma_create_id(s->channel, &s->id, NULL, RDMA_PS_UDP) ||
	       id_bind(s->id, OWN4, 0);
}

static inline int create_qp_datagram(struct scene *s)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 2,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	return result(rdma_create_qp(s->id, NULL, &attr));
}

#endif /* CMX_SELFTEST_SWEEP_H */
