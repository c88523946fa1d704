/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the parts of librdmacmx share. The library converts
 * structs, modifies queue pairs and counts acks; the kernel does everything
 * else.
 *
 * Locks: each id has a mutex for its counters, its memberships and its last
 * event; device.c has one for the list of open devices, names.c one for
 * outstanding lookups. Order: names, copies (fork.c), id. None is held during a
 * wait; cmx_id_wait() releases an id's meanwhile. JOIN may wait in the kernel
 * with an id's, but with no other one.
 */
#ifndef RDMACMX_LIB_H
#define RDMACMX_LIB_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rdma_cmx_ioctl.h>

/* own.c */
extern bool cmx_valgrind __attribute__((visibility("hidden")));
#define CMX_ON_VALGRIND	__builtin_expect(cmx_valgrind, false)
#include "memcheck.h"

#define CMX_EXPORT	__attribute__((visibility("default")))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

struct cmx_device;
struct cmx_id_names;
struct cmx_named;
struct cmx_process;
struct cmx_race_qps;
struct rdmacmx_group;
struct rdmacmx_join_attr;

/* A multicast membership, in the list of its id */
struct cmx_mc {
	struct cmx_mc *next;
	struct cmx_id *id;
	struct cmx_process *process;	/* joined it */
	void *context;
	struct rdma_cmx_addr addr;
	uint32_t handle;
	uint32_t join_flags;
	uint64_t cookie;	/* like an id's */
	uint32_t events_taken;	/* by this process */
	uint32_t events_completed;
	bool joined;		/* a JOIN was read: mgid and mlid are set */
	bool attached;		/* by the library */
	bool left;		/* attaches the QP no more */
	bool lost;		/* a MULTICAST_ERROR was read */
	bool kept;		/* left, but the QP is attached still */
	bool own_qkey;		/* the join had one */
	uint16_t mlid;
	uint32_t qkey;		/* of the last JOIN; 0: none, or it has ended */
	union ibv_gid mgid;
};

/* Options of a queue pair that both ends negotiate */
struct cmx_ece {
	uint32_t vendor_id;
	uint32_t options;
};

/* Arguments of rdma_create_ep() for later calls */
struct cmx_ep {
	struct ibv_qp_init_attr qp_init_attr;	/* for rdma_get_request() */
	size_t connect_len;
	uint8_t connect[];	/* precedes the private data */
};

/*
 * Memory of each struct rdma_cm_id of this library. While the id moves to
 * another channel, events of it may refer to its old channel. Programs have
 * thousands of ids: rarely used fields are behind a pointer.
 */
struct cmx_id {
	struct rdma_cm_id id;
	struct cmx_process *process;	/* created it */
	struct cmx_process *user;	/* has the threads of waiters and busy */
	struct cmx_process *locker;	/* has those that lock it; atomic */
	struct rdma_event_channel *old_channel;	/* or NULL */
	uint32_t handle;
	uint32_t old_handle;
	pthread_mutex_t lock;
	uint32_t changes;	/* for cmx_id_wait() */
	unsigned int sleepers;	/* threads in it */
	unsigned int waiters;	/* enters that no leave has followed, sync.c */
	uint32_t events_completed;
	uint32_t events_taken;	/* by this process, atomic */
	uint32_t moves;		/* to another channel */
	uint32_t moved_completed;	/* acks of events since the last move */
	uint32_t qkey;		/* of qkey_qp, 0: unknown */
	uint32_t qkey_qp_num;	/* likewise */
	uint32_t default_qkey;	/* of groups without one, 0: unknown */
	uint16_t number;	/* see cmx_id_cookie() */
	bool known;		/* the kernel has the cookie */
	bool request;		/* not established, of a connection request */
	bool sync;		/* has a private channel */
	bool addr_changed;	/* a call has read ADDR_CHANGE, sync.c */
	bool shared;		/* threads have waited for a request together */
	bool connect_error;	/* the connection failed here: no events */
	bool dying;
	bool orphan;		/* destroyed; freed with the last ack */
	bool busy;		/* a thread is between enter and leave, event.c */
	bool ended;		/* no event starts a command */
	uint8_t initiator_depth;
	uint8_t responder_resources;
	struct cmx_ece local_ece;
	struct cmx_ece remote_ece;
	const struct ibv_qp *qkey_qp;	/* may be destroyed */
	struct cmx_device *dev;
	struct cmx_mc *mcs;
	struct cmx_mc *joining;	/* by a synchronous call, or NULL */
	struct cmx_ep *ep;	/* or NULL */
	struct cmx_id_names *names;	/* names.c, or NULL; atomic */
	struct cmx_named *named;	/* named.c, or NULL */
};

