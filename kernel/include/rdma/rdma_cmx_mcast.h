/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* In-kernel API of rdma_cmx: multicast memberships. */
#ifndef RDMA_CMX_MCAST_H
#define RDMA_CMX_MCAST_H

#include <rdma/rdma_cmx.h>

struct rdma_cmx_member;

/**
 * struct rdma_cmx_join_attr - attributes of a multicast membership
 * @addr: group: IPv4 or IPv6 multicast address, or MGID in a sockaddr_ib
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @flags: RDMA_CMX_JOIN_*
 * @param: parameters of the group; a mask of 0 requests none
 * @report_lost: with RDMA_CMX_JOIN_PERSISTENT, report
 *	RDMA_CMX_EVENT_MULTICAST_LOST, to this membership only
 */
struct rdma_cmx_join_attr {
	const union rdma_cmx_sockaddr *addr;
	u32 join_flags;
	u32 flags;
	struct rdma_cmx_mc_param param;
	bool report_lost;
};

/*
 * A persistent membership is lost: packets to the group may be lost until
 * RDMA_CM_EVENT_MULTICAST_JOIN reports the rejoin. The status is the reason.
 * rdma_cm has no such event: compare with it before a switch.
 */
#define RDMA_CMX_EVENT_MULTICAST_LOST	((enum rdma_cm_event_type)0x10000)

/**
 * typedef rdma_cmx_member_fn - called when a join ends or a membership is lost
 * @member: the membership; rdma_cmx_join() may not have returned it yet
 * @event: RDMA_CM_EVENT_MULTICAST_JOIN or _ERROR with its status, as from
 *	rdma_join_multicast(), or RDMA_CMX_EVENT_MULTICAST_LOST if requested.
 *	param.ud is valid after a join; its private_data is NULL. Valid during
 *	the call
 * @param: parameters of the group after a join, by its mask, else NULL. On
 *	InfiniBand they are those of the MCMemberRecord of the subnet
 *	administrator (InfiniBand Architecture Specification 1, 15.2.5.17)
 * @context: as given to rdma_cmx_join()
 *
 * Another RDMA_CM_EVENT_MULTICAST_JOIN reports the rejoin of a persistent
 * membership. If requested, RDMA_CMX_EVENT_MULTICAST_LOST precedes it once. A
 * new membership of a group that is lost then receives the group's last join
 * and that event, before rdma_cmx_join() returns.
 * RDMA_CM_EVENT_MULTICAST_ERROR, possibly with the errno of a verb of the queue
 * pair, is the last event: the membership is unusable, and rdma_cmx_leave()
 * frees it.
 *
 * Runs with the handler lock of the id held, in process context, and may sleep.
 * It must neither join nor leave with the id, nor destroy it.
 */
typedef void (*rdma_cmx_member_fn)(struct rdma_cmx_member *member,
				   struct rdma_cm_event *event,
				   const struct rdma_cmx_mc_param *param,
				   void *context);

