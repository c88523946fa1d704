// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memberships. An id joins a group once, and all its memberships of that
 * address share the group: rdma_cm finds a group by its address only, and
 * leaves the newest of equal ones, whose event may still be outstanding. The
 * last membership leaves the group. A later one receives the group's event.
 *
 * Locks, outermost first: cmx_mcast_id.mutex serialises the joins and leaves of
 * an id. The id's handler lock, which rdma_cm and the group's work item hold
 * when they report, guards the members of a group and its reported state. The
 * lock of the table of ids guards that table and its references.
 */
#include <linux/export.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "mcast/mcast.h"
#include "mcast/trace.h"

static struct workqueue_struct *cmx_member_wq;

/* Ids with memberships, by address. Most ids have none. */
static struct rb_root cmx_mcast_ids = RB_ROOT;
static DEFINE_SPINLOCK(cmx_mcast_lock);

static int cmx_mcast_id_cmp(const void *key, const struct rb_node *node)
{
	const struct rdma_cm_id *id = key;
	const struct rdma_cm_id *other = rb_entry(node, struct cmx_mcast_id,
						  node)->id;

	return id < other ? -1 : id > other;
}

static int cmx_mcast_id_order(struct rb_node *a, const struct rb_node *b)
{
	return cmx_mcast_id_cmp(rb_entry(a, struct cmx_mcast_id, node)->id, b);
}

/* With a reference, or NULL */
static struct cmx_mcast_id *cmx_mcast_id_find(struct rdma_cm_id *id)
{
	struct cmx_mcast_id *owner = NULL;
	struct rb_node *node;

	spin_lock(&cmx_mcast_lock);
	node = rb_find(id, &cmx_mcast_ids, cmx_mcast_id_cmp);
	if (node) {
		owner = rb_entry(node, struct cmx_mcast_id, node);
		owner->refs++;
	}
	spin_unlock(&cmx_mcast_lock);
	return owner;
}

static void cmx_mcast_id_end(struct work_struct *work);

/* As cmx_mcast_id_find(), created if absent; NULL without memory */
static struct cmx_mcast_id *cmx_mcast_id_get(struct rdma_cm_id *id)
{
	struct cmx_mcast_id *owner, *fresh;
	struct rb_node *node;

	owner = cmx_mcast_id_find(id);
	if (owner)
		return owner;
	fresh = kmalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	*fresh = (struct cmx_mcast_id) { .id = id, .refs = 1 };
	mutex_init(&fresh->mutex);
	INIT_LIST_HEAD(&fresh->order);
	INIT_LIST_HEAD(&fresh->members);
	INIT_LIST_HEAD(&fresh->attachments.groups);
	INIT_WORK(&fresh->end, cmx_mcast_id_end);

	spin_lock(&cmx_mcast_lock);
	node = rb_find_add(&fresh->node, &cmx_mcast_ids, cmx_mcast_id_order);
	if (node) {
		owner = rb_entry(node, struct cmx_mcast_id, node);
		owner->refs++;
	}
	spin_unlock(&cmx_mcast_lock);
	if (!owner)
		return fresh;
	mutex_destroy(&fresh->mutex);
	kfree(fresh);
	return owner;
}

static void cmx_mcast_id_hold(struct cmx_mcast_id *owner)
{
	spin_lock(&cmx_mcast_lock);
	owner->refs++;
	spin_unlock(&cmx_mcast_lock);
}

static void cmx_mcast_id_put(struct cmx_mcast_id *owner)
{
	bool last;

	spin_lock(&cmx_mcast_lock);
	last = !--owner->refs;
	if (last)
		rb_erase(&owner->node, &cmx_mcast_ids);
	spin_unlock(&cmx_mcast_lock);
	if (!last)
		return;
	mutex_destroy(&owner->mutex);
	kfree(owner);
}

static int cmx_group_cmp(const void *key, const struct rb_node *node)
{
	return memcmp(key, &rb_entry(node, struct cmx_group, node)->addr,
		      sizeof(union rdma_cmx_sockaddr));
}

static bool cmx_group_less(struct rb_node *a, const struct rb_node *b)
{
	return cmx_group_cmp(&rb_entry(a, struct cmx_group, node)->addr, b) < 0;
}

/* The group takes no more members. */
static void cmx_group_unlist(struct cmx_mcast_id *owner, struct cmx_group *g)
{
	if (RB_EMPTY_NODE(&g->node))
		return;
	rb_erase(&g->node, &owner->groups);
	RB_CLEAR_NODE(&g->node);
}

static void cmx_group_end(struct cmx_mcast_id *owner, struct cmx_group *g)
{
	list_del_init(&g->order);
	cmx_group_unlist(owner, g);
	cmx_group_leave(g);
}