/* Memory of each struct rdma_cm_event of this library */
struct cmx_event {
	struct rdma_cm_event event;
	struct cmx_id *id;	/* counts the ack */
	struct cmx_mc *mc;	/* likewise, or NULL */
	uint32_t moves;		/* of the id before it arrived */
	struct rdma_cmx_mc_param group;	/* of MULTICAST_JOIN */
	uint8_t private_data[RDMA_CMX_MAX_PRIVATE_DATA];
};

static inline int cmx_err(int err)
{
	errno = err;
	return -1;
}

/* The error number in the status of an event, which a program may have chosen */
static inline int cmx_status_err(int status)
{
	if (status == INT_MIN)
		return INT_MAX;
	return status < 0 ? -status : status;
}

static inline struct cmx_id *cmx_id(struct rdma_cm_id *id)
{
	return (struct cmx_id *)id;
}

/* own.c */
enum cmx_kind {
	CMX_NONE,
	CMX_ID,
	CMX_EVENT,
	CMX_CHANNEL,
	CMX_AI,
	CMX_STOCK_ID,		/* created by the stock library, see stock.c */
};

#define CMX_OWN_BITS	48	/* of the address of an object */

/* The object of a cookie, if it exists */
static inline void *cmx_cookie_object(uint64_t cookie)
{
	return (void *)(uintptr_t)(cookie & ((1ULL << CMX_OWN_BITS) - 1));
}

uint16_t cmx_cookie_number(void);
uint64_t cmx_cookie(const void *obj);
void cmx_cookie_forked(void);
/* Cookie in the id's events: its address, and a number above it */
static inline uint64_t cmx_id_cookie(const struct cmx_id *id)
{
	return (uintptr_t)id | (uint64_t)id->number << CMX_OWN_BITS;
}

uint8_t *cmx_own_reserve(void *obj);
int cmx_own_add(void *obj, enum cmx_kind kind);
bool cmx_own(const void *obj, enum cmx_kind kind);
bool cmx_own_del(const void *obj, enum cmx_kind kind);

/* @place: of cmx_own_reserve(), whose object is complete now */
static inline void cmx_own_set(uint8_t *place, enum cmx_kind kind)
{
	__atomic_store_n(place, kind, __ATOMIC_RELEASE);
}

static inline bool cmx_id_ours(const struct rdma_cm_id *id)
{
	return likely(cmx_own(id, CMX_ID));
}

static inline bool
cmx_channel_ours(const struct rdma_event_channel *channel)
{
	return likely(cmx_own(channel, CMX_CHANNEL));
}

/*
 * A command on the file of an id's channel; -1 with errno on failure. Any
 * thread may receive its result as an event.
 */
#define cmx_id_ioctl(cid, cmd, arg) (cmx_mem_give(cid),			\
	ioctl((cid)->id.channel->fd, RDMA_CMX_IO(cmd), arg))

/* stock.c */
void cmx_stock_lock(void);
void cmx_stock_unlock(void);
void *cmx_stock_function(const char *name);
bool cmx_stock_unwanted(void);
bool cmx_stock_instead(void);
bool cmx_stock_caller(const void *address, bool look);
bool cmx_stock_owner(const void *obj, const void *address);

/*
 * Calls the stock library's @fn. Without the library it fails with EINVAL, with
 * one that lacks the function with ENOSYS.
 */
#define CMX_STOCK(fn, ...) __extension__({				\
	__typeof__(&(fn)) __fn = (__typeof__(&(fn)))			\
		cmx_stock_function(#fn);				\
	__fn ? __fn(__VA_ARGS__) : -1; })

#define CMX_STOCK_VOID(fn, ...) do {					\
	__typeof__(&(fn)) __fn = (__typeof__(&(fn)))			\
		cmx_stock_function(#fn);				\
	if (__fn)							\
		__fn(__VA_ARGS__);					\
} while (0)

/*
 * True if the stock library calls the function that contains this, or if it
 * serves the whole process.
 */
