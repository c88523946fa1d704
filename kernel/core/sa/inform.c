// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subscription of a port to the reports of its SA, by InformInfo: a GID
 * comes into service (trap 64) or goes out of service (65). While it is valid,
 * cached paths have a longer lifetime (cache.c), since a report drops those to
 * its GID (report.c). The port also subscribes to reports that paths are no
 * longer valid (68) or were computed again (69). Few SAs send them. A refusal
 * of these changes nothing else.
 *
 * One work item for each port does all of it. It registers the MAD agent for
 * reports and subscribes to one trap after the other. It subscribes again after
 * each event of the port and periodically, in case the SA has lost the
 * subscription, and retries after an error. ib_mad gives reports to one agent
 * of a port: if a program has it, there is no subscription, and cached paths
 * have the lifetime of other responses.
 *
 * The work item runs once at a time. cmx_sa_lock guards cmx_sa_inform.gone.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>

#include "sa/internal.h"
#include "sa/trace.h"
#include "sa/wire.h"

static bool sa_subscribe = true;
module_param(sa_subscribe, bool, 0644);
MODULE_PARM_DESC(sa_subscribe,
		 "Subscribe to reports of the SA about GIDs and paths (default on); a change takes effect at the next event or renewal");

static unsigned int sa_subscribe_ms = 300000;
module_param(sa_subscribe_ms, uint, 0644);
MODULE_PARM_DESC(sa_subscribe_ms,
		 "Time in ms after which a port subscribes again, in case its SA has lost the subscription (default 300000, 1 s to 24 h); a change counts at the next event or renewal");

/* Maximum random delay: all ports of a subnet have an event together. */
#define CMX_SA_INFORM_SPREAD	HZ
#define CMX_SA_INFORM_BACKOFF	(5 * HZ)
#define CMX_SA_INFORM_BACKOFF_MAX	(300 * HZ)

/* RespTimeValue: the SA may expect a response within 4.096 us * 2^19. */
#define CMX_SA_INFORM_RESP_TIME	19

/* Out of service first: a late report of a new port does no harm. */
static const u16 cmx_sa_traps[] = {
	CMX_SA_TRAP_GID_OUT,
	CMX_SA_TRAP_GID_IN,
	CMX_SA_TRAP_UNPATH,
	CMX_SA_TRAP_REPATH,
};

/* Number of traps without which there is no subscription; the first ones */
#define CMX_SA_INFORM_REQUIRED	2

static unsigned long cmx_sa_inform_renew(void)
{
	unsigned int ms = READ_ONCE(sa_subscribe_ms);

	return msecs_to_jiffies(clamp_t(unsigned int, ms, MSEC_PER_SEC,
					24 * 3600 * MSEC_PER_SEC));
}

static void cmx_sa_inform_kick(struct cmx_sa_port *port, unsigned long delay)
{
	spin_lock(&cmx_sa_lock);
	if (!port->inform.gone)
		mod_delayed_work(system_unbound_wq, &port->inform.work, delay);
	spin_unlock(&cmx_sa_lock);
}

static void cmx_sa_inform_fill(struct cmx_sa_inform_info *info, u16 trap,
			       bool subscribe)
{
	/* To unsubscribe, the MAD has the subscribed QP. */
	u32 qpn = subscribe ? 0 : 1;

	memset(info, 0, sizeof(*info));
	info->lid_begin = cpu_to_be16(CMX_SA_INFORM_ALL);
	info->is_generic = 1;
	info->subscribe = subscribe;
	info->type = cpu_to_be16(CMX_SA_INFORM_ALL);
	info->trap = cpu_to_be16(trap);
	info->qpn = cpu_to_be32(qpn << 8 | CMX_SA_INFORM_RESP_TIME);
	info->producer = cpu_to_be32(CMX_SA_INFORM_ALL_PRODUCERS);
}

/* The SA confirms with the same subscription, or refuses with Subscribe 0. */
static int cmx_sa_inform_confirmed(const struct cmx_sa_response *response)
{
	const struct cmx_sa_inform_info *info;

	if (!response->count)
		return -ECONNREFUSED;
	info = cmx_sa_response_rec(response, 0);
	return info->subscribe == 1 ? 0 : -ECONNREFUSED;
}

static void cmx_sa_inform_done(struct cmx_sched_waiter *waiter, void *response,
			       int error)
{
	struct cmx_sa_inform *in = container_of(waiter, struct cmx_sa_inform,
						waiter);

	in->error = error ?: cmx_sa_inform_confirmed(response);
	/* Pairs with cmx_sa_inform_idle(). */
	smp_store_release(&in->completed, true);
	cmx_sa_inform_kick(container_of(in, struct cmx_sa_port, inform), 0);
}

