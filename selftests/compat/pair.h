/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the compat programs share: a listener and a client in one
 * process, on one channel each, and the steps to a connection. One thread at a
 * time; only functions that librdmacm has, too.
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
	struct rdma_cm_id *server;		/* of the request */
	int ps;
};

/* Sizes for a few messages; RC if @ps is RDMA_PS_TCP, else UD */
struct ibv_qp_init_attr pair_qp(int ps);

/* A listener on OWN4 and a client with a route to it. 0, or -1. */
int pair_open(struct pair *p, int ps);
/* Likewise for a client with options */
int pair_route(struct pair *p);
/* Queue pairs by rdma_create_qp(), parameters of the default. 0, or -1. */
int pair_connect(struct pair *p);
void pair_close(struct pair *p);

/* The next event of a channel if it is a @type; else prints it, and NULL */
struct rdma_cm_event *event_want(struct rdma_event_channel *channel, int type);
/* Likewise, acked without a wait: its status, or 1000 */
int event_status(struct rdma_event_channel *channel, int type);

/* A call of the library fails with an errno. */
#define FAILS(want, call) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(want, errno) {					\
		TH_LOG("%s", #call);					\
	}								\
} while (0)

/* The device of a channel: "rdma_cmx", or the stock one, "rdma_cm" */
const char *channel_device(struct rdma_event_channel *channel, char *buf,
			   size_t len);

/* True if the event's private data begins with @text */
bool data_is(const void *data, size_t len, const char *text);
enum ibv_qp_state qp_state(struct ibv_qp *qp);

#endif /* CMX_SELFTEST_COMPAT_PAIR_H */