/**
 * rdma_cmx_join - join a multicast group
 * @id: UD id that is bound to a device. Its event handler calls
 *	rdma_cmx_group_event(), and it does not use rdma_join_multicast()
 * @attr: the group; copied
 * @event: called with the event of the join, possibly before this returns
 * @context: argument of @event
 *
 * It does not wait, so many joins can be outstanding. On RoCE no response is
 * necessary: @event is called before this returns, and the event handler is
 * not. Unlike rdma_join_multicast() it
 *
 * - checks that the address is a multicast one and that the id is bound;
 * - joins IPv6 groups on RoCE v2;
 * - accepts an id with a queue pair of rdma_create_qp(). The queue pair of a
 *   full member is attached to the group before the event, and gets the Q_Key
 *   of @attr, if any. In RDMA_PS_IPOIB it gets the present one of the group
 *   otherwise, unless a group with a Q_Key of @attr is joined. When such a
 *   group ends, or is lost while another one is joined, the queue pair gets
 *   the Q_Key of another one, or the one that it had without them. If the
 *   caller has set another Q_Key meanwhile, that one stays until a group with
 *   a Q_Key of @attr is joined or rejoined, or if RDMA_PS_IPOIB requires that
 *   of a joined group. Leave before rdma_destroy_qp();
 * - accepts parameters of the group;
 * - rejoins a persistent membership that the fabric has dropped. Unless @id is
 *   bound by GID, it does so once IPoIB has rejoined the partition's broadcast
 *   group, or six to fifteen seconds after the last event of the port, and a
 *   parameter that is not in @attr is the present one of that group. Attempts
 *   are at most five seconds apart, and no event starts one. The queue pair
 *   follows to another MLID or Q_Key;
 * - queries whether the subnet administrator supports send-only full members,
 *   and otherwise fails with -EOPNOTSUPP, by the event.
 *
 * The id joins a group once. Its memberships of an address share the group,
 * which the last one leaves. A membership of a group that is already joined
 * receives the event before this returns. If the group is persistent and lost,
 * the join fails, unless @attr requests RDMA_CMX_EVENT_MULTICAST_LOST and the
 * first join of the group was reported. All memberships have the same
 * parameters and the same queue pair. After RDMA_CM_EVENT_MULTICAST_ERROR a new
 * membership joins again.
 *
 * On RoCE v2 a full member joins by IGMP or MLD on the netdevice that the id is
 * bound to now, and leaves there. The module parameter groups_per_user limits
 * these memberships of the current user; kernel threads have no limit.
 *
 * Context: process context, may sleep; takes the RTNL on RoCE; not in the event
 * handler of any id. It takes the handler lock of @id, so the caller holds no
 * lock that @event or an event handler takes. Joins and leaves of an id wait
 * for each other.
 * Return: the membership, which rdma_cmx_leave() or rdma_cmx_leave_all() frees
 * before rdma_destroy_id(); or an ERR_PTR, and @event is not called. -EINVAL:
 * invalid family, join flag, address or parameter, or @id is no UD id or not
 * bound; -ESHUTDOWN: rdma_cmx_handler_end() has taken over @id; -EADDRINUSE:
 * the id has joined the address with other parameters; -EOPNOTSUPP: an unknown
 * flag or parameter, or the device does not support it; -EAFNOSUPPORT: an IPv6
 * group on RoCE v2 requires an id that is bound to an IPv6 address; -EAGAIN:
 * the user has too many memberships on RoCE v2; -EADDRNOTAVAIL: IPoIB is not a
 * member of the partition's broadcast group, as after a change of the subnet
 * manager, or the id's group is lost and @attr does not request
 * RDMA_CMX_EVENT_MULTICAST_LOST, or its first join was not reported; -ENODEV:
 * the netdevice is gone or has no IP; -ENOMEM; or as rdma_join_multicast().
 */
struct rdma_cmx_member *
rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
	      rdma_cmx_member_fn event, void *context);

/**
 * struct rdma_cmx_join_one - one join of rdma_cmx_join_many()
 * @attr: the group, as for rdma_cmx_join()
 * @event: called with each event of the membership, or NULL
 * @context: argument of @event
 * @member: out: the membership, or NULL if the join failed without an event
 * @status: out: 0 if the join was reported, also if the group is lost since and
 *	@attr requests RDMA_CMX_EVENT_MULTICAST_LOST; else the errno of
 *	rdma_cmx_join() or the status of the event; -ECANCELED: the membership
 *	was ended before
 */
struct rdma_cmx_join_one {
	struct rdma_cmx_join_attr attr;
	rdma_cmx_member_fn event;
	void *context;
	struct rdma_cmx_member *member;
	int status;
};

/**
 * typedef rdma_cmx_joined_fn - called when all joins have ended
 * @joins: as given to rdma_cmx_join_many()
 * @count: number of @joins
 * @context: as given to rdma_cmx_join_many()
 *
 * Runs in process context and may sleep. The handler lock of the id may be
 * held, so it must neither join nor leave with the id, nor destroy it.
 */
typedef void (*rdma_cmx_joined_fn)(struct rdma_cmx_join_one *joins, u32 count,
				   void *context);

