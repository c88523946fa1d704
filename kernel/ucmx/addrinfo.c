// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries to the resolver.
 *
 * An id's resolution changes under the id's mutex. The resolver's work item
 * delivers the result. It takes only the id's lock, because cancelling waits
 * for it with the mutex held.
 *
 * A resolution is outstanding until a reader has received its event. Its object
 * stays, with the result, until the next one or the end of the id. It counts
 * for its file until it is finished, and for the file's user until the result
 * is taken or freed with the object.
 */
#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "caller.h"
#include "ucmx.h"
#include "user.h"

struct ucmx_query {
	struct rdma_cmx_query *query;	/* NULL: finished at once */
	struct rdma_cmx_result *result;
	struct ucmx_event ev;
	bool done;		/* finished, by ucmx_id.lock */
	bool read;		/* event handed out, by ucmx_file.lock */
	bool by_device;		/* sent from the id's port */
	bool charged;		/* to the file's user, by ucmx_id.lock */
};

/* A caller's request, with copies of its strings and arrays. */
struct ucmx_request {
	struct rdma_cmx_query_attr attr;
	struct cmx_caller caller;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	char *node_buf;
	void *names;
	void *route;
	char service[RDMA_CMX_MAX_SERVICE + 1];
	char node[192];
};

/**
 * ucmx_names_initial - does the caller see the names that the helper sees?
 *
 * The helper runs as init_task's child. A name service goes by the network
 * namespace and by files, which the mount namespace and the root directory
 * choose. Both roots are only compared, so neither needs a reference or a
 * lock; one that another thread is changing counts as the old or the new one.
 *
 * Return: true if all three are init_task's.
 */
bool ucmx_names_initial(void)
{
	const struct path *mine = &current->fs->root;
	const struct path *host = &init_task.fs->root;

	return net_eq(current->nsproxy->net_ns, &init_net) &&
	       current->nsproxy->mnt_ns == init_task.nsproxy->mnt_ns &&
	       READ_ONCE(mine->dentry) == READ_ONCE(host->dentry) &&
	       READ_ONCE(mine->mnt) == READ_ONCE(host->mnt);
}

static int ucmx_text_get(char *dst, u64 src, u32 len)
{
	if (copy_from_user(dst, u64_to_user_ptr(src), len))
		return -EFAULT;
	/* The text contains no NUL. */
	if (memchr(dst, 0, len))
		return -EINVAL;
	dst[len] = 0;
	return 0;
}

static void ucmx_request_put(struct ucmx_request *req)
{
	if (req->node_buf != req->node)
		kfree(req->node_buf);
	kfree(req->names);
	kfree(req->route);
}

static int ucmx_request_texts(struct ucmx_request *req,
			      const struct rdma_cmx_ai_query *arg)
{
	int ret;

	if (arg->node_len > RDMA_CMX_MAX_NODE)
		return -ENOENT;
	if (arg->service_len > RDMA_CMX_MAX_SERVICE)
		return -EINVAL;
	if (arg->node_len) {
		if (arg->node_len >= sizeof(req->node)) {
			req->node_buf = kmalloc(arg->node_len + 1,
						GFP_KERNEL_ACCOUNT);
			if (!req->node_buf)
				return -ENOMEM;
		}
		ret = ucmx_text_get(req->node_buf, arg->node, arg->node_len);
		if (ret)
			return ret;
		req->attr.node = req->node_buf;
	}
	if (arg->service_len) {
		ret = ucmx_text_get(req->service, arg->service,
				    arg->service_len);
		if (ret)
			return ret;
		req->attr.service = req->service;
	}
	return 0;
}

static void *ucmx_names_get(u64 names, u32 len)
{
	if (len < sizeof(struct rdma_cmx_names) ||
	    len > sizeof(struct rdma_cmx_names) +
		  RDMA_CMX_NAMES_MAX_ADDRS *
		  sizeof(struct rdma_cmx_names_addr) +
		  RDMA_CMX_NAMES_MAX_NAME)
		return ERR_PTR(-EINVAL);
	return memdup_user(u64_to_user_ptr(names), len);
}

