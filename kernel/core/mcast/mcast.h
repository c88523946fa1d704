/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast. A file uses those below it:
 *
 *	mcast.c		init and exit
 *	member.c	memberships; those of an id share a group
 *	join.c		a group: joined, lost, rejoined, left
 *	report.c	events of a group for its members
 *	attach.c	the queue pair of an id with groups, and its Q_Key
 *	check.c		checks the attributes of a join
 *	ib.c		joins at the subnet administrator
 *	roce.c		joins on RoCE
 *	group.c		the object of a group, and its parameters
 *	ip.c		the IGMP and MLD memberships that RoCE v2 requires
 */
#ifndef CMX_MCAST_H
#define CMX_MCAST_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_cmx_mcast.h>

#include "core.h"
#include "sa/sa.h"

/* Milliseconds between two attempts to rejoin a persistent group */
#define CMX_BACKOFF_MIN		100
#define CMX_BACKOFF_MAX		5000

/**
 * struct cmx_ip_group - an IGMP or MLD membership
 * @node: by netdevice
 * @ndev: netdevice, with a reference; NULL when it is gone
 * @in_dev: counts the membership, with a reference, or NULL
 * @in6_dev: likewise for IPv6
 * @family: AF_INET or AF_INET6; 0: not joined
 * @in: the group
 * @in6: likewise for IPv6
 * @uid: user that it counts for, if @charged
 * @charged: see above
 */
struct cmx_ip_group {
	struct hlist_node node;
	struct net_device *ndev;
	struct in_device *in_dev;
	struct inet6_dev *in6_dev;
	sa_family_t family;
	__be32 in;
	struct in6_addr in6;
	kuid_t uid;
	bool charged;
};

/**
 * struct rdma_cmx_member - a membership
 * @node: in cmx_group.members
 * @all: in cmx_mcast_id.members
 * @group: its group
 * @owner: its id
 * @report_lost: report a loss
 * @event: callback, or NULL
 * @context: argument of @event
 * @batch: the batch of its first event, or NULL; by the id's handler lock
 * @number: its index in @batch
 */
struct rdma_cmx_member {
	struct list_head node;
	struct list_head all;
	struct cmx_group *group;
	struct cmx_mcast_id *owner;
	bool report_lost;
	rdma_cmx_member_fn event;
	void *context;
	struct cmx_batch *batch;
	u32 number;
};

/**
 * struct cmx_attachments - uses of an id's queue pair, by the handler lock
 * @groups: groups that it is attached to
 * @qp_num: number of the queue pair that the others are about
 * @qkey: its Q_Key when it was read or set, 0 if not known
 * @base: its Q_Key without a group whose Q_Key the caller gave, 0 if not known
 * @foreign: the consumer has replaced a @qkey
 */
struct cmx_attachments {
	struct list_head groups;
	u32 qp_num;
	u32 qkey;
	u32 base;
	bool foreign;
};

enum cmx_group_state {
	CMX_GROUP_IDLE,	/* new, or lost and to be rejoined */
	CMX_GROUP_BUSY,	/* a response is outstanding */
	CMX_GROUP_JOINED,
	CMX_GROUP_FAILED,	/* never joined again */
};

/**
 * struct cmx_group - a group that an id joins
 * @node: by address, by the mutex of the id's memberships
 * @order: in the order of joining until it is left, by the same mutex
 * @members: memberships, by the id's handler lock
 * @first: the membership that created the group; most groups have no other
 * @joined: @ud and @param are valid, by the handler lock
 * @failed: 0, or the status of the last event, by the handler lock
 * @lost: 0, or the reason why it has to be rejoined, by the handler lock
 * @ud: of the last event
 * @param: parameters of the group in the last event
 * @ref: one of the members, and one for an outstanding query
 * @id: the id, which outlives the group
 * @addr: the group, as the caller gave it
 * @attr: the attributes
 * @left: cmx_group_leave() was called, by that mutex
 * @plain: joined by rdma_cm, which replaces @work
 * @send_only: send-only full member
 * @persistent: rejoined when lost
 * @roce: on a RoCE port, else InfiniBand
 * @set_qkey: the caller gave a Q_Key
 * @rec: the group, as requested and then as joined
 * @wanted: @rec as requested
 * @comp_mask: valid fields of @wanted
 * @broadcast: MGID of the partition's broadcast group, if @has_broadcast
 * @has_broadcast: see above
 * @qp: queue pair of the kernel, or NULL
 * @attachments: of the id
 * @attachment: in @attachments while @qp is attached to @attached_gid and
 *	@attached_lid, else empty, by the handler lock
 * @attached_gid: see above
 * @attached_lid: see above
 * @current_qkey: it is attached and not lost: @rec has its present Q_Key, by the
 *	handler lock
 * @ifindex: RoCE: netdevice that the id was bound to when it joined
 * @gid_type: RoCE: of the id at that time
 * @ip: RoCE: membership of the netdevice
 * @work: does all work on the group. The fields up to @lock belong to it, or to
 *	the leave once the work is stopped. On RoCE it is never queued, since
 *	the join completes before it returns
 * @state: see above
 * @was_joined: it has been joined once
 * @backoff: milliseconds until the retry after the next failure
 * @generation: of the port, at the last attempt to rejoin
 * @querying: the query for send-only full members at the SA is outstanding
 * @waiter: waiter of that query
 * @port_polls: how often it has waited for the state of its port
 * @port_check: of that state, see cmx_sa_port_check_begin()
 * @sa_mc: membership of ib_sa
 * @lock: guards the fields that follow
 * @dead: left: @work must not be queued
 * @granted: the SA has granted a join
 * @event: @event_status and @event_rec are new
 * @event_status: last status from ib_sa, or the result of that query
 * @event_rec: the group, if @event_status is 0
 */