void rdma_cmx_group_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct cmx_group *g = (void *)event->param.ud.private_data;
	struct rdma_cmx_member *m;

	/* The group has reported its end. */
	if (g->failed)
		return;
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN)
		cmx_group_keep(g, &event->param.ud);
	else
		/* rdma_cm reports no reason if the id's GID was removed. */
		g->failed = event->status ?: -EADDRNOTAVAIL;
	list_for_each_entry(m, &g->members, node)
		cmx_member_report(m);
}
EXPORT_SYMBOL_GPL(rdma_cmx_group_event);

static void cmx_member_init(struct rdma_cmx_member *m, struct cmx_group *g,
			    const struct rdma_cmx_join_attr *attr,
			    const struct rdma_cmx_member *as)
{
	*m = *as;
	m->report_lost = attr->report_lost;
	m->group = g;
}

/* The group contains its first membership. */
static void cmx_member_free(struct rdma_cmx_member *m)
{
	if (m != &m->group->first)
		kfree(m);
}

/* Joins a group of the id. -ESTALE: it has failed meanwhile. */
static struct rdma_cmx_member *
cmx_member_share(struct cmx_group *g, const struct rdma_cmx_join_attr *attr,
		 const struct rdma_cmx_member *as)
{
	struct rdma_cmx_member *m;
	int ret = 0;

	m = kmalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	cmx_member_init(m, g, attr, as);
	rdma_lock_handler(g->id);
	if (g->failed) {
		ret = -ESTALE;
	} else if (!cmx_group_is(g, attr)) {
		ret = -EADDRINUSE;
	} else if (g->lost && (!attr->report_lost || !g->joined)) {
		/* The rejoin may never succeed. A first join fails then, too. */
		ret = -EADDRNOTAVAIL;
	} else {
		list_add_tail(&m->node, &g->members);
		if (g->joined)
			cmx_member_report(m);
		cmx_member_report_lost(m);
	}
	rdma_unlock_handler(g->id);
	if (!ret)
		return m;
	kfree(m);
	return ERR_PTR(ret);
}

static struct rdma_cmx_member *
cmx_member_start(const struct rdma_cmx_join_attr *attr,
		 const struct rdma_cmx_member *as)
{
	struct cmx_mcast_id *owner = as->owner;
	struct rdma_cmx_member *m;
	struct cmx_group *g;
	int ret;

	g = cmx_group_alloc(owner->id, attr, &owner->attachments);
	if (!g)
		return ERR_PTR(-ENOMEM);
	m = &g->first;
	cmx_member_init(m, g, attr, as);
	/* The event may arrive before the join returns. */
	list_add(&m->node, &g->members);
	ret = cmx_group_join(g);
	if (ret) {
		cmx_group_put(g);
		return ERR_PTR(ret);
	}
	rb_add(&g->node, &owner->groups, cmx_group_less);
	list_add(&g->order, &owner->order);
	if (g->roce) {
		rdma_lock_handler(g->id);
		cmx_member_report(m);
		rdma_unlock_handler(g->id);
	}
	return m;
}

/* The owner's mutex is held. */
static struct rdma_cmx_member *
cmx_member_join(const struct rdma_cmx_join_attr *attr,
		const struct rdma_cmx_member *as)
{
	struct cmx_mcast_id *owner = as->owner;
	struct rdma_cmx_member *m;
	struct rb_node *node;
	struct cmx_group *g;

	node = rb_find(attr->addr, &owner->groups, cmx_group_cmp);
	if (node) {
		g = rb_entry(node, struct cmx_group, node);
		m = cmx_member_share(g, attr, as);
		if (m != ERR_PTR(-ESTALE))
			return m;
		/* Its members have received their last event, and keep it. */
		cmx_group_end(owner, g);
	}
	return cmx_member_start(attr, as);
}

/* @as has the callback and the batch of the new membership. */
static struct rdma_cmx_member *
cmx_member_new(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
	       struct rdma_cmx_member *as)
{
	struct rdma_cmx_member *m = ERR_PTR(-ESHUTDOWN);
	struct cmx_mcast_id *owner = cmx_mcast_id_get(id);

	if (!owner)
		return ERR_PTR(-ENOMEM);
	as->owner = owner;
	mutex_lock(&owner->mutex);
	if (!READ_ONCE(owner->ended))
		m = cmx_member_join(attr, as);
	if (!IS_ERR(m)) {
		list_add_tail(&m->all, &owner->members);
		/*
		 * For the membership, whose callback may lead to its end at
		 * once
		 */
		cmx_mcast_id_hold(owner);
	}
	mutex_unlock(&owner->mutex);
	cmx_mcast_id_put(owner);
	return m;
}

static struct rdma_cmx_member *
cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
	 struct rdma_cmx_member *as)
{
	struct rdma_cmx_join_attr copy = *attr;
	union rdma_cmx_sockaddr addr;
	struct rdma_cmx_member *m;
	int ret;