#define cmx_called_by_stock(look)					\
	unlikely(cmx_stock_caller(__builtin_return_address(0), look))

/* True if @obj, not of this library, is of the stock library */
#define cmx_stocks(obj)							\
	cmx_stock_owner(obj, __builtin_return_address(0))

/* First line of a function with an id */
#define CMX_ID_OR_STOCK(id_, fn, ...) do {				\
	if (unlikely(!cmx_id_ours(id_)))				\
		return cmx_stocks(id_) ? CMX_STOCK(fn, __VA_ARGS__) :	\
					 cmx_err(EINVAL);		\
} while (0)

/* fork.c */
void cmx_fork_init(void);
struct cmx_process *cmx_process_have(void);
struct cmx_process *cmx_process_get(void);
void cmx_process_put(struct cmx_process *process);
uint64_t cmx_process_cookie(void);
bool cmx_process_alive(const struct cmx_process *process);
uint64_t cmx_id_owner(const struct cmx_id *id);
bool cmx_id_inherited(const struct cmx_id *id);
bool cmx_id_cared_for(const struct cmx_id *id);
void cmx_id_lock(struct cmx_id *id);
void cmx_id_adopt(struct cmx_id *id);
bool cmx_copies_lock(void);
void cmx_copies_unlock(bool locked);

/* channel.c */
void cmx_file_lock(void);
void cmx_file_unlock(void);
int cmx_file_open(void);
int cmx_file_shared(bool again);
struct rdma_event_channel *cmx_channel_open(bool sync);
void cmx_channel_get(struct rdma_event_channel *channel);
void cmx_channel_put(struct rdma_event_channel *channel);
void cmx_channel_close(struct rdma_event_channel *channel);

/* root.c */
int cmx_root_check(void);
void *cmx_load(const char *name, int flags);

/* verbs.c */
#ifdef CMX_SHARED
int cmx_verbs_load(void);
#else
static inline int cmx_verbs_load(void)
{
	return 0;	/* linked with it */
}
#endif

/* device.c */
void cmx_device_lock(void);
void cmx_device_unlock(void);
struct cmx_device *cmx_device_get(uint64_t node_guid, uint32_t index);
struct cmx_device *cmx_device_get_index(uint32_t index);
void cmx_device_put(struct cmx_device *dev);
void cmx_device_dead(struct cmx_device *dev);
struct ibv_context *cmx_device_verbs(struct cmx_device *dev);
struct ibv_pd *cmx_device_pd(struct cmx_device *dev);
struct ibv_xrcd *cmx_device_xrcd(struct cmx_device *dev);
uint8_t cmx_device_max_initiator_depth(const struct cmx_device *dev);
uint8_t cmx_device_max_responder_resources(const struct cmx_device *dev);
const char *cmx_device_name(uint32_t index);

/* id.c */
struct cmx_id *cmx_id_alloc(struct rdma_event_channel *channel, void *context,
			    enum rdma_port_space ps, enum ibv_qp_type qp_type);
void cmx_id_free(struct cmx_id *id);
int cmx_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		  void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type);
void cmx_id_end(struct cmx_id *id, bool end);
bool cmx_id_destroy_inherited(struct cmx_id *id);
int cmx_id_destroy(struct cmx_id *id);
int cmx_destroy_ioctl(struct cmx_id *id, unsigned long request,
		      struct rdma_cmx_destroy *cmd);
int cmx_id_migrate(struct cmx_id *id, struct rdma_event_channel *channel);

/* addr.c */
socklen_t cmx_addr_len(int family);
int cmx_addr_to_kern(struct rdma_cmx_addr *dst, const struct sockaddr *src);
void cmx_addr_from_kern(void *dst, const struct rdma_cmx_addr *src);
int cmx_id_set_info(struct cmx_id *id, const struct rdma_cmx_id_info *info);
int cmx_id_set_paths(struct cmx_id *id, const struct ib_path_rec_data *paths,
		     unsigned int count);

/* attr.c */
void cmx_ah_attr_from_kern(struct ibv_ah_attr *dst,
			   const struct ib_uverbs_ah_attr *src);
void cmx_qp_attr_from_kern(struct ibv_qp_attr *dst,
			   const struct ib_uverbs_qp_attr *src);
void cmx_path_from_kern(struct ibv_sa_path_rec *dst,
			const struct ibv_path_record *src);

