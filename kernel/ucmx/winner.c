// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The CONNECT of an id that took over the winner of its race: the private data
 * of the winner's entry, and a share of the deadline. A CONNECT without a reply
 * by then ends with UNREACHABLE, and the caller goes on with the others.
 *
 * The commands hold the id's mutex. What the event handler and the timer use is
 * guarded by ucmx_id.lock.
 */
#include "any.h"

/* A request that was lost is sent again within that time, after 4.3 s. */
#define UCMX_ANY_LIMIT_MS	5000

/* One that NEXT would start: it has not failed, or was only too slow. */
static bool ucmx_any_alive(const struct rdma_cmx_candidate *c)
{
	return !c->error || c->error == -ECANCELED;
}

/* Candidates that may still win, beside the winner; the mutex is held. */
u32 ucmx_any_left(const struct ucmx_any *any)
{
	const struct rdma_cmx_connect_report *report = any->report;
	u32 i, n = 0;

	for (i = 0; i < report->count; i++)
		n += i != report->winner &&
		     ucmx_any_alive(&report->candidates[i]);
	return n;
}

/* The reply to CONNECT has not come in time. */
void ucmx_any_late(struct work_struct *work)
{
	struct ucmx_any *any = container_of(to_delayed_work(work),
					    struct ucmx_any, limit);
	struct ucmx_id *id = any->id;
	struct ucmx_event *ev;
	bool expired, gone;

	spin_lock(&id->lock);
	expired = any->armed;
	any->armed = false;
	if (expired)
		WRITE_ONCE(any->expired, true);
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

/* Was the CONNECT given up, and that reported? The id's mutex is held. */
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

/*
 * The id, its mutex held, loses its cm id. A path by which no reply has come in
 * time may lead nowhere, which rdma_cm will not report any more.
 */
void ucmx_any_drop_path(struct ucmx_id *id)
{
	if (ucmx_any_expired(id) && id->cm_used && !READ_ONCE(id->gone))
		rdma_cmx_drop_cached_path_tos(id->cm, id->tos);
}

/**
 * ucmx_any_connects - a CONNECT is about to be sent
 * @id: the id, its mutex held
 *
 * Return: true if ucmx_any_replied() is to follow when it was not sent; an
 * earlier CONNECT has its own deadline.
 */
bool ucmx_any_connects(struct ucmx_id *id)
{
	struct ucmx_any *any = id->any;
	long left;
	u32 others;

	if (!any || !any->connect || !ucmx_any_winner(any) || id->connect ||
	    id->cm_used)
		return false;
	left = any->expires - jiffies;
	others = ucmx_any_left(any);
	if (others)
		left = min_t(long, left / (others + 1),
			     msecs_to_jiffies(UCMX_ANY_LIMIT_MS));
	/* That of an earlier one, which has failed, would end this one. */
	cancel_delayed_work_sync(&any->limit);
	spin_lock(&id->lock);
	any->armed = true;
	WRITE_ONCE(any->expired, false);
	spin_unlock(&id->lock);
	queue_delayed_work(ucmx_timer_wq, &any->limit, max(left, 1L));
	return true;
}

/**
 * ucmx_any_replied - the reply to CONNECT has come, or it was not sent
 * @id: the id
 *
 * Return: false if it was given up before, and its end reported.
 */
bool ucmx_any_replied(struct ucmx_id *id)
{
	bool expired = false;

	spin_lock(&id->lock);
	if (id->any) {
		id->any->armed = false;
		expired = id->any->expired;
	}
	spin_unlock(&id->lock);
	return !expired;
}

/**
 * ucmx_any_private_data - put the data of the winner's entry first
 * @id: the id, its mutex held
 * @param: parameters of the request
 * @buf: room for all private data
 *
 * Return: 0, or -EINVAL if there is too much of it.
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
