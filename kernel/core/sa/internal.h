/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the files of sa.h share.
 *
 * Locks, outermost first:
 *
 *	cmx_sa_port.agent_lock	for reading: the agent stays while a MAD is
 *				created; for writing: agent and address handle
 *				change
 *	cmx_sa_lock		lookups of all ports, their waiters and MADs,
 *				and their state in a port
 *	cmx_sa_cache.lock	one port's cache
 *
 * All code runs in process context: ib_mad and events use work items. A waiter
 * is called without locks, from the work item of its lookup.
 */
#ifndef CMX_SA_INT_H
#define CMX_SA_INT_H

#include <linux/atomic.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <rdma/rdma_cmx_ioctl.h>

#include "core.h"
#include "sa/sa.h"
#include "sched.h"

#define CMX_SA_HASH_BITS 10

/*
 * Minimum and initial window of a port, however late the SA responds. All nodes
 * of a cluster have as many queries outstanding.
 */
#define CMX_SA_MIN_PARALLEL 1

/**
 * struct cmx_sa_key - identifies equal queries to a port
 * @net: cookie of the network namespace, never reused
 * @services: of a query for services: number of changes of this host's services
 *	at any SA (cmx_sa_services_changed()), so that no older response is
 *	used. Of a query that changes the SA: its number. Else 0
 * @query: the query
 */
struct cmx_sa_key {
	u64 net;
	u64 services;
	struct cmx_sa_query query;
};

u32 cmx_sa_key_hash(const struct cmx_sa_key *key);
bool cmx_sa_key_equal(const struct cmx_sa_key *a, const struct cmx_sa_key *b);

/* The kernel's consumers have the first one, root the second; others, one each. */
#define CMX_SA_SHARES 64
#define CMX_SA_OWN_SHARES 2

/**
 * struct cmx_sa_share - what a cache has for a user
 * @user: whose it is while it has entries; not of the first two
 * @entries: other entries, oldest first
 * @paths: paths, oldest first
 * @count: number of entries
 * @bytes: their memory
 */
struct cmx_sa_share {
	kuid_t user;
	unsigned int count;
	size_t bytes;
	struct list_head entries;
	struct list_head paths;
};

/**
 * struct cmx_sa_cache - cached responses to queries of one port
 * @lock: guards all fields
 * @generation: changes when earlier responses of the SA become invalid; the
 *	response to a query of an older generation is not added
 * @followed: generation in which the SA reports changes of paths
 * @followed_since: reports apply to queries sent since then, in jiffies
 * @hash: entries by query
 * @gids: paths by DGID
 * @share: entries by user
 * @order: paths by number
 * @number: of the path that was added last
 * @count: number of entries
 * @bytes: their memory
 * @sweep: frees expired entries
 * @sweep_at: time of the queued @sweep, in jiffies
 */
struct cmx_sa_cache {
	spinlock_t lock;	/* guards all fields */
	u32 generation;
	u32 followed;
	unsigned long followed_since;
	DECLARE_HASHTABLE(hash, CMX_SA_HASH_BITS);
	DECLARE_HASHTABLE(gids, CMX_SA_HASH_BITS);
	struct cmx_sa_share share[CMX_SA_SHARES];
	struct rb_root order;
	u64 number;
	u32 count;
	size_t bytes;
	struct delayed_work sweep;
	unsigned long sweep_at;
};

/**
 * struct cmx_sa_entry - a cached response
 * @hash: by its query
 * @gid: of a path: by its DGID
 * @share: of the user who sent the query
 * @node: in cmx_sa_share.entries or cmx_sa_share.paths
 * @order: of a path: by its number
 * @number: of a path: unique in its cache
 * @generation: of the cache, when the query was sent
 * @hash_value: of @key
 * @added: time of its addition, in jiffies
 * @sent_at: time when its query was sent, in jiffies
 * @life: lifetime without reports, in jiffies since @sent_at
 * @bytes: its memory
 * @response: the response
 * @key: the query
 */
struct cmx_sa_entry {
	struct hlist_node hash;
	struct hlist_node gid;
	struct cmx_sa_share *share;
	struct list_head node;
	struct rb_node order;
	u64 number;
	u32 generation;
	u32 hash_value;
	unsigned long added;
	unsigned long sent_at;
	unsigned long life;
	size_t bytes;
	struct cmx_sa_response *response;
	struct cmx_sa_key key;
};

