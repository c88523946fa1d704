/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* In-kernel API of rdma_cmx: connect by name. */
#ifndef RDMA_CMX_CONNECT_H
#define RDMA_CMX_CONNECT_H

#include <rdma/rdma_cmx.h>

struct rdma_cmx_connector;

/**
 * enum rdma_cmx_connect_step - last step of a candidate
 * @RDMA_CMX_CONNECT_NO_DEVICE: no RDMA device reaches it; not tried
 * @RDMA_CMX_CONNECT_UNTRIED: the connect ended before it was tried
 * @RDMA_CMX_CONNECT_ADDR: rdma_create_id(), rdma_resolve_addr()
 * @RDMA_CMX_CONNECT_ROUTE: rdma_resolve_route(), or a path from the cache
 * @RDMA_CMX_CONNECT_SETUP: the caller's setup, and the check of its result
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
 * struct rdma_cmx_candidate - state of one entry of the result
 * @src: its source, family 0: none
 * @dst: its destination
 * @ibdev_index: its RDMA device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 * @step: its step in the last attempt
 * @error: 0: it is the winner, or untried; or the negative errno of @step.
 *	-ENETUNREACH: no RDMA device reaches it; -ECANCELED: it was outstanding
 *	when another one won or the connect was ended; -ETIMEDOUT: no response,
 *	or its share of the time was over and another one waited; -ECONNREFUSED:
 *	rejected; -ECONNRESET: disconnected before the handover; -ENODEV: the
 *	device was removed, or the id was bound to another device than the
 *	query's @dev, or to another netdevice than its @iface; -EADDRNOTAVAIL:
 *	the local address changed; -EMSGSIZE: the private data exceed those of a
 *	request; or the errno of rdma_cm or of the setup
 * @reason: status of RDMA_CM_EVENT_REJECTED, else 0
 * @reason_text: rdma_reject_msg() of @reason, or NULL
 * @attempts: number of attempts: another one follows after a path from the
 *	cache has failed, and after the loss of a winner that it had stopped for
 * @start_ms: start of the first attempt, in milliseconds since the start of the
 *	connect
 * @end_ms: time when it was up or failed, likewise
 * @data_len: length of @data in bytes
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
 * struct rdma_cmx_connect_report - state of all candidates, read only
 * @ref: reference count
 * @winner: index of the candidate that was handed over, or @count
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
 * @query: the query for the destination. Without qp_type and port_space it is
 *	for IB_QPT_RC; RDMA_CMX_AI_PASSIVE is invalid. With RDMA_CMX_AI_NOROUTE
 *	the first candidate does not wait for the paths of all candidates. If
 *	there are several, their ids share a source port as after
 *	rdma_set_reuseaddr()
 * @handler: event handler of the id that is handed over
 * @id_context: context of the id that is handed over
 * @has_tos: @tos is valid
 * @tos: for rdma_set_service_type(); replaces the query's. The query's alone
 *	does not set the type of service of the ids
 * @timeout_ms: deadline of the connect in milliseconds, 0: module parameter
 *	connect_timeout_ms. It has no maximum. It does not run while candidates
 *	wait for connect_window, up to connect_wait_ms
 * @delay_ms: milliseconds from one start to the next while candidates are
 *	outstanding (RFC 8305, Connection Attempt Delay), 0: 250, at least 10
 * @retry_count: retries of an unacknowledged packet, 0 to 7; the initial value
 *	in @param of the setup
 * @rnr_retry_count: retries while the peer has posted no receive, 0 to 6; 7:
 *	without limit; the initial value in @param of the setup
 * @setup: called for a candidate when its route is resolved. It creates the
 *	queue pair with rdma_create_qp() and fills @param. The memory of
 *	private_data remains valid until teardown or the end of the connect. It
 *	does not change the id's event_handler or context. It returns 0 or a
 *	negative errno. If it returns a negative errno it has undone its work,
 *	and the candidate has failed. If it returns 0 without a queue pair, the
 *	candidate fails with -EINVAL, and teardown is called. Several may run at
 *	a time, for different ids. It is called again after its teardown for a
 *	candidate whose path from the cache failed. Receives of the queue pair
 *	may complete before @done, also for a candidate that loses. NULL: no
 *	connection; the id that is handed over is bound, with address and route
 * @teardown: undoes the setup of a candidate that failed or lost. It calls
 *	rdma_destroy_qp(), but not rdma_destroy_id(). With @setup only
 *
 * All but @handler, @id_context, @setup and @teardown is copied, or used during
 * the start only. @setup and @teardown run in process context without a lock
 * and may sleep. The end of the connect waits for teardown, which must return
 * soon. Neither calls rdma_cmx_connect().
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
 *	the deadline has passed; -ENETUNREACH: no RDMA device reaches any
 *	candidate; else the error of the candidate with the last step
 * @report: with a reference for the callee, or NULL if there was no candidate
 * @context: as given to rdma_cmx_connect_start()
 *
 * Runs once, in process context without a lock, and may sleep. It is the last
 * callback: all other candidates have ended before. It does not run after
 * rdma_cmx_connect_cancel() has returned. It may destroy the id, call
 * rdma_cmx_connect_put() and start another connect. It must neither wait for a
 * connect nor cancel another one: they use the same work queue. A module that
 * may be unloaded keeps its reference and calls rdma_cmx_connect_cancel()
 * before: nothing else waits for the return of the callback.
 */