static int ucmx_request_arrays(struct ucmx_request *req,
			       const struct rdma_cmx_ai_query *arg)
{
	void *buf;

	if (arg->route_len) {
		if (arg->route_len % sizeof(*req->attr.route) ||
		    arg->route_len / sizeof(*req->attr.route) >
		    RDMA_CMX_MAX_ROUTES)
			return -EINVAL;
		buf = memdup_user(u64_to_user_ptr(arg->route), arg->route_len);
		if (IS_ERR(buf))
			return PTR_ERR(buf);
		req->route = buf;
		req->attr.route = buf;
		req->attr.route_count =
			arg->route_len / sizeof(*req->attr.route);
	}
	if (arg->names_len) {
		buf = ucmx_names_get(arg->names, arg->names_len);
		if (IS_ERR(buf))
			return PTR_ERR(buf);
		req->names = buf;
		req->caller.names = buf;
		req->caller.names_len = arg->names_len;
	}
	return 0;
}

/* The caller frees @req with ucmx_request_put(), also after an error. */
static int ucmx_request_get(struct ucmx_request *req,
			    const struct rdma_cmx_ai_query *arg,
			    bool names_later)
{
	u32 known = RDMA_CMX_AIQ_PORT;
	int src, dst, ret;

	memset(&req->attr, 0, sizeof(req->attr));
	memset(&req->caller, 0, sizeof(req->caller));
	req->node_buf = req->node;
	req->names = NULL;
	req->route = NULL;

	if (names_later)
		known |= RDMA_CMX_AIQ_NAMES_LATER;
	if (arg->flags & ~known)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	if (!(arg->flags & RDMA_CMX_AIQ_PORT) && arg->port)
		return -EINVAL;
	src = ucmx_addr_get(&req->src, &arg->src);
	dst = ucmx_addr_get(&req->dst, &arg->dst);
	if (src < 0 || dst < 0)
		return -EINVAL;

	ret = ucmx_request_texts(req, arg);
	if (!ret)
		ret = ucmx_request_arrays(req, arg);
	if (ret)
		return ret;

	req->caller.uid = cmx_current_user();
	req->attr.net = current->nsproxy->net_ns;
	req->attr.port = ntohs(arg->port);
	req->attr.has_port = arg->flags & RDMA_CMX_AIQ_PORT;
	req->attr.flags = arg->ai_flags;
	req->attr.family = arg->family;
	req->attr.qp_type = arg->qp_type;
	req->attr.port_space = arg->port_space;
	req->attr.src = src ? &req->src : NULL;
	req->attr.dst = dst ? &req->dst : NULL;
	req->caller.names_later = arg->flags & RDMA_CMX_AIQ_NAMES_LATER;
	req->caller.no_names = arg->node_len && !ucmx_names_initial();
	req->attr.timeout_ms = arg->timeout_ms;
	return 0;
}

static int ucmx_request_charge(struct ucmx_file *file)
{
	if (atomic_inc_return(&file->nr_requests) <=
	    READ_ONCE(ucmx_max_requests))
		return 0;
	atomic_dec(&file->nr_requests);
	return -EAGAIN;
}

/* The record of an event was handed out; the file's lock is held. */
void ucmx_query_read(struct ucmx_event *ev)
{
	container_of(ev, struct ucmx_query, ev)->read = true;
}

/* Move the request's share of the limit, the id's lock is held. */
void ucmx_query_move(struct ucmx_id *id, struct ucmx_file *from,
		     struct ucmx_file *to)
{
	if (!id->query)
		return;
	if (id->query->charged) {
		atomic_dec(&from->user->requests);
		atomic_inc(&to->user->requests);
	}
	if (id->query->done)
		return;
	atomic_dec(&from->nr_requests);
	atomic_inc(&to->nr_requests);
}

/* The id's lock is held, or nobody else knows @uq. */
static void ucmx_query_uncharge(struct ucmx_query *uq)
{
	if (uq->charged)
		atomic_dec(&uq->ev.id->file->user->requests);
	uq->charged = false;
}

static void ucmx_query_finish(struct ucmx_query *uq,
			      struct rdma_cmx_result *result)
{
	struct ucmx_id *id = uq->ev.id;

	spin_lock(&id->lock);
	uq->done = true;
	if (IS_ERR(result)) {
		uq->ev.event = RDMA_CMX_EV_ADDRINFO_ERROR;
		uq->ev.status = PTR_ERR(result);
		ucmx_query_uncharge(uq);
	} else {
		uq->ev.event = RDMA_CMX_EV_ADDRINFO_RESOLVED;
		uq->result = result;
	}
	atomic_dec(&id->file->nr_requests);
	ucmx_event_post_locked(&uq->ev);
	spin_unlock(&id->lock);
}

