// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RESOLVE_ANY: the entries of an id's result race for address and route, or for
 * a connection. The id takes over the cm id of the winner.
 *
 * The id's mutex guards the object of the command. The callback of the race
 * takes the mutex. So no code waits for the callback with the mutex held while
 * the race is outstanding. An event of the winner before the takeover ends the
 * winner, and the callback starts another race of those that are left.
 *
 * The winner's cm id replaces one that is not bound and has no events.
 *
 * A race counts as one request of its file and of the file's user. The result
 * and the report stay with the id. If they are large, the user's count stays,
 * too, and a later race of the id does not add to it.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "any.h"

/*
 * A result with up to so many entries, and path records of all of them, needs
 * little more memory than the id itself.
 */
#define UCMX_ANY_SMALL	16
#define UCMX_ANY_PATHS	(4 * UCMX_ANY_SMALL)

/* Handler of the winner until the id has taken it over */
static int ucmx_any_event(struct rdma_cm_id *cm, struct rdma_cm_event *e)
{
	struct ucmx_any *any = cm->context;

	if (e->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		any->lost = -ENODEV;
	else if (!any->lost && e->event == RDMA_CM_EVENT_ADDR_CHANGE)
		any->lost = -EADDRNOTAVAIL;
	/* The peer has ended the connection. */
	else if (!any->lost && any->qps)
		any->lost = -ECONNRESET;
	return 0;
}

/* The id takes @cm over; the mutex is held. After an error it has not. */
static int ucmx_any_adopt(struct ucmx_any *any, struct rdma_cm_id *cm)
{
	struct ucmx_id *id = any->id;
	int ret = 0;

	/* An id that lost a device does not get another one. */
	if (id->dead || READ_ONCE(id->gone))
		return -ENODEV;
	if (id->ack_timeout_set)
		ret = rdma_set_ack_timeout(cm, id->ack_timeout);
	if (ret)
		return ret;
	rdma_lock_handler(cm);
	ret = any->lost;
	if (!ret && any->qps)
		ucmx_conn_adopted(id, cm, &any->report->param);
	else if (!ret)
		ucmx_route_adopted(id, cm);
	rdma_unlock_handler(cm);
	return ret;
}

static void ucmx_any_error(struct ucmx_id *id, int status)
{
	struct ucmx_event *ev;

	ev = ucmx_event_take(id, RDMA_CM_EVENT_ROUTE_ERROR, UCMX_SLOT_ROUTE, 0);
	if (!ev)
		return;
	ev->event = RDMA_CM_EVENT_ROUTE_ERROR;
	ev->status = status;
	ucmx_event_post(ev);
}

/*
 * Sets what counts: a race, charged before, and a large result. Uncharges what
 * no longer does, but not the user if @keep. The id's mutex is held.
 */
static void ucmx_any_count(struct ucmx_id *id, bool racing, bool large,
			   bool keep)
{
	spin_lock(&id->lock);
	if (id->racing && !racing)
		atomic_dec(&id->file->nr_requests);
	if ((id->racing || id->any_large) && !racing && !large && !keep)
		atomic_dec(&id->file->user->requests);
	id->racing = racing;
	id->any_large = large;
	spin_unlock(&id->lock);
}

/* The id's mutex is held. */
static void ucmx_any_ended(struct ucmx_id *id)
{
	ucmx_any_count(id, false, id->any_large, false);
}

/* The callback has run, but may not have returned. */
static void ucmx_any_forget(struct rdma_cmx_connector *connector)
{
	if (connector)
		rdma_cmx_connect_cancel(connector);
	rdma_cmx_connect_put(connector);
}

/* Starts a race of the candidates that are left. The id's mutex is held. */
static int ucmx_any_launch(struct ucmx_id *id, struct ucmx_any *any, gfp_t gfp)
{
	struct rdma_cmx_connect_attr attr = {
		.query.net = id->cm->route.addr.dev_addr.net,
		.handler = ucmx_any_event,
		.id_context = any,
		.has_tos = id->tos_set,
		.tos = id->tos,
		.timeout_ms = jiffies_to_msecs(max(ucmx_any_time(any), 1L)),
		.delay_ms = any->delay_ms,
	};
	struct cmx_connect_given given = {
		.result = any->result,
		.before = any->report,
		.started = any->started,
		.max_wait = any->until - any->expires,
		.port_space = id->cm->ps,
		.qp_type = id->cm->qp_type,
		.uid = KUIDT_INIT(id->file->user->index),
		.limited = any->limited,
		.own_dev = any->own_dev,
		.has_ack_timeout = id->ack_timeout_set,
		.ack_timeout = id->ack_timeout,
		.gfp = gfp,
	};
	struct rdma_cmx_connector *connector;
	int ret;

	if (any->qps) {
		given.check = ucmx_any_check;
		attr.setup = ucmx_any_setup;
		attr.teardown = ucmx_any_teardown;
	}
	any->lost = 0;
	ret = rdma_cmx_connect_start_for(&attr, &given, ucmx_any_done, any,
					 &connector);
	if (ret)
		return ret;
	/* That of @any->connector may be the caller. */
	ucmx_any_forget(any->previous);
	any->previous = any->connector;
	any->connector = connector;
	ucmx_stat_inc(races);
	return 0;
}

/* The race has ended with @status. The id's mutex is held. */
static void ucmx_any_finish(struct ucmx_id *id, int status)
{
	ucmx_any_ended(id);
	/* DEVICE_REMOVAL is the last event. */
	if (status && !READ_ONCE(id->gone))
		ucmx_any_error(id, status);
}

/*
 * The winner was lost, with @status, before the id could take it over. The id
 * keeps the report of the race, so its memory is charged. This must not wait for
 * the cgroup: the removal of devices waits for the work of races.
 */
static void ucmx_any_again(struct ucmx_any *any, int status)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT;
	struct ucmx_id *id = any->id;
	struct mem_cgroup *old;

	mutex_lock(&id->mutex);
	old = set_active_memcg(any->memcg);
	if (id->dead || READ_ONCE(id->gone) || ucmx_any_launch(id, any, gfp))
		ucmx_any_finish(id, status);
	set_active_memcg(old);
	mutex_unlock(&id->mutex);
}