	ret = cmx_join_check(id, attr);
	if (ret)
		return ERR_PTR(ret);
	/* All bytes of an address are compared. */
	memset(&addr, 0, sizeof(addr));
	memcpy(&addr, attr->addr, cmx_addr_size(attr->addr->sa.sa_family));
	if (addr.sa.sa_family == AF_INET)
		memset(addr.in.sin_zero, 0, sizeof(addr.in.sin_zero));
	copy.addr = &addr;
	m = cmx_member_new(id, &copy, as);
	trace_cmx_join(id, &addr, attr->join_flags, PTR_ERR_OR_ZERO(m));
	return m;
}

struct rdma_cmx_member *
rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
	      rdma_cmx_member_fn event, void *context)
{
	struct rdma_cmx_member as = { .event = event, .context = context };

	return cmx_join(id, attr, &as);
}
EXPORT_SYMBOL_GPL(rdma_cmx_join);

int rdma_cmx_join_many(struct rdma_cm_id *id, struct rdma_cmx_join_one *joins,
		       u32 count, rdma_cmx_joined_fn done, void *context)
{
	struct rdma_cmx_member as = {};
	struct rdma_cmx_member *m;
	struct cmx_batch *b;
	u32 i;

	if (!count)
		return -EINVAL;
	b = kmalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	if (!b)
		return -ENOMEM;
	refcount_set(&b->pending, 1);
	b->joins = joins;
	b->count = count;
	b->done = done;
	b->context = context;
	as.batch = b;
	for (i = 0; i < count; i++) {
		as.event = joins[i].event;
		as.context = joins[i].context;
		as.number = i;
		refcount_inc(&b->pending);
		m = cmx_join(id, &joins[i].attr, &as);
		if (IS_ERR(m)) {
			joins[i].status = PTR_ERR(m);
			m = NULL;
			refcount_dec(&b->pending);
		}
		joins[i].member = m;
		cond_resched();
	}
	cmx_batch_put(b);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_join_many);

/* The owner's mutex is held. The caller drops the reference. */
static void cmx_member_leave(struct rdma_cmx_member *m)
{
	struct cmx_group *g = m->group;
	bool last;

	rdma_lock_handler(g->id);
	list_del(&m->node);
	rdma_unlock_handler(g->id);
	list_del(&m->all);
	last = list_empty(&g->members);
	if (last)
		cmx_group_end(m->owner, g);
	cmx_member_settle(m, -ECANCELED);
	cmx_member_free(m);
	if (last)
		cmx_group_put(g);
}

void rdma_cmx_leave(struct rdma_cmx_member *member)
{
	struct cmx_mcast_id *owner = member->owner;

	mutex_lock(&owner->mutex);
	cmx_member_leave(member);
	mutex_unlock(&owner->mutex);
	cmx_mcast_id_put(owner);
}
EXPORT_SYMBOL_GPL(rdma_cmx_leave);

void rdma_cmx_leave_all(struct rdma_cm_id *id)
{
	struct cmx_mcast_id *owner = cmx_mcast_id_find(id);
	struct rdma_cmx_member *m, *tmp;
	struct cmx_group *g, *next;

	if (!owner)
		return;
	mutex_lock(&owner->mutex);
	/*
	 * In the order of rdma_cm, which walks over all newer groups. The
	 * members hold them, and receive no event any more.
	 */
	list_for_each_entry_safe(g, next, &owner->order, order)
		cmx_group_end(owner, g);
	list_for_each_entry_safe(m, tmp, &owner->members, all) {
		cmx_member_leave(m);
		cmx_mcast_id_put(owner);
	}
	mutex_unlock(&owner->mutex);
	cmx_mcast_id_put(owner);
}
EXPORT_SYMBOL_GPL(rdma_cmx_leave_all);

/* The handler of an id that is being destroyed. Only children are new. */
static int cmx_mcast_id_ended(struct rdma_cm_id *id,
			      struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? -ECONNREFUSED :
							       0;
}

static void cmx_mcast_id_end(struct work_struct *work)
{
	struct cmx_mcast_id *owner = container_of(work, struct cmx_mcast_id,
						  end);
	struct rdma_cm_id *id = owner->id;

	rdma_cmx_leave_all(id);
	/* Before another id can have the same address */
	cmx_mcast_id_put(owner);
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

int rdma_cmx_handler_end(struct rdma_cm_id *id, int ret)
{
	struct cmx_mcast_id *owner = ret ? cmx_mcast_id_find(id) : NULL;

	if (!owner)
		return ret;
	owner->ended = true;
	/* rdma_cm reads it with the handler lock, which it holds now. */
	id->event_handler = cmx_mcast_id_ended;
	queue_work(cmx_member_wq, &owner->end);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_handler_end);

int cmx_members_init(void)
{
	/* rdma_destroy_id() flushes a work queue that has no rescuer. */
	cmx_member_wq = alloc_workqueue("rdma_cmx_end", WQ_UNBOUND, 0);
	return cmx_member_wq ? 0 : -ENOMEM;
}

/* The end of an id may run after its consumer was unloaded. */
void cmx_members_exit(void)
{
	destroy_workqueue(cmx_member_wq);
	WARN_ON(!RB_EMPTY_ROOT(&cmx_mcast_ids));
}
