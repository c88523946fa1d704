// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAI-07: an id is destroyed while an event of it is reported, and while
 * another thread reads. DESTROY returns the number of all read events of the
 * id. The reader has read exactly as many, and none is reported later.
 */
#include "uapi.h"
#include "pair.h"

#include "harness.h"

#define ROUNDS	50
#define UID	77

struct stage {
	int fd, reader_fd;
	uint32_t id, peer, listener;
	unsigned int seen, others;
	atomic_bool stop;
};

/* Reads events until it is stopped, and then the rest. */
static void events_read(void *arg)
{
	struct stage *s = arg;
	union event_buf buf;
	bool last;

	do {
		last = s->stop;
		while (!events_get(s->fd, &buf, sizeof(buf), 1, NULL)) {
			if (buf.ev.uid == UID)
				s->seen++;
			else
				s->others++;
		}
	} while (!last);
}

/* @us: about twice the time until the event */
struct kind {
	const char *name;
	int (*start)(struct stage *s);
	unsigned int us;
};

static int id_new(struct stage *s, uint32_t ps)
{
	return id_create(s->fd, ps, UID, &s->id);
}

static int resolve(struct stage *s, const char *node, uint32_t flags,
		   uint32_t ms)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = s->id };

	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	arg.query.flags = flags;
	arg.query.timeout_ms = ms;
	return call(s->fd, RESOLVE_ADDRINFO, &arg);
}

static int start_addr_resolved(struct stage *s)
{
	return id_new(s, RDMA_PS_TCP) ?:
	       id_resolve_addr(s->fd, s->id, NULL, ADDR_RDMA, 9000);
}

/* No host has that address; the timeout is short. */
static int start_addr_error(struct stage *s)
{
	struct rdma_cmx_resolve_addr arg = { .timeout_ms = 1 };
	int ret = id_new(s, RDMA_PS_TCP);

	arg.id = s->id;
	addr_set(&arg.dst, "10.55.0.77", 9000);
	return ret ?: call(s->fd, RESOLVE_ADDR, &arg);
}

static int start_route_resolved(struct stage *s)
{
	union event_buf buf;

	return start_addr_resolved(s) ?:
	       event_want(s->fd, EV_ADDR_RESOLVED, &buf) ?:
	       id_resolve_route(s->fd, s->id);
}

/* The listener is destroyed, with the requests that it has received. */
static int start_connect_request(struct stage *s)
{
	uint16_t port;

	return listener_new(s->fd, UID, &s->id, &port) ?:
	       connect_start(s->fd, 1, port, &s->peer);
}

static int start_connect_response(struct stage *s)
{
	return request_get(s->fd, RDMA_PS_TCP, UID, &s->listener, &s->id,
			   &s->peer) ?:
	       id_accept(s->fd, s->peer, 2);
}

static int start_rejected(struct stage *s)
{
	struct rdma_cmx_reject arg = {};
	int ret = request_get(s->fd, RDMA_PS_TCP, UID, &s->listener, &s->id,
			      &s->peer);

	arg.id = s->peer;
	return ret ?: call(s->fd, REJECT, &arg);
}

/* The event of the passive side, with the uid of accept */
static int start_established(struct stage *s)
{
	struct rdma_cmx_connect arg = { .flags = RDMA_CMX_ACCEPT_NO_PARAM };
	union event_buf buf;
	int ret;

	ret = request_get(s->fd, RDMA_PS_TCP, 1, &s->listener, &s->peer,
			  &s->id) ?:
	      id_accept(s->fd, s->id, UID) ?:
	      event_want(s->fd, EV_CONNECT_RESPONSE, &buf);
	arg.id = s->peer;
	return ret ?: call(s->fd, ACCEPT, &arg);
}

static int start_disconnected(struct stage *s)
{
	struct rdma_cmx_id_arg arg = {};
	union event_buf buf;
	int ret = start_established(s);

	ret = ret ?: event_want(s->fd, EV_ESTABLISHED, &buf);
	if (!ret && buf.ev.uid == UID)
		s->seen++;
	arg.id = s->peer;
	return ret ?: call(s->fd, DISCONNECT, &arg);
}

