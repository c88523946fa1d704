// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * IGMP and MLD memberships of netdevices, which full members on RoCE v2 require
 * to receive. IPv4 and IPv6 count the members of a group for each netdevice and
 * do not distinguish them: a leave without a join removes the membership of
 * another member. So each membership here stores the netdevice and the object
 * (struct in_device or inet6_dev) that counts it, with references, and leaves
 * only there. IP drops its members when that object is freed: when the
 * netdevice is unregistered, when it moves to another namespace, and when its
 * MTU becomes too small. In the last case IP creates a new object once the MTU
 * is large enough, and the membership joins there.
 *
 * The RTNL guards everything except the counts of users. The notifier drops the
 * references before a netdevice is freed, so that nobody waits for them.
 */
#include <linux/hashtable.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "mcast/mcast.h"
#include "user.h"

unsigned int cmx_groups_per_user = 1024;
module_param_named(groups_per_user, cmx_groups_per_user, uint, 0644);
MODULE_PARM_DESC(groups_per_user,
		 "Maximum IGMP and MLD memberships of one user (default 1024)");

static DEFINE_HASHTABLE(cmx_ip_groups, 8);	/* by netdevice */
static DEFINE_XARRAY(cmx_ip_users);		/* by kuid: number of groups */

/* Sets a user's number @n to @new. Returns whether it was @n, or an errno. */
static int cmx_ip_share(kuid_t uid, unsigned long n, unsigned long new)
{
	void *old = n ? xa_mk_value(n) : NULL, *was;

	was = xa_cmpxchg(&cmx_ip_users, __kuid_val(uid), old,
			 new ? xa_mk_value(new) : NULL, GFP_KERNEL);
	return xa_err(was) ?: was == old;
}

static unsigned long cmx_ip_shared(kuid_t uid)
{
	void *entry = xa_load(&cmx_ip_users, __kuid_val(uid));

	return entry ? xa_to_value(entry) : 0;
}

/* A kernel thread is no user. */
static int cmx_ip_charge(struct cmx_ip_group *g)
{
	unsigned long n;
	int ret;

	if (current->flags & PF_KTHREAD)
		return 0;
	g->uid = cmx_current_user();
	do {
		n = cmx_ip_shared(g->uid);
		if (n >= READ_ONCE(cmx_groups_per_user))
			return -EAGAIN;
		ret = cmx_ip_share(g->uid, n, n + 1);
	} while (!ret);
	if (ret < 0)
		return ret;
	g->charged = true;
	return 0;
}

/* Replacing or erasing an entry needs no memory. */
static void cmx_ip_uncharge(struct cmx_ip_group *g)
{
	unsigned long n;

	if (!g->charged)
		return;
	g->charged = false;
	do {
		n = cmx_ip_shared(g->uid);
	} while (!cmx_ip_share(g->uid, n, n - 1));
}

static bool cmx_ip_counts(const struct in_device *in_dev, __be32 addr)
{
	const struct ip_mc_list *im;

	for (im = rtnl_dereference(in_dev->mc_list); im;
	     im = rtnl_dereference(im->next_rcu)) {
		if (im->multiaddr == addr)
			return true;
	}
	return false;
}

static int cmx_ip4_join(struct cmx_ip_group *g)
{
	struct in_device *in_dev = __in_dev_get_rtnl(g->ndev);

	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, g->in);
	/* IP does not report a lack of memory for a new group. */
	if (!cmx_ip_counts(in_dev, g->in))
		return -ENOMEM;
	in_dev_hold(in_dev);
	g->in_dev = in_dev;
	return 0;
}

static void cmx_ip4_leave(struct cmx_ip_group *g)
{
	struct in_device *in_dev = g->in_dev;

	if (!in_dev)
		return;
	g->in_dev = NULL;
	if (in_dev == __in_dev_get_rtnl(g->ndev))
		ip_mc_dec_group(in_dev, g->in);
	in_dev_put(in_dev);
}

static int cmx_ip6_join(struct cmx_ip_group *g)
{
	struct inet6_dev *in6_dev = __in6_dev_get(g->ndev);
	int ret;

	if (!IS_ENABLED(CONFIG_IPV6))
		return -EAFNOSUPPORT;
	if (!in6_dev)
		return -ENODEV;
	ret = ipv6_dev_mc_inc(g->ndev, &g->in6);
	if (ret)
		return ret;
	in6_dev_hold(in6_dev);
	g->in6_dev = in6_dev;
	return 0;
}

