/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the files of rdma_ucmx share.
 *
 * Objects: a file has ids and services, an id has memberships and at most one
 * resolution.
 *
 * Layers; a file calls those of its line and of lower ones, without circles:
 *
 *	file		the open file, the table of commands
 *	id_cmd, cm, option, addrinfo, candidates, join, migrate, read, service,
 *	paths, records	commands
 *	handler		the handler of cm ids; connection requests
 *	close		the end of an id: of its resolution, memberships, events
 *	any		races of candidates
 *	connect		connects that wait for a slot
 *	report		reports of events of rdma_cm
 *	winner, any_qps	the connect of a race's winner; queue pairs of candidates
 *	mcast, query	memberships; resolutions
 *	id		finds and locks ids
 *	handle, event	tables of handles, limits of a file; queues of events
 *	convert, request, user, stats	forms of the ABI; users; counters
 *	wake		wake-ups of readers and pollers
 *
 * main has the module's entry, above all. The exceptions are two uses of
 * variables:
 *  - all files read the limits and work queues of the module, which main has
 *    as its parameters and creates
 *  - migrate recognises a file of this module by its operations (file)
 *
 * A cm id that an id takes over, or gets instead of a failed one, has the
 * handler of the id's present cm id. So any and report do not call handler.
 *
 * Locks, outermost first:
 *
 *  ucmx_id.mutex         serialises the commands on an id, guards ucmx_id.cm;
 *                        the removal of the device waits for it, so no copy
 *                        from or to user space is made under it
 *  handler lock of cm    rdma_cm's; held around event handlers
 *  ucmx_id.lock          destination of the id's events: file, held, excess,
 *                        reserve; publishes listener
 *  ucmx_file.lock        the queue, also of its ids, and its counters
 *  ucmx_user.lock        wake-ups that wait for a work item
 *
 * ucmx_service.mutex nests outside the locks of rdma_cmx and inside no lock.
 *
 * ucmx_file.read_mutex serialises the readers of a file. They access user
 * memory with it held, so no other code takes it.
 *
 * A command finds an id in the xarray of its file and takes a reference. The
 * reference keeps only the memory. Destroy, or the removal of the device, takes
 * ucmx_id.cm away under the mutex and then destroys it.
 */
#ifndef UCMX_H
#define UCMX_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_connect.h>
#include <rdma/rdma_cmx_ioctl.h>
#include <rdma/rdma_cmx_mcast.h>

#include "compat.h"
#include "route.h"
#include "stats.h"
#include "slot.h"

/* State that all files of a user share */
struct ucmx_user {
	unsigned long index;		/* the uid */
	unsigned int refs;
	atomic_t requests;		/* see user.c */
	u64 wake_debt;			/* see wake.c */
	struct delayed_work debt;	/* has a reference until it is paid */
	spinlock_t lock;		/* what follows, see wake.c */
	struct list_head woken;		/* files whose waiters are to be woken */
	struct ucmx_file *waking;	/* that of which @work wakes them */
	struct work_struct work;
};

struct ucmx_file {
	spinlock_t lock;		/* the queue and its counters */
	struct ucmx_user *user;		/* opened it */
	u32 nr_events;			/* unread, including held ones */
	atomic_t nr_objs;
	atomic_t nr_requests;
	struct list_head events;	/* ready to be read */
	struct ucmx_event *reading;	/* copied by the current reader */
	struct mutex read_mutex;	/* serialises readers */
	struct xarray ids;		/* see handle.c */
	u32 handles;			/* allocated so far, by the lock of ids */
	wait_queue_head_t wait;
	struct list_head woken;		/* in the user's, by ucmx_user.lock */
	unsigned int wake;		/* UCMX_WAKE_*, likewise */
	struct xarray services;		/* at handle */
	u32 last_service;		/* handle, by the lock of services */
	atomic_t changed;		/* services changed since their query */
	wait_queue_head_t changes;	/* of services */
};

/* Purpose of a reserved event. An id needs at most one of each. */
enum ucmx_slot {
	UCMX_SLOT_NONE,
	UCMX_SLOT_ADDR,
	UCMX_SLOT_ROUTE,
	UCMX_SLOT_CONN,
	UCMX_SLOT_DISCONNECT,
	UCMX_SLOT_RACE,
};

