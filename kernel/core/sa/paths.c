// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cached paths of a network namespace: list and drop.
 *
 * Users determine the number of paths in a cache, and their namespaces. So a
 * step under cmx_sa_cache.lock visits a batch of paths, in the order of their
 * numbers, of any namespace. The next step continues behind it. Paths may be
 * added and removed in between. Paths that are added after the start of the
 * walk have higher numbers than its last one, so the walk ends. The caller
 * receives the listed paths without locks.
 *
 * One step runs at a time, so that many calls together delay a query no longer
 * than one of them. The lock of the steps is a spinlock: a process that is
 * preempted with a mutex keeps the others waiting.
 *
 * A reference keeps the port meanwhile, but not its device: the removal of a
 * port clears its cache, and nothing is added later.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "caller.h"
#include "sa/internal.h"
#include "sa/wire.h"

/* Serialises steps over a cache, or over outstanding queries of a port */
static DEFINE_SPINLOCK(cmx_sa_walk_lock);

/* Maximum paths listed in one step */
#define CMX_SA_PATHS_STEP	32

void cmx_sa_walk_begin(struct cmx_sa_cache *cache, struct cmx_sa_walk *walk)
{
	spin_lock(&cache->lock);
	walk->next = 0;
	walk->last = cache->number;
	spin_unlock(&cache->lock);
}

/* The next path of the walk, or NULL at its end. Under the lock. */
static struct cmx_sa_entry *cmx_sa_walk_entry(struct cmx_sa_cache *cache,
					      struct cmx_sa_walk *walk)
{
	struct cmx_sa_entry *e, *found = NULL;
	struct rb_node *node = cache->order.rb_node;

