// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A job start. A requester sends path queries: in stock each rank is one, with
 * ibacm and with this project each node. It has a list of lookups, and a window
 * of slots for outstanding ones. A lookup that is answered releases the
 * connections that waited for it: in stock one, else all of the node to that
 * peer. So there is one object for each slot, and none for each connection.
 *
 * Of a large job only a sample of the nodes is simulated, each of which stands
 * for several. The SA is slower by the same factor, and its queue shorter: so
 * each MAD waits as long as in the whole, and each requester sees the same. The
 * exact number is lost where the load is so low that single queries meet.
 *
 * The SA is one server with a queue. Each end of a connection is work for its
 * node, which does it one after another: a node needs one number, the time at
 * which its work is done.
 *
 * A run ends after max_events. By then all requesters have had their windows
 * full for long, and the rest goes on at the rate of the second half.
 */
#include "job.h"

/* --- The SA --- */

static void sa_serve(struct run *run)
{
	heap_add(&run->heap, run->now + run->sa, EVENT_SERVED, run->epoch);
}

static void sa_send(struct run *run, uint32_t index)
{
	const struct sim_job *job = run->job;
	const struct slot *slot = &run->slots[index];
	const struct request *first = &run->queue[run->head];

	run->counts.mads++;
	if (run->silent || run->queued == run->sa_queue)
		return;
	if (run->queued > 1 && run->now - first->since > job->sa_fifo)
		return;
	run->queue[(run->head + run->queued) % run->sa_queue] =
		(struct request) { index, slot->number, run->now };
	if (!run->queued++)
		sa_serve(run);
	if (run->queued > run->longest)
		run->longest = run->queued;
}

static void slot_timer(struct run *run, uint32_t index)
{
	struct slot *slot = &run->slots[index];
	const struct requester *r = &run->requesters[slot->requester];
	sim_time response, timeout = slot->attempt == 1 ? run->policy.first :
						run->policy.next;

	/* As cmx_sa_retry_delay() */
	response = 2 * r->response;
	if (response > run->policy.total / 2)
		response = run->policy.total / 2;
	if (run->policy.adaptive && timeout < response)
		timeout = response;
	slot->due = run->now + timeout;
	if (slot->due > slot->deadline)
		slot->due = slot->deadline;
	if (slot->armed)
		return;
	slot->armed = true;
	heap_add(&run->heap, slot->due, EVENT_TIMER, index);
}

static void slot_send(struct run *run, uint32_t index)
{
	run->slots[index].attempt++;
	sa_send(run, index);
	slot_timer(run, index);
}

static void slot_query(struct run *run, uint32_t index)
{
	struct slot *slot = &run->slots[index];

	slot->number++;
	slot->attempt = 0;
	slot->deadline = run->now + run->policy.total;
	run->counts.queries++;
	slot_send(run, index);
}

/* --- Paths and connections --- */

static uint32_t path_of(const struct run *run, const struct requester *r,
			uint32_t lookup)
{
	uint32_t peers = pattern_peers(run->job, r->node);

	if (run->policy.of_node)
		return lookup;
	/* Each rank begins with another peer. */
	return (lookup / pattern_each(run->job) +
		(uint64_t)r->rank * peers / run->job->ranks) % peers;
}

uint32_t connections_of(const struct run *run)
{
	if (!run->policy.of_node)
		return 1;
	return pattern_ranks(run->job) * pattern_each(run->job);
}

static void work_add(struct run *run, uint32_t machine, double connections)
{
	sim_time *done = &run->work_done[machine];

	if (*done < run->now)
		*done = run->now;
	*done += connections * run->job->cm;
}

/* A target has the work of all nodes, a node that of those like it. */
static void peer_work_add(struct run *run, uint32_t peer, uint32_t connections)
{
	if (peer >= run->job->nodes)
		work_add(run, run->nodes + peer - run->job->nodes,
			 connections * run->scale);
	else
		work_add(run, peer % run->nodes, connections);
}

static void lookup_connect(struct run *run, const struct requester *r,
			   uint32_t lookup)
{
	uint32_t path = path_of(run, r, lookup), n = connections_of(run);

	work_add(run, r->node, n);
	peer_work_add(run, pattern_peer(run->job, r->node, path), n);
	run->counts.connections += n;
	run->last_path = run->now;
}

static bool path_known(const struct run *run, const struct requester *r,
		       uint32_t path)
{
	sim_time at;

	if (!run->policy.of_node)
		return false;
	if (run->job->preload && !run->dropped)
		return true;
	if (!run->known)
		return false;
	at = run->known[r->node][path];
	return at > run->dropped && run->now - at <= run->job->life;
}

static void path_learn(struct run *run, const struct requester *r,
		       uint32_t path)
{
	if (run->known)
		run->known[r->node][path] = run->now;
}

/* --- Requesters --- */

static uint32_t slot_free(const struct run *run, const struct requester *r)
{
	uint32_t i;

	for (i = r->first_slot; run->slots[i].active; i++)
		;
	return i;
}