/**
 * struct ucmx_event - an event, queued, held or reserved
 * @ready: in ucmx_file.events
 * @mine: in ucmx_id.queued, held or excess
 * @next: in ucmx_id.reserve
 * @id: owner
 * @conn: CONNECT_REQUEST: the new id, not yet in any table
 * @reported: of an embedded event, or NULL: called when user space has received
 *	the event, with the file's lock held; @owner is true if the id's owner
 *	has read it
 * @arg: USER: argument; multicast events: the membership's cookie
 * @body: the record from its param on, in the form of the ABI
 * @obj: multicast events: the membership's handle
 * @status: status
 * @flags: RDMA_CMX_EVENT_*
 * @cap: size of @body in bytes
 * @len: used bytes of @body
 * @pd_len: bytes of private data at the end of @body, without padding
 * @event: event type
 * @num_paths: paths in @body
 * @attempt: of the id, when the event came
 * @slot: purpose of the reservation
 * @embedded: part of another object; not freed when it is read
 * @counted: included in nr_events of the id and its file
 * @excess: CONNECT_REQUEST beyond the backlog, in ucmx_listener.excess
 * @unsolicited: no operation reserved it
 */
struct ucmx_event {
	struct list_head ready;
	union {
		struct list_head mine;
		struct ucmx_event *next;
	};
	struct ucmx_id *id;
	struct ucmx_id *conn;
	void (*reported)(struct ucmx_event *ev, bool owner);
	u64 arg;
	u64 *body;
	u32 obj;
	s32 status;
	u16 flags;
	u16 cap;
	u16 len;
	u16 pd_len;
	u8 event;
	u8 num_paths;
	u8 attempt;
	u8 slot;
	u8 embedded:1;
	u8 counted:1;
	u8 excess:1;
	u8 unsolicited:1;
};

/* Removal of the device of an id */
struct ucmx_removal {
	struct delayed_work work;
	struct ucmx_event ev;
};

/* The part of an id for requests, from its first LISTEN to its end */
struct ucmx_listener {
	struct list_head excess;	/* requests beyond the backlog */
	struct mem_cgroup *memcg;	/* charged for requests */
	int backlog;			/* limit of nr_conns */
	u32 nr_conns;			/* requests in queued and held, by
					 * ucmx_file.lock
					 */
	atomic_t waiting;		/* unread requests */
};

struct ucmx_id {
	refcount_t ref;
	spinlock_t lock;	/* where its events go */
	u32 handle;
	u32 nr_events;		/* unread and counted, by ucmx_file.lock */
	u32 reported;		/* events read by the owner, likewise */
	atomic_t unsolicited;	/* bits: types unread and not requested */
	u64 uid;
	u64 owner;		/* cookie of its creator, constant */
	struct ucmx_file *file;	/* NULL: an unread connection request */
	struct ucmx_file *table;	/* that finds it, see handle.c, or NULL */
	struct ucmx_listener *listener;	/* since LISTEN, or NULL */
	struct rdma_cm_id *cm;	/* NULL: device gone, or id dead */
	struct mutex mutex;	/* serialises commands, guards cm */
	struct list_head queued;	/* by ucmx_file.lock */
	struct list_head held;		/* instead, while hold is set */
	struct ucmx_event *reserve;
	struct hlist_head mcs;
	struct ucmx_removal *removal;
	struct ucmx_query *query;
	struct ucmx_any *any;	/* of RESOLVE_ANY, by mutex and lock */
	struct ucmx_connect *connect;	/* waits for a slot, by mutex */
	struct cmx_slot slot;	/* of the connection request, see slot.h */
	/* By mutex: */
	u8 dead:1;
	u8 tos_set:1;
	u8 ack_timeout_set:1;
	u8 cm_used:1;		/* CONNECT succeeded, or the peer's REQ */
	u8 tos;			/* type of service */
	u8 ack_timeout;
	bool cm_outstanding;	/* CONNECT, or ACCEPT of a REQ */
	bool path_cached;	/* cm may use a path of the cache */
	bool gone;		/* DEVICE_REMOVAL reported, by lock */
	/* By lock: */
	u8 attempt;		/* RDMA_CMX_ANY_NEXT so far */
	u8 hold:1;		/* hold events back */
	u8 racing:1;		/* candidates race, by mutex, too */
	u8 any_large:1;		/* any counts for the user, likewise */
	struct cmx_route route;	/* route query, see route.h */
};

/* The id's mutex is held. */
static inline bool ucmx_id_listens(const struct ucmx_id *id)
{
	return id->listener && id->listener->backlog;
}

