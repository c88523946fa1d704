// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The load on an SA: retries and timeouts of a query, and the number of
 * outstanding queries. An SA that receives thousands of MADs in a burst loses
 * most of them, and responds late to the others.
 *
 * cmx_sa_lock guards the measured values of a port (window, response).
 */
#include <linux/jiffies.h>
#include <linux/module.h>

#include "sa/internal.h"

static unsigned int sa_timeout_ms = 400;
module_param(sa_timeout_ms, cmx_positive, 0644);
MODULE_PARM_DESC(sa_timeout_ms,
		 "Time in ms until the first retry of an SA query (default 400); twice that between the next ones");

static unsigned int sa_retries = 9;
module_param(sa_retries, uint, 0644);
MODULE_PARM_DESC(sa_retries,
		 "Retries of an SA query (default 9, at most 20)");

static unsigned int sa_parallel = 64;
module_param(sa_parallel, cmx_positive, 0644);
MODULE_PARM_DESC(sa_parallel,
		 "Maximum outstanding SA queries per port (default 64)");

static unsigned int sa_per_user = 48;
module_param(sa_per_user, cmx_positive, 0644);
MODULE_PARM_DESC(sa_per_user,
		 "Of those, maximum queries of one user (default 48)");

unsigned int cmx_sa_waiting_per_user = 16384;
module_param_named(sa_waiting_per_user, cmx_sa_waiting_per_user, cmx_positive,
		   0644);
MODULE_PARM_DESC(sa_waiting_per_user,
		 "Maximum waiting SA queries of one user and port (default 16384)");

#define CMX_SA_MAX_RETRIES 20
#define CMX_SA_MAX_TIMEOUT_MS 60000

/* Timeout after @retries retries, in jiffies */
unsigned long cmx_sa_timeout(unsigned int retries)
{
	unsigned int ms = clamp_t(unsigned int, READ_ONCE(sa_timeout_ms), 1,
				  CMX_SA_MAX_TIMEOUT_MS);

	return msecs_to_jiffies(retries ? 2 * ms : ms);
}

/* Timeout of all attempts together, in jiffies */
unsigned long cmx_sa_timeout_total(void)
{
	unsigned int i, retries = min_t(unsigned int, READ_ONCE(sa_retries),
					CMX_SA_MAX_RETRIES);
	unsigned long sum = 0;

	for (i = 0; i <= retries; i++)
		sum += cmx_sa_timeout(i);
	return sum;
}

/*
 * Time until the retry of a query. An SA that many nodes query at the same time
 * responds late. A retry before the response adds load to it, which delays the
 * others. So it follows after the timeout of the attempt, or after twice the
 * mean response time if that is longer, limited to half of the total timeout so
 * that there is at least one retry.
 */
unsigned long cmx_sa_retry_delay(const struct cmx_sa_port *port,
				 unsigned int retries)
{
	return max(cmx_sa_timeout(retries),
		   min(2 * port->response, cmx_sa_timeout_total() / 2));
}

/*
 * Adapts the number of outstanding queries to the SA: it grows with each fast
 * response, and shrinks with a late one, so that retries do not become most of
 * the SA's load. Under cmx_sa_lock.
 */
void cmx_sa_window_adapt(struct cmx_sa_port *port, unsigned long took)
{
	if (took < cmx_sa_timeout(0) / 2)
		port->window++;
	else if (took >= cmx_sa_timeout(0))
		port->window -= DIV_ROUND_UP(port->window, 4);
	port->window = clamp(port->window, CMX_SA_MIN_PARALLEL,
			     max_t(unsigned int, READ_ONCE(sa_parallel),
				   CMX_SA_MIN_PARALLEL));
}

/* The SA has responded after @took jiffies. Under cmx_sa_lock. */
void cmx_sa_response_time(struct cmx_sa_port *port, unsigned long took)
{
	port->response = port->response ? (7 * port->response + took) / 8 :
					  took;
	cmx_sa_window_adapt(port, took);
}

/* Maximum MADs of a port that ib_mad has not returned, of ended queries, too */
unsigned int cmx_sa_mads_max(void)
{
	return 4 * clamp_t(unsigned int, READ_ONCE(sa_parallel), 16, 1 << 20);
}

/* MADs of a port above which a query that is sent again keeps two, see mad.c */
unsigned int cmx_sa_mads_many(void)
{
	return min(cmx_sa_mads_max() / 2, 64U);
}

/* A port that is not active sends no query. */
struct cmx_sched_limits cmx_sa_limits(const struct cmx_sched *sched)
{
	const struct cmx_sa_port *port = container_of(sched, struct cmx_sa_port,
						      sched);

	return (struct cmx_sched_limits) {
		.slots = port->active ? READ_ONCE(sa_parallel) : 0,
		.window = port->window,
		.per_user = READ_ONCE(sa_per_user),
		.waiting_per_user = READ_ONCE(cmx_sa_waiting_per_user),
	};
}
