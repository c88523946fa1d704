/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the compat programs share: a listener and a client in one process, on
 * one channel each, and the way from nothing to a connection. One thread at a
 * time; only what librdmacm has, too.
 */
#ifndef CMX_SELFTEST_COMPAT_PAIR_H
#define CMX_SELFTEST_COMPAT_PAIR_H

#include "api.h"
#include <rdma/rdma_verbs.h>

struct pair {
	struct rdma_event_channel *passive;	/* the listener's channel */
	struct rdma_event_channel *active;	/* the client's */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *client;
	struct rdma_cm_id *server;		/* made by the request */
	int ps;
};

/* Room for a few messages; RC if @ps is RDMA_PS_TCP, else UD. */
struct ibv_qp_init_attr pair_qp(int ps);

/* A listener on OWN4 and a client with a route to it. 0, or -1. */
int pair_open(struct pair *p, int ps);
/* The same for a client that has got options before. */
int pair_route(struct pair *p);
/* Queue pairs by rdma_create_qp(), parameters of the default. 0, or -1. */
int pair_connect(struct pair *p);
void pair_close(struct pair *p);

/* The next event of a channel if it is a @type; else prints it, and NULL. */
struct rdma_cm_event *event_want(struct rdma_event_channel *channel, int type);
/* The same, acked at once: its status, or 1000. */
int event_status(struct rdma_event_channel *channel, int type);

/* A call of the library fails with an errno. */
#define FAILS(want, call) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(want, errno) {					\
		TH_LOG("%s", #call);					\
	}								\
} while (0)

/* Which device a channel is of: "rdma_cmx", or the stock one, "rdma_cm". */
const char *channel_device(struct rdma_event_channel *channel, char *buf,
			   size_t len);

/* Does the event's private data begin with @text? */
bool data_is(const void *data, size_t len, const char *text);
enum ibv_qp_state qp_state(struct ibv_qp *qp);

#endif /* CMX_SELFTEST_COMPAT_PAIR_H */
