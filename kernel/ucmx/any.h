/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The candidates of an id, for the files of RESOLVE_ANY: any.c races them,
 * any_qps.c has their queue pairs if connections race, winner.c connects the
 * winner, candidates.c reports on all.
 *
 * The id's mutex guards struct ucmx_any, except for fields with another
 * comment.
 */
#ifndef UCMX_ANY_H
#define UCMX_ANY_H

#include "resolver.h"

struct ucmx_any_qps;

/**
 * struct ucmx_any - the candidates of an id
 * @id: the id
 * @memcg: of the process that started the first race
 * @result: with a reference
 * @connector: the last race
 * @previous: the race before, whose callback may have started the last one, or
 *	NULL
 * @report: of the last race that has ended, or NULL
 * @started: start of the first race
 * @expires: deadline, in jiffies; waits for slots move it
 * @until: the latest @expires, in jiffies
 * @delay_ms: until the next candidate starts
 * @limited: the caller gave path records
 * @own_dev: the caller gave a device
 * @connect: the deadline includes the connection
 * @qps: queue pairs of candidates whose connections race, or NULL
 * @lost: negative errno of an event of the winner, by the handler lock of its
 *	cm id
 * @sent: when the request of the last CONNECT was sent, in jiffies
 * @limit: timer of a CONNECT
 * @due: when a CONNECT times out, unless it waits for a slot, in jiffies, by
 *	ucmx_id.lock
 * @waits: a CONNECT waits for a slot, by ucmx_id.lock and the mutex
 * @waits_since: start of that wait, in jiffies, by the same
 * @armed: a CONNECT has no reply, by ucmx_id.lock
 * @expired: the CONNECT has timed out, by ucmx_id.lock
 */
struct ucmx_any {
	struct ucmx_id *id;
	struct mem_cgroup *memcg;
	struct rdma_cmx_result *result;
	struct rdma_cmx_connector *connector;
	struct rdma_cmx_connector *previous;
	struct rdma_cmx_connect_report *report;
	ktime_t started;
	unsigned long expires;
	unsigned long until;
	u32 delay_ms;
	bool limited;
	bool own_dev;
	bool connect;
	struct ucmx_any_qps *qps;
	int lost;
	unsigned long sent;
	struct delayed_work limit;
	unsigned long due;
	bool waits;
	unsigned long waits_since;
	bool armed;
	bool expired;
};

static inline struct rdma_cmx_candidate *
ucmx_any_winner(const struct ucmx_any *any)
{
	struct rdma_cmx_connect_report *report = any->report;

	return report && report->winner < report->count ?
	       &report->candidates[report->winner] : NULL;
}

/* any.c, for the unit tests */
struct ucmx_any *ucmx_any_alloc(struct ucmx_id *id,
				const struct rdma_cmx_resolve_any *arg);
int ucmx_any_start(struct ucmx_id *id, struct ucmx_any *any, bool charged);
void ucmx_any_done(struct rdma_cmx_connector *connector, struct rdma_cm_id *cm,
		   struct rdma_cmx_connect_report *report, void *context);

/* any_qps.c */
struct ucmx_any_qps *ucmx_any_qps_get(const struct rdma_cmx_resolve_any *arg);
bool ucmx_any_qps_fit(const struct ucmx_any_qps *qps, u32 candidates);
int ucmx_any_check(const struct rdma_cmx_entry *entry, const void *context);
int ucmx_any_setup(struct rdma_cm_id *cm, const struct rdma_cmx_entry *entry,
		   struct rdma_conn_param *param, void *context);
void ucmx_any_teardown(struct rdma_cm_id *cm, void *context);

/* winner.c */
u32 ucmx_any_left(const struct ucmx_any *any);
long ucmx_any_time(const struct ucmx_any *any);
void ucmx_any_postpone(struct ucmx_any *any, unsigned long waited);
void ucmx_any_late(struct work_struct *work);

#endif /* UCMX_ANY_H */
