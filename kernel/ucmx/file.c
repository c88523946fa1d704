// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The open file: open, release, poll, and the table of commands.
 *
 * The caller of a command holds the file open, so no command runs during
 * release. Event handlers may still run, until the ids are closed.
 */
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "caller.h"
#include "ucmx.h"

/* All structs of the commands. A command works on a copy on the stack. */
union ucmx_args {
	struct rdma_cmx_get_info info;
	struct rdma_cmx_get_events events;
	struct rdma_cmx_id_create create;
	struct rdma_cmx_destroy destroy;
	struct rdma_cmx_id_bind bind;
	struct rdma_cmx_id_query query;
	struct rdma_cmx_id_set_option option;
	struct rdma_cmx_id_migrate migrate;
	struct rdma_cmx_resolve_addr addr;
	struct rdma_cmx_resolve_route route;
	struct rdma_cmx_init_qp_attr qp_attr;
	struct rdma_cmx_conn_qp_attr conn_qp_attr;
	struct rdma_cmx_connect connect;
	struct rdma_cmx_listen listen;
	struct rdma_cmx_reject reject;
	struct rdma_cmx_id_arg arg;
	struct rdma_cmx_write_event write_event;
	struct rdma_cmx_resolve_addrinfo resolve_addrinfo;
	struct rdma_cmx_give_names names;
	struct rdma_cmx_query_addrinfo query_addrinfo;
	struct rdma_cmx_getaddrinfo getaddrinfo;
	struct rdma_cmx_join join;
	struct rdma_cmx_join_many join_many;
	struct rdma_cmx_advertise advertise;
	struct rdma_cmx_query_advertised advertised;
	struct rdma_cmx_get_services services;
	struct rdma_cmx_resolve_any any;
	struct rdma_cmx_query_candidates candidates;
	struct rdma_cmx_get_paths get_paths;
	struct rdma_cmx_drop_paths drop_paths;
};

static int ucmx_get_info(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_get_info *arg = cmd->buf;
	struct cmx_limits limits;

	arg->abi_version = RDMA_CMX_ABI_VERSION;
	arg->features = RDMA_CMX_FEATURE_SA | RDMA_CMX_FEATURE_MCAST |
			RDMA_CMX_FEATURE_ADVERTISE |
			RDMA_CMX_FEATURE_SERVICES | RDMA_CMX_FEATURE_CONNECT |
			RDMA_CMX_FEATURE_PATHS | RDMA_CMX_FEATURE_RACE;
	if (ucmx_names_initial())
		arg->features |= RDMA_CMX_FEATURE_NAMES;
	arg->max_ids = READ_ONCE(ucmx_max_ids);
	arg->max_requests = READ_ONCE(ucmx_max_requests);
	arg->max_user_requests = READ_ONCE(ucmx_max_user_requests);
	arg->max_events = READ_ONCE(ucmx_max_events);
	arg->max_backlog = READ_ONCE(ucmx_max_backlog);
	arg->max_joins = RDMA_CMX_MAX_JOINS;
	arg->max_event = RDMA_CMX_MAX_EVENT;
	arg->max_private_data = U8_MAX;

	rdma_cmx_limits(&limits);
	arg->max_user_groups = limits.user_groups;
	arg->max_user_services = limits.user_services;
	arg->max_services = limits.services;
	arg->max_user_connects = limits.user_connects;
	arg->max_connect_wait_ms = limits.connect_wait_ms;
	arg->max_user_names = limits.user_names;
	arg->max_user_sa_queries = limits.user_sa_queries;
	arg->max_user_sa_kb = limits.user_sa_kb;
	arg->max_sa_records = limits.sa_records;
	arg->max_timeout_ms = limits.timeout_ms;
	return ucmx_respond(cmd);
}

struct ucmx_op {
	u32 size;
	u32 in_size;
	u32 min_size;
	unsigned int ioctl;
	int (*execute)(struct ucmx_cmd *cmd);
};

/*
 * min_size is the size of the first published form and is constant. If the last
 * field may grow, it ends with the last field of that field's first form. The
 * bytes after in_size are output only: the kernel does not read them, and the
 * command fills all of them before it responds.
 */
#define UCMX_OP_IN(_cmd, _fn, _struct, _last, _in)			\
	[RDMA_CMX_CMD_##_cmd] = {					\
		.size = sizeof(_struct) +				\
			BUILD_BUG_ON_ZERO(sizeof(union ucmx_args) <	\
					  sizeof(_struct)) +		\
			BUILD_BUG_ON_ZERO(offsetof(_struct, size)),	\
		.in_size = _in,						\
		.min_size = offsetofend(_struct, _last),		\
		.ioctl = RDMA_CMX_IO(_cmd),				\
		.execute = _fn,						\
	}