/* An ioctl in execution */
struct ucmx_cmd {
	struct ucmx_file *file;
	struct file *filp;
	void __user *ubuf;
	u32 usize;		/* size of the caller's struct in bytes */
	u32 ksize;		/* size of this module's struct in bytes */
	void *buf;
};

/*
 * main.c: work queues of device removals, of slow wake-ups and of deadlines,
 * whose work items do not wait for a mutex; limits, module parameters
 */
extern struct workqueue_struct *ucmx_wq;
extern struct workqueue_struct *ucmx_wake_wq;
extern struct workqueue_struct *ucmx_timer_wq;
extern unsigned int ucmx_max_ids;
extern unsigned int ucmx_max_requests;
extern unsigned int ucmx_max_user_requests;
extern unsigned int ucmx_max_events;
extern unsigned int ucmx_max_backlog;

/* file.c */
extern const struct file_operations ucmx_fops;
void ucmx_file_init(struct ucmx_file *file, struct ucmx_user *user);

/* user.c */
struct ucmx_user *ucmx_user_get(void);
void ucmx_user_put(struct ucmx_user *user);
void ucmx_users_end(void);
int ucmx_user_charge(struct ucmx_user *user);

/* wake.c */
enum {
	UCMX_WAKE_EVENTS = BIT(0),
	UCMX_WAKE_CHANGES = BIT(1),
};

void ucmx_file_wake(struct ucmx_file *file);
void ucmx_file_wake_later(struct ucmx_file *file, unsigned int who);
void ucmx_file_wake_end(struct ucmx_file *file);
void ucmx_user_wake_init(struct ucmx_user *user);
void ucmx_user_wake_exit(struct ucmx_user *user);

/* handle.c */
void ucmx_handles_init(struct ucmx_file *file);
int ucmx_handle_alloc(struct ucmx_file *file, u32 *handle, struct ucmx_id *id);
void ucmx_handle_free(struct ucmx_file *file, u32 handle);
void ucmx_handle_show(struct ucmx_file *file, u32 handle, struct ucmx_id *id);
struct ucmx_id *ucmx_handle_get(struct ucmx_file *file, u32 handle);
struct ucmx_id *ucmx_handle_take(struct ucmx_file *file, u32 handle, u64 owner,
				 u64 uid);
bool ucmx_handle_hide(struct ucmx_file *file, u32 handle, struct ucmx_id *id);
int ucmx_file_charge(struct ucmx_file *file, unsigned int n);
void ucmx_file_uncharge(struct ucmx_file *file, unsigned int n);

/* id.c */
int ucmx_id_cache_init(void);
void ucmx_id_cache_exit(void);
struct ucmx_id *ucmx_id_alloc(gfp_t gfp);
int ucmx_id_relock(struct ucmx_id *id, struct ucmx_file *file);
struct ucmx_id *ucmx_id_lock_any(struct ucmx_file *file, u32 handle);
struct ucmx_id *ucmx_id_lock(struct ucmx_file *file, u32 handle);
int ucmx_id_bound(const struct ucmx_id *id);
struct ucmx_id *ucmx_id_lock_dev(struct ucmx_file *file, u32 handle);
void ucmx_id_unlock(struct ucmx_id *id);
bool ucmx_cm_is_unbound(const struct rdma_cm_id *cm);
void ucmx_cm_bind_undo(struct rdma_cm_id *cm);
/* True if the caller's owner cookie matches the id. 0 matches any id. */
static inline bool ucmx_id_owned(const struct ucmx_id *id, u64 owner)
{
	return !owner || owner == id->owner;
}

/* True if the caller's cookie matches @uid. 0 matches any. */
static inline bool ucmx_uid_is(u64 uid, u64 wanted)
{
	return !wanted || wanted == uid;
}

static inline void ucmx_id_get(struct ucmx_id *id)
{
	refcount_inc(&id->ref);
}

struct ucmx_listener *ucmx_listener_alloc(void);
void ucmx_listener_free(struct ucmx_listener *l);
void ucmx_id_put(struct ucmx_id *id);

/* close.c */
void ucmx_id_close(struct ucmx_id *id);
void ucmx_id_removal_alloc(struct ucmx_id *id);
void ucmx_id_device_gone(struct ucmx_id *id);

/* id_cmd.c */
int ucmx_id_create(struct ucmx_cmd *cmd);
int ucmx_id_destroy(struct ucmx_cmd *cmd);
int ucmx_id_bind(struct ucmx_cmd *cmd);
int ucmx_id_query(struct ucmx_cmd *cmd);

