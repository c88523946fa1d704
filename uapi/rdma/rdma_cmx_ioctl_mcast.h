/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: multicast groups.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_MCAST_H
#define RDMA_CMX_IOCTL_MCAST_H

#include <linux/types.h>
#include <rdma/rdma_cmx_ioctl_types.h>

/**
 * struct rdma_cmx_mc_param - parameters of a multicast group
 * @mask: RDMA_CMX_MC_*: the other fields that are given. A field that is not
 *	given must be 0.
 * @qkey: Q_Key, not 0. One with the highest bit set is privileged: EPERM
 *	without CAP_NET_RAW
 * @flow_label: flow label, 20 bits
 * @pkey: P_Key, which the port must have
 * @mtu: enum ib_mtu: 1 to 5 for 256 to 4096 bytes
 * @rate: enum ib_rate
 * @sl: service level, 4 bits
 * @traffic_class: traffic class
 * @hop_limit: hop limit
 * @reserved: 0
 *
 * A join requires these parameters of the group. On InfiniBand the first member
 * creates the group with them; the subnet administrator refuses another member
 * whose parameters differ from the group's. On RoCE these are properties of the
 * address that the member sends to, and RDMA_CMX_MC_PKEY, _MTU and _RATE fail
 * with EOPNOTSUPP.
 *
 * MULTICAST_JOIN reports the group's parameters that are in @mask.
 */
struct rdma_cmx_mc_param {
	__u32 mask;
	__u32 qkey;
	__u32 flow_label;
	__u16 pkey;
	__u8 mtu;
	__u8 rate;
	__u8 sl;
	__u8 traffic_class;
	__u8 hop_limit;
	__u8 reserved[5];
};

enum {
	RDMA_CMX_MC_QKEY = 1 << 0,
	RDMA_CMX_MC_PKEY = 1 << 1,
	RDMA_CMX_MC_MTU = 1 << 2,
	RDMA_CMX_MC_RATE = 1 << 3,
	RDMA_CMX_MC_SL = 1 << 4,
	RDMA_CMX_MC_TRAFFIC_CLASS = 1 << 5,
	RDMA_CMX_MC_FLOW_LABEL = 1 << 6,
	RDMA_CMX_MC_HOP_LIMIT = 1 << 7,
};

/* Flags of a join, in addition to its join_flags. */
enum {
	/*
	 * The kernel rejoins a membership that the fabric drops (another
	 * subnet manager, client reregistration, the port down and up) until
	 * the caller leaves it. Another MULTICAST_JOIN reports that; without
	 * the flag MULTICAST_ERROR ends the membership. Both replace an unread
	 * MULTICAST_JOIN. The address may differ then. The kernel does not
	 * retry a join that fails from the start. On RoCE nothing is dropped,
	 * so the flag has no effect there.
	 */
	RDMA_CMX_JOIN_PERSISTENT = 1 << 0,
};

/**
 * struct rdma_cmx_join - RDMA_CMX_IO(JOIN)
 * @size: sizeof(struct rdma_cmx_join)
 * @id: handle, bound to a device
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @mc: out: handle of the membership
 * @uid: cookie, returned as obj_uid
 * @addr: group: IPv4 or IPv6 multicast address, or MGID as sockaddr_ib
 * @flags: RDMA_CMX_JOIN_*; RDMA_CMX_FEATURE_MCAST
 * @reserved: 0
 * @param: parameters that the group must have; RDMA_CMX_FEATURE_MCAST
 *
 * The event MULTICAST_JOIN or MULTICAST_ERROR follows, unless the id's
 * DEVICE_REMOVAL comes first: that is the last event of all its memberships,
 * too. The struct may end behind @addr. EINVAL: not a multicast address, a
 * parameter out of range, or the id is not bound or not for UD. EADDRINUSE: the
 * id has joined the group with another join flag, flag or parameter.
 * EOPNOTSUPP: the device does not support a flag, parameter or address; as the
 * status of MULTICAST_ERROR: the subnet administrator has no send-only full
 * members. EAFNOSUPPORT: an IPv6 group on RoCE v2 needs an id that is bound to
 * an IPv6 address. EAGAIN: a full member on RoCE v2 above the module parameter
 * groups_per_user. ENODEV: the netdevice is gone or has no IP.
 */
struct rdma_cmx_join {
	__u32 size;
	__u32 id;
	__u32 join_flags;
	__u32 mc;
	__aligned_u64 uid;
	struct rdma_cmx_addr addr;
	__u32 flags;
	__u32 reserved;
	struct rdma_cmx_mc_param param;
};

/* Every kernel accepts at least this number of items in a JOIN_MANY. */
#define RDMA_CMX_MAX_JOINS	1024

/**
 * struct rdma_cmx_join_item - one join of JOIN_MANY
 * @join_flags: as in struct rdma_cmx_join
 * @flags: as in struct rdma_cmx_join
 * @mc: out: handle of the membership, 0 if there is none
 * @error: out: 0, or the negative errno that JOIN would have failed with;
 *	-EINTR: not started because the process is being killed
 * @uid: cookie, returned as obj_uid
 * @addr: as in struct rdma_cmx_join
 * @param: as in struct rdma_cmx_join
 */
struct rdma_cmx_join_item {
	__u32 join_flags;
	__u32 flags;
	__u32 mc;
	__s32 error;
	__aligned_u64 uid;
	struct rdma_cmx_addr addr;
	struct rdma_cmx_mc_param param;
};

/**
 * struct rdma_cmx_join_many - RDMA_CMX_IO(JOIN_MANY)
 * @size: sizeof(struct rdma_cmx_join_many)
 * @id: handle, bound to a device
 * @items: pointer to struct rdma_cmx_join_item []
 * @count: number of items, 1 to max_joins (GET_INFO); more: E2BIG
 * @item_size: sizeof(struct rdma_cmx_join_item), the distance between two
 *	items. As for the struct of a command: shorter than the first published
 *	form: EINVAL; longer than the kernel knows and not zero there, or more
 *	than a page: E2BIG; the kernel writes back the known part
 * @joined: out: number of joins that were started
 * @reserved: 0
 *
 * The command starts all joins, which then proceed concurrently. A separate
 * event follows for each started join, as after JOIN. The command succeeds if
 * the id could be used at all; @error of an item is the reason why its join was
 * not started. The kernel writes the handles before it starts a join. EFAULT:
 * no group was joined, unless @items or the struct became unwritable during the
 * call.
 */
struct rdma_cmx_join_many {
	__u32 size;
	__u32 id;
	__aligned_u64 items;
	__u32 count;
	__u32 item_size;
	__u32 joined;
	__u32 reserved;
};

#endif /* RDMA_CMX_IOCTL_MCAST_H */