/* Maximum entries that one step under the lock of a cache visits */
#define CMX_SA_CACHE_BATCH 64

/* cache.c */
void cmx_sa_cache_init(struct cmx_sa_cache *cache);
void cmx_sa_cache_exit(struct cmx_sa_cache *cache);
u32 cmx_sa_cache_generation(const struct cmx_sa_cache *cache);
struct cmx_sa_response *cmx_sa_cache_get(struct cmx_sa_cache *cache,
					 const struct cmx_sa_key *key);
struct cmx_sa_entry *cmx_sa_entry_alloc(const struct cmx_sa_key *key,
					struct cmx_sa_response *response,
					unsigned long sent_at, u32 generation);
void cmx_sa_cache_add(struct cmx_sa_cache *cache, struct cmx_sa_entry *entry,
		      kuid_t uid, struct list_head *victims);
void cmx_sa_entry_free(struct cmx_sa_entry *entry);
void cmx_sa_entries_free(struct list_head *victims);
bool cmx_sa_cache_remove(struct cmx_sa_cache *cache,
			 const struct cmx_sa_key *key, enum cmx_sa_gone why);
bool cmx_sa_cache_usable(void);
unsigned long cmx_sa_entry_expires(const struct cmx_sa_cache *cache,
				   struct cmx_sa_entry *e);
bool cmx_sa_entry_valid(const struct cmx_sa_cache *cache,
			struct cmx_sa_entry *e);
enum cmx_sa_gone cmx_sa_entry_end(const struct cmx_sa_cache *cache,
				  struct cmx_sa_entry *e, enum cmx_sa_gone why);
void cmx_sa_entry_remove(struct cmx_sa_cache *cache, struct cmx_sa_entry *e,
			 struct list_head *victims, enum cmx_sa_gone why);
void cmx_sa_cache_drop(struct cmx_sa_cache *cache);
/* The DGID of a path query, or NULL */
const union ib_gid *cmx_sa_query_dgid(const struct cmx_sa_query *q);
u32 cmx_sa_gid_hash(const union ib_gid *gid);
unsigned int cmx_sa_cache_drop_gid(struct cmx_sa_cache *cache,
				   const union ib_gid *gid);
bool cmx_sa_cache_follow(struct cmx_sa_cache *cache, u32 generation);
void cmx_sa_cache_unfollow(struct cmx_sa_cache *cache);

/* share.c; under the lock of the cache */
void cmx_sa_shares_init(struct cmx_sa_cache *cache);
struct cmx_sa_share *cmx_sa_share_of(struct cmx_sa_cache *cache, kuid_t uid);
void cmx_sa_share_enter(struct cmx_sa_cache *cache, struct cmx_sa_entry *e);
void cmx_sa_share_leave(struct cmx_sa_cache *cache, struct cmx_sa_entry *e,
			struct list_head *list);
bool cmx_sa_share_room(struct cmx_sa_cache *cache,
		       const struct cmx_sa_entry *e, struct list_head *chosen);

/**
 * struct cmx_sa_walk - a walk over the paths of a cache, in steps
 * @next: number of the next path
 * @last: number of the last path; the walk ignores paths that are added later
 */
struct cmx_sa_walk {
	u64 next;
	u64 last;
};

/* paths.c */
void cmx_sa_walk_begin(struct cmx_sa_cache *cache, struct cmx_sa_walk *walk);
unsigned int cmx_sa_paths_list(struct cmx_sa_cache *cache, u64 net,
			       struct cmx_sa_walk *walk,
			       struct rdma_cmx_cached_path *paths, unsigned int room);
unsigned int cmx_sa_paths_drop(struct cmx_sa_cache *cache, u64 net,
			       const union ib_gid *gid);

static inline bool cmx_sa_walk_over(const struct cmx_sa_walk *walk)
{
	return walk->next > walk->last;
}

/**
 * struct cmx_sa_ah - the address of the SM
 * @ref: one of the port, and one of each MAD that uses it
 * @ah: address handle
 * @lid: of the SM
 * @pkey_index: of the default partition
 */
