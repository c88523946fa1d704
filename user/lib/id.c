// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Life of an id: create, destroy, move to another channel, options.
 *
 * Before an id is freed, each event of it that the kernel reported must have
 * been acked: the kernel returns their number, the id counts acks under its
 * lock. The kernel counts the events for the process that created the id. A
 * child with a copy counts separately, and does not destroy the id in the
 * kernel while its parent exists.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

struct cmx_id *cmx_id_alloc(struct rdma_event_channel *channel, void *context,
			    enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct cmx_id *id = calloc(1, sizeof(*id));
	uint8_t *place;

	if (!id)
		return NULL;
	id->number = cmx_cookie_number();
	id->process = cmx_process_get();
	id->user = id->process;
	id->locker = id->process;
	if (!id->process)
		goto err_free;
	/* It becomes an id once it is complete. */
	place = cmx_own_reserve(id);
	if (!place)
		goto err_process;
	if (!channel) {
		channel = cmx_channel_open(true);
		if (!channel)
			goto err_process;
		id->sync = true;
	} else {
		cmx_channel_get(channel);
	}
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	cmx_mem_atomic(&id->locker, sizeof(id->locker));
	cmx_mem_atomic(&id->names, sizeof(id->names));
	cmx_mem_atomic(&id->id.event, sizeof(id->id.event));
	cmx_own_set(place, CMX_ID);
	return id;

err_process:
	cmx_process_put(id->process);
err_free:
	free(id);
	return NULL;
}

/* Of an id that is not known any more */
void cmx_id_free(struct cmx_id *id)
{
	cmx_named_free(id);
	cmx_mc_free_all(id);
	if (id->dev)
		cmx_device_put(id->dev);
	if (id->sync)
		cmx_channel_close(id->id.channel);
	else
		cmx_channel_put(id->id.channel);
	cmx_names_free(id);
	/* In a copy, a thread that exists only in the parent may hold it. */
	if (!cmx_id_inherited(id))
		pthread_mutex_destroy(&id->lock);
	free(id->id.route.path_rec);
	free(id->ep);
	cmx_process_put(id->process);
	free(id);
}

/*
 * Frees an id, or the last ack does: of an id that no longer owns its part in
 * the kernel, as its channel was closed before, or fork() copied it, or that has
 * none, as its creation failed. The kernel returns no number of events to wait
 * for then. A reader may count an event for any id before it finds that the
 * event is of another process's.
 */
static void orphan_destroy(struct cmx_id *id)
{
	bool acked, locked;

	cmx_event_drop_last(id);
	/* A thread with an event of another process's id here drops it. */
	locked = cmx_copies_lock();
	cmx_own_del(id, CMX_ID);
	cmx_id_lock(id);
	acked = id->events_completed ==
		__atomic_load_n(&id->events_taken, __ATOMIC_RELAXED);
	id->orphan = !acked;
	pthread_mutex_unlock(&id->lock);
	cmx_copies_unlock(locked);
	if (acked)
		cmx_id_free(id);
}

/*
 * The kernel accepts no type other than that of its connections. Programs use
 * others for them: rdma_create_ep() with XRC is one.
 */
static enum ibv_qp_type kernel_qp_type(enum rdma_port_space ps,
				       enum ibv_qp_type qp_type)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return IBV_QPT_RC;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IBV_QPT_UD;
	default:
		return qp_type;
	}
}

int cmx_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **res,
		  void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type)
{
	struct rdma_cmx_id_create cmd = {
		.size = sizeof(cmd),
		.port_space = ps,
		.qp_type = kernel_qp_type(ps, qp_type),
	};
	struct cmx_id *id;
	int err;

	id = cmx_id_alloc(channel, context, ps, qp_type);
	if (!id)
		return -1;
	cmd.uid = cmx_id_cookie(id);
	cmd.owner = cmx_id_owner(id);
	if (cmx_id_ioctl(id, ID_CREATE, &cmd)) {
		err = errno;
		orphan_destroy(id);
		return cmx_err(err);
	}
	id->handle = cmd.id;
	id->known = true;
	*res = &id->id;
	return 0;
}

static void acks_wait(struct cmx_id *id, uint32_t events_reported)
{
	/* No other thread has an event of it. */
	if (!events_reported)
		return;
	cmx_id_lock(id);
	while ((int32_t)(id->events_completed - events_reported) < 0)
		cmx_id_wait(id);
	pthread_mutex_unlock(&id->lock);
}