static void cmx_ip6_leave(struct cmx_ip_group *g)
{
	struct inet6_dev *in6_dev = g->in6_dev;

	if (!IS_ENABLED(CONFIG_IPV6) || !in6_dev)
		return;
	g->in6_dev = NULL;
	if (in6_dev == __in6_dev_get(g->ndev))
		ipv6_dev_mc_dec(g->ndev, &g->in6);
	in6_dev_put(in6_dev);
}

static int cmx_ip_count(struct cmx_ip_group *g)
{
	return g->family == AF_INET6 ? cmx_ip6_join(g) : cmx_ip4_join(g);
}

static void cmx_ip_uncount(struct cmx_ip_group *g)
{
	cmx_ip4_leave(g);
	cmx_ip6_leave(g);
}

/* True if the object that counts @g still belongs to the netdevice */
static bool cmx_ip_counted(const struct cmx_ip_group *g)
{
	if (g->family == AF_INET6)
		return g->in6_dev && g->in6_dev == __in6_dev_get(g->ndev);
	return g->in_dev && g->in_dev == __in_dev_get_rtnl(g->ndev);
}

/* @g has no reference of the netdevice afterwards. */
static void cmx_ip_drop(struct cmx_ip_group *g)
{
	cmx_ip_uncount(g);
	hash_del(&g->node);
	dev_put(g->ndev);
	g->ndev = NULL;
}

/* If memory lacks to rejoin, the group has no membership. */
static void cmx_ip_renew(struct cmx_ip_group *g)
{
	if (cmx_ip_counted(g))
		return;
	cmx_ip_uncount(g);
	cmx_ip_count(g);
}

static int cmx_ip_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct cmx_ip_group *g;
	struct hlist_node *next;

	if (event != NETDEV_UNREGISTER && event != NETDEV_CHANGEMTU &&
	    event != NETDEV_UP)
		return NOTIFY_DONE;
	hash_for_each_possible_safe(cmx_ip_groups, g, next, node,
				    (unsigned long)ndev) {
		if (g->ndev != ndev)
			continue;
		if (event == NETDEV_UNREGISTER)
			cmx_ip_drop(g);
		else
			cmx_ip_renew(g);
		cond_resched();
	}
	return NOTIFY_DONE;
}

static struct notifier_block cmx_ip_notifier = {
	.notifier_call = cmx_ip_event,
};

/*
 * Joins @addr on the netdevice @ifindex, on behalf of the current user. @g is
 * zeroed. -EAGAIN: the user has too many groups.
 */
int cmx_mcast_ip_join(struct cmx_ip_group *g, struct net *net, int ifindex,
		      const union rdma_cmx_sockaddr *addr)
{
	struct net_device *ndev;
	int ret;

	g->family = addr->sa.sa_family;
	if (g->family == AF_INET6)
		g->in6 = addr->in6.sin6_addr;
	else
		g->in = addr->in.sin_addr.s_addr;
	ret = cmx_ip_charge(g);
	if (ret)
		return ret;

	rtnl_lock();
	/* A netdevice that is found here is not unregistered yet. */
	ndev = __dev_get_by_index(net, ifindex);
	g->ndev = ndev;
	ret = ndev ? cmx_ip_count(g) : -ENODEV;
	if (!ret) {
		dev_hold(ndev);
		hash_add(cmx_ip_groups, &g->node, (unsigned long)ndev);
	} else {
		g->ndev = NULL;
	}
	rtnl_unlock();
	if (ret)
		cmx_ip_uncharge(g);
	return ret;
}

/* Leaves, if it was joined and the netdevice has not dropped it. */
void cmx_mcast_ip_leave(struct cmx_ip_group *g)
{
	if (!g->family)
		return;
	rtnl_lock();
	if (g->ndev)
		cmx_ip_drop(g);
	rtnl_unlock();
	cmx_ip_uncharge(g);
	g->family = 0;
}

int cmx_mcast_ip_init(void)
{
	return register_netdevice_notifier(&cmx_ip_notifier);
}

void cmx_mcast_ip_exit(void)
{
	unregister_netdevice_notifier(&cmx_ip_notifier);
	WARN_ON(!hash_empty(cmx_ip_groups));
	WARN_ON(!xa_empty(&cmx_ip_users));
	xa_destroy(&cmx_ip_users);
}