/* The callback of a race, see rdma_cmx_connect_fn */
void ucmx_any_done(struct rdma_cmx_connector *connector, struct rdma_cm_id *cm,
		   struct rdma_cmx_connect_report *report, void *context)
{
	struct ucmx_any *any = context;
	struct ucmx_id *id = any->id;
	int status = PTR_ERR_OR_ZERO(cm);
	struct rdma_cm_id *drop = NULL;
	bool again = false;

	mutex_lock(&id->mutex);
	rdma_cmx_connect_report_put(any->report);
	any->report = report;
	if (connector)
		ucmx_any_postpone(any, rdma_cmx_connect_waited(connector));
	if (!status) {
		drop = id->cm;
		status = ucmx_any_adopt(any, cm);
		if (status) {
			drop = cm;
			ucmx_any_winner(any)->error = status;
			report->winner = report->count;
			again = READ_ONCE(any->lost);
		}
	}
	if (!again)
		ucmx_any_finish(id, status);
	mutex_unlock(&id->mutex);
	/* Another race begins after the last event of the lost winner. */
	if (drop)
		rdma_destroy_id(drop);
	if (again)
		ucmx_any_again(any, status);
}

/* Frees an object without a race. The id's mutex may be held. */
static void ucmx_any_free(struct ucmx_any *any)
{
	if (!any)
		return;
	cancel_delayed_work_sync(&any->limit);
	ucmx_any_forget(any->connector);
	ucmx_any_forget(any->previous);
	rdma_cmx_connect_report_put(any->report);
	rdma_cmx_result_put(any->result);
	mem_cgroup_put(any->memcg);
	kfree(any->qps);
	kfree(any);
	ucmx_stat_dec(live_races);
}