	while (node) {
		e = rb_entry(node, struct cmx_sa_entry, order);
		if (e->number >= walk->next) {
			found = e;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	if (found && found->number <= walk->last)
		return found;
	walk->next = walk->last + 1;
	return NULL;
}

/* The path behind @e, likewise */
static struct cmx_sa_entry *cmx_sa_walk_next(struct cmx_sa_walk *walk,
					     struct cmx_sa_entry *e)
{
	struct rb_node *node = rb_next(&e->order);

	e = node ? rb_entry(node, struct cmx_sa_entry, order) : NULL;
	if (e && e->number <= walk->last) {
		walk->next = e->number;
		return e;
	}
	walk->next = walk->last + 1;
	return NULL;
}

static u32 cmx_sa_path_ms(unsigned long since, unsigned long until)
{
	long left = until - since;

	return left > 0 ? jiffies_to_msecs(left) : 0;
}

/* Under the lock */
static void cmx_sa_path_fill(const struct cmx_sa_cache *cache,
			     struct cmx_sa_entry *e,
			     struct rdma_cmx_cached_path *path)
{
	const struct cmx_sa_response *response = e->response;

	memset(path, 0, sizeof(*path));
	path->num_paths = response->count;
	path->age_ms = cmx_sa_path_ms(e->sent_at, jiffies);
	path->left_ms = cmx_sa_path_ms(jiffies,
				       cmx_sa_entry_expires(cache, e));
	memcpy(path->path.path_rec, cmx_sa_response_rec(response, 0),
	       min_t(size_t, response->stride, CMX_SA_PATH_REC_SIZE));
}

/*
 * One step: stores up to @room paths of @net, without their ports. Returns
 * their number. The walk may continue after 0.
 */
unsigned int cmx_sa_paths_list(struct cmx_sa_cache *cache, u64 net,
			       struct cmx_sa_walk *walk,
			       struct rdma_cmx_cached_path *paths, unsigned int room)
{
	struct cmx_sa_entry *e;
	unsigned int i, n = 0;

	BUILD_BUG_ON(sizeof(paths->path.path_rec) != CMX_SA_PATH_REC_SIZE);
	if (!cmx_sa_cache_usable()) {
		walk->next = walk->last + 1;
		return 0;
	}
	spin_lock(&cache->lock);
	e = cmx_sa_walk_entry(cache, walk);
	for (i = 0; e && i < CMX_SA_CACHE_BATCH && n < room; i++) {
		if (e->key.net == net && cmx_sa_entry_valid(cache, e))
			cmx_sa_path_fill(cache, e, &paths[n++]);
		e = cmx_sa_walk_next(walk, e);
	}
	spin_unlock(&cache->lock);
	return n;
}

/* One step. Returns the number of paths that it moves to @victims. */
static unsigned int cmx_sa_walk_drop(struct cmx_sa_cache *cache, u64 net,
				     struct cmx_sa_walk *walk,
				     const union ib_gid *gid,
				     struct list_head *victims)
{
	struct cmx_sa_entry *e, *next;
	const union ib_gid *dgid;
	enum cmx_sa_gone why;
	unsigned int i, n = 0;

	spin_lock(&cache->lock);
	e = cmx_sa_walk_entry(cache, walk);
	for (i = 0; e && i < CMX_SA_CACHE_BATCH; i++, e = next) {
		next = cmx_sa_walk_next(walk, e);
		dgid = cmx_sa_query_dgid(&e->key.query);
		if (e->key.net != net ||
		    (gid && memcmp(dgid, gid, sizeof(*gid))))
			continue;
		/* Invalid paths are removed without being counted. */
		why = cmx_sa_entry_end(cache, e, CMX_SA_GONE_COMMAND);
		n += why == CMX_SA_GONE_COMMAND && cmx_sa_cache_usable();
		cmx_sa_entry_remove(cache, e, victims, why);
	}
	spin_unlock(&cache->lock);
	return n;
}

/*
 * Drops the paths of a namespace, or those to @gid if it is not NULL. Returns
 * their number. A fatal signal ends it.
 */
unsigned int cmx_sa_paths_drop(struct cmx_sa_cache *cache, u64 net,
			       const union ib_gid *gid)
{
	struct cmx_sa_walk walk;
	unsigned int n = 0;

	cmx_sa_walk_begin(cache, &walk);
	while (!cmx_sa_walk_over(&walk) && !fatal_signal_pending(current)) {
		LIST_HEAD(victims);

		spin_lock(&cmx_sa_walk_lock);
		n += cmx_sa_walk_drop(cache, net, &walk, gid, &victims);
		spin_unlock(&cmx_sa_walk_lock);
		cmx_sa_entries_free(&victims);
		cond_resched();
	}
	return n;
}

/* Ports, filled by a walk */
struct cmx_sa_path_ports {
	const struct cmx_paths_attr *attr;
	struct cmx_sa_port **port;
	u32 count;
	u32 room;
};

static int cmx_sa_path_port_add(struct cmx_sa_port *port, void *arg)
{
	struct cmx_sa_path_ports *ports = arg;
	const struct cmx_paths_attr *attr = ports->attr;
	struct cmx_sa_port **new;

	if (attr->dev && (strncmp(port->dev->name, attr->dev,
				  IB_DEVICE_NAME_MAX) ||
			  (attr->dev_port && attr->dev_port != port->num)))
		return 0;
	if (ports->count == ports->room) {
		u32 room = ports->room ? 2 * ports->room : 4;

		new = krealloc_array(ports->port, room, sizeof(*new),
				     GFP_KERNEL_ACCOUNT);
		if (!new)
			return -ENOMEM;
		ports->port = new;
		ports->room = room;
	}
	cmx_sa_port_hold(port);
	ports->port[ports->count++] = port;
	return 0;
}

static void cmx_sa_path_ports_put(struct cmx_sa_path_ports *ports)
{
	u32 i;

	for (i = 0; i < ports->count; i++)
		cmx_sa_port_put(ports->port[i]);
	kfree(ports->port);
}

static int cmx_sa_path_ports_get(struct cmx_sa_path_ports *ports)
{
	const struct cmx_paths_attr *attr = ports->attr;
	int ret = 0;

	if (attr->dev_port && !attr->dev)
		return -EINVAL;
	if (attr->dev)
		ret = cmx_sa_ports_find(attr->net, attr->dev, attr->dev_port);
	/*
	 * Includes a port whose firmware did not report that it is active: it
	 * may use its paths later, without an event.
	 */
	if (!ret)
		ret = cmx_sa_ports_for_each(attr->net, cmx_sa_path_port_add,
					    ports);
	if (ret)
		cmx_sa_path_ports_put(ports);
	return ret;
}

static int cmx_sa_port_list_paths(struct cmx_sa_port *port, u64 net,
				  struct rdma_cmx_cached_path *paths, cmx_paths_fn fn,
				  void *arg)
{
	struct cmx_sa_walk walk;
	unsigned int i, n;
	int ret = 0;

	cmx_sa_walk_begin(&port->cache, &walk);
	while (!ret && !cmx_sa_walk_over(&walk)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		spin_lock(&cmx_sa_walk_lock);
		n = cmx_sa_paths_list(&port->cache, net, &walk, paths,
				      CMX_SA_PATHS_STEP);
		spin_unlock(&cmx_sa_walk_lock);
		cond_resched();
		for (i = 0; i < n; i++) {
			paths[i].ibdev_index = port->dev->index;
			paths[i].port_num = port->num;
		}
		if (n)
			ret = fn(paths, n, arg);
	}
	return ret;
}

int rdma_cmx_get_paths(const struct cmx_paths_attr *attr, cmx_paths_fn fn,
		       void *arg)
{
	struct cmx_sa_path_ports ports = { .attr = attr };
	struct rdma_cmx_cached_path *paths;
	int ret;
	u32 i;

	ret = cmx_sa_path_ports_get(&ports);
	if (ret)
		return ret;
	paths = kmalloc_array(CMX_SA_PATHS_STEP, sizeof(*paths),
			      GFP_KERNEL_ACCOUNT);
	if (!paths)
		ret = -ENOMEM;
	for (i = 0; !ret && i < ports.count; i++)
		ret = cmx_sa_port_list_paths(ports.port[i],
					     attr->net->net_cookie, paths, fn,
					     arg);
	kfree(paths);
	cmx_sa_path_ports_put(&ports);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_get_paths);

int rdma_cmx_drop_paths(const struct cmx_paths_attr *attr, u32 *count)
{
	struct cmx_sa_path_ports ports = { .attr = attr };
	int ret;
	u32 i;

	*count = 0;
	ret = cmx_sa_path_ports_get(&ports);
	if (ret)
		return ret;
	for (i = 0; i < ports.count; i++) {
		if (fatal_signal_pending(current))
			break;
		spin_lock(&cmx_sa_walk_lock);
		/* First, or a response could be added in between. */
		cmx_sa_lookups_drop(ports.port[i], attr->net->net_cookie,
				    attr->dgid);
		spin_unlock(&cmx_sa_walk_lock);
		*count += cmx_sa_paths_drop(&ports.port[i]->cache,
					    attr->net->net_cookie,
					    attr->dgid);
	}
	cmx_sa_path_ports_put(&ports);
	return fatal_signal_pending(current) ? -EINTR : 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_drop_paths);
