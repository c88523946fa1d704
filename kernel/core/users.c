// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Users, who share a work queue fairly.
 *
 * Work for a user is a job. One job of a user runs at a time. A user with more
 * jobs is queued again at the end of the work queue after each. So a job waits
 * for one job of each other user, whatever their number of jobs.
 *
 * Queries have a work queue. A user object exists while a query of the user
 * waits for names, SAs or neighbours, and a job continues it. A job waits for the
 * firmware of a port for a short time only: all kernel consumers are one user,
 * and all processes of root are another. Kernel queries in containers are a user
 * for each owner. A job that the removal of a device waits for is the next of
 * its user.
 *
 * Users' connects have a separate work queue: a job may sleep in rdma_cm. It
 * delays no query, and only connects of the same user. The calls for services
 * have another one.
 *
 * The xarray's lock guards references, cmx_user.lock guards the jobs.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "sched.h"
#include "user.h"
#include "users.h"

static void cmx_user_work(struct work_struct *work)
{
	struct cmx_user *user = container_of(work, struct cmx_user, work);
	struct cmx_job *job;

	spin_lock(&user->lock);
	job = list_first_entry(&user->jobs, struct cmx_job, node);
	/* For cmx_user_run_first() */
	list_del_init(&job->node);
	spin_unlock(&user->lock);

	job->run(job);

	spin_lock(&user->lock);
	user->active = !list_empty(&user->jobs);
	if (user->active)
		queue_work(user->users->wq, &user->work);
	spin_unlock(&user->lock);
	/* The queued work item has another reference. */
	cmx_user_put(user);
}

/* The caller has a reference. */
void cmx_user_hold(struct cmx_user *user)
{
	struct xarray *users = &user->users->users;

	xa_lock(users);
	user->refs++;
	xa_unlock(users);
}

/* All kernel consumers share one. No user has this index. */
#define CMX_KERNEL_INDEX	ULONG_MAX

/*
 * The kernel's queries in the containers of an owner share another one: they
 * wait for neither the kernel's jobs nor those of the owner's processes. A
 * machine of 32 bits has no index for it.
 */
static unsigned long cmx_user_index(kuid_t uid, bool kernel)
{
	unsigned long index = __kuid_val(uid);

	if (!kernel)
		return index;
	if (uid_eq(uid, CMX_KERNEL_UID))
		return CMX_KERNEL_INDEX;
	return index | (BITS_PER_LONG == 64 ? BIT_ULL(32) : 0);
}

/*
 * The user that SA queries, responses and connects of a kernel consumer count
 * for. They are separate from those of root's processes. In a container they
 * count for its owner.
 */
kuid_t cmx_kernel_uid(const struct net *net)
{
	return net->user_ns == &init_user_ns ? CMX_KERNEL_UID :
					       cmx_user_of(net->user_ns);
}

/*
 * The same for their services and queries for ServiceRecords. Those of consumers
 * outside of containers count separately, so that other queries do not wait for
 * them.
 */
kuid_t cmx_services_uid(const struct net *net)
{
	kuid_t uid = cmx_kernel_uid(net);

	return uid_eq(uid, CMX_KERNEL_UID) ? CMX_SERVICES_UID : uid;
}

static struct cmx_user *cmx_user_alloc(struct cmx_users *users,
				       unsigned long index, gfp_t gfp)
{
	struct cmx_user *user = kzalloc(sizeof(*user), gfp);

	if (!user)
		return NULL;
	user->users = users;
	user->index = index;
	user->refs = 1;
	spin_lock_init(&user->lock);
	INIT_LIST_HEAD(&user->jobs);
	INIT_LIST_HEAD(&user->neigh_paths);
	INIT_LIST_HEAD(&user->neigh_node);
	INIT_WORK(&user->work, cmx_user_work);
	return user;
}

/*
 * Returns the user with a reference, or NULL without memory. @kernel: that of
 * the kernel, whose jobs do not wait for those of root's processes. @gfp: that
 * of the caller, who may not wait for the user's cgroup.
 */
struct cmx_user *cmx_user_get(struct cmx_users *users, kuid_t uid, bool kernel,
			      gfp_t gfp)
{
	unsigned long index = cmx_user_index(uid, kernel);
	struct cmx_user *user, *fresh;

	xa_lock(&users->users);
	user = xa_load(&users->users, index);
	if (user)
		user->refs++;
	xa_unlock(&users->users);
	if (user)
		return user;

	fresh = cmx_user_alloc(users, index, gfp);
	if (!fresh)
		return NULL;
	xa_lock(&users->users);
	user = __xa_cmpxchg(&users->users, index, NULL, fresh, GFP_KERNEL);
	if (user && !xa_is_err(user))
		user->refs++;
	xa_unlock(&users->users);
	if (!user)
		return fresh;
	kfree(fresh);
	return xa_is_err(user) ? NULL : user;
}

void cmx_user_put(struct cmx_user *user)
{
	struct xarray *users;
	bool last;

	if (!user)
		return;
	users = &user->users->users;
	xa_lock(users);
	last = !--user->refs;
	if (last)
		__xa_erase(users, user->index);
	xa_unlock(users);
	if (last)
		kfree(user);
}

/* @job, which is in no list, has a reference of @user until it has run. */
void cmx_user_run(struct cmx_user *user, struct cmx_job *job)
{
	cmx_user_hold(user);
	spin_lock(&user->lock);
	list_add_tail(&job->node, &user->jobs);
	if (!user->active) {
		user->active = true;
		queue_work(user->users->wq, &user->work);
	}
	spin_unlock(&user->lock);
}

/*
 * Makes @job, which has been passed to cmx_user_run(), the next of @user.
 * Has no effect once it runs. The caller guarantees that @job exists.
 */
void cmx_user_run_first(struct cmx_user *user, struct cmx_job *job)
{
	spin_lock(&user->lock);
	if (!list_empty(&job->node))
		list_move(&job->node, &user->jobs);
	spin_unlock(&user->lock);
}
