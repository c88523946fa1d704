/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* In-kernel API of rdma_cmx: multicast memberships. */
#ifndef RDMA_CMX_MCAST_H
#define RDMA_CMX_MCAST_H

#include <rdma/rdma_cmx.h>

struct rdma_cmx_member;

/**
 * struct rdma_cmx_join_attr - a multicast membership
 * @addr: group: IPv4 or IPv6 multicast address, or MGID in a sockaddr_ib
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @flags: RDMA_CMX_JOIN_*
 * @param: parameters of the group; a mask of 0 requests none
 * @report_lost: with RDMA_CMX_JOIN_PERSISTENT, report
 *	RDMA_CMX_EVENT_MULTICAST_LOST, too; to this membership only
 */
struct rdma_cmx_join_attr {
	const union rdma_cmx_sockaddr *addr;
	u32 join_flags;
	u32 flags;
	struct rdma_cmx_mc_param param;
	bool report_lost;
};

/*
 * A persistent membership is lost: what is sent to the group may not arrive until
 * RDMA_CM_EVENT_MULTICAST_JOIN reports that it was rejoined. The status says why.
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
 * @param: parameters of the group after a join, by its mask, else NULL.
 *	On InfiniBand they are those of the subnet administrator
 * @context: as given to rdma_cmx_join()
 *
 * Another RDMA_CM_EVENT_MULTICAST_JOIN reports that a persistent membership was
 * rejoined; RDMA_CMX_EVENT_MULTICAST_LOST comes before it, once, where it was
 * requested. A membership of a group that is lost at the time gets the group's
 * last join and then that event, before rdma_cmx_join() returns.
 * RDMA_CM_EVENT_MULTICAST_ERROR is the last event: the membership is of no use
 * then, and rdma_cmx_leave() frees it.
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
 * @event: called with the event of the join, maybe before this returns
 * @context: for @event
 *
 * It does not wait, so many joins can be outstanding. On RoCE nobody answers:
 * @event is called before this returns, and the event handler is not. Unlike
 * rdma_join_multicast() it
 *
 * - checks that the address is a multicast one and that the id is bound;
 * - joins IPv6 groups on RoCE v2;
 * - takes an id with a queue pair of rdma_create_qp(). A full member's is
 *   attached to the group before the event, and gets the Q_Key if @attr names
 *   one. Leave before rdma_destroy_qp();
 * - takes parameters of the group;
 * - rejoins a persistent membership when the fabric has dropped it, and moves
 *   the queue pair if the group has another MLID then;
 * - queries whether the subnet administrator has send-only full members, and
 *   fails with -EOPNOTSUPP, by the event, where it has not.
 *
 * The id joins a group once. Its memberships of an address share the group,
 * which the last one leaves. A membership of a group that is joined already
 * gets the event before this returns; of a persistent group that is lost and
 * joined again, the last one. All request the same, with the same queue
 * pair. After RDMA_CM_EVENT_MULTICAST_ERROR a new membership joins anew.
 *
 * On RoCE v2 a full member joins by IGMP or MLD on the netdevice that the id is
 * bound to now, and leaves there. The module parameter groups_per_user limits
 * these memberships of the current user; a thread of the kernel has no limit.
 *
 * Context: process, may sleep; takes the RTNL on RoCE; not in the event handler
 * of any id. It takes the handler lock of @id, so the caller holds no lock that
 * @event or an event handler takes. Joins and leaves of an id wait for each
 * other.
 * Return: the membership, to be given back with rdma_cmx_leave() or
 * rdma_cmx_leave_all() before rdma_destroy_id(); or an ERR_PTR, then @event is
 * not called. -EINVAL: bad family, join flag, address or parameter, or not
 * bound; -EADDRINUSE: the id has joined the address with another request;
 * -EOPNOTSUPP: a flag or parameter that is not known, or the device cannot do
 * it; -EAFNOSUPPORT: an IPv6 group on RoCE v2 needs an id that is bound to an
 * IPv6 address; -EAGAIN: the user has too many on RoCE v2; -ENODEV: the
 * netdevice is gone or has no IP; -ENOMEM; or as rdma_join_multicast().
 */
struct rdma_cmx_member *
rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
	      rdma_cmx_member_fn event, void *context);