#define UCMX_OP(_cmd, _fn, _struct, _last)				\
	UCMX_OP_IN(_cmd, _fn, _struct, _last, sizeof(_struct))

static const struct ucmx_op ucmx_ops[] = {
	UCMX_OP(GET_INFO, ucmx_get_info, struct rdma_cmx_get_info,
		max_requests),
	UCMX_OP(GET_EVENTS, ucmx_get_events, struct rdma_cmx_get_events,
		reader),
	UCMX_OP(ID_CREATE, ucmx_id_create, struct rdma_cmx_id_create, owner),
	UCMX_OP(ID_DESTROY, ucmx_id_destroy, struct rdma_cmx_destroy, owner),
	UCMX_OP(ID_BIND, ucmx_id_bind, struct rdma_cmx_id_bind, info.dst_ib),
	UCMX_OP(ID_QUERY, ucmx_id_query, struct rdma_cmx_id_query,
		info.dst_ib),
	UCMX_OP(ID_SET_OPTION, ucmx_id_set_option,
		struct rdma_cmx_id_set_option, reserved),
	UCMX_OP(ID_MIGRATE, ucmx_id_migrate, struct rdma_cmx_id_migrate,
		owner),
	UCMX_OP(RESOLVE_ADDR, ucmx_resolve_addr, struct rdma_cmx_resolve_addr,
		dst),
	UCMX_OP(RESOLVE_ROUTE, ucmx_resolve_route,
		struct rdma_cmx_resolve_route, reserved),
	UCMX_OP(INIT_QP_ATTR, ucmx_init_qp_attr, struct rdma_cmx_init_qp_attr,
		attr),
	UCMX_OP(CONNECT, ucmx_connect, struct rdma_cmx_connect,
		param.ece_attr_mod),
	UCMX_OP(LISTEN, ucmx_listen, struct rdma_cmx_listen, reserved),
	UCMX_OP(ACCEPT, ucmx_accept, struct rdma_cmx_connect,
		param.ece_attr_mod),
	UCMX_OP(REJECT, ucmx_reject, struct rdma_cmx_reject, private_data),
	UCMX_OP(DISCONNECT, ucmx_disconnect, struct rdma_cmx_id_arg, reserved),
	UCMX_OP(NOTIFY, ucmx_notify, struct rdma_cmx_id_arg, reserved),
	UCMX_OP(WRITE_EVENT, ucmx_write_event, struct rdma_cmx_write_event,
		arg),
	UCMX_OP(RESOLVE_ADDRINFO, ucmx_resolve_addrinfo,
		struct rdma_cmx_resolve_addrinfo, query.dst),
	UCMX_OP(GIVE_NAMES, ucmx_give_names, struct rdma_cmx_give_names, names),
	UCMX_OP(QUERY_ADDRINFO, ucmx_query_addrinfo,
		struct rdma_cmx_query_addrinfo, len),
	UCMX_OP(GETADDRINFO, ucmx_getaddrinfo, struct rdma_cmx_getaddrinfo,
		query.dst),
	UCMX_OP(JOIN, ucmx_join, struct rdma_cmx_join, addr),
	UCMX_OP(LEAVE, ucmx_leave, struct rdma_cmx_destroy, owner),
	UCMX_OP_IN(CONN_QP_ATTR, ucmx_conn_qp_attr,
		   struct rdma_cmx_conn_qp_attr, attr,
		   offsetof(struct rdma_cmx_conn_qp_attr, attr)),
	UCMX_OP(JOIN_MANY, ucmx_join_many, struct rdma_cmx_join_many, reserved),
	UCMX_OP(ADVERTISE, ucmx_advertise, struct rdma_cmx_advertise, data),
	UCMX_OP(WITHDRAW, ucmx_withdraw, struct rdma_cmx_destroy, uid),
	UCMX_OP(QUERY_ADVERTISED, ucmx_query_advertised,
		struct rdma_cmx_query_advertised, reserved),
	UCMX_OP(GET_SERVICES, ucmx_get_services, struct rdma_cmx_get_services,
		dev),
	UCMX_OP(RESOLVE_ANY, ucmx_resolve_any, struct rdma_cmx_resolve_any,
		reason),
	UCMX_OP(QUERY_CANDIDATES, ucmx_query_candidates,
		struct rdma_cmx_query_candidates, flags),
	UCMX_OP(GET_PATHS, ucmx_get_paths, struct rdma_cmx_get_paths, dev),
	UCMX_OP(DROP_PATHS, ucmx_drop_paths, struct rdma_cmx_drop_paths, dev),
};

/*
 * Copies the caller's struct, which may be longer or shorter than that of @op.
 * Unlike copy_struct_from_user() it does not touch output fields.
 */
