// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GET_SERVICES: ServiceRecords of the SAs. Also functions for texts and arrays
 * that the commands of advertised services share.
 */
#include <linux/capability.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "resolver.h"
#include "user.h"

/* The first published form of a record is constant. */
#define UCMX_SERVICE_RECORD_MIN						\
	offsetofend(struct rdma_cmx_service_record, data)

/**
 * ucmx_text_ends - check a text in an array
 * @text: the text
 * @size: size of the array in bytes
 *
 * Return: true if the text ends in the array and only zeros follow.
 */
bool ucmx_text_ends(const u8 *text, size_t size)
{
	size_t len = strnlen(text, size);

	return len < size && !memchr_inv(text + len, 0, size - len);
}

/**
 * ucmx_items_put - copy an array to user space
 * @to: pointer of user space
 * @item_size: bytes from one item to the next there; the rest of each is zeroed
 * @items: the array
 * @size: size of an item in bytes
 * @n: number of items
 *
 * Context: may sleep.
 * Return: 0, -EFAULT, or -EINTR if the process is being killed.
 */
int ucmx_items_put(u64 to, u32 item_size, const void *items, size_t size,
		   unsigned int n)
{
	size_t len = min_t(size_t, item_size, size);
	void __user *pos = u64_to_user_ptr(to);

	for (; n; n--, pos += item_size, items += size) {
		if (copy_to_user(pos, items, len) ||
		    clear_user(pos + len, item_size - len))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int ucmx_services_check(const struct rdma_cmx_get_services *arg)
{
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved || !ucmx_text_ends(arg->service,
					     sizeof(arg->service)) ||
	    !ucmx_text_ends(arg->dev, sizeof(arg->dev)) ||
	    arg->record_size < UCMX_SERVICE_RECORD_MIN)
		return -EINVAL;
	if (arg->record_size > PAGE_SIZE)
		return -E2BIG;
	/*
	 * A list of all services needs a privilege. The response is the longest
	 * that an SA sends.
	 */
	if (!*arg->service &&
	    !ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return 0;
}

static int ucmx_services_put(struct ucmx_cmd *cmd,
			     const struct rdma_cmx_services *services)
{
	struct rdma_cmx_get_services *arg = cmd->buf;
	int ret = 0;

	arg->num_records = services->count;
	arg->num_ports = services->ports;
	arg->error = services->error;
	if (services->count > arg->max_records)
		ret = -ENOSPC;
	else
		ret = ucmx_items_put(arg->records, arg->record_size,
				     services->records,
				     sizeof(*services->records),
				     services->count);
	if ((!ret || ret == -ENOSPC) && ucmx_respond(cmd))
		ret = -EFAULT;
	return ret;
}

int ucmx_get_services(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_get_services *arg = cmd->buf;
	struct rdma_cmx_services_attr attr = {
		.net = current->nsproxy->net_ns,
		.service = *arg->service ? arg->service : NULL,
		.dev = *arg->dev ? arg->dev : NULL,
		.dev_port = arg->dev_port,
		.timeout_ms = arg->timeout_ms,
	};
	struct rdma_cmx_services *services;
	int ret;

	ret = ucmx_services_check(arg);
	if (ret)
		return ret;
	ret = ucmx_call_charge(cmd->file);
	if (ret)
		return ret;
	ucmx_stat_inc(requests);
	services = rdma_cmx_get_services_for(&attr, cmx_current_user());
	if (IS_ERR(services)) {
		ret = PTR_ERR(services);
	} else {
		ret = ucmx_services_put(cmd, services);
		rdma_cmx_put_services(services);
	}
	ucmx_call_uncharge(cmd->file);
	return ret;
}