struct cmx_group {
	struct rb_node node;
	struct list_head order;
	struct list_head members;
	struct rdma_cmx_member first;
	bool joined;
	int failed;
	int lost;
	struct rdma_ud_param ud;
	struct rdma_cmx_mc_param param;
	refcount_t ref;
	struct rdma_cm_id *id;
	union rdma_cmx_sockaddr addr;
	struct rdma_cmx_join_attr attr;
	bool left;
	bool plain;
	bool send_only;
	bool persistent;
	bool roce;
	bool set_qkey;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_mcmember_rec wanted;
	ib_sa_comp_mask comp_mask;
	union ib_gid broadcast;
	bool has_broadcast;
	struct ib_qp *qp;
	struct cmx_attachments *attachments;
	struct list_head attachment;
	union ib_gid attached_gid;
	u16 attached_lid;
	bool current_qkey;
	int ifindex;
	enum ib_gid_type gid_type;
	struct cmx_ip_group ip;

	struct delayed_work work;
	enum cmx_group_state state;
	bool was_joined;
	unsigned int backoff;
	u32 generation;
	bool querying;
	struct cmx_sched_waiter waiter;
	u8 port_polls;
	u32 port_check;
	struct ib_sa_multicast *sa_mc;

	spinlock_t lock;	/* guards what callbacks store */
	bool dead;
	bool granted;
	bool event;
	int event_status;
	struct ib_sa_mcmember_rec event_rec;
};

/**
 * struct cmx_mcast_id - an id that has memberships
 * @node: in the table
 * @id: the id
 * @refs: of memberships and calls, by the table's lock
 * @mutex: see above
 * @groups: groups that can take members, by address
 * @order: groups that are not left, newest first
 * @members: all memberships
 * @attachments: of its queue pair
 * @ended: its handler has destroyed it: no callback is called. Set with the
 *	id's handler lock, before @end is queued
 * @end: leaves all groups and destroys the id
 */
struct cmx_mcast_id {
	struct rb_node node;
	struct rdma_cm_id *id;
	unsigned int refs;
	struct mutex mutex;		/* see above */
	struct rb_root groups;
	struct list_head order;
	struct list_head members;
	struct cmx_attachments attachments;
	bool ended;
	struct work_struct end;
};

/**
 * struct cmx_batch - joins with one callback
 * @pending: number of joins that have not ended, plus one during the start
 * @joins: the caller's
 * @count: number of @joins
 * @done: callback
 * @context: argument of @done
 */
struct cmx_batch {
	refcount_t pending;
	struct rdma_cmx_join_one *joins;
	u32 count;
	rdma_cmx_joined_fn done;
	void *context;
};

/* mcast.c */
int cmx_mcast_init(void);
void cmx_mcast_exit(void);

/* member.c */
int cmx_members_init(void);
void cmx_members_exit(void);

/* join.c */
int cmx_group_join(struct cmx_group *g);
void cmx_group_leave(struct cmx_group *g);

/* report.c */
void cmx_batch_put(struct cmx_batch *b);
void cmx_member_settle(struct rdma_cmx_member *m, int status);
void cmx_member_report(struct rdma_cmx_member *m);
void cmx_member_report_lost(struct rdma_cmx_member *m);
void cmx_members_lost(struct cmx_group *g, int status);

/* attach.c */
int cmx_group_attach(struct cmx_group *g);
void cmx_group_detach(struct cmx_group *g);
void cmx_group_outdate(struct cmx_group *g);

/* check.c */
int cmx_mc_param_check(const struct rdma_cmx_mc_param *p);
int cmx_join_check(const struct rdma_cm_id *id,
		   const struct rdma_cmx_join_attr *attr);

/* ib.c */
int cmx_mcast_ib_prepare(struct cmx_group *g);
int cmx_mcast_ib_start(struct cmx_group *g);
void cmx_mcast_ib_stop(struct cmx_group *g);
bool cmx_mcast_ib_event(struct cmx_group *g, int *status);
void cmx_mcast_ib_init(void);
void cmx_mcast_ib_exit(void);

/* roce.c */
int cmx_mcast_roce_join(struct cmx_group *g,
			const struct rdma_cmx_mc_param *param, int *status);

/* group.c */
struct cmx_group *cmx_group_alloc(struct rdma_cm_id *id,
				  const struct rdma_cmx_join_attr *attr,
				  struct cmx_attachments *attachments);
void cmx_group_put(struct cmx_group *g);
void cmx_group_kick(struct cmx_group *g, unsigned int ms);
bool cmx_group_is(const struct cmx_group *g,
		  const struct rdma_cmx_join_attr *attr);
void cmx_group_fill(struct cmx_group *g);
void cmx_group_keep(struct cmx_group *g, struct rdma_ud_param *ud);
int cmx_group_init(void);
void cmx_group_exit(void);

/* ip.c */
extern unsigned int cmx_groups_per_user;
int cmx_mcast_ip_join(struct cmx_ip_group *g, struct net *net, int ifindex,
		      const union rdma_cmx_sockaddr *addr);
void cmx_mcast_ip_leave(struct cmx_ip_group *g);
int cmx_mcast_ip_init(void);
void cmx_mcast_ip_exit(void);

#endif /* CMX_MCAST_H */
