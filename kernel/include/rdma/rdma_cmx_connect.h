/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* In-kernel API of rdma_cmx: connect by name. */
#ifndef RDMA_CMX_CONNECT_H
#define RDMA_CMX_CONNECT_H

#include <rdma/rdma_cmx.h>

struct rdma_cmx_connector;

/**
 * enum rdma_cmx_connect_step - how far a candidate has come
 * @RDMA_CMX_CONNECT_NO_DEVICE: no RDMA device reaches it; not tried
 * @RDMA_CMX_CONNECT_UNTRIED: the call ended before it was tried
 * @RDMA_CMX_CONNECT_ADDR: rdma_create_id(), rdma_resolve_addr()
 * @RDMA_CMX_CONNECT_ROUTE: rdma_resolve_route(), or a path of the cache
 * @RDMA_CMX_CONNECT_SETUP: the caller's setup, and the check of what it set
 * @RDMA_CMX_CONNECT_REQUEST: rdma_connect()
 * @RDMA_CMX_CONNECT_UP: it was connected, or routed if there is no setup
 */
enum rdma_cmx_connect_step {
	RDMA_CMX_CONNECT_NO_DEVICE,
	RDMA_CMX_CONNECT_UNTRIED,
	RDMA_CMX_CONNECT_ADDR,
	RDMA_CMX_CONNECT_ROUTE,
	RDMA_CMX_CONNECT_SETUP,
	RDMA_CMX_CONNECT_REQUEST,
	RDMA_CMX_CONNECT_UP,
};

/**
 * struct rdma_cmx_candidate - the outcome of one entry of the result
 * @src: its source, family 0: none
 * @dst: its destination
 * @ibdev_index: its RDMA device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 * @step: how far it came, in its last attempt
 * @error: why it went no further: 0: it is the winner, or untried;
 *	-ENETUNREACH: no RDMA device reaches it; -ECANCELED: it was still under
 *	way when another one won or the call was ended;
 *	-ETIMEDOUT: no response, or it gave way to another one;
 *	-ECONNREFUSED: rejected; -ECONNRESET: disconnected before the handover;
 *	-ENODEV: the device was removed, or the id was bound to another one than
 *	the query's @dev; -EADDRNOTAVAIL: the local address changed; -EMSGSIZE:
 *	more private data than a request has room for; or the errno of rdma_cm
 *	or of the setup
 * @reason: status of RDMA_CM_EVENT_REJECTED, else 0
 * @reason_text: rdma_reject_msg() of it, or NULL
 * @attempts: how often it was tried: again after a path of the cache that
 *	failed, and after each loss of a winner that it had stopped for
 * @start_ms: when it was first started, since the start of the call
 * @end_ms: when it came up or failed
 * @data_len: bytes of @data
 * @data: private data of the reply, or of a consumer's reject
 */
struct rdma_cmx_candidate {
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	u32 ibdev_index;
	u32 port_num;
	enum rdma_cmx_connect_step step;
	int error;
	int reason;
	const char *reason_text;
	u32 attempts;
	u32 start_ms;
	u32 end_ms;
	u8 data_len;
	u8 data[U8_MAX];
};

/**
 * struct rdma_cmx_connect_report - the outcome of all candidates, read only
 * @ref: reference count
 * @winner: index of the one that was handed over, or @count
 * @param: of the winner's RDMA_CM_EVENT_ESTABLISHED, if there was a setup;
 *	its private data is that of the candidate
 * @count: number of @candidates
 * @candidates: in the order of the result
 */
struct rdma_cmx_connect_report {
	struct kref ref;
	u32 winner;
	struct rdma_conn_param param;
	u32 count;
	struct rdma_cmx_candidate candidates[];
};