/* True if nothing is outstanding. If @stale, cancels what is outstanding. */
static bool cmx_sa_inform_idle(struct cmx_sa_inform *in, bool stale)
{
	if (!in->pending)
		return true;
	/* Pairs with cmx_sa_inform_done(). */
	if (!smp_load_acquire(&in->completed)) {
		/*
		 * The response queues the work item, also if done() is running.
		 */
		if (!stale || !cmx_sa_forget(&in->waiter))
			return false;
		in->error = -ECANCELED;
	}
	in->pending = false;
	return true;
}

/* Subscribes to the next trap. Returns 0 if a response follows. */
static int cmx_sa_inform_send(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;
	struct cmx_sa_query query = {
		.attr_id = cpu_to_be16(IB_SA_ATTR_INFORM_INFO),
		.method = IB_MGMT_METHOD_SET,
		.rec_len = sizeof(struct cmx_sa_inform_info),
	};
	int ret;

	cmx_sa_inform_fill((void *)query.rec, cmx_sa_traps[in->next], true);
	in->completed = false;
	in->waiter.done = cmx_sa_inform_done;
	ret = cmx_sa_lookup(port, &init_net, CMX_KERNEL_UID, &query,
			    &in->waiter);
	in->pending = !ret;
	return ret;
}

/* A separate agent: if a program has the reports, it costs no query. */
static int cmx_sa_inform_register(struct cmx_sa_port *port)
{
	struct ib_mad_reg_req req = {
		.mgmt_class = IB_MGMT_CLASS_SUBN_ADM,
		.mgmt_class_version = IB_SA_CLASS_VERSION,
	};
	struct ib_mad_agent *agent;

	if (port->inform.agent)
		return 0;
	set_bit(IB_MGMT_METHOD_REPORT, req.method_mask);
	/* Without RMPP: a report is one MAD. */
	agent = ib_register_mad_agent(port->dev, port->num, IB_QPT_GSI, &req,
				      0, cmx_sa_report_sent,
				      cmx_sa_report_received, port, 0);
	if (IS_ERR(agent))
		return PTR_ERR(agent);
	port->inform.agent = agent;
	return 0;
}

/* No code waits for the response. ib_mad drops it. */
static void cmx_sa_inform_end_trap(struct cmx_sa_port *port, u16 trap)
{
	struct ib_mad_agent *agent = port->inform.agent;
	struct ib_mad_send_buf *buf;
	struct cmx_sa_ah *ah;
	struct ib_sa_mad *mad;
	u32 generation;

	ah = cmx_sa_ah_get(port, &generation);
	if (!ah)
		return;
	buf = ib_create_send_mad(agent, 1, ah->pkey_index, 0, IB_MGMT_SA_HDR,
				 IB_MGMT_SA_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf)) {
		cmx_sa_ah_put(ah);
		return;
	}
	mad = buf->mad;
	mad->mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	mad->mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = IB_SA_CLASS_VERSION;
	mad->mad_hdr.method = IB_MGMT_METHOD_SET;
	mad->mad_hdr.attr_id = cpu_to_be16(IB_SA_ATTR_INFORM_INFO);
	mad->mad_hdr.tid = cpu_to_be64((u64)agent->hi_tid << 32 | trap);
	cmx_sa_inform_fill((void *)mad->data, trap, false);
	cmx_sa_report_post(port, buf, ah);
}

/* Ends the subscriptions without waiting for the SA. */
static void cmx_sa_inform_unregister(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;
	unsigned int i;

	cmx_sa_cache_unfollow(&port->cache);
	if (!in->agent)
		return;
	for (i = 0; i < ARRAY_SIZE(cmx_sa_traps); i++)
		cmx_sa_inform_end_trap(port, cmx_sa_traps[i]);
	/* Waits until ib_mad has returned all MADs. */
	ib_unregister_mad_agent(in->agent);
	in->agent = NULL;
}

/* The port has the subscriptions to changes of paths, or has not. */
static void cmx_sa_inform_count_paths(struct cmx_sa_inform *in, bool paths)
{
	if (in->paths == paths)
		return;
	in->paths = paths;
	if (paths)
		cmx_stat_inc(sa_subscribed_paths);
	else
		cmx_stat_dec(sa_subscribed_paths);
}

static void cmx_sa_inform_count(struct cmx_sa_inform *in, bool subscribed)
{
	if (!subscribed)
		cmx_sa_inform_count_paths(in, false);
	if (in->subscribed == subscribed)
		return;
	in->subscribed = subscribed;
	if (subscribed)
		cmx_stat_inc(sa_subscribed);
	else
		cmx_stat_dec(sa_subscribed);
}

/* In the work item: not instead of an event that has queued it meanwhile */
static void cmx_sa_inform_later(struct cmx_sa_port *port, unsigned long delay)
{
	spin_lock(&cmx_sa_lock);
	if (!port->inform.gone)
		queue_delayed_work(system_unbound_wq, &port->inform.work,
				   delay);
	spin_unlock(&cmx_sa_lock);
}

