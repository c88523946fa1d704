// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connect by name, with connections that race. The kernel sends the requests,
 * and needs the number of a queue pair for each address before. So the library
 * creates them, in the state RESET. The winner's becomes the program's, and the
 * others are destroyed.
 *
 * An address has a struct cmx_id for the needs of a queue pair: its device, its
 * completion queues. Neither the kernel nor the program knows it.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

/* Most names have no more addresses. They need one system call. */
#define FEW	16

struct race_qp {
	struct cmx_id id;
	uint32_t candidate;
};

struct cmx_race_qps {
	struct rdma_cmx_conn_param param;	/* of all requests */
	int count;
	struct race_qp qps[RDMA_CMX_MAX_ANY_QPS];
};

static void qp_drop(struct race_qp *q, bool inherited)
{
	int err = errno;

	if (!inherited)
		cmx_qp_destroy(&q->id);
	cmx_device_put(q->id.dev);
	errno = err;
}

/* @inherited: another process owns the queue pairs, and destroys them. */
void cmx_race_qps_free(struct cmx_race_qps *race, bool inherited)
{
	int i;

	for (i = 0; race && i < race->count; i++)
		qp_drop(&race->qps[i], inherited);
	free(race);
}

/* Merges the parameters: reads that each device supports */
static void param_add(struct rdma_cmx_conn_param *to,
		      const struct rdma_cmx_conn_param *one, bool first)
{
	if (first) {
		*to = *one;
		to->qp_num = 0;
		to->srq = 0;
		return;
	}
	if (one->responder_resources < to->responder_resources)
		to->responder_resources = one->responder_resources;
	if (one->initiator_depth < to->initiator_depth)
		to->initiator_depth = one->initiator_depth;
}

/* Returns -1 with errno: the address does not race. */
static int qp_add(struct cmx_race_qps *race, struct cmx_id *id,
		  const struct rdma_cmx_candidate_info *info, uint32_t candidate,
		  const struct cmx_race_qps_attr *attr)
{
	struct race_qp *q = &race->qps[race->count];
	struct rdma_cmx_conn_param one;

	q->candidate = candidate;
	q->id.id.ps = id->id.ps;
	q->id.id.qp_type = id->id.qp_type;
	q->id.dev = cmx_device_get_index(info->ibdev_index);
	if (!q->id.dev)
		return -1;
	q->id.id.verbs = cmx_device_verbs(q->id.dev);
	q->id.id.pd = cmx_device_pd(q->id.dev);
	q->id.id.port_num = info->port_num;
	if (cmx_qp_make(&q->id, attr->pd, attr->init) ||
	    cmx_conn_param(&q->id, &one, attr->param)) {
		qp_drop(q, false);
		memset(q, 0, sizeof(*q));
		return -1;
	}
	param_add(&race->param, &one, !race->count);
	race->count++;
	return 0;
}

/* Up to @room candidates of the next RESOLVE_ANY. Returns how many it has. */
static int candidates_query(struct cmx_id *id,
			    struct rdma_cmx_candidate_info *infos, uint32_t room)
{
	struct rdma_cmx_query_candidates cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
		.candidates = (uintptr_t)infos,
		.max_candidates = room,
		.candidate_size = sizeof(*infos),
		.flags = RDMA_CMX_CANDIDATES_UNTRIED,
	};

	if (cmx_id_ioctl(id, QUERY_CANDIDATES, &cmd))
		return -1;
	if (room > cmd.num_candidates)
		room = cmd.num_candidates;
	cmx_mem_written(infos, room * sizeof(*infos));
	return cmd.num_candidates;
}

/*
 * All candidates of the next RESOLVE_ANY, or NULL with errno: @few if it has
 * room for them, and else memory to free
 */
