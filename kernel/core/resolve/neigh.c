// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Neighbours on IPoIB whose GID a query requires: one resolution for each
 * distinct destination and source of a query, whatever the number of paths.
 *
 * ib_core keeps all resolutions of the node in one list, walks it under a
 * spinlock, and processes it in one thread. So few resolutions are outstanding
 * at a time: of a query, of a user and in total. The others wait, scheduled
 * round robin among the users, and among the queries of a user.
 *
 * A resolution is a separate object from its query, which may end first. A work
 * item ends it, with the only call of rdma_addr_cancel(): after that ib_core
 * has no reference to the object, and the callback has returned. The paths
 * continue in a job of the user, who is charged for their SA queries: a job
 * that sleeps for memory of the user's cgroup delays no other user.
 *
 * cmx_neigh_lock guards the lists, the counters and the link between a query
 * and its resolutions. The work item that clears the link of a resolution
 * continues with its paths. After cmx_neighs_stop() there is no link.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "resolve/paths.h"

static unsigned int neighs_max = 256;
module_param(neighs_max, uint, 0644);
MODULE_PARM_DESC(neighs_max,
		 "Maximum outstanding neighbour resolutions (default 256)");

static unsigned int neighs_per_user = 64;
module_param(neighs_per_user, uint, 0644);
MODULE_PARM_DESC(neighs_per_user,
		 "Of those, maximum resolutions of one user (default 64)");

static unsigned int neighs_per_query = 16;
module_param(neighs_per_query, uint, 0644);
MODULE_PARM_DESC(neighs_per_query,
		 "Of those, maximum resolutions of one query (default 16)");

static unsigned int neigh_timeout_ms = 1500;
module_param(neigh_timeout_ms, uint, 0644);
MODULE_PARM_DESC(neigh_timeout_ms,
		 "Timeout in ms of one neighbour resolution (default 1500)");

/* Resolutions of one start; when they end they start others. */
#define CMX_NEIGH_BATCH	64

/**
 * struct cmx_neigh - one resolution
 * @paths: the query that waits for it, or NULL
 * @node: in its list
 * @user: the user, with a reference
 * @lead: the first of the paths that require it
 * @status: its result, 0 with @dgid
 * @ended: it has ended, or has no waiter
 * @gate: 2; 0 when it has ended and its start has returned
 * @dgid: GID of the neighbour
 * @src: source address, family 0: any
 * @dst: destination address
 * @addr: ib_core's part; @addr.net has a reference
 * @work: ends it
 * @job: continues with the paths
 */
struct cmx_neigh {
	struct cmx_paths *paths;
	struct list_head node;
	struct cmx_user *user;
	u32 lead;
	int status;
	atomic_t ended;
	refcount_t gate;
	union ib_gid dgid;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	struct rdma_dev_addr addr;
	struct work_struct work;
	struct cmx_job job;
};

static DEFINE_SPINLOCK(cmx_neigh_lock);
static LIST_HEAD(cmx_neigh_users);	/* users that may start one */
static unsigned int cmx_neigh_count;	/* outstanding */

/* A user at the limit is not in the list. */
static void cmx_neigh_user_list(struct cmx_user *user)
{
	if (list_empty(&user->neigh_node) &&
	    !list_empty(&user->neigh_paths) &&
	    user->neighs < max(READ_ONCE(neighs_per_user), 1u))
		list_add_tail(&user->neigh_node, &cmx_neigh_users);
}

/* A query at the limit, or that has started all, is not in the list either. */
static void cmx_neigh_list(struct cmx_paths *r)
{
	if (list_empty(&r->wait) && r->next < r->count &&
	    r->neigh_count < max(READ_ONCE(neighs_per_query), 1u))
		list_add_tail(&r->wait, &r->user->neigh_paths);
	cmx_neigh_user_list(r->user);
}

static void cmx_neigh_next(struct cmx_paths *r)
{
	while (r->next < r->count && r->req[r->next].lead != CMX_LEAD_WAITS)
		r->next++;
}

/* The next query: removed from the lists, with r->next to start; or NULL */
static struct cmx_paths *cmx_neigh_pick(void)
{
	struct cmx_user *user;
	struct cmx_paths *r;

	if (list_empty(&cmx_neigh_users) ||
	    cmx_neigh_count >= max(READ_ONCE(neighs_max), 1u))
		return NULL;
	user = list_first_entry(&cmx_neigh_users, struct cmx_user, neigh_node);
	r = list_first_entry(&user->neigh_paths, struct cmx_paths, wait);
	list_del_init(&user->neigh_node);
	list_del_init(&r->wait);
	return r;
}

/* The caller continues with the paths of @lead. */
static void cmx_neigh_claim(struct cmx_paths *r, u32 lead)
{
	r->req[lead].lead = CMX_LEAD_RESOLVED;
	/* Keeps @r until r->resolved() has run. */
	atomic_inc(&r->requests.pending);
}

static void cmx_neigh_gate(struct cmx_neigh *n)
{
	if (refcount_dec_and_test(&n->gate))
		queue_work(n->user->users->wq, &n->work);
}

static void cmx_neigh_end(struct cmx_neigh *n)
{
	if (!atomic_xchg(&n->ended, 1))
		cmx_neigh_gate(n);
}

static void cmx_neigh_done(int status, struct sockaddr *src,
			   struct rdma_dev_addr *addr, void *context)
{
	struct cmx_neigh *n = context;

	/* ib_core also reports a silent neighbour as a timeout. */
	if (status == -ETIMEDOUT)
		status = -EHOSTUNREACH;
	if (!status && addr->dev_type != ARPHRD_INFINIBAND)
		status = -ENODEV;
	if (!status)
		rdma_addr_get_dgid(addr, &n->dgid);
	n->status = status;
	cmx_neigh_end(n);
}

