// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Module entry of rdma_ucmx: limits, counters, tables, work queues, and the
 * device node, which is created last and removed first. An open file holds the
 * module, so nothing is in use in the exit function.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "caller.h"
#include "ucmx.h"

/* Fewer than handle.c has places, of which some ids have two for a while */
#define UCMX_MOST_IDS 1000000

static int ucmx_max_ids_set(const char *text, const struct kernel_param *kp)
{
	return param_set_uint_minmax(text, kp, 0, UCMX_MOST_IDS);
}

static const struct kernel_param_ops ucmx_max_ids_ops = {
	.set = ucmx_max_ids_set,
	.get = param_get_uint,
};

unsigned int ucmx_max_ids = 65536;
module_param_cb(max_ids, &ucmx_max_ids_ops, &ucmx_max_ids, 0644);
__MODULE_PARM_TYPE(max_ids, "uint");
MODULE_PARM_DESC(max_ids,
		 "Maximum ids, memberships and services of one open file (default 65536, at most 1000000)");

unsigned int ucmx_max_requests = 1024;
module_param_named(max_requests, ucmx_max_requests, uint, 0644);
MODULE_PARM_DESC(max_requests,
		 "Maximum unfinished resolutions of one open file (default 1024)");

unsigned int ucmx_max_user_requests = 16384;
module_param_named(max_user_requests, ucmx_max_user_requests, uint, 0644);
MODULE_PARM_DESC(max_user_requests,
		 "Maximum resolutions of one user that are unfinished or whose result was not used, and ids that keep a result of more than 16 entries, or 64 path records (default 16384)");

unsigned int ucmx_max_events = 65536;
module_param_named(max_events, ucmx_max_events, uint, 0644);
MODULE_PARM_DESC(max_events,
		 "Maximum unread events of one open file; above it, commands that end with an event fail (default 65536)");

unsigned int ucmx_max_backlog = 1024;
module_param_named(max_backlog, ucmx_max_backlog, uint, 0644);
MODULE_PARM_DESC(max_backlog,
		 "Maximum unread connection requests of one listening id, also beyond its backlog (default 1024)");

struct workqueue_struct *ucmx_wq;
struct workqueue_struct *ucmx_timer_wq;
/* Work items that may take long, of users who make them so: one of each */
struct workqueue_struct *ucmx_wake_wq;

static struct miscdevice ucmx_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rdma_cmx",
	.nodename = "infiniband/rdma_cmx",
	.mode = 0666,
	.fops = &ucmx_fops,
};

static int __init ucmx_init(void)
{
	int ret;

#ifdef CMX_HEADERS
	/* It does nothing. Another build of rdma_cmx.ko does not have it. */
	CMX_HEADERS();
#endif
	ret = ucmx_id_cache_init();
	if (ret)
		return ret;
	/*
	 * Private, because the work items of many ids would delay the users of
	 * system work queues. Without WQ_MEM_RECLAIM: rdma_destroy_id() flushes
	 * a work queue of ib_core that has no rescuer.
	 */
	ret = -ENOMEM;
	ucmx_wq = alloc_workqueue("rdma_ucmx", WQ_UNBOUND, 0);
	if (!ucmx_wq)
		goto err_cache;
	ucmx_timer_wq = alloc_workqueue("rdma_ucmx_timer", WQ_UNBOUND, 0);
	if (!ucmx_timer_wq)
		goto err_wq;
	ucmx_wake_wq = alloc_workqueue("rdma_ucmx_wake", WQ_UNBOUND,
				       WQ_MAX_ACTIVE);
	if (!ucmx_wake_wq)
		goto err_timer;
	ret = ucmx_connect_init();
	if (ret)
		goto err_wake;
	ret = ucmx_stats_init();
	if (ret)
		goto err_connect;
	ret = misc_register(&ucmx_device);
	if (ret)
		goto err_stats;
	return 0;

err_stats:
	ucmx_stats_exit();
err_connect:
	ucmx_connect_exit();
err_wake:
	destroy_workqueue(ucmx_wake_wq);
err_timer:
	destroy_workqueue(ucmx_timer_wq);
err_wq:
	destroy_workqueue(ucmx_wq);
err_cache:
	ucmx_id_cache_exit();
	return ret;
}
module_init(ucmx_init);

static void __exit ucmx_exit(void)
{
	misc_deregister(&ucmx_device);
	ucmx_stats_exit();
	ucmx_mc_exit();
	ucmx_connect_exit();
	destroy_workqueue(ucmx_wake_wq);
	ucmx_users_end();
	destroy_workqueue(ucmx_timer_wq);
	destroy_workqueue(ucmx_wq);
	ucmx_id_cache_exit();
}
module_exit(ucmx_exit);

MODULE_DESCRIPTION("User access to rdma_cmx");
MODULE_LICENSE("Dual BSD/GPL");