static struct rdma_cmx_candidate_info *
candidates_get(struct cmx_id *id, struct rdma_cmx_candidate_info few[FEW],
	       int *count)
{
	struct rdma_cmx_candidate_info *infos;
	int room;

	*count = candidates_query(id, few, FEW);
	if (*count < 0)
		return NULL;
	if (*count <= FEW)
		return few;
	room = *count;
	infos = calloc(room, sizeof(*infos));
	if (!infos)
		return NULL;
	*count = candidates_query(id, infos, room);
	if (*count < 0) {
		free(infos);
		return NULL;
	}
	if (*count > room)
		*count = room;
	return infos;
}

/*
 * Returns 1 if the kernel would start none of the addresses, or more of them than
 * may have queue pairs: without a queue pair an address is never tried.
 */
static int qps_make(struct cmx_race_qps *race, struct cmx_id *id,
		    const struct cmx_race_qps_attr *attr)
{
	struct rdma_cmx_candidate_info few[FEW], *infos;
	int i, count, usable = 0, err = 0;

	infos = candidates_get(id, few, &count);
	if (!infos)
		return -1;
	for (i = 0; i < count; i++)
		usable += !infos[i].error;
	for (i = 0; i < count && usable <= RDMA_CMX_MAX_ANY_QPS; i++) {
		if (infos[i].error)
			continue;
		if (qp_add(race, id, &infos[i], i, attr))
			err = errno ? errno : EINVAL;
	}
	if (infos != few)
		free(infos);
	if (race->count)
		return 0;
	return err ? cmx_err(err) : 1;
}

/*
 * The name of @id is resolved. Starts the race by @cmd: 0; 1: no address may
 * have a queue pair, and nothing is started; or -1 with errno.
 * *@race is set before another thread may have its event.
 */
int cmx_race_qps_start(struct cmx_id *id, struct cmx_race_qps **race,
		       struct rdma_cmx_resolve_any *cmd,
		       const struct cmx_race_qps_attr *attr)
{
	struct rdma_cmx_any_qp qps[RDMA_CMX_MAX_ANY_QPS] = {};
	struct cmx_race_qps *new = calloc(1, sizeof(*new));
	uint64_t now;
	int i, ret;

	if (!new)
		return -1;
	ret = qps_make(new, id, attr);
	if (ret)
		goto err;
	ret = -1;
	/* That may have taken a while. */
	now = cmx_now_ms();
	if (now >= attr->deadline) {
		errno = ETIMEDOUT;
		goto err;
	}
	cmd->timeout_ms = attr->deadline - now;
	for (i = 0; i < new->count; i++) {
		qps[i].candidate = new->qps[i].candidate;
		qps[i].qp_num = new->qps[i].id.id.qp->qp_num;
		qps[i].srq = !!new->qps[i].id.id.qp->srq;
	}
	cmd->flags = RDMA_CMX_ANY_RACE;
	cmd->param = new->param;
	cmd->qps = (uintptr_t)qps;
	cmd->num_qps = new->count;
	*race = new;
	if (!cmx_id_ioctl(id, RESOLVE_ANY, cmd))
		return 0;
	*race = NULL;
err:
	cmx_race_qps_free(new, false);
	return ret;
}

/* @id is bound to the winner and gets its queue pair; -1 with errno. */
int cmx_race_qps_won(struct cmx_race_qps *race, struct cmx_id *id)
{
	struct rdma_cmx_query_candidates cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
	};
	struct cmx_id *from;
	int i;

	/* No candidate without a queue pair wins. */
	if (race->count == 1)
		cmd.winner = race->qps[0].candidate;
	else if (cmx_id_ioctl(id, QUERY_CANDIDATES, &cmd))
		return -1;
	for (i = 0; i < race->count; i++) {
		from = &race->qps[i].id;
		if (race->qps[i].candidate != cmd.winner)
			continue;
		/*
		 * The device may have been removed and added again meanwhile.
		 */
		if (from->dev != id->dev)
			break;
		return cmx_qp_move(id, from);
	}
	return cmx_err(ENODEV);
}