/**
 * struct rdma_cmx_connect_attr - attributes of a connect
 * @query: what to connect to. Without qp_type and port_space it is for
 *	IB_QPT_RC; RDMA_CMX_AI_PASSIVE is invalid. With RDMA_CMX_AI_NOROUTE the
 *	first candidate does not wait until the paths of all are known
 * @handler: event handler of the id that is handed over
 * @id_context: its context
 * @has_tos: @tos counts
 * @tos: for rdma_set_service_type(), and instead of the query's
 * @timeout_ms: deadline of the whole call in milliseconds, 0: module parameter
 *	connect_timeout_ms
 * @delay_ms: after this time the next candidate starts beside those that are
 *	outstanding (RFC 8305, Connection Attempt Delay), 0: 250, at least 10
 * @retry_count: preset of the setup's param
 * @rnr_retry_count: likewise
 * @setup: called for a candidate when its route is resolved. It creates the
 *	queue pair with rdma_create_qp() and fills @param; what private_data
 *	points to stays until teardown or the end of the call. It does not
 *	change the id's event_handler or context. When it returns an errno it
 *	has undone what it did, and the candidate has failed. Several may run
 *	at a time, for different ids; again for a candidate whose path of the
 *	cache did not work, after its teardown. NULL: nothing is connected; the
 *	id that is handed over is bound, addressed and routed
 * @teardown: undoes the setup of a candidate that failed or lost; it calls
 *	rdma_destroy_qp(), and not rdma_destroy_id(). With @setup only
 *
 * All but @handler, @id_context, @setup and @teardown is copied, or in use
 * during the start only. @setup and @teardown run in process context without a
 * lock and may sleep; teardown ends soon, as the end of the call waits for it.
 * Neither starts a synchronous call of this kind.
 */
struct rdma_cmx_connect_attr {
	struct rdma_cmx_query_attr query;
	rdma_cm_event_handler handler;
	void *id_context;
	bool has_tos;
	u8 tos;
	u32 timeout_ms;
	u32 delay_ms;
	u8 retry_count;
	u8 rnr_retry_count;
	int (*setup)(struct rdma_cm_id *id, const struct rdma_cmx_entry *entry,
		     struct rdma_conn_param *param, void *context);
	void (*teardown)(struct rdma_cm_id *id, void *context);
};

/**
 * typedef rdma_cmx_connect_fn - called when a connect has ended
 * @connector: the connect
 * @id: the caller's id, or an ERR_PTR: the errno of the resolution; -ETIMEDOUT:
 *	the deadline; -ENETUNREACH: no RDMA device reaches any candidate;
 *	otherwise the error of the candidate that came furthest
 * @report: with a reference for the callee, or NULL if there was no candidate
 * @context: as given to rdma_cmx_connect_start()
 *
 * Runs once, in process context without a lock, may sleep. It is the last
 * callback: all other candidates are taken down before. It does not run any
 * more once rdma_cmx_connect_cancel() has returned. It may destroy the id, call
 * rdma_cmx_connect_put() and start another connect, but neither wait for one
 * nor cancel another: they need the work queue that it runs on.
 */
typedef void (*rdma_cmx_connect_fn)(struct rdma_cmx_connector *connector,
				    struct rdma_cm_id *id,
				    struct rdma_cmx_connect_report *report,
				    void *context);

