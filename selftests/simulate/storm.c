// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Clients on one listener. A REQ passes two queues: the receives that are posted
 * on QP1 of the listener's node, and the backlog of the listener. One too many is
 * lost in either: ucma, and this project, return ENOMEM for a full backlog, and
 * ib_cm drops the REQ. The listener accepts one after another. A client repeats a
 * REQ without a REP after the CM's timeout. When all of these had none, the
 * program calls again later, some times.
 *
 * With a window, a node has no more than half of that many REQs outstanding; the
 * other half is for other users, who do nothing here, and one slot of it for this
 * user, which is left out. The window grows by one with each window of REPs. It
 * halves, once for the REQs that were outstanding together, when the CM has given
 * up, or a REP comes after the epochs in which its REQ counts. That is the window
 * of kernel/core/connect/window.c for a destination.
 *
 * One thread, no locks.
 */
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

/* A request counts in the epoch in which it was sent and in the two after it. */
#define WINDOW_EPOCH	(2001 * SIM_MS)
#define WINDOW_EPOCHS	3

enum {
	STORM_CALL, STORM_TIMER, STORM_RECEIVED, STORM_ACCEPTED, STORM_UNCOUNT
};

struct client {
	sim_time called;
	sim_time due;
	uint32_t node;
	uint16_t sent, tries;
	bool waiting;		/* for its REP */
	bool armed;		/* a STORM_TIMER is there */
	bool queued;		/* in the backlog */
	bool counts;		/* in node.running */
	uint32_t epoch;		/* since then */
};

struct ring {
	uint32_t *items;
	uint32_t head, count, room;
};

struct node {
	struct ring calls;	/* clients who wait for the window */
	uint32_t running, window;
	uint32_t replies;	/* since it has changed */
	uint32_t shrunk;	/* epoch in which that halved it, and one */
};

struct storm {
	const struct sim_storm *p;
	struct sim_storm_result *result;
	struct sim_heap heap;
	sim_time now;
	struct client *clients;
	struct node *nodes;
	struct ring received, backlog;
	double *waits;
};

void storm_defaults(struct sim_storm *storm)
{
	*storm = (struct sim_storm) {
		.nodes = 100,
		.clients = 1000,
		.window_first = 256,
		.window_min = 16,
		.backlog = 1024,
		.mad_queue = 512,
		.mad = 5 * SIM_US,
		.accept = 1000 * SIM_US,
		.timeout = 4295 * SIM_MS,
		.retries = 15,
		.tries = 5,
		.again = 1000 * SIM_MS,
		.seed = 1,
	};
}

static void ring_init(struct ring *ring, uint32_t room)
{
	ring->room = room ? room : 1;
	ring->items = sim_alloc(ring->room, sizeof(*ring->items));
}

static void ring_put(struct ring *ring, uint32_t item)
{
	ring->items[(ring->head + ring->count++) % ring->room] = item;
}

static uint32_t ring_take(struct ring *ring)
{
	uint32_t item = ring->items[ring->head];

	ring->head = (ring->head + 1) % ring->room;
	ring->count--;
	return item;
}

static void req_send(struct storm *storm, uint32_t index)
{
	struct client *c = &storm->clients[index];

	c->sent++;
	c->waiting = true;
	c->due = storm->now + storm->p->timeout;
	storm->result->sent++;
	if (!c->armed) {
		c->armed = true;
		heap_add(&storm->heap, c->due, STORM_TIMER, index);
	}
	if (storm->received.count == storm->p->mad_queue) {
		storm->result->lost++;
		return;
	}
	ring_put(&storm->received, index);
	if (storm->received.count == 1)
		heap_add(&storm->heap, storm->now + storm->p->mad,
			 STORM_RECEIVED, 0);
}

static uint32_t epoch_of(const struct storm *storm)
{
	return storm->now / WINDOW_EPOCH;
}

static void client_uncount(struct storm *storm, struct client *c)
{
	if (c->counts)
		storm->nodes[c->node].running--;
	c->counts = false;
}

static void node_run(struct storm *storm, struct node *node)
{
	struct client *c;
	uint32_t index;

	while (node->calls.count &&
	       (!storm->p->window || node->running < (node->window + 1) / 2)) {
		index = ring_take(&node->calls);
		c = &storm->clients[index];
		c->counts = true;
		c->epoch = epoch_of(storm);
		c->sent = 0;
		node->running++;
		if (storm->p->window)
			heap_add(&storm->heap,
				 (c->epoch + WINDOW_EPOCHS) * WINDOW_EPOCH,
				 STORM_UNCOUNT, index);
		req_send(storm, index);
	}
}

/* As cmx_window_sign(), for a request that was sent in @epoch */
static void window_adapt(struct storm *storm, struct node *node, uint32_t epoch,
			 bool good)
{
	uint32_t now = epoch_of(storm);

	if (good && now - epoch < WINDOW_EPOCHS) {
		if (++node->replies < node->window)
			return;
		node->window++;
	} else {
		if (epoch < node->shrunk)
			return;
		node->shrunk = now + 1;
		node->window /= 2;
	}
	node->replies = 0;
	if (node->window < storm->p->window_min)
		node->window = storm->p->window_min;
	if (node->window > storm->p->window)
		node->window = storm->p->window;
}