/**
 * rdma_cmx_join_many - join many multicast groups
 * @id: as for rdma_cmx_join()
 * @joins: the groups, and then the memberships; valid until @done was called.
 *	The addresses are copied
 * @count: number of @joins, not 0; it has no maximum
 * @done: called once when each join has ended, by its first event or without;
 *	possibly before this returns
 * @context: argument of @done
 *
 * As rdma_cmx_join() for each. The failure of a join does not end another one.
 * A membership that is left counts as ended. So the callback has run when
 * rdma_cmx_leave_all() returns, unless the id was given to
 * rdma_cmx_handler_end().
 *
 * Context: as rdma_cmx_join().
 * Return: 0, and @done is called; -EINVAL: @count is 0; -ENOMEM. After an error
 * no membership exists, and @joins is unchanged.
 */
int rdma_cmx_join_many(struct rdma_cm_id *id, struct rdma_cmx_join_one *joins,
		       u32 count, rdma_cmx_joined_fn done, void *context);

/**
 * rdma_cmx_group_event - pass an event to the memberships of its group
 * @id: the id
 * @event: RDMA_CM_EVENT_MULTICAST_JOIN or _ERROR
 *
 * The event handler of an id with memberships calls this for both events, and
 * returns 0. It calls the rdma_cmx_member_fn of each membership of the group.
 *
 * Context: the event handler of @id, with its handler lock. May sleep.
 */
void rdma_cmx_group_event(struct rdma_cm_id *id, struct rdma_cm_event *event);

/**
 * rdma_cmx_leave - end a membership
 * @member: the membership, not NULL; freed
 *
 * After the return its callback is not running and will not run. The last
 * membership of a group leaves it and detaches the queue pair.
 *
 * Context: process context, may sleep; takes the RTNL on RoCE. It may wait
 * less than a second for the firmware of a port that is not known to be active.
 * Not in the event handler of any id. The caller holds no lock that an event
 * handler, or a callback of rdma_cmx_join_many(), takes.
 */
void rdma_cmx_leave(struct rdma_cmx_member *member);

/**
 * rdma_cmx_leave_all - end all memberships of an id
 * @id: the id
 *
 * As rdma_cmx_leave() for each. Call it before rdma_destroy_qp() and
 * rdma_destroy_id(), unless each was left, also where rdma_cm alone would leave
 * the groups. On RDMA_CM_EVENT_DEVICE_REMOVAL, too: a work item calls it and
 * destroys the id.
 *
 * Context: process context, may sleep; takes the RTNL on RoCE. It may wait
 * less than a second for the firmware of a port that is not known to be active.
 * Not in the event handler of any id. The caller holds no lock that an event
 * handler or a callback of rdma_cmx_join_many() takes.
 */
void rdma_cmx_leave_all(struct rdma_cm_id *id);

/**
 * rdma_cmx_handler_end - let an event handler destroy its id
 * @id: the id
 * @ret: the return value of the handler; not 0: the id is to be destroyed
 *
 * rdma_cm destroys an id when its handler returns a value other than 0. It does
 * not know the memberships of rdma_cmx_join(), which would refer to the freed
 * id. So the handler of an id that may have memberships ends with
 *
 *	return rdma_cmx_handler_end(id, ret);
 *
 * With memberships, a work item of rdma_cmx then leaves them all and destroys
 * the id, as after rdma_cmx_leave_all(), and its queue pair of
 * rdma_create_qp(), if any. A consumer that frees the CQ and PD of a queue pair
 * needs the time of its end, and does all of this in a work item of the
 * consumer instead. After this call no code uses the id or a membership, and
 * none of their callbacks is called, nor that of rdma_cmx_join_many(). A
 * running join in another thread uses the id: a consumer with such threads
 * returns 0 and destroys the id after their end.
 *
 * Context: the event handler of @id, with its handler lock, as the last call in
 * it. Waits for no membership.
 * Return: the return value of the handler: @ret, or 0 if rdma_cmx destroys @id.
 */
int rdma_cmx_handler_end(struct rdma_cm_id *id, int ret);

#endif /* RDMA_CMX_MCAST_H */