typedef void (*rdma_cmx_connect_fn)(struct rdma_cmx_connector *connector,
				    struct rdma_cm_id *id,
				    struct rdma_cmx_connect_report *report,
				    void *context);

/**
 * rdma_cmx_connect_start - resolve and connect without waiting
 * @attr: attributes of the connect
 * @done: called once with the id; @pconnector is set before
 * @context: argument of @done, @attr->setup and @attr->teardown
 * @pconnector: out: the connect, with a reference for the caller, dropped by
 *	rdma_cmx_connect_put()
 *
 * The candidates are the entries of the query's result, in their order. The
 * next one starts when one has failed, or when the delay has passed since the
 * last start. At most eight are outstanding at a time. If another one waits,
 * the candidate that started first ends, with -ETIMEDOUT, after its share of
 * the time: the time divided by the number of groups of eight candidates, at
 * most five seconds. With 32 candidates and 12 s it is 3 s, so all are tried.
 * The share of a candidate that waits for connect_window begins after that
 * wait. So silent peers do not block the others. If none waits, the deadline is
 * the only limit. The first candidate that is connected wins. All others are
 * disconnected, if they were connected, and destroyed.
 *
 * A candidate uses a path from the cache, if there is one. A second attempt
 * without the cache follows if a connect on the path fails other than by a
 * reject of the peer, if the reject is for the path, or if there is no reply
 * after five seconds or half of the time that is left. So a peer that accepts
 * late may receive two requests, and the first one is withdrawn. If less than a
 * second is left, the lack of a reply does not lead to a second attempt. With
 * attr->query.route there is none: the path is the one of the result, which
 * matches it.
 *
 * After each of these failures, and after a reject for an unknown service id,
 * the path is dropped from the cache. Without a second attempt the lack of a
 * reply counts from 4.3 s on, when the CM retries a lost request. Before, it
 * says nothing about the path, which others use.
 *
 * Private data: for an entry by GID in an IP port space, the header that the
 * peer expects (InfiniBand Architecture Specification 1, annex A11) precedes
 * the data of the setup. On InfiniBand and RoCE a request has 56 bytes for that
 * data, or 92 for an entry by GID in port space RDMA_PS_IB. Longer data is
 * -EMSGSIZE. For an entry of a service the data is sent unchanged, and rdma_cm
 * of the peer reads it as its header: the first byte must be 0 and the upper
 * half of the second neither 4 nor 6, or the peer rejects the request with an
 * invalid service id.
 *
 * An event of the winner before the handover, such as
 * RDMA_CM_EVENT_DISCONNECTED or _DEVICE_REMOVAL, ends the winner, and the other
 * candidates continue. Those that stopped for it start again, with a share of
 * the time that is left. The lost winner does not start again. The handover
 * immediately precedes @done. Later events go to the handler of @attr. This may
 * run before @done, with an id that the setup has seen; without a setup, with
 * one that the caller does not know. The handler returns 0 until @done has run.
 *
 * The removal of a device ends its candidates. The connect keeps the network
 * namespace until it ends. The consumer calls rdma_cmx_connect_cancel() for
 * each connect before it is unloaded; rdma_cmx stays loaded as long as its
 * consumer.
 *
 * A name requires a user process, and ids require memory: memory reclaim must
 * not depend on either. Addresses of a stored result require no user process.
 *
 * Context: process context, may sleep, and may wait for firmware as
 * rdma_cmx_query_start() does. It waits for no name server, SA or peer. The
 * caller holds no lock that others need meanwhile.
 * Return: 0; or a negative errno without a connect and a call of @done.
 * -EINVAL: no handler, no @done, only one of setup and teardown, delay_ms below
 * 10, or a passive query; -EOPNOTSUPP: a setup for queue pairs other than
 * IB_QPT_RC; or as rdma_cmx_query_start(). Before this returns, only @done,
 * setup and teardown may use *@pconnector.
 */