static void ucmx_query_done(struct rdma_cmx_query *query,
			    struct rdma_cmx_result *result, void *context)
{
	ucmx_query_finish(context, result);
}

/* True if it has not finished, and will not. */
static bool ucmx_query_cancel(struct ucmx_query *uq)
{
	return uq->query && rdma_cmx_query_cancel(uq->query);
}

/*
 * Its callback has run or was cancelled, its event is in no queue. The id has
 * its file still, and its mutex is held or the id is dead.
 */
static void ucmx_query_free(struct ucmx_query *uq)
{
	ucmx_query_uncharge(uq);
	if (uq->query)
		rdma_cmx_query_put(uq->query);
	rdma_cmx_result_put(uq->result);
	kfree(uq);
	ucmx_stat_dec(UCMX_LIVE_QUERIES);
}

/**
 * ucmx_query_end - end the resolution of a dead id
 * @id: the id
 *
 * Its event goes with the others when the queue is purged, so the object has
 * to live until then: the caller frees it with ucmx_query_drop().
 */
void ucmx_query_end(struct ucmx_id *id)
{
	struct ucmx_query *uq = id->query;

	if (!uq || !ucmx_query_cancel(uq))
		return;
	spin_lock(&id->lock);
	if (!uq->done)
		atomic_dec(&id->file->nr_requests);
	uq->done = true;
	ucmx_query_uncharge(uq);
	spin_unlock(&id->lock);
}

void ucmx_query_drop(struct ucmx_id *id)
{
	if (id->query)
		ucmx_query_free(id->query);
	id->query = NULL;
}

/**
 * ucmx_query_device_gone - fail a resolution that uses the id's port
 * @id: the id, its mutex held
 */
void ucmx_query_device_gone(struct ucmx_id *id)
{
	struct ucmx_query *uq = id->query;

	if (!uq || !uq->by_device)
		return;
	if (ucmx_query_cancel(uq) && !uq->done)
		ucmx_query_finish(uq, ERR_PTR(-ENODEV));
}

static struct ucmx_query *ucmx_query_alloc(struct ucmx_id *id)
{
	struct ucmx_query *uq;

	uq = kzalloc(sizeof(*uq), GFP_KERNEL_ACCOUNT);
	if (!uq)
		return NULL;
	ucmx_event_init(&uq->ev, id, RDMA_CMX_EV_ADDRINFO_ERROR);
	uq->ev.embedded = true;
	ucmx_stat_inc(UCMX_LIVE_QUERIES);
	return uq;
}

static bool ucmx_query_outstanding(struct ucmx_id *id)
{
	bool ret;

	spin_lock(&id->file->lock);
	ret = id->query && !id->query->read;
	spin_unlock(&id->file->lock);
	return ret;
}

/* One whose event was read, or NULL; its callback may be on its way out. */
static void ucmx_query_retire(struct ucmx_query *uq)
{
	if (!uq)
		return;
	ucmx_query_cancel(uq);
	ucmx_query_free(uq);
}

static int ucmx_query_start(struct ucmx_id *id, struct ucmx_request *req)
{
	struct rdma_cmx_result *known;
	struct ucmx_query *uq, *old;
	bool inherit;
	int ret;

	if (ucmx_query_outstanding(id))
		return -EBUSY;
	ret = ucmx_event_check(id) ?: ucmx_request_charge(id->file);
	if (ret)
		return ret;
	ret = -ENOMEM;
	uq = ucmx_query_alloc(id);
	if (!uq)
		goto err_charge;
	/* It takes over the charge of the one that it replaces. */
	inherit = id->query && id->query->charged;
	if (!inherit) {
		ret = ucmx_user_charge(id->file->user);
		if (ret)
			goto err_free;
		uq->charged = true;
	}
	req->attr.net = id->cm->route.addr.dev_addr.net;
	/* The kernel looks up names only for requests of the host. */
	if (!net_eq(req->attr.net, &init_net))
		req->caller.no_names = true;
	if (req->attr.flags & RDMA_CMX_AI_SA) {
		req->attr.id = id->cm;
		uq->by_device = true;
	}
	/* The last one stays until this one has started. */
	spin_lock(&id->lock);
	old = id->query;
	id->query = uq;
	if (inherit) {
		old->charged = false;
		uq->charged = true;
	}
	spin_unlock(&id->lock);

	ret = rdma_cmx_query_start_for(&req->attr, &req->caller,
				       ucmx_query_done, uq, &known,
				       &uq->query);
	if (!ret) {
		if (known)
			ucmx_query_finish(uq, known);
		ucmx_stat_inc(UCMX_REQUESTS);
		ucmx_query_retire(old);
		return 0;
	}
	uq->query = NULL;
	spin_lock(&id->lock);
	id->query = old;
	if (inherit) {
		uq->charged = false;
		old->charged = true;
	}
	spin_unlock(&id->lock);
err_free:
	ucmx_query_free(uq);
err_charge:
	atomic_dec(&id->file->nr_requests);
	return ret;
}

