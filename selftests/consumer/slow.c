// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * slow-cancel MS: rdma_cm takes MS milliseconds before it cancels a route query,
 * 0: no longer. That is the time in which an id must not be destroyed when its
 * device is removed (kernel/route.h).
 */
#include <linux/delay.h>
#include <linux/kprobes.h>

#include "consumer.h"

/* RDMA_CM_ROUTE_QUERY, the second argument, of drivers/infiniband/core/cma_priv.h */
#define SLOW_ROUTE_QUERY	3

static unsigned int slow_ms;

static int slow_cancel(struct kprobe *p, struct pt_regs *regs)
{
	if ((int)regs_get_kernel_argument(regs, 1) == SLOW_ROUTE_QUERY)
		mdelay(slow_ms);
	return 0;
}

static struct kprobe slow_probe;

void consumer_slow_end(void)
{
	if (slow_ms)
		unregister_kprobe(&slow_probe);
	slow_ms = 0;
}

int consumer_slow(const char *ms)
{
	unsigned int value;
	int ret;

	if (!ms || kstrtouint(ms, 10, &value) || value > 1000)
		return -EINVAL;
	consumer_slow_end();
	if (!value)
		return 0;
	memset(&slow_probe, 0, sizeof(slow_probe));
	slow_probe.symbol_name = "cma_cancel_operation";
	slow_probe.pre_handler = slow_cancel;
	slow_ms = value;
	ret = register_kprobe(&slow_probe);
	if (ret)
		slow_ms = 0;
	return ret;
}