/* qp.c */
int cmx_qp_make(struct cmx_id *id, struct ibv_pd *pd,
		const struct ibv_qp_init_attr *init);
int cmx_qp_move(struct cmx_id *to, struct cmx_id *from);
int cmx_qp_connected(struct cmx_id *id, uint8_t responder_resources,
		     uint8_t initiator_depth);
int cmx_qp_error(struct cmx_id *id);
uint32_t cmx_qp_init_qkey(struct cmx_id *id);
int cmx_verb_failed(struct cmx_id *id);
struct ibv_qp *cmx_qp_take(struct cmx_id *id);
void cmx_qp_free(struct cmx_id *id, struct ibv_qp *qp);
void cmx_qp_destroy(struct cmx_id *id);
/* For srq.c. CQs of size 0 are not created. */
int cmx_xrcd_default(struct cmx_id *id, struct ibv_xrcd **xrcd);
int cmx_cqs_create(struct rdma_cm_id *id, uint32_t send_size,
		   uint32_t recv_size);
void cmx_cqs_undo(struct rdma_cm_id *id, uint32_t send_size,
		  uint32_t recv_size);
void cmx_cqs_destroy(struct rdma_cm_id *id);

/* conn.c */
int cmx_conn_request(struct cmx_id *id, const struct rdma_conn_param *param);
int cmx_conn_param(struct cmx_id *id, struct rdma_cmx_conn_param *to,
		   const struct rdma_conn_param *from);
int cmx_conn_respond(struct cmx_id *id);
int cmx_conn_respond_ece(struct cmx_id *id);

/* record.c: an event as the kernel writes it, and its parts */
struct cmx_raw_event {
	struct rdma_cmx_event ev;
	struct rdma_cmx_id_info info;		/* by the flag in ev */
	struct rdma_cmx_mc_param group;		/* likewise */
	const struct ib_path_rec_data *paths;	/* or NULL */
	const void *private_data;		/* or NULL */
	uint64_t bytes[RDMA_CMX_MAX_EVENT / sizeof(uint64_t)];
};

void cmx_grown_copy(void *to, size_t size, const void *from, size_t len);
int cmx_raw_event_get(int fd, struct cmx_raw_event *rec);
void cmx_raw_event_forked(void);
int cmx_raw_event_parse(struct cmx_raw_event *rec);

/* wait.c */
void cmx_id_wait(struct cmx_id *id);
bool cmx_id_wait_until(struct cmx_id *id, const struct timespec *end);
void cmx_id_wake(struct cmx_id *id);

/* event.c */
void cmx_id_enter(struct cmx_id *id);
void cmx_id_enter_locked(struct cmx_id *id);
void cmx_id_leave(struct cmx_id *id);
int cmx_event_get(struct rdma_event_channel *channel,
		  struct rdma_cm_event **event);
bool cmx_event_ack(struct rdma_cm_event *event);
void cmx_event_drop_last(struct cmx_id *id);

/* sync.c */
int cmx_sync_enter(struct cmx_id *id);
void cmx_sync_leave(struct cmx_id *id);
int cmx_event_wait(struct cmx_id *id, struct rdma_cm_event **event,
		   bool interruptible);
int cmx_event_leave(struct cmx_id *id, struct rdma_cm_event *event,
		    struct rdma_cm_event **place);
int cmx_complete(struct cmx_id *id);
int cmx_call_begin(struct cmx_id *id, bool *sync);
int cmx_call_end(struct cmx_id *id, bool sync, int ret);
void cmx_addr_change_write(struct cmx_id *id);
void cmx_id_end_calls(struct cmx_id *id);

/* mcast.c */
struct rdma_cmx_mc_param cmx_mc_param(const struct rdmacmx_group *group);
struct cmx_mc *cmx_mc_alloc(struct cmx_id *id,
			    const struct rdmacmx_join_attr *attr,
			    void *context);
void cmx_mc_free(struct cmx_mc *mc);
void cmx_mc_link(struct cmx_mc *mc, uint32_t handle);
int cmx_mc_join(struct cmx_id *id, const struct rdmacmx_join_attr *attr,
		void *context);
struct cmx_mc *cmx_mc_known(struct cmx_id *id, uint64_t uid, uint32_t handle);
void cmx_mc_free_all(struct cmx_id *id);