int ucmx_resolve_addrinfo(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_resolve_addrinfo *arg = cmd->buf;
	struct ucmx_request req CMX_UNINIT;
	struct ucmx_id *id;
	int ret;

	ret = ucmx_request_get(&req, &arg->query, true);
	if (ret)
		goto put;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto put;
	}
	ret = ucmx_query_start(id, &req);
	ucmx_id_unlock(id);
put:
	ucmx_request_put(&req);
	return ret;
}

int ucmx_give_names(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_give_names *arg = cmd->buf;
	struct ucmx_id *id;
	void *names = NULL;
	int ret = -ESRCH;

	if (arg->error > MAX_ERRNO)
		return -EINVAL;
	if (arg->error ? arg->names_len || arg->names : !arg->names_len)
		return -EINVAL;
	if (!arg->error) {
		names = ucmx_names_get(arg->names, arg->names_len);
		if (IS_ERR(names))
			return PTR_ERR(names);
	}
	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto free;
	}
	if (id->query && id->query->query)
		ret = rdma_cmx_query_give_names(id->query->query, arg->error,
						names, arg->names_len);
	ucmx_id_unlock(id);
free:
	kfree(names);
	return ret;
}

static size_t ucmx_entry_len(const struct rdma_cmx_entry *e, size_t canon)
{
	return sizeof(struct rdma_cmx_ai_entry) +
	       e->route_count * sizeof(*e->route) +
	       ALIGN(e->connect_len, 8) + ALIGN(canon, 8);
}

static int ucmx_copy_padded(void __user **buf, const void *src, size_t len)
{
	static const u8 zeros[8];

	if (!len)
		return 0;
	if (copy_to_user(*buf, src, len) ||
	    (len & 7 && copy_to_user(*buf + len, zeros, -len & 7)))
		return -EFAULT;
	*buf += ALIGN(len, 8);
	return 0;
}

static int ucmx_entry_put(void __user **buf, const struct rdma_cmx_entry *e,
			  const char *canonname, size_t canon)
{
	struct {
		struct rdma_cmx_ai_entry entry;
		char canon[64];
	} out CMX_UNINIT;
	size_t len = sizeof(out.entry);

	/* All of it is set one by one: there may be no padding in between. */
	BUILD_BUG_ON(sizeof(out.entry) % 8 || sizeof(*e->route) % 8 ||
		     offsetof(typeof(out), canon) != sizeof(out.entry) ||
		     sizeof(out.entry) != 40 + 2 * sizeof(out.entry.src));
	out.entry.len = ucmx_entry_len(e, canon);
	out.entry.ai_flags = e->flags;
	out.entry.qp_type = e->qp_type;
	out.entry.port_space = e->port_space;
	out.entry.family = e->family;
	out.entry.canon_len = canon;
	out.entry.route_len = e->route_count * sizeof(*e->route);
	out.entry.connect_len = e->connect_len;
	out.entry.ibdev_index = e->ibdev_index;
	out.entry.port_num = e->port_num;
	out.entry.header_len = sizeof(out.entry);
	ucmx_addr_put(&out.entry.src, &e->src.sa);
	ucmx_addr_put(&out.entry.dst, &e->dst.sa);
	/* Nothing between, and a name of common length: one copy does it. */
	if (!e->route_count && !e->connect_len && canon <= sizeof(out.canon)) {
		memcpy(out.canon, canonname, canon);
		memset(out.canon + canon, 0, -canon & 7);
		len += ALIGN(canon, 8);
		canon = 0;
	}
	return ucmx_copy_padded(buf, &out, len) ?:
	       ucmx_copy_padded(buf, e->route, out.entry.route_len) ?:
	       ucmx_copy_padded(buf, e->connect, e->connect_len) ?:
	       ucmx_copy_padded(buf, canonname, canon);
}

