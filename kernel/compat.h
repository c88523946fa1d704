/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * All differences between kernels; 6.1 is the oldest one. It tests what the
 * headers offer, not version numbers, because distributions backport. compat.mk
 * tests what the preprocessor cannot. A user of a macro includes the header
 * that the macro refers to.
 */
#ifndef CMX_COMPAT_H
#define CMX_COMPAT_H

/*
 * There, a thread that waits for a spinlock sleeps. That would end the wait of
 * core/resolve/route.c for the removal of a device too early.
 */
#ifdef CONFIG_PREEMPT_RT
#error "rdma-cmx does not support kernels with PREEMPT_RT"
#endif

/* linux/kernel.h declared these functions before. */
#ifdef CMX_HEX_H
#include <linux/hex.h>
#endif

/* Since 6.10 a trace event stores the source of a string itself. */
#ifdef CMX_ASSIGN_STR_DST
#define cmx_assign_str(dst, src)	__assign_str(dst)
#else
#define cmx_assign_str(dst, src)	__assign_str(dst, src)
#endif

/*
 * Since 6.12 RDMA netlink has a group of events. Processes without
 * CAP_NET_ADMIN may listen on it, and on the group of ib_sa's queries.
 */
#ifdef CMX_NL_GROUP_NOTIFY
#define CMX_NL_PRIVILEGED	false
#else
#define CMX_NL_PRIVILEGED	true
#endif

/*
 * IPv6 may be a module, or disabled at boot. Until 7.0 a table of functions
 * avoids the dependency. From 7.1 on it is built in and exports them.
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
 * The root of a program that the kernel starts. Newer kernels keep kernel
 * threads, including init_task, in an empty root.
 */
#ifdef CMX_USERSPACE_INIT_FS
#define cmx_init_fs	userspace_init_fs
#else
#define cmx_init_fs	(init_task.fs)
#endif

/*
 * The netdevice of a RoCE or iWARP port, with a reference, or NULL. Before 6.12
 * the driver reports it, or has set it if there is no such function.
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
	/* Ignore one that is being unregistered. */			\
	if (__ndev && __ndev->reg_state != NETREG_REGISTERED) {		\
		dev_put(__ndev);					\
		__ndev = NULL;						\
	}								\
	__ndev;								\
})
#endif

/*
 * For large variables that are set before they are read. Kernels that
 * initialise the stack need not initialise these.
 */
#if __has_attribute(__uninitialized__)
#define CMX_UNINIT	__attribute__((__uninitialized__))
#else
#define CMX_UNINIT
#endif

#endif /* CMX_COMPAT_H */