/**
 * ucmx_any_stop - stop the race of an id
 * @id: the id, its mutex held
 *
 * ucmx_any_end() waits for the end.
 */
void ucmx_any_stop(struct ucmx_id *id)
{
	if (id->any && id->any->connector)
		rdma_cmx_connect_stop(id->any->connector);
}

/**
 * ucmx_any_device_gone - stop the race of an id that has lost its device
 * @id: the id, its mutex held
 *
 * RDMA_CMX_ANY_NEXT started the race while the device was removed. No winner
 * would be reported after DEVICE_REMOVAL.
 */
void ucmx_any_device_gone(struct ucmx_id *id)
{
	struct ucmx_any *any = id->any;

	/* A callback that has begun waits for the mutex. */
	if (!id->racing || !rdma_cmx_connect_stop(any->connector))
		return;
	/* The report remains that of the race before. */
	if (any->report)
		any->report->winner = any->report->count;
	ucmx_any_ended(id);
}

/**
 * ucmx_any_end - end the race of an id
 * @id: the id, dead, its cm id destroyed
 */
void ucmx_any_end(struct ucmx_id *id)
{
	struct ucmx_any *any = id->any;

	if (!any)
		return;
	/* The callback finds the id dead, or does not run. */
	rdma_cmx_connect_cancel(any->connector);
	mutex_lock(&id->mutex);
	ucmx_any_count(id, false, false, false);
	mutex_unlock(&id->mutex);
	ucmx_any_free(any);
	id->any = NULL;
}

/* Reserves the result of the race, and the connection's end with it */
static int ucmx_any_reserve(struct ucmx_id *id, const struct ucmx_any *any)
{
	int ret = ucmx_event_reserve(id, UCMX_SLOT_ROUTE);

	if (ret || !any->qps)
		return ret;
	return ucmx_event_reserve(id, UCMX_SLOT_RACE) ?:
	       ucmx_event_reserve(id, UCMX_SLOT_DISCONNECT);
}

static bool ucmx_any_is_large(const struct rdma_cmx_result *res)
{
	u32 i, paths = 0;

	if (res->count > UCMX_ANY_SMALL)
		return true;
	for (i = 0; i < res->count; i++)
		paths += res->entries[i].route_count;
	return paths > UCMX_ANY_PATHS;
}

/*
 * Starts a race of a command. The id's mutex is held. @charged: the user has a
 * charge, which the race takes over. A large result of the race before has one,
 * too. After an error that object and that charge are as before.
 */
int ucmx_any_start(struct ucmx_id *id, struct ucmx_any *any, bool charged)
{
	bool before = id->any_large;
	int ret;

	ret = ucmx_any_reserve(id, any);
	if (!ret)
		ret = charged || before ? ucmx_request_charge(id->file, 1) :
					  ucmx_call_charge(id->file);
	if (ret)
		return ret;
	ucmx_any_count(id, true, ucmx_any_is_large(any->result), false);
	ret = ucmx_any_launch(id, any, GFP_KERNEL_ACCOUNT);
	if (ret)
		ucmx_any_count(id, false, before, charged);
	return ret;
}

struct ucmx_any *ucmx_any_alloc(struct ucmx_id *id,
				const struct rdma_cmx_resolve_any *arg)
{
	struct ucmx_any *any = kzalloc(sizeof(*any), GFP_KERNEL_ACCOUNT);

	if (!any)
		return NULL;
	any->id = id;
	any->memcg = get_mem_cgroup_from_mm(current->mm);
	any->started = ktime_get();
	any->expires = jiffies + msecs_to_jiffies(arg->timeout_ms);
	any->until = any->expires + rdma_cmx_slot_max_wait();
	any->delay_ms = arg->delay_ms;
	any->connect = arg->flags & (RDMA_CMX_ANY_CONNECT | RDMA_CMX_ANY_RACE);
	INIT_DELAYED_WORK(&any->limit, ucmx_any_late);
	ucmx_stat_inc(live_races);
	return any;
}