/* A connect has ended, well or not. */
static void client_end(struct storm *storm, struct client *c, bool good)
{
	struct node *node = &storm->nodes[c->node];

	c->waiting = false;
	client_uncount(storm, c);
	window_adapt(storm, node, c->epoch, good);
	node_run(storm, node);
}

static void client_failed(struct storm *storm, uint32_t index)
{
	struct client *c = &storm->clients[index];

	if (++c->tries < storm->p->tries)
		heap_add(&storm->heap, storm->now + storm->p->again, STORM_CALL,
			 index);
	else
		storm->result->failed++;
	client_end(storm, c, false);
}

static void on_call(struct storm *storm, uint32_t index)
{
	struct client *c = &storm->clients[index];

	if (!c->tries)
		c->called = storm->now;
	ring_put(&storm->nodes[c->node].calls, index);
	node_run(storm, &storm->nodes[c->node]);
}

static void on_timer(struct storm *storm, uint32_t index)
{
	struct client *c = &storm->clients[index];

	c->armed = false;
	if (!c->waiting)
		return;
	if (storm->now < c->due) {
		c->armed = true;
		heap_add(&storm->heap, c->due, STORM_TIMER, index);
	} else if (c->sent > storm->p->retries) {
		client_failed(storm, index);
	} else {
		req_send(storm, index);
	}
}

/* If it is still the REQ that was counted then */
static void on_uncount(struct storm *storm, uint32_t index)
{
	struct client *c = &storm->clients[index];

	if (!c->counts || epoch_of(storm) - c->epoch < WINDOW_EPOCHS)
		return;
	client_uncount(storm, c);
	node_run(storm, &storm->nodes[c->node]);
}

/* ib_cm has a REQ: a second one of the same client is of no use. */
static void on_received(struct storm *storm)
{
	uint32_t index = ring_take(&storm->received);
	struct client *c = &storm->clients[index];

	if (storm->received.count)
		heap_add(&storm->heap, storm->now + storm->p->mad,
			 STORM_RECEIVED, 0);
	if (!c->waiting || c->queued)
		return;
	if (storm->backlog.count == storm->p->backlog) {
		storm->result->dropped++;
		return;
	}
	c->queued = true;
	ring_put(&storm->backlog, index);
	if (storm->backlog.count == 1)
		heap_add(&storm->heap, storm->now + storm->p->accept,
			 STORM_ACCEPTED, 0);
}

static void on_accepted(struct storm *storm)
{
	struct client *c = &storm->clients[ring_take(&storm->backlog)];

	if (storm->backlog.count)
		heap_add(&storm->heap, storm->now + storm->p->accept,
			 STORM_ACCEPTED, 0);
	c->queued = false;
	/* Its node has given up */
	if (!c->waiting)
		return;
	storm->waits[storm->result->connected++] =
		(double)(storm->now - c->called) / SIM_MS;
	storm->result->last_ms = (double)storm->now / SIM_MS;
	client_end(storm, c, true);
}

static void storm_init(struct storm *storm)
{
	const struct sim_storm *p = storm->p;
	uint64_t seed = p->seed;
	uint32_t i;

	storm->clients = sim_alloc(p->clients, sizeof(*storm->clients));
	storm->nodes = sim_alloc(p->nodes, sizeof(*storm->nodes));
	storm->waits = sim_alloc(p->clients, sizeof(*storm->waits));
	ring_init(&storm->received, p->mad_queue);
	ring_init(&storm->backlog, p->backlog);
	for (i = 0; i < p->nodes; i++) {
		storm->nodes[i].window = p->window_first;
		if (storm->nodes[i].window > p->window)
			storm->nodes[i].window = p->window;
		ring_init(&storm->nodes[i].calls, p->clients / p->nodes + 1);
	}
	for (i = 0; i < p->clients; i++) {
		storm->clients[i].node = i % p->nodes;
		heap_add(&storm->heap, sim_random(&seed, p->spread + 1),
			 STORM_CALL, i);
	}
}

static void storm_free(struct storm *storm)
{
	uint32_t i;

	for (i = 0; i < storm->p->nodes; i++)
		free(storm->nodes[i].calls.items);
	free(storm->received.items);
	free(storm->backlog.items);
	free(storm->clients);
	free(storm->nodes);
	free(storm->waits);
	heap_free(&storm->heap);
}

static int wait_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void storm_run(const struct sim_storm *p, struct sim_storm_result *result)
{
	struct storm storm = { .p = p, .result = result };
	struct sim_event event;

	memset(result, 0, sizeof(*result));
	storm_init(&storm);
	while (heap_take(&storm.heap, &event)) {
		storm.now = event.time;
		switch (event.type) {
		case STORM_CALL:
			on_call(&storm, event.arg);
			break;
		case STORM_TIMER:
			on_timer(&storm, event.arg);
			break;
		case STORM_RECEIVED:
			on_received(&storm);
			break;
		case STORM_ACCEPTED:
			on_accepted(&storm);
			break;
		case STORM_UNCOUNT:
			on_uncount(&storm, event.arg);
			break;
		}
	}
	qsort(storm.waits, result->connected, sizeof(*storm.waits), wait_order);
	if (result->connected)
		result->median_ms = storm.waits[result->connected / 2];
	result->window = storm.nodes[0].window;
	result->ideal_ms = (p->clients / 2 + 1) * (double)p->accept / SIM_MS;
	storm_free(&storm);
}