static int start_multicast_join(struct stage *s)
{
	uint32_t mc;

	return id_new(s, RDMA_PS_UDP) ?: id_bind(s->fd, s->id, ADDR_RDMA, 0) ?:
	       mc_join(s->fd, s->id, GROUP, 1, &mc);
}

static int start_addrinfo_resolved(struct stage *s)
{
	return id_new(s, RDMA_PS_TCP) ?:
	       resolve(s, "storage.cmx.test", 0, 3000);
}

static int start_addrinfo_number(struct stage *s)
{
	return id_new(s, RDMA_PS_TCP) ?: resolve(s, ADDR_RDMA, 0, 3000);
}

static int start_addrinfo_error(struct stage *s)
{
	return id_new(s, RDMA_PS_TCP) ?:
	       resolve(s, "races.silent.test", 0, 1);
}

static int start_addrinfo_given(struct stage *s)
{
	struct rdma_cmx_give_names arg = { .error = ENOENT };
	int ret = id_new(s, RDMA_PS_TCP) ?:
		  resolve(s, "races.example", RDMA_CMX_AIQ_NAMES_LATER, 3000);

	arg.id = s->id;
	return ret ?: call(s->fd, GIVE_NAMES, &arg);
}

static int start_user(struct stage *s)
{
	int ret = id_new(s, RDMA_PS_TCP), i;

	for (i = 0; i < 20 && !ret; i++)
		ret = id_write_event(s->fd, s->id, i, 0);
	return ret;
}

static const struct kind kinds[] = {
	{ "ADDR_RESOLVED", start_addr_resolved, 100 },
	{ "ADDR_ERROR", start_addr_error, 8000 },
	{ "ROUTE_RESOLVED", start_route_resolved, 100 },
	{ "CONNECT_REQUEST", start_connect_request, 1000 },
	{ "CONNECT_RESPONSE", start_connect_response, 600 },
	{ "REJECTED", start_rejected, 600 },
	{ "ESTABLISHED", start_established, 600 },
	{ "DISCONNECTED", start_disconnected, 600 },
	{ "MULTICAST_JOIN", start_multicast_join, 400 },
	{ "ADDRINFO_RESOLVED, by name", start_addrinfo_resolved, 3000 },
	{ "ADDRINFO_RESOLVED, by number", start_addrinfo_number, 200 },
	{ "ADDRINFO_ERROR", start_addrinfo_error, 12000 },
	{ "ADDRINFO_ERROR, given", start_addrinfo_given, 100 },
	{ "USER", start_user, 200 },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

FIXTURE(events) {
	struct stage stage;
	struct pair pair;
};

FIXTURE_SETUP(events)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	pair_start(&self->pair, events_read, &self->stage);
}

FIXTURE_TEARDOWN(events)
{
	pair_end(&self->pair);
	EXPECT_TRUE(nothing_left());
}

/*
 * The number includes events of the id that start() has read: those with the
 * uid of the id, and those that count for it.
 */
static unsigned int read_by_start(const struct kind *kind)
{
	return kind->start == start_route_resolved ? 1 :
	       kind->start == start_connect_response ||
	       kind->start == start_rejected ? 2 : 0;
}

TEST_F_TIMEOUT(events, RAI_07_destroy_against_each_event, 800)
{
	unsigned int i, round, seed = 5, early, before;
	struct stage *s = &self->stage;
	int reported;

	for (i = 0; i < KINDS; i++) {
		early = 0;
		for (round = 0; round < ROUNDS; round++) {
			*s = (struct stage){ .fd = dev_open(O_NONBLOCK) };
			ASSERT_LE(0, s->fd);
			ASSERT_EQ(0, kinds[i].start(s)) {
				TH_LOG("%s", kinds[i].name);
			}
			s->seen += read_by_start(&kinds[i]);
			before = s->seen;
			pair_go(&self->pair);
			pair_delay(&seed, kinds[i].us);
			reported = id_destroy(s->fd, s->id);
			s->stop = true;
			pair_wait(&self->pair);
			ASSERT_LE(0, reported);
			EXPECT_EQ(s->seen, reported) {
				TH_LOG("%s, round %u", kinds[i].name, round);
			}
			early += s->seen == before;
			close(s->fd);
		}
		TH_LOG("%s: %d rounds, destroyed before it was read in %u",
		       kinds[i].name, ROUNDS, early);
	}
}

TEST_HARNESS_MAIN