static int ucmx_args_get(const struct ucmx_op *op, void *args,
			 const void __user *uarg, size_t usize)
{
	size_t len = min_t(size_t, usize, op->in_size);
	int ret;

	if (usize > op->size) {
		ret = check_zeroed_user(uarg + op->size, usize - op->size);
		if (ret <= 0)
			return ret ?: -E2BIG;
	}
	if (copy_from_user(args, uarg, len))
		return -EFAULT;
	if (len < op->in_size)
		memset(args + len, 0, op->in_size - len);
	return 0;
}

static long ucmx_ioctl(struct file *filp, unsigned int ioctl,
		       unsigned long arg)
{
	struct ucmx_cmd cmd = {
		.file = filp->private_data,
		.filp = filp,
		.ubuf = (void __user *)arg,
	};
	const struct ucmx_op *op;
	union ucmx_args args CMX_UNINIT;
	unsigned int nr = _IOC_NR(ioctl);
	int ret;

	if (nr >= ARRAY_SIZE(ucmx_ops))
		return -ENOTTY;
	op = &ucmx_ops[array_index_nospec(nr, ARRAY_SIZE(ucmx_ops))];
	if (op->ioctl != ioctl)
		return -ENOTTY;

	/* The size comes first in every struct. */
	if (get_user(cmd.usize, (u32 __user *)cmd.ubuf))
		return -EFAULT;
	if (cmd.usize < op->min_size)
		return -EINVAL;
	if (cmd.usize > PAGE_SIZE)
		return -E2BIG;

	ret = ucmx_args_get(op, &args, cmd.ubuf, cmd.usize);
	if (ret)
		return ret;
	/* The caller may have changed the size between the two reads. */
	args.info.size = cmd.usize;

	cmd.buf = &args;
	cmd.ksize = op->size;
	return op->execute(&cmd);
}

static __poll_t ucmx_poll(struct file *filp, poll_table *wait)
{
	bool changes = poll_requested_events(wait) & EPOLLPRI;
	struct ucmx_file *file = filp->private_data;
	__poll_t mask = 0;

	poll_wait(filp, &file->wait, wait);
	/*
	 * Also for other events: EPOLL_CTL_MOD may request EPOLLPRI later, and
	 * adds no queue.
	 */
	poll_wait(filp, &file->changes, wait);
	/*
	 * Either this sees an event, or ucmx_file_wake() sees the poller.
	 * Likewise a change.
	 */
	smp_mb();
	if (!list_empty(&file->events))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (changes && atomic_read(&file->changed) > 0)
		mask |= EPOLLPRI;
	return mask;
}

/* Initializes a zeroed file. It takes the caller's reference of @user. */
void ucmx_file_init(struct ucmx_file *file, struct ucmx_user *user)
{
	file->user = user;
	spin_lock_init(&file->lock);
	INIT_LIST_HEAD(&file->events);
	mutex_init(&file->read_mutex);
	ucmx_handles_init(file);
	ucmx_services_init(file);
	init_waitqueue_head(&file->wait);
	INIT_LIST_HEAD(&file->woken);
}

static int ucmx_open(struct inode *inode, struct file *filp)
{
	struct ucmx_user *user;
	struct ucmx_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	user = ucmx_user_get();
	if (!user) {
		kfree(file);
		return -ENOMEM;
	}
	ucmx_file_init(file, user);

	filp->private_data = file;
	ucmx_stat_inc(files);
	ucmx_stat_inc(live_files);
	return stream_open(inode, filp);
}

static int ucmx_release(struct inode *inode, struct file *filp)
{
	struct ucmx_file *file = filp->private_data;
	struct ucmx_id *id;
	unsigned long index;

	/*
	 * Stops all races first: the work items of a user's races run one at a
	 * time, so none should run in vain.
	 */
	xa_for_each(&file->ids, index, id) {
		mutex_lock(&id->mutex);
		ucmx_any_stop(id);
		mutex_unlock(&id->mutex);
		cond_resched();
	}
	/*
	 * Connection requests that arrive now are in the queue, not in the
	 * table. They are freed with their listening id.
	 */
	xa_for_each(&file->ids, index, id) {
		ucmx_id_close(id);
		ucmx_id_put(id);
		cond_resched();
	}

	ucmx_services_end(file);
	/* Nothing reports an event to this file any more. */
	ucmx_file_wake_end(file);

	WARN_ON_ONCE(!list_empty(&file->events));
	xa_destroy(&file->ids);
	mutex_destroy(&file->read_mutex);
	ucmx_user_put(file->user);
	kfree(file);
	ucmx_stat_dec(live_files);
	return 0;
}

const struct file_operations ucmx_fops = {
	.owner = THIS_MODULE,
	.open = ucmx_open,
	.release = ucmx_release,
	.poll = ucmx_poll,
	.unlocked_ioctl = ucmx_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
