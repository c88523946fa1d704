// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * slow-cancel MS: delays the cancel of a route query by rdma_cm by MS
 * milliseconds, 0: no longer. During that time an id must not be destroyed when
 * its device is removed (kernel/route.h).
 *
 * fail-add 1: rdma_cmx cannot add a device, as if memory were missing; 0: it
 * can again.
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

/* Replaces cmx_device_add(). */
static noinline long fail_instead(void)
{
	return -ENOMEM;
}

static int fail_add(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)fail_instead);
	return 1;
}

/*
 * A post handler keeps the probe unoptimized. An optimized probe would ignore
 * the changed address.
 */
static void fail_added(struct kprobe *p, struct pt_regs *regs,
		       unsigned long flags)
{
}

static struct kprobe fail_probe;
static bool fail_on;

int consumer_fail_add(const char *on)
{
	bool value;
	int ret = 0;

	if (!on || kstrtobool(on, &value))
		return -EINVAL;
	if (fail_on)
		unregister_kprobe(&fail_probe);
	if (value) {
		memset(&fail_probe, 0, sizeof(fail_probe));
		fail_probe.symbol_name = "cmx_device_add";
		fail_probe.pre_handler = fail_add;
		fail_probe.post_handler = fail_added;
		ret = register_kprobe(&fail_probe);
	}
	fail_on = value && !ret;
	return ret;
}

static void slow_end(void)
{
	if (slow_ms)
		unregister_kprobe(&slow_probe);
	slow_ms = 0;
}

void consumer_slow_end(void)
{
	slow_end();
	consumer_fail_add("0");
}

int consumer_slow(const char *ms)
{
	unsigned int value;
	int ret;

	if (!ms || kstrtouint(ms, 10, &value) || value > 1000)
		return -EINVAL;
	slow_end();
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