/* mcast_qp.c */
int cmx_mc_joined(struct cmx_mc *mc, const struct rdma_ud_param *ud);
void cmx_mc_lost(struct cmx_mc *mc);
int cmx_mc_qkey_init(struct cmx_id *id, struct ibv_qp *qp, uint32_t qkey,
		     uint32_t before);
void cmx_mc_leave_begin(struct cmx_mc *mc);
void cmx_mc_leave_end(struct cmx_mc *mc);
void cmx_mc_detach_all(struct cmx_id *id);

/*
 * aiquery.c: a request to the kernel. Errors are positive errnos of
 * RDMA_CMX_AI_ERRNOS, and CMX_ESERVICE.
 */
#define CMX_ESERVICE	0x10000

struct cmx_ai_request {
	struct rdma_cmx_ai_query query;
	void *route;		/* query.route, made here, or NULL */
	char *texts;		/* node and service, if copies, or NULL */
	const char *service;	/* to look up later, or NULL */
	int transports;		/* of that service */
	bool named;		/* the node is a name to look up */
	bool env;		/* a variable of this library is set */
	bool device_env;	/* the device is from a variable */
	char device[64];	/* query.dev, not terminated */
};

/* The port of a service, and the only QP type that has it, or 0 */
struct cmx_port {
	__be16 port;
	uint32_t qp_type;
};

int cmx_service_lookup(const char *service, int transports,
		       struct cmx_port *port);
int cmx_ai_request_init(struct cmx_ai_request *req, const char *node,
			const char *service, const struct rdma_addrinfo *hints,
			bool later);
int cmx_device_parse(const char *text, size_t *len, uint32_t *port);
int cmx_ai_request_device(struct cmx_ai_request *req, const char *device);
int cmx_ai_request_error(const struct cmx_ai_request *req, int err);
int cmx_ai_request_lookup(struct cmx_ai_request *req);
void cmx_ai_request_clear(struct cmx_ai_request *req);

/* resolve.c */
int cmx_resolve_start(struct cmx_id *id, struct cmx_ai_request *req);

/* named.c */
int cmx_named_resolved(struct cmx_id *id);
int cmx_named_routed(struct cmx_id *id, int err);
bool cmx_named_failed(struct cmx_id *id, const struct rdma_cm_event *event);
bool cmx_named_enter(struct cmx_id *id);
void cmx_named_dropped(struct cmx_id *id, const struct rdma_cm_event *event);
bool cmx_named_late(struct cmx_id *id, const struct rdma_cmx_event *ev);
bool cmx_named_goes_on(const struct cmx_id *id);
uint64_t cmx_now_ms(void);
bool cmx_named_races(const struct cmx_id *id);
int cmx_named_won(struct cmx_id *id, bool usable);
void cmx_named_replied(struct cmx_id *id);
void cmx_named_free(struct cmx_id *id);
bool cmx_named_qp(const struct cmx_id *id);

/* race.c */
struct cmx_race_qps_attr {
	struct ibv_pd *pd;			/* or NULL */
	const struct ibv_qp_init_attr *init;
	const struct rdma_conn_param *param;	/* or NULL */
	uint64_t deadline;			/* by cmx_now_ms() */
};

int cmx_race_qps_start(struct cmx_id *id, struct cmx_race_qps **race,
		       struct rdma_cmx_resolve_any *cmd,
		       const struct cmx_race_qps_attr *attr);
int cmx_race_qps_won(struct cmx_race_qps *race, struct cmx_id *id);
void cmx_race_qps_free(struct cmx_race_qps *race, bool inherited);

/* addrinfo.c */
int cmx_ai_from_kern(const void *buf, size_t len, struct rdma_addrinfo **res);

/* names.c */
#define CMX_NAMES_BUF	8192

bool cmx_names_own(const struct cmx_ai_request *req);
int cmx_libc_lookup(const char *node, void *buf, size_t *len);
int cmx_names_resolve(struct cmx_id *id, struct cmx_ai_request *req, bool own);
bool cmx_names_retry(struct cmx_id *id);
void cmx_names_free(struct cmx_id *id);
void cmx_names_cancel(struct cmx_id *id);
void cmx_names_cancel_channel(struct rdma_event_channel *channel);
void cmx_names_jobs_lock(void);
void cmx_names_jobs_unlock(void);
void cmx_names_forked(void);

#endif /* RDMACMX_LIB_H */