/* migrate.c */
int ucmx_id_migrate(struct ucmx_cmd *cmd);

/* option.c */
int ucmx_id_set_option(struct ucmx_cmd *cmd);

/* convert.c */
int ucmx_addr_get(union rdma_cmx_sockaddr *dst,
		  const struct rdma_cmx_addr *src);
int ucmx_source_check(const union rdma_cmx_sockaddr *addr);
void ucmx_addr_put(struct rdma_cmx_addr *dst, const struct sockaddr *src);
void ucmx_info_fill(struct rdma_cm_id *cm, struct rdma_cmx_id_info *info);
unsigned int ucmx_paths_fill(struct rdma_cm_id *cm,
			     struct ib_path_rec_data *paths);
void ucmx_fill_ud(void *dst, struct rdma_cm_id *cm, struct rdma_ud_param *src);
int ucmx_respond(struct ucmx_cmd *cmd);
int ucmx_private_data_check(const u8 *data, u16 len);
int ucmx_conn_param(struct rdma_conn_param *dst,
		    const struct rdma_cmx_conn_param *src);
#define UCMX_MAX_PATHS	2

/* event.c */
struct ucmx_event *ucmx_event_alloc(struct ucmx_id *id, unsigned int cap,
				    gfp_t gfp);
void ucmx_event_init(struct ucmx_event *ev, struct ucmx_id *id, u8 type);
void ucmx_event_free(struct ucmx_event *ev);
int ucmx_event_check(struct ucmx_id *id);
int ucmx_event_reserve(struct ucmx_id *id, enum ucmx_slot slot);
struct ucmx_event *ucmx_event_take(struct ucmx_id *id, u8 type,
				   enum ucmx_slot slot, unsigned int cap);
void ucmx_event_post(struct ucmx_event *ev);
void ucmx_event_post_locked(struct ucmx_event *ev);
void ucmx_event_add(struct ucmx_event *ev, struct ucmx_file *file);
void ucmx_event_post_conn(struct ucmx_event *ev);
void ucmx_event_advance(struct ucmx_id *id);
void ucmx_event_wake(struct ucmx_id *id);
void ucmx_event_unlink(struct ucmx_event *ev, struct ucmx_file *file);
void ucmx_event_cancel(struct ucmx_event *a, struct ucmx_event *b);
void ucmx_event_purge(struct ucmx_id *id, struct list_head *conns);
void ucmx_event_drop_reserve(struct ucmx_id *id);
void ucmx_event_unhold(struct ucmx_id *id);
/* Events that one batch moves */
#define UCMX_BATCH	64
#define UCMX_PARAM_LEN	sizeof_field(struct rdma_cmx_event, param)

/* read.c */
int ucmx_get_events(struct ucmx_cmd *cmd);
int ucmx_write_event(struct ucmx_cmd *cmd);

/* handler.c */
int ucmx_cm_handler(struct rdma_cm_id *cm, struct rdma_cm_event *e);

/* The parts of an event's record */
struct ucmx_parts {
	u16 flags;
	u8 num_paths;
	u8 pd_len;
	const void *pd;
};

/* report.c */
unsigned int ucmx_parts_get(struct ucmx_parts *parts, struct rdma_cm_id *cm,
			    struct rdma_cm_event *e, u16 more);
void ucmx_parts_put(struct ucmx_event *ev, struct ucmx_parts *parts,
		    struct rdma_cm_id *cm, struct rdma_cm_event *e);
void ucmx_event_from_cm(struct ucmx_id *id, struct rdma_cm_id *cm,
			struct rdma_cm_event *e);
void ucmx_route_resolved(struct ucmx_id *id);
void ucmx_route_adopted(struct ucmx_id *id, struct rdma_cm_id *cm);
void ucmx_conn_adopted(struct ucmx_id *id, struct rdma_cm_id *cm,
		       const struct rdma_conn_param *param);
void ucmx_connect_failed(struct ucmx_id *id, u8 event, int error);

/* cm.c */
int ucmx_resolve_addr(struct ucmx_cmd *cmd);
int ucmx_resolve_route(struct ucmx_cmd *cmd);
int ucmx_init_qp_attr(struct ucmx_cmd *cmd);
int ucmx_conn_qp_attr(struct ucmx_cmd *cmd);
int ucmx_connect(struct ucmx_cmd *cmd);
int ucmx_listen(struct ucmx_cmd *cmd);
int ucmx_accept(struct ucmx_cmd *cmd);
int ucmx_reject(struct ucmx_cmd *cmd);
int ucmx_disconnect(struct ucmx_cmd *cmd);
int ucmx_notify(struct ucmx_cmd *cmd);