/* True if the id is not bound and has no events */
static bool ucmx_any_idle(const struct ucmx_id *id)
{
	return ucmx_cm_is_unbound(id->cm) && !id->hold;
}

/* Takes *@qps over and clears it, or leaves it to the caller. */
static int ucmx_any_first(struct ucmx_id *id,
			  const struct rdma_cmx_resolve_any *arg,
			  struct ucmx_any_qps **qps)
{
	struct ucmx_any *any, *old;
	bool charged = false;
	int ret;

	if (!arg->timeout_ms || arg->step || arg->error || arg->reason ||
	    !ucmx_any_idle(id))
		return -EINVAL;
	/* Other types have another reply, or none. */
	if (*qps && id->cm->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	any = ucmx_any_alloc(id, arg);
	if (!any)
		return -ENOMEM;
	any->qps = *qps;
	*qps = NULL;
	any->result = ucmx_result_get(id);
	ret = any->result ? 0 : -ENOENT;
	if (!ret && any->result->count &&
	    (any->result->entries[0].flags & RDMA_CMX_AI_PASSIVE))
		ret = -EINVAL;
	if (!ret && any->qps && !ucmx_any_qps_fit(any->qps, any->result->count))
		ret = -EINVAL;
	if (!ret) {
		ucmx_query_limits(id, &any->limited, &any->own_dev);
		charged = !id->any_large && ucmx_result_charged(id);
		ret = ucmx_any_start(id, any, charged);
	}
	if (ret) {
		ucmx_any_free(any);
		return ret;
	}
	spin_lock(&id->lock);
	old = id->any;
	id->any = any;
	ucmx_result_raced(id, charged);
	spin_unlock(&id->lock);
	ucmx_any_free(old);
	return 0;
}

/* Creates a cm id like that of @id before it was bound. */
static struct rdma_cm_id *ucmx_any_cm(struct ucmx_id *id)
{
	const struct rdma_cm_id *old = id->cm;
	struct rdma_cm_id *cm;