int rdma_cmx_connect_start(const struct rdma_cmx_connect_attr *attr,
			   rdma_cmx_connect_fn done, void *context,
			   struct rdma_cmx_connector **pconnector);

/**
 * rdma_cmx_connect_stop - stop a connect without waiting
 * @connector: the connect
 *
 * The callback is not called unless it has begun. rdma_cmx_connect_cancel()
 * follows, and waits for the end. A caller that ends many connects stops all of
 * them first, so that it does not wait for the candidates of each one.
 *
 * Context: process context, does not sleep.
 * Return: true if the callback has not begun and will not run.
 */
bool rdma_cmx_connect_stop(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect_cancel - end a connect
 * @connector: the connect
 *
 * After the return all candidates have ended, and no callback is running or
 * will run. Has no effect on a connect that has ended. Several threads may call
 * it. From within setup, teardown or the callback of @connector it returns
 * without waiting: the callback does not start any more, but candidates may not
 * have ended. Not in the event handler of an id.
 *
 * Context: process context, may sleep until running callbacks have returned and
 * the candidates are destroyed. It does not wait for a name server or an SA. A
 * candidate may wait for the firmware of a port that is not known to be active.
 * On InfiniBand and RoCE the call does not wait for a peer. On iWARP,
 * rdma_connect() of the driver may wait for a silent peer, about two minutes on
 * siw, and delays handover and deadline as well. The caller holds no lock that
 * setup, teardown or the callback takes.
 * Return: true if the callback has not run and will not run: there is no id.
 */
bool rdma_cmx_connect_cancel(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect_put - drop a reference of a connect
 * @connector: the connect, or NULL; this does not cancel it
 *
 * Context: process context, may sleep.
 */
void rdma_cmx_connect_put(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect - resolve, connect and wait
 * @attr: as for rdma_cmx_connect_start()
 * @context: argument of setup and teardown
 * @report: out: state of the candidates, dropped by
 *	rdma_cmx_connect_report_put(); NULL if there were none, or after a
 *	signal. May be NULL
 *
 * Context: process context, sleeps until the end; a fatal signal ends the wait.
 * Not in the event handler of an id, in setup or in teardown. The caller holds
 * no lock that others need meanwhile, nor one that setup or teardown takes.
 * Return: the caller's id, or an ERR_PTR as for rdma_cmx_connect_fn; -EINTR
 * after a fatal signal.
 */
struct rdma_cm_id *
rdma_cmx_connect(const struct rdma_cmx_connect_attr *attr, void *context,
		 struct rdma_cmx_connect_report **report);

/**
 * rdma_cmx_connect_report_put - drop a reference of a report
 * @report: a report or NULL
 *
 * Context: process context, may sleep.
 */
void rdma_cmx_connect_report_put(struct rdma_cmx_connect_report *report);

#endif /* RDMA_CMX_CONNECT_H */