static uint32_t requester_limit(const struct requester *r)
{
	return r->window < r->slots ? r->window : r->slots;
}

static void wave_end(struct run *run, struct requester *r, uint32_t index)
{
	if (r->done < r->lookups || r->waiting ||
	    r->wave + 1 >= run->job->waves)
		return;
	r->wave++;
	r->next = 0;
	r->done = 0;
	r->waiting = true;
	heap_add(&run->heap, run->now + run->job->wave_gap, EVENT_START, index);
}

static void requester_run(struct run *run, uint32_t index)
{
	struct requester *r = &run->requesters[index];
	struct slot *slot;
	uint32_t i;

	while (r->running < requester_limit(r) && r->next < r->lookups) {
		uint32_t lookup = r->next++;

		if (path_known(run, r, path_of(run, r, lookup))) {
			run->counts.hits++;
			run->counts.done++;
			r->done++;
			lookup_connect(run, r, lookup);
			continue;
		}
		i = slot_free(run, r);
		slot = &run->slots[i];
		slot->active = true;
		slot->lookup = lookup;
		slot->tries = 0;
		r->running++;
		slot_query(run, i);
	}
	wave_end(run, r, index);
}

static void slot_end(struct run *run, struct slot *slot)
{
	struct requester *r = &run->requesters[slot->requester];

	slot->active = false;
	r->running--;
	r->done++;
	run->counts.done++;
	requester_run(run, slot->requester);
}

/* As cmx_sa_window_adapt(): what it begins with is also the least. */
static void window_adapt(struct run *run, struct requester *r, sim_time took)
{
	const struct policy *policy = &run->policy;

	if (policy->window == policy->window_max)
		return;
	if (took < policy->first / 2)
		r->window++;
	else if (took >= policy->first)
		r->window -= (r->window + 3) / 4;
	if (r->window < policy->window)
		r->window = policy->window;
	if (r->window > policy->window_max)
		r->window = policy->window_max;
}

static void slot_answered(struct run *run, struct slot *slot, sim_time since)
{
	struct requester *r = &run->requesters[slot->requester];

	window_adapt(run, r, run->now - since);
	r->response = r->response ? (7 * r->response + run->now - since) / 8 :
				    run->now - since;
	path_learn(run, r, path_of(run, r, slot->lookup));
	lookup_connect(run, r, slot->lookup);
	slot_end(run, slot);
}

/* The program's connects end with ETIMEDOUT, and it makes them again. */
static void slot_timeout(struct run *run, uint32_t index)
{
	struct slot *slot = &run->slots[index];

	run->counts.timeouts += connections_of(run);
	if (++slot->tries < run->job->tries) {
		slot_query(run, index);
		return;
	}
	run->counts.gave_up += connections_of(run);
	slot->number++;
	slot_end(run, slot);
}

/* --- Events --- */

static void event_timer(struct run *run, uint32_t index)
{
	struct slot *slot = &run->slots[index];

	slot->armed = false;
	if (!slot->active)
		return;
	if (run->now < slot->due) {
		slot->armed = true;
		heap_add(&run->heap, slot->due, EVENT_TIMER, index);
		return;
	}
	if (run->now >= slot->deadline) {
		slot_timeout(run, index);
		return;
	}
	window_adapt(run, &run->requesters[slot->requester],
		     run->policy.first);
	slot_send(run, index);
}

static void event_served(struct run *run, uint32_t epoch)
{
	struct request request;
	struct slot *slot;

	/* Of an SM that has gone since */
	if (epoch != run->epoch)
		return;
	request = run->queue[run->head];
	run->head = (run->head + 1) % run->sa_queue;
	run->queued--;
	if (run->queued)
		sa_serve(run);
	run->counts.served++;
	run->waited += run->now - run->sa - request.since;
	slot = &run->slots[request.slot];
	if (slot->active && slot->number == request.number)
		slot_answered(run, slot, request.since);
	else
		run->counts.useless++;
}

static void event_silent(struct run *run)
{
	run->silent = true;
	run->queued = 0;
	run->epoch++;
	heap_add(&run->heap, run->now + run->job->silent_for, EVENT_ALIVE, 0);
}

static void event_alive(struct run *run)
{
	uint32_t i;

	run->silent = false;
	if (!run->policy.follows_sm)
		return;
	run->dropped = run->now;
	for (i = 0; i < run->slots_count; i++)
		if (run->slots[i].active)
			slot_send(run, i);
}

void event_handle(struct run *run, const struct sim_event *event)
{
	switch (event->type) {
	case EVENT_START:
		run->requesters[event->arg].waiting = false;
		requester_run(run, event->arg);
		break;
	case EVENT_TIMER:
		event_timer(run, event->arg);
		break;
	case EVENT_SERVED:
		event_served(run, event->arg);
		break;
	case EVENT_SILENT:
		event_silent(run);
		break;
	case EVENT_ALIVE:
		event_alive(run);
		break;
	}
}