/**
 * rdma_cmx_connect_start - resolve and connect without waiting
 * @attr: what to connect to, and how
 * @done: called once with the id, never before @pconnector is set
 * @context: for @done, @attr->setup and @attr->teardown
 * @pconnector: out: the connect, with a reference for the caller, who gives it
 *	back with rdma_cmx_connect_put()
 *
 * The candidates are the entries of the query's result, in their order. The
 * next one starts when one has failed, or has not succeeded in time; no more
 * than eight are outstanding at a time. When another one waits beside eight, the
 * one that was started first gives way, with -ETIMEDOUT, after five seconds or
 * its share of the time: the time divided by the number of eights that the
 * candidates make up. So silent peers do not keep the others out; without one
 * that waits, the deadline is the only limit. The first one that is connected
 * wins. All others are disconnected, if they were connected, and destroyed.
 *
 * A candidate takes its path from the cache if it is there. If a connect on
 * such a path fails other than by a reject of the peer, or has no reply after
 * five seconds or half of the time that is left, the path is forgotten, and the
 * candidate is tried once more with rdma_resolve_route(). A peer that is slow to
 * accept may so get two requests, of which the first is withdrawn. If less than
 * a second is left there is no second attempt. Nor is there one with
 * attr->query.route: the path is the one of the result, which agrees with it.
 *
 * Private data: that of an entry by GID in an IP port space is preceded by the
 * header that the peer expects; the setup does not care.
 * That of an entry of a service is sent as it is, and rdma_cm of the peer looks
 * for its header there: the first byte must be 0 and the upper half of the second
 * neither 4 nor 6, or the request is rejected as one for an invalid service id.
 *
 * An event of the winner before the handover, such as
 * RDMA_CM_EVENT_DISCONNECTED or _DEVICE_REMOVAL, ends it, and the other
 * candidates go on; those that stopped for it start again, and have their share
 * of the time that is left. It is not tried again: a candidate can be lost so
 * once. After the handover, which is immediately before @done, it
 * goes to the handler of @attr, which may run before @done, but in an id that
 * the setup has seen. Until @done has run the handler returns 0.
 *
 * A device can be removed at any time: its candidates are taken down by then.
 * The connect keeps the network namespace until it ends, and rdma_cmx stays as
 * long as its consumer. The consumer, before it is unloaded, calls
 * rdma_cmx_connect_cancel() for each connect.
 *
 * A name needs a user process, and the ids need memory: neither is for a path
 * that memory reclaim waits for. The addresses of a result that is kept need no
 * user process.
 *
 * Context: process, may sleep for memory and locks only.
 * Return: 0, or why there is no connect; then @done is not called. -EINVAL: no
 * handler, no @done, one of setup and teardown without the other, delay_ms
 * below 10, or a passive query; -EOPNOTSUPP: a setup for other queue pairs than
 * IB_QPT_RC; or as rdma_cmx_query_start(). Only @done, setup and teardown may
 * use *@pconnector before this returns.
 */
int rdma_cmx_connect_start(const struct rdma_cmx_connect_attr *attr,
			   rdma_cmx_connect_fn done, void *context,
			   struct rdma_cmx_connector **pconnector);

/**
 * rdma_cmx_connect_cancel - end a connect
 * @connector: the connect
 *
 * When it returns, all candidates are taken down, and none of the callbacks is
 * running or will run. Harmless on a connect that has ended and from several
 * threads. From within setup, teardown or the callback of @connector it returns
 * at once: then the callback does not start any more, but candidates may still
 * be taken down. Not in the event handler of an id.
 *
 * Context: process, may sleep until running callbacks are through and the
 * candidates are destroyed; never for a name server or an SA. On InfiniBand
 * and RoCE it waits for no peer; rdma_connect() of an iWARP driver may wait for
 * a silent one, about two minutes on siw, and holds up handover and deadline
 * as long. The
 * caller holds no lock that setup, teardown or the callback takes.
 * Return: true if the callback has not run and will not: there is no id.
 */
bool rdma_cmx_connect_cancel(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect_put - give a reference back
 * @connector: the connect, or NULL; it is not cancelled by this
 *
 * Context: process, may sleep.
 */
void rdma_cmx_connect_put(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect - resolve, connect and wait
 * @attr: as for rdma_cmx_connect_start()
 * @context: for setup and teardown
 * @report: out: the outcome of the candidates, to be released with
 *	rdma_cmx_connect_report_put(); NULL if there were none, or after a
 *	signal. May be NULL
 *
 * Context: process; sleeps until the end, in a killable wait. Not in the event
 * handler of an id.
 * Return: the caller's id, or an ERR_PTR as for rdma_cmx_connect_fn; -EINTR
 * after a fatal signal.
 */
struct rdma_cm_id *
rdma_cmx_connect(const struct rdma_cmx_connect_attr *attr, void *context,
		 struct rdma_cmx_connect_report **report);

/**
 * rdma_cmx_connect_report_put - give a report back
 * @report: a report or NULL
 *
 * Context: process, may sleep.
 */
void rdma_cmx_connect_report_put(struct rdma_cmx_connect_report *report);

#endif /* RDMA_CMX_CONNECT_H */