struct cmx_sa_ah {
	refcount_t ref;
	struct ib_ah *ah;
	u32 lid;
	u16 pkey_index;
};

/**
 * struct cmx_sa_inform - reports of the SA, and the subscription to them
 * @agent: MAD agent for reports, or NULL: @work changes it
 * @responses: confirmations of reports that are not sent yet
 * @work: subscribes and renews; owns the fields without another comment
 * @gone: the port is removed: neither @work nor cmx_sa_port.refresh must be
 *	queued; by cmx_sa_lock
 * @waiter: waiter of a subscription
 * @pending: @waiter waits
 * @completed: it has completed with @error; by release and acquire
 * @error: of a subscription
 * @next: index of the trap in progress
 * @generation: of the cache, at the start
 * @due: time of the next start, in jiffies
 * @backoff: delay after a failure, in jiffies
 * @subscribed: the port counts as subscribed
 * @paths: likewise to changes of paths
 * @own: runs after a change of a GID of the port
 * @own_due: earliest time of @own, in jiffies; used by reports only
 */
struct cmx_sa_inform {
	struct ib_mad_agent *agent;
	atomic_t responses;
	struct delayed_work work;
	bool gone;
	struct cmx_sched_waiter waiter;
	bool pending;
	bool completed;
	int error;
	unsigned int next;
	u32 generation;
	unsigned long due;
	unsigned long backoff;
	bool subscribed;
	bool paths;
	struct delayed_work own;
	unsigned long own_due;
};

/* Counters of changes of GIDs, for outstanding queries */
#define CMX_SA_GID_CHANGES 256

/**
 * struct cmx_sa_port - an InfiniBand port
 * @ref: of the device, of lookups, and of callers of cmx_sa_port_get()
 * @node: in the list of ports; empty when it is not listed
 * @number: its place in that list, ascending, never reused
 * @dev: the device; a reference of its struct device keeps the memory
 * @num: port number
 * @events: receives events of the port
 * @refresh: reads state and SM again
 * @check: likewise, for callers that do not read them; has a reference
 * @checking: @check is queued or runs; by cmx_sa_lock
 * @check_again: it runs once more afterwards; likewise
 * @checks: number of its reads that have ended; written likewise
 * @check_end: time until which callers wait for a read, in jiffies; likewise
 * @agent_lock: see above
 * @agent: MAD agent, NULL after the removal
 * @ah: address of the SM, NULL: not known; changes under @agent_lock and
 *	cmx_sa_lock
 * @active: accepts queries; likewise
 * @reads: number of reads of state and SM that have begun; by @agent_lock
 * @errors: number of events by which the driver has reported an error
 * @errors_read: @errors before the last read that succeeded; by @agent_lock
 * @retry: delay after the last read if it failed, in jiffies; likewise
 * @down: reported as down since it was active; by @refresh
 * @tid: lower half of the last transaction id
 * @mads: number of MADs that ib_mad has not returned, by cmx_sa_lock
 * @sched: lookups that wait or run, and their users
 * @sends: running lookups whose next MAD @send sends
 * @send: sends MADs; has a reference
 * @window: limit of outstanding lookups, adapted to the SA
 * @response: mean response time of the SA, in jiffies
 * @last_response: time of the SA's last response, in jiffies
 * @cache: responses
 * @info: ClassPortInfo of the SA, see info.c
 * @info_waiter: waiter of its query in the background
 * @inform: reports of the SA
 * @gid_changes: number of changes of paths to a GID, by its hash, by
 *	cmx_sa_lock
 */
struct cmx_sa_port {
	refcount_t ref;
	struct list_head node;
	u64 number;
	struct ib_device *dev;
	u32 num;
	struct ib_event_handler events;
	struct delayed_work refresh;
	struct work_struct check;
	bool checking;
	bool check_again;
	u32 checks;
	unsigned long check_end;
	struct rw_semaphore agent_lock;
	struct ib_mad_agent *agent;
	struct cmx_sa_ah *ah;
	bool active;
	u32 reads;
	atomic_t errors;
	int errors_read;
	unsigned long retry;
	bool down;
	atomic_t tid;
	unsigned int mads;
	struct cmx_sched sched;
	struct list_head sends;
	struct work_struct send;
	unsigned int window;
	unsigned long response;
	unsigned long last_response;
	struct cmx_sa_cache cache;
	atomic64_t info;
	struct cmx_sched_waiter info_waiter;
	struct cmx_sa_inform inform;
	u32 gid_changes[CMX_SA_GID_CHANGES];
};