static void cmx_sa_inform_wait(struct cmx_sa_port *port, unsigned long delay)
{
	port->inform.due = jiffies + delay;
	cmx_sa_inform_later(port, delay);
}

static void cmx_sa_inform_failed(struct cmx_sa_port *port, int error)
{
	struct cmx_sa_inform *in = &port->inform;

	trace_cmx_sa_inform(port, error);
	cmx_stat_inc(sa_subscribe_errors);
	cmx_sa_cache_unfollow(&port->cache);
	cmx_sa_inform_count(in, false);
	in->next = 0;
	cmx_sa_inform_wait(port, in->backoff);
	in->backoff = min_t(unsigned long, 2 * in->backoff,
			    CMX_SA_INFORM_BACKOFF_MAX);
}

static void cmx_sa_inform_begin(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;
	int ret;

	in->next = 0;
	if (!READ_ONCE(sa_subscribe)) {
		cmx_sa_inform_unregister(port);
		cmx_sa_inform_count(in, false);
		cmx_sa_inform_wait(port, cmx_sa_inform_renew());
		return;
	}
	ret = cmx_sa_inform_register(port);
	if (!ret)
		ret = cmx_sa_inform_send(port);
	if (ret)
		cmx_sa_inform_failed(port, ret);
}

/* The port has the required subscriptions. */
static void cmx_sa_inform_followed(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;

	trace_cmx_sa_inform(port, 0);
	in->backoff = CMX_SA_INFORM_BACKOFF;
	cmx_sa_inform_count(in, cmx_sa_cache_follow(&port->cache,
						    in->generation));
}

/* A response has arrived: continue with the next trap, if any. */
static void cmx_sa_inform_advance(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;
	int ret = in->error;

	if (!ret && ++in->next == CMX_SA_INFORM_REQUIRED)
		cmx_sa_inform_followed(port);
	if (!ret && in->next < ARRAY_SIZE(cmx_sa_traps)) {
		ret = cmx_sa_inform_send(port);
		if (!ret)
			return;
	}
	if (in->next < CMX_SA_INFORM_REQUIRED) {
		cmx_sa_inform_failed(port, ret);
		return;
	}
	cmx_sa_inform_count_paths(in, !ret && in->subscribed);
	cmx_sa_inform_wait(port, cmx_sa_inform_renew());
}

static void cmx_sa_inform_step(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;
	u32 generation = cmx_sa_cache_generation(&port->cache);
	bool stale = generation != in->generation;
	bool completed = in->pending;

	if (!cmx_sa_inform_idle(in, stale))
		return;
	/* An event reports when it is active again. */
	if (!READ_ONCE(port->active)) {
		cmx_sa_inform_count(in, false);
		cmx_sa_inform_wait(port, cmx_sa_inform_renew());
		return;
	}
	if (stale) {
		in->generation = generation;
		in->backoff = CMX_SA_INFORM_BACKOFF;
		cmx_sa_inform_count(in, false);
		cmx_sa_inform_begin(port);
	} else if (completed) {
		cmx_sa_inform_advance(port);
	} else if (time_after_eq(jiffies, in->due)) {
		cmx_sa_inform_begin(port);
	} else {
		cmx_sa_inform_later(port, in->due - jiffies);
	}
}

static void cmx_sa_inform_work(struct work_struct *work)
{
	struct cmx_sa_inform *in = container_of(to_delayed_work(work),
						struct cmx_sa_inform, work);
	/* A removal waits for it: see cmx_sa_device_remove(). */
	unsigned int noio = memalloc_noio_save();

	cmx_sa_inform_step(container_of(in, struct cmx_sa_port, inform));
	memalloc_noio_restore(noio);
}

void cmx_sa_inform_init(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;

	INIT_DELAYED_WORK(&in->work, cmx_sa_inform_work);
	atomic_set(&in->responses, 0);
	/* Outdated from the start */
	in->generation = cmx_sa_cache_generation(&port->cache) - 1;
	in->backoff = CMX_SA_INFORM_BACKOFF;
}

/* The port is active; it is new, or had an event. */
void cmx_sa_inform_refresh(struct cmx_sa_port *port)
{
	cmx_sa_inform_kick(port, get_random_u32() % CMX_SA_INFORM_SPREAD);
}

/* Before the port's agent is removed. No report follows. */
void cmx_sa_inform_stop(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;

	spin_lock(&cmx_sa_lock);
	in->gone = true;
	spin_unlock(&cmx_sa_lock);
	cancel_delayed_work_sync(&in->work);
	/* If this is too late, the lookup has a reference of the port. */
	cmx_sa_forget(&in->waiter);
	cmx_sa_inform_unregister(port);
	/* After the last report */
	cancel_delayed_work_sync(&in->own);
	cmx_sa_inform_count(in, false);
}