/* A kernel that does not know @cmd->uid does not compare it. */
int cmx_destroy_ioctl(struct cmx_id *id, unsigned long request,
		      struct rdma_cmx_destroy *cmd)
{
	int ret;

	cmx_mem_give(id);
	ret = ioctl(id->id.channel->fd, request, cmd);
	if (ret && errno == E2BIG) {
		cmd->size = offsetof(struct rdma_cmx_destroy, uid);
		ret = ioctl(id->id.channel->fd, request, cmd);
	}
	return ret;
}

/*
 * The id is about to be destroyed (or is not, after all): its handle may be
 * another id's then, and a command for an event would be that id's.
 */
void cmx_id_end(struct cmx_id *id, bool end)
{
	cmx_id_enter_locked(id);
	id->ended = end;
	pthread_mutex_unlock(&id->lock);
}

/*
 * Destroys an inherited id in the kernel if the process that created it is gone.
 * False: it is not, or another of its children was first. Or it is a connection
 * request that nobody has accepted: the kernel has no cookie of it, and cannot
 * distinguish it from a later id with its handle. The last close destroys it.
 */
bool cmx_id_destroy_inherited(struct cmx_id *id)
{
	struct rdma_cmx_destroy cmd = {
		.size = sizeof(cmd),
		.handle = id->handle,
		.owner = cmx_id_owner(id),
		.uid = cmx_id_cookie(id),
	};

	return !cmx_id_cared_for(id) &&
	       !cmx_destroy_ioctl(id, RDMA_CMX_IO(ID_DESTROY), &cmd);
}

int cmx_id_destroy(struct cmx_id *id)
{
	struct rdma_cmx_destroy cmd = {
		.size = sizeof(cmd),
		.handle = id->handle,
		.owner = cmx_id_owner(id),
	};
	int err;

	cmx_id_end_calls(id);
	cmx_id_end(id, true);
	if (id->id.channel->fd < 0 || cmx_id_inherited(id)) {
		if (id->id.channel->fd >= 0)
			cmx_id_destroy_inherited(id);
		orphan_destroy(id);
		return 0;
	}
	if (cmx_id_ioctl(id, ID_DESTROY, &cmd)) {
		err = errno;
		cmx_id_end(id, false);
		return cmx_err(err);
	}
	cmx_event_drop_last(id);
	acks_wait(id, cmd.events_reported);
	orphan_destroy(id);
	return 0;
}

/*
 * Moves to @channel, or to a private channel of the id. Handles and channel
 * change under the lock of names.c, whose threads use both, and under the id's,
 * which readers of both channels take to find the id of their event.
 */
int cmx_id_migrate(struct cmx_id *id, struct rdma_event_channel *channel)
{
	struct rdma_cmx_id_migrate cmd = {
		.size = sizeof(cmd),
		.owner = cmx_id_owner(id),
	};
	struct rdma_event_channel *old;
	bool was_sync, sync = !channel;
	int err;

	if (sync) {
		channel = cmx_channel_open(true);
		if (!channel)
			return -1;
	}

	cmx_id_enter(id);
	cmx_names_jobs_lock();
	cmx_id_lock(id);
	old = id->id.channel;
	was_sync = id->sync;
	cmd.id = id->handle;
	cmd.src_fd = old->fd;
	if (was_sync && sync)
		err = EINVAL;
	else
		err = ioctl(channel->fd, RDMA_CMX_IO(ID_MIGRATE), &cmd) ? errno : 0;
	if (err) {
		pthread_mutex_unlock(&id->lock);
		cmx_names_jobs_unlock();
		cmx_id_leave(id);
		if (sync)
			cmx_channel_close(channel);
		return cmx_err(err);
	}
	if (!sync)
		cmx_channel_get(channel);
	id->old_handle = id->handle;
	id->old_channel = old;
	id->handle = cmd.new_id;
	id->id.channel = channel;
	id->sync = sync;
	if (channel != old)
		id->moves++;
	id->moved_completed = 0;
	pthread_mutex_unlock(&id->lock);
	cmx_names_jobs_unlock();
	cmx_id_leave(id);

	if (was_sync) {
		cmx_addr_change_write(id);
		cmx_event_drop_last(id);
		cmx_channel_close(old);
	} else {
		cmx_channel_put(old);
	}
	/* Acks of events from the new channel do not count for the old one. */
	cmx_id_lock(id);
	while (!cmx_id_inherited(id) &&
	       (int32_t)(id->events_completed - cmd.events_reported -
			 (channel == old ? 0 : id->moved_completed)) < 0)
		cmx_id_wait(id);
	id->old_channel = NULL;
	pthread_mutex_unlock(&id->lock);
	return 0;
}

