// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Whose turn it is to ask the SA of a port, and how much one user may ask: so
 * that one who asks for thousands of services holds up nobody else.
 *
 * A user is known to a port while questions of the user's wait or are out.
 * Turns go round the users; among one user's questions the order is that of
 * asking.
 *
 * cmx_sa_lock guards all of it.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "sa_int.h"

static unsigned int sa_per_user = 48;
module_param(sa_per_user, uint, 0644);
MODULE_PARM_DESC(sa_per_user,
		 "Questions of one user that the SA of a port is asked at a time at most (default 48)");

static unsigned int sa_waiting_per_user = 16384;
module_param(sa_waiting_per_user, uint, 0644);
MODULE_PARM_DESC(sa_waiting_per_user,
		 "Questions of one user that wait for their turn at a port (default 16384)");

struct cmx_sa_user *cmx_sa_user_alloc(kuid_t uid)
{
	struct cmx_sa_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (user) {
		INIT_LIST_HEAD(&user->node);
		INIT_LIST_HEAD(&user->queue);
		user->uid = uid;
	}
	return user;
}

struct cmx_sa_user *cmx_sa_user_find(struct cmx_sa_port *port, kuid_t uid)
{
	struct cmx_sa_user *user;

	list_for_each_entry(user, &port->users, node) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

static bool cmx_sa_user_may_ask(const struct cmx_sa_user *user)
{
	return user->asked < max(READ_ONCE(sa_per_user), 1u);
}

/* Has the user room for one more question that waits? */
bool cmx_sa_user_may_wait(const struct cmx_sa_user *user)
{
	return user->queued < READ_ONCE(sa_waiting_per_user);
}

/* The port knows @user from now on, if it did not. */
static void cmx_sa_user_list(struct cmx_sa_port *port, struct cmx_sa_user *user)
{
	if (list_empty(&user->node))
		list_add_tail(&user->node, &port->users);
}

static void cmx_sa_user_idle(struct cmx_sa_user *user)
{
	if (user->queued || user->asked)
		return;
	list_del(&user->node);
	kfree(user);
}

/* @l, in the port's queue, waits for a turn of @user. */
void cmx_sa_user_queue(struct cmx_sa_user *user, struct cmx_sa_lookup *l)
{
	cmx_sa_user_list(l->port, user);
	l->user = user;
	list_add_tail(&l->turn, &user->queue);
	user->queued++;
}

/*
 * @user asks what waits for a turn of another user, and gets it with the next
 * turn of either. Or one could hold up a service for all by putting it
 * behind many others.
 */
void cmx_sa_user_adopt(struct cmx_sa_user *user, struct cmx_sa_lookup *l)
{
	struct cmx_sa_user *old = l->user;

	if (l->state != CMX_SA_QUEUED || user == old ||
	    !cmx_sa_user_may_ask(user) || !cmx_sa_user_may_wait(user))
		return;
	cmx_sa_user_list(l->port, user);
	l->user = user;
	list_move(&l->turn, &user->queue);
	user->queued++;
	old->queued--;
	cmx_sa_user_idle(old);
}

/* Who is next: the look-up has its turn, its user the last one. Or NULL. */
struct cmx_sa_lookup *cmx_sa_user_turn(struct cmx_sa_port *port)
{
	struct cmx_sa_lookup *l;
	struct cmx_sa_user *user;

	list_for_each_entry(user, &port->users, node) {
		if (!user->queued || !cmx_sa_user_may_ask(user))
			continue;
		l = list_first_entry(&user->queue, struct cmx_sa_lookup, turn);
		list_del(&l->turn);
		user->queued--;
		user->asked++;
		list_move_tail(&user->node, &port->users);
		return l;
	}
	return NULL;
}

/* @l, in the state that it has, counts no more. */
void cmx_sa_user_leave(struct cmx_sa_lookup *l)
{
	struct cmx_sa_user *user = l->user;

	if (l->state == CMX_SA_QUEUED) {
		list_del(&l->turn);
		user->queued--;
	} else {
		user->asked--;
	}
	l->user = NULL;
	cmx_sa_user_idle(user);
}
