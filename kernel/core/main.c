// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module entry of rdma_cmx: starts the directories, stops them in reverse. */
#include <linux/module.h>

#include "caller.h"
#include "advertise/advertise.h"
#include "connect/connect.h"
#include "mcast/mcast.h"
#include "names/names.h"
#include "resolve/resolve.h"
#include "sa/sa.h"

#ifdef CMX_HEADERS
void CMX_HEADERS(void)
{
}
EXPORT_SYMBOL_GPL(CMX_HEADERS);
#endif

void rdma_cmx_limits(struct cmx_limits *limits)
{
	*limits = (struct cmx_limits) {
		.timeout_ms = READ_ONCE(cmx_query_timeout_max_ms),
		.user_groups = READ_ONCE(cmx_groups_per_user),
		.user_services = READ_ONCE(cmx_services_per_user),
		.services = READ_ONCE(cmx_services_max),
		.user_connects = READ_ONCE(cmx_connect_queue_max),
		.connect_wait_ms = READ_ONCE(cmx_connect_wait_ms),
		.user_names = READ_ONCE(cmx_names_waiting_per_user),
		.user_sa_queries = READ_ONCE(cmx_sa_waiting_per_user),
		.user_sa_kb = READ_ONCE(cmx_sa_kb_per_user),
		.sa_records = READ_ONCE(cmx_sa_max_records),
	};
}
EXPORT_SYMBOL_GPL(rdma_cmx_limits);

static int __init cmx_init(void)
{
	int ret;

	ret = cmx_stats_init();
	if (ret)
		return ret;
	ret = cmx_device_init();
	if (ret)
		goto exit_stats;
	ret = cmx_names_init();
	if (ret)
		goto exit_device;
	ret = cmx_route_init();
	if (ret)
		goto exit_names;
	ret = cmx_sa_init();
	if (ret)
		goto exit_route;
	ret = cmx_mcast_init();
	if (ret)
		goto exit_sa;
	ret = cmx_advertise_init();
	if (ret)
		goto exit_mcast;
	ret = cmx_query_init();
	if (ret)
		goto exit_advertise;
	ret = cmx_prefetch_init();
	if (ret)
		goto exit_query;
	ret = cmx_watch_init();
	if (ret)
		goto exit_prefetch;
	ret = cmx_connect_init();
	if (ret)
		goto exit_watch;
	return 0;

exit_watch:
	cmx_watch_exit();
exit_prefetch:
	cmx_prefetch_exit();
exit_query:
	cmx_query_exit();
exit_advertise:
	cmx_advertise_exit();
exit_mcast:
	cmx_mcast_exit();
exit_sa:
	cmx_sa_exit();
exit_route:
	cmx_route_exit();
exit_names:
	cmx_names_stop();
	cmx_names_exit();
exit_device:
	cmx_device_exit();
exit_stats:
	cmx_stats_exit();
	return ret;
}
module_init(cmx_init);

/*
 * The sources of results stop before the queries. The key type goes after the
 * queries, because its end frees their results.
 */
static void __exit cmx_exit(void)
{
	cmx_connect_exit();
	cmx_watch_exit();
	cmx_prefetch_exit();
	cmx_advertise_exit();
	cmx_mcast_exit();
	cmx_names_stop();
	cmx_sa_exit();
	cmx_route_exit();
	cmx_query_exit();
	cmx_sa_hold_exit();
	cmx_names_exit();
	cmx_device_exit();
	cmx_stats_exit();
}
module_exit(cmx_exit);

MODULE_DESCRIPTION("RDMA address resolution and multicast joins");
MODULE_LICENSE("Dual BSD/GPL");