/* The stock library creates one for its calls. */
static int stock_create(struct rdma_event_channel *channel,
			struct rdma_cm_id **id, void *context,
			enum rdma_port_space ps)
{
	if (CMX_STOCK(rdma_create_id, channel, id, context, ps))
		return -1;
	cmx_own_add(*id, CMX_STOCK_ID);
	return 0;
}

CMX_EXPORT int rdma_create_id(struct rdma_event_channel *channel,
			      struct rdma_cm_id **id, void *context,
			      enum rdma_port_space ps)
{
	bool datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;

	if (cmx_called_by_stock(true))
		return stock_create(channel, id, context, ps);
	if (!id || (channel && !cmx_channel_ours(channel)))
		return cmx_err(EINVAL);
	if (!cmx_id_create(channel, id, context, ps,
			   datagram ? IBV_QPT_UD : IBV_QPT_RC))
		return 0;
	return !channel && cmx_stock_instead() ?
	       stock_create(channel, id, context, ps) : -1;
}

CMX_EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	if (unlikely(!cmx_id_ours(id))) {
		if (!cmx_stocks(id))
			return cmx_err(EINVAL);
		cmx_own_del(id, CMX_STOCK_ID);
		return CMX_STOCK(rdma_destroy_id, id);
	}
	return cmx_id_destroy(cmx_id(id));
}

CMX_EXPORT int rdma_migrate_id(struct rdma_cm_id *id,
			       struct rdma_event_channel *channel)
{
	CMX_ID_OR_STOCK(id, rdma_migrate_id, id, channel);
	if (channel && !cmx_channel_ours(channel))
		return cmx_err(EINVAL);
	return cmx_id_migrate(cmx_id(id), channel);
}

CMX_EXPORT int rdma_set_option(struct rdma_cm_id *id, int level, int optname,
			       void *optval, size_t optlen)
{
	struct rdma_cmx_id_set_option cmd = {
		.size = sizeof(cmd),
		.level = level,
		.optname = optname,
		.optval = (uintptr_t)optval,
		.optlen = optlen,
	};

	CMX_ID_OR_STOCK(id, rdma_set_option, id, level, optname, optval,
			optlen);
	if (optlen > UINT32_MAX)
		return cmx_err(EINVAL);
	cmd.id = cmx_id(id)->handle;
	if (!cmx_id_ioctl(cmx_id(id), ID_SET_OPTION, &cmd))
		return 0;
	/* The errno of the API for an unknown option */
	return cmx_err(errno == EOPNOTSUPP ? ENOSYS : errno);
}

CMX_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id,
				   enum rdma_cm_event_type event, int status,
				   uint64_t arg)
{
	struct rdma_cmx_write_event cmd = {
		.size = sizeof(cmd),
		.event = RDMA_CMX_EV_USER,
		.status = status,
		.arg = arg,
	};

	CMX_ID_OR_STOCK(id, rdma_write_cm_event, id, event, status, arg);
	if (event != RDMA_CM_EVENT_USER)
		return cmx_err(EINVAL);
	cmd.id = cmx_id(id)->handle;
	return cmx_id_ioctl(cmx_id(id), WRITE_EVENT, &cmd);
}

static int ece_usable(struct rdma_cm_id *id, const struct ibv_ece *ece)
{
	if (id->qp || !ece)
		return cmx_err(EINVAL);
	return 0;
}

CMX_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	CMX_ID_OR_STOCK(id, rdma_set_local_ece, id, ece);
	if (ece_usable(id, ece))
		return -1;
	if (!ece->vendor_id || ece->comp_mask)
		return cmx_err(EINVAL);
	cmx_id(id)->local_ece.vendor_id = ece->vendor_id;
	cmx_id(id)->local_ece.options = ece->options;
	return 0;
}

CMX_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	CMX_ID_OR_STOCK(id, rdma_get_remote_ece, id, ece);
	if (ece_usable(id, ece))
		return -1;
	*ece = (struct ibv_ece){
		.vendor_id = cmx_id(id)->remote_ece.vendor_id,
		.options = cmx_id(id)->remote_ece.options,
	};
	return 0;
}
