// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CONNECT of an id that took over the winner of its race: the private data of
 * the winner's entry, and a share of the deadline. A CONNECT without a reply by
 * then ends with UNREACHABLE, and the caller continues with the other
 * candidates. The time in which it waits for a slot does not count, up to
 * connect_wait_ms for all CONNECTs and races of a RESOLVE_ANY.
 *
 * Commands hold the id's mutex. ucmx_id.lock guards the state that the event
 * handler and the timer use.
 */
#include "any.h"

/* The CM retries a lost REQ within that time, see CMX_REQ_RETRY_MS. */
#define UCMX_ANY_LIMIT_MS	5000

/* Candidates that may still win, without the winner. The mutex is held. */
u32 ucmx_any_left(const struct ucmx_any *any)
{
	const struct rdma_cmx_connect_report *report = any->report;
	u32 i, n = 0;

	for (i = 0; i < report->count; i++)
		n += i != report->winner &&
		     cmx_candidate_alive(&report->candidates[i]);
	return n;
}

/*
 * Jiffies to the deadline; 0 or less: it has passed. The mutex is held. The
 * sum of waits may exceed the maximum while one lasts.
 */
long ucmx_any_time(const struct ucmx_any *any)
{
	unsigned long now = jiffies;
	long left = any->expires - (any->waits ? any->waits_since : now);

	return min_t(long, left, any->until - now);
}

/* Waits have taken @waited jiffies. The mutex is held. */
void ucmx_any_postpone(struct ucmx_any *any, unsigned long waited)
{
	any->expires += min(waited, any->until - any->expires);
}

/* Jiffies until CONNECT times out. ucmx_id.lock is held. */
static long ucmx_any_due(const struct ucmx_any *any)
{
	long left = any->until - jiffies;

	if (!any->waits)
		left = min_t(long, left, any->due - jiffies);
	return max(left, 0L);
}

/* CONNECT has no reply in time. */
void ucmx_any_late(struct work_struct *work)
{
	struct ucmx_any *any = container_of(to_delayed_work(work),
					    struct ucmx_any, limit);
	struct ucmx_id *id = any->id;
	struct ucmx_event *ev;
	bool expired, gone;
	long left;

	spin_lock(&id->lock);
	left = ucmx_any_due(any);
	expired = any->armed && !left;
	if (expired) {
		any->armed = false;
		WRITE_ONCE(any->expired, true);
	} else if (any->armed) {
		/* A wait for a slot began or ended meanwhile. */
		queue_delayed_work(ucmx_timer_wq, &any->limit, left);
	}
	spin_unlock(&id->lock);
	if (!expired)
		return;
	ev = ucmx_event_take(id, RDMA_CM_EVENT_UNREACHABLE, UCMX_SLOT_CONN, 0);
	if (!ev)
		return;
	ev->event = RDMA_CM_EVENT_UNREACHABLE;
	ev->status = -ETIMEDOUT;
	spin_lock(&id->lock);
	/* DEVICE_REMOVAL is the last event. */
	gone = id->gone;
	if (!gone)
		ucmx_event_post_locked(ev);
	spin_unlock(&id->lock);
	if (gone)
		ucmx_event_free(ev);
}

/* True if CONNECT has timed out with an event. The id's mutex is held. */
bool ucmx_any_expired(struct ucmx_id *id)
{
	return id->any && READ_ONCE(id->any->expired);
}

/* The same, in an event handler */
bool ucmx_any_given_up(struct ucmx_id *id)
{
	bool expired;

	spin_lock(&id->lock);
	expired = id->any && id->any->expired;
	spin_unlock(&id->lock);
	return expired;
}

/* The request of a CONNECT is about to be sent. The id's mutex is held. */
void ucmx_any_sent(struct ucmx_id *id)
{
	if (id->any)
		id->any->sent = jiffies;
}

/*
 * The id is about to lose its cm id; its mutex is held. A path without a reply
 * in time may be invalid, and rdma_cm will not report it any more.
 */
