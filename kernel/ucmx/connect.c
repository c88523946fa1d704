// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CONNECT, and connects that wait for a slot (slot.h).
 *
 * A connect that finds a slot calls rdma_cm in the caller's context and keeps
 * only the slot. A connect that waits keeps a copy of its parameters, charged
 * to the caller. Its work item calls rdma_cm when it has a slot. Until then the
 * id behaves as with an outstanding REQ. Failures after CONNECT has returned
 * are reported by an event: CONNECT_ERROR, or UNREACHABLE if no slot was free
 * in time. After its deadline (winner.c) a request is not sent.
 *
 * id->connect, guarded by the id's mutex, points to the connect that waits. The
 * code that clears it ends the connect: its work item, DISCONNECT, the end of
 * the id or of its device. A work item that finds another value there does
 * nothing.
 *
 * A work item does not sleep for the mutex. Commands hold the mutex while they
 * wait for memory of the user's cgroup, and would delay the work items of all
 * users. The work item retries later.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>

#include "ucmx.h"
#include "user.h"

/* Length of rdma_cm's header before private data to an IP address */
#define UCMX_CMA_HEADER		36

/**
 * struct ucmx_connect - a connect that waits
 * @work: sends the request
 * @wait: jiffies until the next attempt to lock the id
 * @id: the id, with a reference
 * @error: 0, or the reason why there is no slot
 * @param: of the caller
 * @ece: of the caller
 * @data: private data of @param
 */
struct ucmx_connect {
	struct delayed_work work;
	unsigned int wait;
	struct ucmx_id *id;
	int error;
	struct rdma_conn_param param;
	struct rdma_ucm_ece ece;
	u8 data[];
};

/* Maximum jiffies between two attempts to lock an id */
#define UCMX_CONNECT_WAIT	(HZ / 4)

/* Separate, because its work items take rdma_cm's locks */
static struct workqueue_struct *ucmx_connect_wq;
/* Number of connects in memory */
static atomic_t ucmx_connects;

/* Only the first CONNECT of an id can succeed. */
static int ucmx_connect_send(struct ucmx_id *id, struct rdma_conn_param *param,
			     struct rdma_ucm_ece *ece)
{
	bool first = !READ_ONCE(id->cm_outstanding);
	int ret;

	/* The reply may arrive before the call returns. */
	if (first)
		WRITE_ONCE(id->cm_outstanding, true);
	if (!id->cm_used)
		ucmx_any_sent(id);
	ret = rdma_connect_ece(id->cm, param, ece);
	if (!ret)
		id->cm_used = true;
	else if (first)
		WRITE_ONCE(id->cm_outstanding, false);
	return ret;
}

/*
 * True if rdma_cm would accept the request. Otherwise rdma_cm reports the error
 * without a wait. Only lack of memory and an invalid path are reported later,
 * by an event.
 */
static bool ucmx_connect_may_wait(struct ucmx_id *id,
				  const struct rdma_conn_param *param)
{
	struct rdma_cm_id *cm = id->cm;
	unsigned int room, paths;

	rdma_lock_handler(cm);
	paths = ucmx_paths_fill(cm, NULL);
	rdma_unlock_handler(cm);
	room = cm->qp_type == IB_QPT_UD ? IB_CM_SIDR_REQ_PRIVATE_DATA_SIZE :
					  IB_CM_REQ_PRIVATE_DATA_SIZE;
	if (cm->route.addr.src_addr.ss_family != AF_IB)
		room -= UCMX_CMA_HEADER;
	return paths && param->private_data_len <= room;
}

static void ucmx_connect_granted(void *context, int error)
{
	struct ucmx_connect *c = context;

	c->error = error;
	queue_delayed_work(ucmx_connect_wq, &c->work, 0);
}

static void ucmx_connect_free(struct ucmx_connect *c)
{
	ucmx_id_put(c->id);
	kfree(c);
	if (atomic_dec_and_test(&ucmx_connects))
		wake_up_var(&ucmx_connects);
}

static void ucmx_connect_now(struct ucmx_connect *c)
{
	struct ucmx_id *id = c->id;
	int ret;

	id->connect = NULL;
	WRITE_ONCE(id->cm_outstanding, false);
	ucmx_any_waited(id);
	/* No event follows DEVICE_REMOVAL, or the end of a deadline. */
	if (READ_ONCE(id->gone) || ucmx_any_expired(id)) {
		rdma_cmx_slot_put(&id->slot);
		return;
	}
	if (c->error) {
		ucmx_connect_failed(id, RDMA_CM_EVENT_UNREACHABLE, c->error);
		return;
	}
	ret = ucmx_connect_send(id, &c->param, &c->ece);
	if (!ret)
		return;
	rdma_cmx_slot_put(&id->slot);
	ucmx_connect_failed(id, RDMA_CM_EVENT_CONNECT_ERROR, ret);
}

