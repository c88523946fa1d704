/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The only place with differences between kernels; 6.1 is the oldest one. It
 * tests for what the headers offer, not for version numbers, as distributions
 * backport. compat.mk tests what the preprocessor cannot. A user of a macro
 * includes the header that it is about.
 */
#ifndef CMX_COMPAT_H
#define CMX_COMPAT_H

/* Its functions were in linux/kernel.h. */
#ifdef CMX_HEX_H
#include <linux/hex.h>
#endif

/* Since 6.10 a trace event remembers the source of a string by itself. */
#ifdef CMX_ASSIGN_STR_DST
#define cmx_assign_str(dst, src)	__assign_str(dst)
#else
#define cmx_assign_str(dst, src)	__assign_str(dst, src)
#endif

/*
 * Since 6.12, with its group of events, RDMA's netlink lets processes without
 * CAP_NET_ADMIN listen, to the queries of ib_sa, too.
 */
#ifdef CMX_NL_GROUP_NOTIFY
#define CMX_NL_PRIVILEGED	false
#else
#define CMX_NL_PRIVILEGED	true
#endif

/*
 * IPv6 may be a module or booted without: until 7.0 a table of functions
 * spares callers the dependency. From 7.1 it is built in, and they are exported.
 */
#ifdef CMX_IPV6_STUBS_H
#define cmx_ipv6_dev_find(net, addr)	\
	ipv6_stub->ipv6_dev_find(net, addr, NULL)
#define cmx_ipv6_route(net, fl6)	\
	ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL)
#else
#define cmx_ipv6_dev_find(net, addr)	ipv6_dev_find(net, addr, NULL)
#define cmx_ipv6_route(net, fl6)	ip6_dst_lookup_flow(net, NULL, fl6, NULL)
#endif

/*
 * Where a program begins that the kernel starts. Newer kernels keep their own
 * threads, init_task too, in an empty root.
 */
#ifdef CMX_USERSPACE_INIT_FS
#define cmx_init_fs	userspace_init_fs
#else
#define cmx_init_fs	(init_task.fs)
#endif

/*
 * The netdevice of a RoCE or iWARP port, with a reference, or NULL. Before 6.12
 * it is what the driver reports or, if it has no function for that, has set.
 */
#ifdef CMX_IB_DEVICE_GET_NETDEV
#define cmx_ib_port_netdev(ibdev, port)	ib_device_get_netdev(ibdev, port)
#else
#define cmx_ib_port_netdev(ibdev, port)					\
({									\
	struct ib_device *__dev = (ibdev);				\
	u32 __num = (port);						\
	struct ib_port_data *__port = &__dev->port_data[__num];		\
	struct net_device *__ndev;					\
									\
	if (__dev->ops.get_netdev) {					\
		__ndev = __dev->ops.get_netdev(__dev, __num);		\
	} else {							\
		spin_lock(&__port->netdev_lock);			\
		__ndev = rcu_dereference_protected(__port->netdev,	\
			lockdep_is_held(&__port->netdev_lock));		\
		dev_hold(__ndev);					\
		spin_unlock(&__port->netdev_lock);			\
	}								\
	/* One that is going has no use. */				\
	if (__ndev && __ndev->reg_state != NETREG_REGISTERED) {		\
		dev_put(__ndev);					\
		__ndev = NULL;						\
	}								\
	__ndev;								\
})
#endif

/*
 * For large variables that are filled before they are read: kernels that
 * clear the stack by themselves need not clear these.
 */
#if __has_attribute(__uninitialized__)
#define CMX_UNINIT	__attribute__((__uninitialized__))
#else
#define CMX_UNINIT
#endif

#endif /* CMX_COMPAT_H */
