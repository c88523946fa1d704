/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Users, who share a work queue fairly */
#ifndef CMX_USERS_H
#define CMX_USERS_H

#include <linux/list.h>
#include <linux/spinlock_types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct net;

/**
 * struct cmx_users - users of a work queue
 * @users: by uid; its lock guards their references
 * @wq: runs their jobs
 */
struct cmx_users {
	struct xarray users;
	struct workqueue_struct *wq;
};

#define CMX_USERS_INIT(name)	{ .users = XARRAY_INIT((name).users, 0) }

/**
 * struct cmx_job - work for a user
 * @node: in the jobs of the user
 * @run: the function; @job may be freed when it returns
 */
struct cmx_job {
	struct list_head node;
	void (*run)(struct cmx_job *job);
};

/**
 * struct cmx_user - a user who has jobs, or may have some
 * @users: all users of the work queue
 * @index: the uid, or the index of the kernel
 * @refs: references
 * @lock: guards @active and @jobs
 * @active: @work is queued or runs
 * @jobs: in the order of execution
 * @work: runs one job
 * @neighs: outstanding neighbour resolutions; the lock of neigh.c guards this
 *	and the fields below
 * @neigh_paths: queries that may start one
 * @neigh_node: in the users that may start one
 */
struct cmx_user {
	struct cmx_users *users;
	unsigned long index;
	unsigned int refs;
	spinlock_t lock;		/* guards the jobs */
	bool active;
	struct list_head jobs;
	struct work_struct work;
	unsigned int neighs;
	struct list_head neigh_paths;
	struct list_head neigh_node;
};

kuid_t cmx_kernel_uid(const struct net *net);
kuid_t cmx_services_uid(const struct net *net);
struct cmx_user *cmx_user_get(struct cmx_users *users, kuid_t uid, bool kernel,
			      gfp_t gfp);
void cmx_user_hold(struct cmx_user *user);
void cmx_user_put(struct cmx_user *user);
void cmx_user_run(struct cmx_user *user, struct cmx_job *job);
void cmx_user_run_first(struct cmx_user *user, struct cmx_job *job);

#endif /* CMX_USERS_H */