/* device.c */
struct cmx_sa_port *cmx_sa_port_alloc(struct ib_device *dev, u32 num);

/* port.c */
extern spinlock_t cmx_sa_lock;
extern struct workqueue_struct *cmx_sa_wq;
bool cmx_sa_queue(struct work_struct *work);
struct cmx_sa_ah *cmx_sa_ah_get(struct cmx_sa_port *port, u32 *generation);
void cmx_sa_ah_put(struct cmx_sa_ah *ah);
bool cmx_sa_port_is_source(const struct cmx_sa_port *port,
			   const struct cmx_sa_ah *ah, const struct ib_wc *wc);
struct cmx_sa_ah *cmx_sa_port_set(struct cmx_sa_port *port,
				  struct cmx_sa_ah *ah, bool active);
void cmx_sa_port_kick(struct cmx_sa_port *port, unsigned long delay);
int cmx_sa_port_read(struct cmx_sa_port *port);
void cmx_sa_port_refresh(struct cmx_sa_port *port);
void cmx_sa_port_list(struct cmx_sa_port *port);
struct cmx_sa_port *cmx_sa_port_unlist(struct ib_device *dev);

/* port_check.c */
void cmx_sa_port_check_init(struct cmx_sa_port *port);

/* hold.c */
unsigned long cmx_sa_held(kuid_t uid);
int cmx_sa_charge(kuid_t uid, const struct cmx_sa_response *response);
void cmx_sa_uncharge(kuid_t uid, const struct cmx_sa_response *response);

/* info.c */
void cmx_sa_info_init(struct cmx_sa_port *port);
void cmx_sa_info_learn(struct cmx_sa_port *port, u32 generation,
		       const struct cmx_sa_response *response);
void cmx_sa_info_refresh(struct cmx_sa_port *port);

/* inform.c */
void cmx_sa_inform_init(struct cmx_sa_port *port);
void cmx_sa_inform_refresh(struct cmx_sa_port *port);
void cmx_sa_inform_stop(struct cmx_sa_port *port);

/* report.c */
void cmx_sa_report_post(struct cmx_sa_port *port, struct ib_mad_send_buf *buf,
			struct cmx_sa_ah *ah);
void cmx_sa_report_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc);
void cmx_sa_report_received(struct ib_mad_agent *agent,
			    struct ib_mad_send_buf *buf,
			    struct ib_mad_recv_wc *wc);

/**
 * struct cmx_sa_lookup - a query, shared by all waiters
 * @ref: of the port until it is GONE, of the queued or running work item, of
 *	the list of lookups to send or their sender, and of each MAD
 * @entity: its scheduling state
 * @port: the port
 * @mads: MADs that ib_mad has not returned
 * @send: in cmx_sa_port.sends, or in the part of it that is being sent
 * @work: retries, calls the waiters
 * @busy: the SA reported that it is busy
 * @retries: number of attempts so far
 * @queued_at: time when it was queued, in jiffies
 * @started_at: time when it got its slot, in jiffies
 * @deadline: time of its timeout, in jiffies
 * @error: its error
 * @response: its response, without an error
 * @gid_changes: of a path: changes of its DGID before the query was sent
 * @dropped: a user has dropped the path meanwhile: the response is not cached
 * @key: the query
 */
struct cmx_sa_lookup {
	refcount_t ref;
	struct cmx_sched_entity entity;
	struct cmx_sa_port *port;
	struct list_head mads;
	struct list_head send;
	struct delayed_work work;
	bool busy;
	unsigned int retries;
	unsigned long queued_at;
	unsigned long started_at;
	unsigned long deadline;
	int error;
	struct cmx_sa_response *response;
	u32 gid_changes;
	bool dropped;
	struct cmx_sa_key key;
};

/* True if the query changes the SA */
static inline bool cmx_sa_query_changes(const struct cmx_sa_query *q)
{
	return q->method == IB_MGMT_METHOD_SET ||
	       q->method == IB_SA_METHOD_DELETE;
}