/**
 * struct rdma_cmx_join_one - one join of many
 * @attr: the group, as for rdma_cmx_join()
 * @event: called with each event of the membership, or NULL
 * @context: for @event
 * @member: out: the membership, or NULL if the join failed at once
 * @status: out: 0 if the group was joined, or why not: the errno of
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
 * typedef rdma_cmx_joined_fn - called when all of many joins have ended
 * @joins: as given to rdma_cmx_join_many()
 * @count: how many
 * @context: as given to rdma_cmx_join_many()
 *
 * Runs in process context and may sleep; maybe with the handler lock of the id
 * held, so it must neither join nor leave with the id, nor destroy it.
 */
typedef void (*rdma_cmx_joined_fn)(struct rdma_cmx_join_one *joins, u32 count,
				   void *context);

/**
 * rdma_cmx_join_many - join many multicast groups
 * @id: as for rdma_cmx_join()
 * @joins: the groups, and then the memberships; stays until @done was called.
 *	The addresses are copied
 * @count: how many, not 0
 * @done: called once when each join has ended by its first event or at once;
 *	maybe before this returns
 * @context: for @done
 *
 * As rdma_cmx_join() for each. A join that fails ends no other one. A membership
 * counts as ended when it is left; rdma_cmx_leave_all() thus has called @done
 * when it returns, unless the id was given to rdma_cmx_handler_end().
 *
 * Context: as rdma_cmx_join().
 * Return: 0, and @done is called; -EINVAL: @count is 0; -ENOMEM.
 */
int rdma_cmx_join_many(struct rdma_cm_id *id, struct rdma_cmx_join_one *joins,
		       u32 count, rdma_cmx_joined_fn done, void *context);

/**
 * rdma_cmx_group_event - give an event to the memberships that it is for
 * @id: the id
 * @event: RDMA_CM_EVENT_MULTICAST_JOIN or _ERROR
 *
 * The event handler of an id that rdma_cmx_join() was used on calls this for
 * both events, and returns 0. It calls the rdma_cmx_member_fn of each membership
 * of the group.
 *
 * Context: the event handler of @id.
 */
void rdma_cmx_group_event(struct rdma_cm_id *id, struct rdma_cm_event *event);

/**
 * rdma_cmx_leave - end a membership
 * @member: the membership; freed
 *
 * Its callback is not running and does not run any more once this has returned.
 * The last membership of a group leaves it and detaches the queue pair.
 *
 * Context: process, may sleep; takes the RTNL on RoCE; not in the event handler
 * of any id, and without a lock that one or a callback of rdma_cmx_join_many()
 * takes.
 */
void rdma_cmx_leave(struct rdma_cmx_member *member);

/**
 * rdma_cmx_leave_all - end all memberships of an id
 * @id: the id
 *
 * As rdma_cmx_leave() on each. To be called before rdma_destroy_qp() and
 * rdma_destroy_id(), unless each was left, also where rdma_cm alone would leave
 * a group by itself. On RDMA_CM_EVENT_DEVICE_REMOVAL, too: let a work item do
 * it, and destroy the id there.
 *
 * Context: process, may sleep; takes the RTNL on RoCE; not in the event handler
 * of any id, and without a lock that one takes.
 */
void rdma_cmx_leave_all(struct rdma_cm_id *id);

/**
 * rdma_cmx_handler_end - let an event handler destroy its id
 * @id: the id
 * @ret: what the handler would return; not 0: the id is to be destroyed
 *
 * rdma_cm destroys an id when its handler returns another value than 0. It does
 * not know the memberships of rdma_cmx_join(), which would be left with an id
 * that was freed. A handler of an id that may have some therefore ends with
 *
 *	return rdma_cmx_handler_end(id, ret);
 *
 * With memberships, a work item of rdma_cmx then leaves them all and destroys
 * the id, as after rdma_cmx_leave_all(), and its queue pair of
 * rdma_create_qp(), if any. A consumer that frees the CQ and PD of one must
 * know when, and rather does all of this in its own work item. From this call
 * on nobody uses the id or a membership, and none of their callbacks is called,
 * nor that of rdma_cmx_join_many(). A join that is running in another thread
 * uses the id: a consumer with such threads returns 0 and destroys the id when
 * they are through.
 *
 * Context: the event handler of @id.
 * Return: what the handler is to return: @ret, or 0 if rdma_cmx destroys @id.
 */
int rdma_cmx_handler_end(struct rdma_cm_id *id, int ret);

#endif /* RDMA_CMX_MCAST_H */