/* @len is the required size also if the result does not fit. */
static int ucmx_result_put(void __user *buf, u32 buf_len, u32 *len,
			   const struct rdma_cmx_result *res)
{
	const struct rdma_cmx_entry *e;
	size_t canon = 0, need = 0;
	u32 i;
	int ret;

	if (res->canonname)
		canon = min_t(size_t, strlen(res->canonname), U16_MAX);
	rdma_cmx_for_each_entry(e, i, res)
		need += ucmx_entry_len(e, i ? 0 : canon);
	*len = need;
	if (need > buf_len)
		return -ENOSPC;
	rdma_cmx_for_each_entry(e, i, res) {
		ret = ucmx_entry_put(&buf, e, res->canonname, i ? 0 : canon);
		if (ret)
			return ret;
	}
	return 0;
}

/* The result of an id with a reference, or NULL; the id's mutex is held. */
static struct rdma_cmx_result *ucmx_result_get(struct ucmx_id *id)
{
	struct rdma_cmx_result *res = NULL;

	spin_lock(&id->lock);
	if (id->query)
		res = id->query->result;
	if (res)
		kref_get(&res->ref);
	spin_unlock(&id->lock);
	return res;
}

/*
 * Take @res away from its id. The caller's reference keeps the address of @res
 * from being that of a later result. Return: false if another caller was first.
 */
static bool ucmx_result_take(struct ucmx_id *id, struct rdma_cmx_result *res)
{
	bool taken = false;

	spin_lock(&id->lock);
	if (id->query && id->query->result == res) {
		id->query->result = NULL;
		ucmx_query_uncharge(id->query);
		taken = true;
	}
	spin_unlock(&id->lock);
	if (taken)
		rdma_cmx_result_put(res);
	return taken;
}

int ucmx_query_addrinfo(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_query_addrinfo *arg = cmd->buf;
	struct rdma_cmx_result *res;
	struct ucmx_id *id;
	int ret = -ENOENT;

	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	res = ucmx_result_get(id);
	mutex_unlock(&id->mutex);
	if (!res)
		goto put;
	ret = ucmx_result_put(u64_to_user_ptr(arg->buf), arg->buf_len,
			      &arg->len, res);
	if ((!ret || ret == -ENOSPC) && ucmx_respond(cmd))
		ret = -EFAULT;
	/* Of several callers that have a copy now, one has the result. */
	if (!ret)
		ret = ucmx_id_relock(id, cmd->file);
	if (!ret) {
		if (!ucmx_result_take(id, res))
			ret = -ENOENT;
		mutex_unlock(&id->mutex);
	}
	rdma_cmx_result_put(res);
put:
	ucmx_id_put(id);
	return ret;
}

int ucmx_getaddrinfo(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_getaddrinfo __user *uarg = cmd->ubuf;
	struct rdma_cmx_getaddrinfo *arg = cmd->buf;
	struct rdma_cmx_result *res;
	struct ucmx_request req CMX_UNINIT;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	ret = ucmx_request_charge(cmd->file);
	if (ret)
		return ret;
	ret = ucmx_request_get(&req, &arg->query, false);
	if (ret)
		goto put;
	ucmx_stat_inc(UCMX_REQUESTS);
	res = rdma_cmx_resolve_for(&req.attr, &req.caller);
	if (IS_ERR(res)) {
		ret = PTR_ERR(res);
		if (ret == -ERESTARTSYS)
			ret = -EINTR;
		goto put;
	}
	ret = ucmx_result_put(u64_to_user_ptr(arg->buf), arg->buf_len,
			      &arg->len, res);
	rdma_cmx_result_put(res);
	/* Of the struct only this changes: the rest need not be copied back. */
	if ((!ret || ret == -ENOSPC) && put_user(arg->len, &uarg->len))
		ret = -EFAULT;
put:
	ucmx_request_put(&req);
	atomic_dec(&cmd->file->nr_requests);
	return ret;
}