static inline bool cmx_sa_query_is_info(const struct cmx_sa_query *q)
{
	return q->attr_id == IB_MGMT_CLASSPORTINFO_ATTR_ID;
}

/*
 * Under cmx_sa_lock, before a MAD of @l is sent. False: it has ended; or it would
 * change the SA without a waiter, and ends at its next step.
 */
static inline bool cmx_sa_lookup_sendable(const struct cmx_sa_lookup *l)
{
	return l->entity.state == CMX_SCHED_RUNNING &&
	       (cmx_sched_wanted(&l->entity) ||
		!cmx_sa_query_changes(&l->key.query));
}

/* lookup_ref.c */
void cmx_sa_lookup_put(struct cmx_sa_lookup *l);

/* load.c */
unsigned long cmx_sa_timeout(unsigned int retries);
unsigned long cmx_sa_timeout_total(void);
unsigned long cmx_sa_retry_delay(const struct cmx_sa_port *port,
				 unsigned int retries);
void cmx_sa_window_adapt(struct cmx_sa_port *port, unsigned long took);
void cmx_sa_response_time(struct cmx_sa_port *port, unsigned long took);
unsigned int cmx_sa_mads_max(void);
unsigned int cmx_sa_mads_many(void);
struct cmx_sched_limits cmx_sa_limits(const struct cmx_sched *sched);

/* lookup.c */
extern const struct cmx_sched_ops cmx_sa_lookup_ops;
void cmx_sa_lookup_done(struct cmx_sa_lookup *l,
			struct cmx_sa_response *response, int error);
u32 cmx_sa_gid_changes(const struct cmx_sa_port *port,
		       const struct cmx_sa_query *query);
void cmx_sa_lookups_fail(struct cmx_sa_port *port, int error);
void cmx_sa_lookups_again(struct cmx_sa_port *port);
unsigned int cmx_sa_gid_changed(struct cmx_sa_port *port,
				const union ib_gid *gid);
void cmx_sa_lookups_drop(struct cmx_sa_port *port, u64 net,
			 const union ib_gid *gid);
int cmx_sa_lookups_init(void);
void cmx_sa_lookups_exit(void);

/**
 * struct cmx_sa_mad - a MAD of a lookup
 * @node: in cmx_sa_lookup.mads
 * @lookup: the lookup, with a reference
 * @ah: address of the SM, with a reference
 * @buf: of ib_mad
 * @sent_at: in jiffies
 * @generation: of the cache, when it was sent
 */
struct cmx_sa_mad {
	struct list_head node;
	struct cmx_sa_lookup *lookup;
	struct cmx_sa_ah *ah;
	struct ib_mad_send_buf *buf;
	unsigned long sent_at;
	u32 generation;
};

/* send.c */
void cmx_sa_send_init(struct cmx_sa_port *port);
bool cmx_sa_send(struct cmx_sa_lookup *l);
void cmx_sa_send_cancel(struct cmx_sa_lookup *l);

/* mad.c */
void cmx_sa_mad_send(struct cmx_sa_lookup *l);
void cmx_sa_mads_cancel(struct cmx_sa_lookup *l);
bool cmx_sa_mads_due(const struct cmx_sa_lookup *l);
void cmx_sa_mad_free(struct cmx_sa_mad *m);
bool cmx_sa_mad_add(struct cmx_sa_lookup *l, struct cmx_sa_mad *m);
void cmx_sa_mad_remove(struct cmx_sa_lookup *l, struct cmx_sa_mad *m);

/* response.c */
void cmx_sa_lookup_response(struct cmx_sa_lookup *l, u32 generation,
			    unsigned long sent_at,
			    struct cmx_sa_response *response,
			    int error);
void cmx_sa_mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc);
void cmx_sa_mad_received(struct ib_mad_agent *agent,
			 struct ib_mad_send_buf *buf,
			 struct ib_mad_recv_wc *wc);

/* records.c */
struct cmx_sa_response *cmx_sa_response_alloc(u32 count, u32 stride);
int cmx_sa_read(const struct cmx_sa_query *q,
		const struct ib_mad_recv_wc *wc,
		struct cmx_sa_response **presponse);

#endif /* CMX_SA_INT_H */