	cm = rdma_create_id(old->route.addr.dev_addr.net, old->event_handler,
			    id, old->ps, old->qp_type);
	if (IS_ERR(cm))
		return cm;
	if (id->tos_set)
		rdma_set_service_type(cm, id->tos);
	if (id->ack_timeout_set)
		rdma_set_ack_timeout(cm, id->ack_timeout);
	return cm;
}

/* Replaces the failed cm id by @cm. No event of the failed one follows. */
static void ucmx_any_renew(struct ucmx_id *id, struct rdma_cm_id *cm)
{
	struct rdma_cm_id *old = id->cm;

	/* The failed request may wait for a slot, or have one. */
	ucmx_connect_end(id);
	cancel_delayed_work_sync(&id->any->limit);
	id->cm_used = false;
	id->cm = cm;
	rdma_cmx_route_destroy(old, &id->route);
	memset(&id->route, 0, sizeof(id->route));
	WRITE_ONCE(id->cm_outstanding, false);
	WRITE_ONCE(id->path_cached, false);
	spin_lock(&id->lock);
	id->attempt++;
	WRITE_ONCE(id->any->expired, false);
	/* Or a wait for a slot would start the timer again. */
	id->any->armed = false;
	spin_unlock(&id->lock);
}

static void ucmx_any_fail(const struct ucmx_any *any,
			  const struct rdma_cmx_resolve_any *arg)
{
	struct rdma_cmx_candidate *failed = ucmx_any_winner(any);

	failed->step = (enum rdma_cmx_connect_step)arg->step;
	/* A candidate that a race has cancelled races again. */
	failed->error = arg->error == ECANCELED ? -ECONNABORTED :
						  -(int)arg->error;
	failed->reason = arg->reason;
	failed->end_ms = ktime_ms_delta(ktime_get(), any->started);
}

/*
 * The candidates that are left race. All that can fail comes first: then the id
 * and the report are as before. The race does not take the id over meanwhile,
 * for that takes the mutex.
 */
static int ucmx_any_go_on(struct ucmx_id *id,
			  const struct rdma_cmx_resolve_any *arg)
{
	struct ucmx_any *any = id->any;
	struct rdma_cmx_candidate *failed = ucmx_any_winner(any);
	struct rdma_cmx_candidate before = *failed;
	struct ucmx_any_qps *qps = any->qps;
	struct rdma_cm_id *cm = ucmx_any_cm(id);
	int ret;

	if (IS_ERR(cm))
		return PTR_ERR(cm);
	ucmx_any_fail(any, arg);
	/* Another address of the same port has the same path. */
	ucmx_any_drop_path(id);
	/* Peers have seen the numbers: the rest race for their route. */
	any->qps = NULL;
	ret = ucmx_any_start(id, any, false);
	if (ret) {
		*failed = before;
		any->qps = qps;
		rdma_destroy_id(cm);
		return ret;
	}
	kfree(qps);
	ucmx_any_renew(id, cm);
	return 0;
}

static int ucmx_any_next(struct ucmx_id *id,
			 const struct rdma_cmx_resolve_any *arg)
{
	struct ucmx_any *any = id->any;

	if (arg->timeout_ms || arg->delay_ms || !arg->error ||
	    arg->error > MAX_ERRNO ||
	    (arg->step != RDMA_CMX_STEP_SETUP &&
	     arg->step != RDMA_CMX_STEP_REQUEST))
		return -EINVAL;
	if (!any || !ucmx_any_winner(any) || ucmx_id_listens(id) ||
	    ucmx_mc_count(id))
		return -EINVAL;
	if (READ_ONCE(id->gone))
		return -ENODEV;
	/*
	 * The callback of the race waits for the mutex, which commands on that
	 * resolution would hold.
	 */
	if (ucmx_query_outstanding(id))
		return -EBUSY;
	if (!ucmx_any_left(any) || ucmx_any_time(any) <= 0) {
		ucmx_any_fail(any, arg);
		return ucmx_any_left(any) ? -ETIMEDOUT : -ENOENT;
	}
	return ucmx_any_go_on(id, arg);
}

/* True if a field is set that is valid with RDMA_CMX_ANY_RACE only */
static bool ucmx_any_has_qps(const struct rdma_cmx_resolve_any *arg)
{
	const size_t first = offsetof(struct rdma_cmx_resolve_any, qps);

	return memchr_inv((const u8 *)arg + first, 0, sizeof(*arg) - first);
}

int ucmx_resolve_any(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_resolve_any *arg = cmd->buf;
	struct ucmx_any_qps *qps = NULL;
	struct ucmx_id *id;
	int ret;

	if (arg->flags & ~(u32)(RDMA_CMX_ANY_NEXT | RDMA_CMX_ANY_CONNECT |
				RDMA_CMX_ANY_RACE))
		return -EOPNOTSUPP;
	if (hweight32(arg->flags) > 1)
		return -EINVAL;
	if (!(arg->flags & RDMA_CMX_ANY_RACE) && ucmx_any_has_qps(arg))
		return -EINVAL;
	/* Before the lock: access to user memory may take any time. */
	if (arg->flags & RDMA_CMX_ANY_RACE)
		qps = ucmx_any_qps_get(arg);
	if (IS_ERR(qps))
		return PTR_ERR(qps);
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id)) {
		kfree(qps);
		return PTR_ERR(id);
	}
	if (arg->flags & RDMA_CMX_ANY_NEXT)
		ret = ucmx_any_next(id, arg);
	else
		ret = ucmx_any_first(id, arg, &qps);
	ucmx_id_unlock(id);
	kfree(qps);
	return ret;
}