static void ucmx_connect_work(struct work_struct *work)
{
	struct ucmx_connect *c = container_of(to_delayed_work(work),
					      struct ucmx_connect, work);
	struct ucmx_id *id = c->id;

	if (!mutex_trylock(&id->mutex)) {
		c->wait = clamp(2 * c->wait, 1U, UCMX_CONNECT_WAIT + 0U);
		queue_delayed_work(ucmx_connect_wq, &c->work, c->wait);
		return;
	}
	if (id->connect == c)
		ucmx_connect_now(c);
	mutex_unlock(&id->mutex);
	ucmx_connect_free(c);
}

static int ucmx_connect_wait(struct ucmx_id *id,
			     const struct rdma_conn_param *param,
			     const struct rdma_ucm_ece *ece)
{
	struct ucmx_connect *c;
	int ret;

	c = kzalloc(struct_size(c, data, param->private_data_len),
		    GFP_KERNEL_ACCOUNT);
	if (!c)
		return -ENOMEM;
	atomic_inc(&ucmx_connects);
	INIT_DELAYED_WORK(&c->work, ucmx_connect_work);
	c->param = *param;
	c->ece = *ece;
	memcpy(c->data, param->private_data, param->private_data_len);
	c->param.private_data = c->data;
	ucmx_id_get(id);
	c->id = id;
	id->connect = c;
	WRITE_ONCE(id->cm_outstanding, true);
	ret = rdma_cmx_slot_wait(&id->slot, id->cm, cmx_current_user(),
				 ucmx_connect_granted, c);
	if (ret > 0) {
		ucmx_any_waits(id);
		return 0;
	}
	id->connect = NULL;
	WRITE_ONCE(id->cm_outstanding, false);
	if (!ret) {
		ret = ucmx_connect_send(id, &c->param, &c->ece);
		if (ret)
			rdma_cmx_slot_put(&id->slot);
	}
	ucmx_connect_free(c);
	return ret;
}

/**
 * ucmx_connect_start - send a connection request, now or when it has a slot
 * @id: the id, its mutex held, its events reserved
 * @param: parameters
 * @ece: ECE parameters of the caller
 *
 * Context: process context, may sleep.
 * Return: 0, an error of rdma_connect(), or -EAGAIN if too many connects wait.
 */
int ucmx_connect_start(struct ucmx_id *id, struct rdma_conn_param *param,
		       struct rdma_ucm_ece *ece)
{
	int ret;

	/* rdma_cm returns the same after a REQ. */
	if (id->connect)
		return -EINVAL;
	/*
	 * rdma_cm rejects a second request. The slot belongs to the first one.
	 */
	if (id->cm_used)
		return ucmx_connect_send(id, param, ece);
	if (rdma_cmx_slot_get(&id->slot, id->cm) &&
	    ucmx_connect_may_wait(id, param))
		return ucmx_connect_wait(id, param, ece);
	ret = ucmx_connect_send(id, param, ece);
	if (ret)
		rdma_cmx_slot_put(&id->slot);
	return ret;
}

/* Ends a connect that waits. Returns false if there is none. Mutex held. */
static bool ucmx_connect_drop(struct ucmx_id *id)
{
	struct ucmx_connect *c = id->connect;

	if (!c)
		return false;
	id->connect = NULL;
	WRITE_ONCE(id->cm_outstanding, false);
	ucmx_any_waited(id);
	if (rdma_cmx_slot_cancel(&id->slot))
		ucmx_connect_free(c);
	return true;
}

/**
 * ucmx_connect_stop - end a connect that waits, for DISCONNECT
 * @id: the id, its mutex held
 *
 * CONNECT_ERROR reports the end.
 *
 * Return: false if no connect waits.
 */
bool ucmx_connect_stop(struct ucmx_id *id)
{
	if (!ucmx_connect_drop(id))
		return false;
	rdma_cmx_slot_put(&id->slot);
	ucmx_connect_failed(id, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNABORTED);
	return true;
}

/**
 * ucmx_connect_end - end a connect, and give its slot back
 * @id: the id, its mutex held, about to lose its cm id
 */
void ucmx_connect_end(struct ucmx_id *id)
{
	ucmx_connect_drop(id);
	rdma_cmx_slot_put(&id->slot);
}

int ucmx_connect_init(void)
{
	ucmx_connect_wq = alloc_workqueue("rdma_ucmx_connect", WQ_UNBOUND,
					  WQ_MAX_ACTIVE);
	return ucmx_connect_wq ? 0 : -ENOMEM;
}

void ucmx_connect_exit(void)
{
	/* Ended connects may retry to lock their id. */
	wait_var_event(&ucmx_connects, !atomic_read(&ucmx_connects));
	destroy_workqueue(ucmx_connect_wq);
}