static void cmx_neighs_run(void);

/* It counts for its user until its paths have completed. */
static void cmx_neigh_free(struct cmx_neigh *n)
{
	spin_lock(&cmx_neigh_lock);
	n->user->neighs--;
	cmx_neigh_user_list(n->user);
	spin_unlock(&cmx_neigh_lock);
	put_net(n->addr.net);
	cmx_user_put(n->user);
	kfree(n);
	cmx_stat_dec(live_neighs);
	cmx_neighs_run();
}

/* The paths of @n are claimed, which keeps their query. */
static void cmx_neigh_job(struct cmx_job *job)
{
	struct cmx_neigh *n = container_of(job, struct cmx_neigh, job);

	n->paths->resolved(n->paths, n->lead, n->status, &n->dgid);
	cmx_neigh_free(n);
}

static void cmx_neigh_work(struct work_struct *work)
{
	struct cmx_neigh *n = container_of(work, struct cmx_neigh, work);
	struct cmx_paths *r;

	rdma_addr_cancel(&n->addr);

	spin_lock(&cmx_neigh_lock);
	/* ib_core has ended it. Jobs of its user delay no other user. */
	cmx_neigh_count--;
	r = n->paths;
	if (r) {
		list_del(&n->node);
		r->neigh_count--;
		cmx_neigh_claim(r, n->lead);
		cmx_neigh_list(r);
	}
	spin_unlock(&cmx_neigh_lock);

	if (r) {
		/* The job frees @n. */
		cmx_user_run(n->user, &n->job);
		cmx_neighs_run();
	} else {
		cmx_neigh_free(n);
	}
}

/* With the lock: @n is for r->next. */
static void cmx_neigh_init(struct cmx_neigh *n, struct cmx_paths *r)
{
	const struct cmx_dest *to = cmx_path_to(r, r->next);

	n->paths = r;
	n->lead = r->next++;
	n->src = to->src;
	n->dst = to->dst;
	n->addr.net = get_net(r->h->net);
	/* As an id that is bound to the source */
	n->addr.bound_dev_if = to->ifindex;
	refcount_set(&n->gate, 2);
	INIT_WORK(&n->work, cmx_neigh_work);
	n->job.run = cmx_neigh_job;
	n->user = r->user;
	cmx_user_hold(n->user);
	n->user->neighs++;
	r->neigh_count++;
	cmx_neigh_count++;
	list_add_tail(&n->node, &r->neighs);
	cmx_stat_inc(live_neighs);
}

static void cmx_neigh_start(struct cmx_neigh *n)
{
	int ret;

	ret = rdma_resolve_ip(n->src.sa.sa_family ? &n->src.sa : NULL,
			      &n->dst.sa, &n->addr,
			      READ_ONCE(neigh_timeout_ms), cmx_neigh_done,
			      false, n);
	if (ret) {
		n->status = ret;
		cmx_neigh_end(n);
	}
	cmx_neigh_gate(n);
}

/* Starts one resolution; false if none may start. */
static bool cmx_neigh_run(void)
{
	struct cmx_neigh *n;
	struct cmx_paths *r;
	u32 lead = 0;

	n = kzalloc(sizeof(*n), GFP_KERNEL);
	spin_lock(&cmx_neigh_lock);
	r = cmx_neigh_pick();
	if (r) {
		if (n) {
			cmx_neigh_init(n, r);
		} else {
			lead = r->next++;
			cmx_neigh_claim(r, lead);
		}
		cmx_neigh_next(r);
		cmx_neigh_list(r);
	}
	spin_unlock(&cmx_neigh_lock);

	if (!r)
		kfree(n);
	else if (n)
		cmx_neigh_start(n);
	else
		r->resolved(r, lead, -ENOMEM, NULL);
	return r;
}

/*
 * Starts resolutions that may start, of all users. In work items only: a
 * stopped thread of one user would stop those of others.
 */
static void cmx_neighs_run(void)
{
	int i;

	for (i = 0; i < CMX_NEIGH_BATCH && !list_empty(&cmx_neigh_users); i++) {
		if (!cmx_neigh_run())
			break;
		cond_resched();
	}
}

static void cmx_neighs_work_run(struct work_struct *work)
{
	while (cmx_neigh_run())
		cond_resched();
}

static DECLARE_WORK(cmx_neighs_work, cmx_neighs_work_run);

/* Queues the start of resolutions, with the jobs of @users. */
void cmx_neighs_kick(const struct cmx_users *users)
{
	queue_work(users->wq, &cmx_neighs_work);
}

/* cmx_neighs_kick() starts the neighbours of @r. */
void cmx_neighs_start(struct cmx_paths *r)
{
	INIT_LIST_HEAD(&r->neighs);
	INIT_LIST_HEAD(&r->wait);
	r->neigh_count = 0;
	r->next = 0;
	spin_lock(&cmx_neigh_lock);
	cmx_neigh_next(r);
	cmx_neigh_list(r);
	spin_unlock(&cmx_neigh_lock);
}

/*
 * No code continues with paths of @r any more, except for those that are
 * CMX_LEAD_RESOLVED.
 */
void cmx_neighs_stop(struct cmx_paths *r)
{
	struct cmx_neigh *n, *tmp;

	spin_lock(&cmx_neigh_lock);
	list_del_init(&r->wait);
	if (list_empty(&r->user->neigh_paths))
		list_del_init(&r->user->neigh_node);
	list_for_each_entry_safe(n, tmp, &r->neighs, node) {
		list_del(&n->node);
		n->paths = NULL;
		cmx_neigh_end(n);
	}
	spin_unlock(&cmx_neigh_lock);
}