void ucmx_any_drop_path(struct ucmx_id *id)
{
	if (!READ_ONCE(id->path_cached) || !ucmx_any_expired(id) ||
	    !id->cm_used || !READ_ONCE(id->cm_outstanding) ||
	    !cmx_req_is_silent(id->any->sent) || READ_ONCE(id->gone))
		return;
	/* Once for each request: a NEXT that fails may be repeated. */
	WRITE_ONCE(id->path_cached, false);
	rdma_cmx_drop_cached_path_tos(id->cm, id->tos);
}

/**
 * ucmx_any_connects - arm the deadline of a CONNECT
 * @id: the id, its mutex held
 *
 * A CONNECT that waits for a slot, or was sent, keeps its deadline.
 *
 * Context: may sleep.
 * Return: true if ucmx_any_replied() has to follow when CONNECT is not sent.
 */
bool ucmx_any_connects(struct ucmx_id *id)
{
	struct ucmx_any *any = id->any;
	long left;
	u32 others;

	if (!any || !any->connect || !ucmx_any_winner(any) || id->connect ||
	    id->cm_used)
		return false;
	left = ucmx_any_time(any);
	others = ucmx_any_left(any);
	if (others)
		left = min_t(long, left / (long)(others + 1),
			     msecs_to_jiffies(UCMX_ANY_LIMIT_MS));
	/* The limit of an earlier CONNECT, which failed, would end this one */
	cancel_delayed_work_sync(&any->limit);
	spin_lock(&id->lock);
	any->armed = true;
	any->due = jiffies + max(left, 1L);
	WRITE_ONCE(any->expired, false);
	spin_unlock(&id->lock);
	queue_delayed_work(ucmx_timer_wq, &any->limit, max(left, 1L));
	return true;
}

/**
 * ucmx_any_waits - CONNECT begins to wait for a slot
 * @id: the id, its mutex held
 */
void ucmx_any_waits(struct ucmx_id *id)
{
	struct ucmx_any *any = id->any;

	if (!any)
		return;
	spin_lock(&id->lock);
	any->waits = true;
	any->waits_since = jiffies;
	spin_unlock(&id->lock);
}

/**
 * ucmx_any_waited - CONNECT no longer waits for a slot
 * @id: the id, its mutex held
 *
 * Its share of the time begins, or goes on.
 */
void ucmx_any_waited(struct ucmx_id *id)
{
	struct ucmx_any *any = id->any;
	unsigned long waited;

	if (!any || !any->waits)
		return;
	spin_lock(&id->lock);
	any->waits = false;
	waited = jiffies - any->waits_since;
	any->due += waited;
	ucmx_any_postpone(any, waited);
	if (any->armed)
		mod_delayed_work(ucmx_timer_wq, &any->limit,
				 ucmx_any_due(any));
	spin_unlock(&id->lock);
}

/**
 * ucmx_any_replied - disarm the deadline of a CONNECT
 * @id: the id
 *
 * CONNECT has a reply, or was not sent. If it still waits for a slot, the event
 * is that of a changed neighbour, and the deadline stays.
 *
 * Return: false if the deadline has passed, and its event reports that.
 */
bool ucmx_any_replied(struct ucmx_id *id)
{
	bool expired = false;

	spin_lock(&id->lock);
	if (id->any) {
		if (!READ_ONCE(id->connect))
			id->any->armed = false;
		expired = id->any->expired;
	}
	spin_unlock(&id->lock);
	return !expired;
}

/**
 * ucmx_any_private_data - prepend the data of the winner's entry
 * @id: the id, its mutex held
 * @param: parameters of the request
 * @buf: buffer for all private data
 *
 * Return: 0, or -EINVAL if it is too long.
 */
int ucmx_any_private_data(struct ucmx_id *id, struct rdma_conn_param *param,
			  u8 buf[U8_MAX])
{
	const struct rdma_cmx_entry *entry;

	if (!id->any || !ucmx_any_winner(id->any))
		return 0;
	entry = &id->any->result->entries[id->any->report->winner];
	if (!entry->connect_len)
		return 0;
	if (entry->connect_len > U8_MAX - param->private_data_len)
		return -EINVAL;
	memcpy(buf, entry->connect, entry->connect_len);
	memcpy(buf + entry->connect_len, param->private_data,
	       param->private_data_len);
	param->private_data = buf;
	param->private_data_len += entry->connect_len;
	return 0;
}