/* connect.c */
int ucmx_connect_start(struct ucmx_id *id, struct rdma_conn_param *param,
		       struct rdma_ucm_ece *ece);
bool ucmx_connect_stop(struct ucmx_id *id);
void ucmx_connect_end(struct ucmx_id *id);
int ucmx_connect_init(void);
void ucmx_connect_exit(void);

/* addrinfo.c */
int ucmx_resolve_addrinfo(struct ucmx_cmd *cmd);
int ucmx_give_names(struct ucmx_cmd *cmd);
int ucmx_query_addrinfo(struct ucmx_cmd *cmd);
int ucmx_getaddrinfo(struct ucmx_cmd *cmd);

/* request.c */
bool ucmx_names_initial(void);

/* query.c */
bool ucmx_query_outstanding(struct ucmx_id *id);
int ucmx_request_charge(struct ucmx_file *file, unsigned int n);
void ucmx_query_weight(struct ucmx_id *id, unsigned int *file,
		       unsigned int *user);
void ucmx_query_device_gone(struct ucmx_id *id);
void ucmx_query_end(struct ucmx_id *id);
void ucmx_query_drop(struct ucmx_id *id);

/* any.c */
int ucmx_resolve_any(struct ucmx_cmd *cmd);
void ucmx_any_stop(struct ucmx_id *id);
void ucmx_any_device_gone(struct ucmx_id *id);
void ucmx_any_end(struct ucmx_id *id);

/* candidates.c */
int ucmx_query_candidates(struct ucmx_cmd *cmd);

/* winner.c */
bool ucmx_any_connects(struct ucmx_id *id);
void ucmx_any_waits(struct ucmx_id *id);
void ucmx_any_waited(struct ucmx_id *id);
bool ucmx_any_expired(struct ucmx_id *id);
bool ucmx_any_given_up(struct ucmx_id *id);
void ucmx_any_sent(struct ucmx_id *id);
void ucmx_any_drop_path(struct ucmx_id *id);
bool ucmx_any_replied(struct ucmx_id *id);
int ucmx_any_private_data(struct ucmx_id *id, struct rdma_conn_param *param,
			  u8 buf[U8_MAX]);

/* service.c */
void ucmx_services_init(struct ucmx_file *file);
void ucmx_services_end(struct ucmx_file *file);
int ucmx_advertise(struct ucmx_cmd *cmd);
int ucmx_withdraw(struct ucmx_cmd *cmd);
int ucmx_query_advertised(struct ucmx_cmd *cmd);

/* records.c */
bool ucmx_text_ends(const u8 *text, size_t size);
int ucmx_items_put(u64 to, u32 item_size, const void *items, size_t size,
		   unsigned int n);
int ucmx_get_services(struct ucmx_cmd *cmd);

/* paths.c */
int ucmx_get_paths(struct ucmx_cmd *cmd);
int ucmx_drop_paths(struct ucmx_cmd *cmd);

/* join.c */
int ucmx_join(struct ucmx_cmd *cmd);
int ucmx_join_many(struct ucmx_cmd *cmd);

/* mcast.c */
#define UCMX_MC_UD	sizeof_field(struct rdma_cmx_event, param)
#define UCMX_MC_BODY	(UCMX_MC_UD + sizeof(struct rdma_cmx_mc_param))
void ucmx_mc_exit(void);
struct ucmx_mc *ucmx_mc_create(struct ucmx_id *id, u64 uid);
u32 ucmx_mc_handle(const struct ucmx_mc *mc);
void ucmx_mc_abort(struct ucmx_mc *mc, struct ucmx_file *file);
int ucmx_mc_join(struct ucmx_mc *mc, const struct rdma_cmx_join_item *item);
int ucmx_leave(struct ucmx_cmd *cmd);
void ucmx_mc_group_event(struct ucmx_id *id, struct rdma_cm_id *cm,
			 struct rdma_cm_event *e);
unsigned int ucmx_mc_count(struct ucmx_id *id);
void ucmx_mc_detach(struct ucmx_id *id);
void ucmx_mc_end(struct ucmx_id *id);

#endif /* UCMX_H */
