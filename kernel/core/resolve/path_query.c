// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The PathRecord query that rdma_cm would send for an id, with the limits of
 * the hints. No state, no locks, any context.
 */
#include <rdma/ib_pack.h>
#include <rdma/ib_sa.h>

#include "resolve/paths.h"
#include "sa/wire.h"

/* Maximum paths to one destination; more than one only with LMC above 0 */
#define CMX_MAX_PATHS	4

/* Fields of a path record that a limit may set, without the end points */
static const struct cmx_limit {
	ib_sa_comp_mask bits;
	u8 at;			/* byte offset in wire format */
	u8 len;
	u8 first;		/* its bits of the first byte */
	u8 last;		/* its bits of the last byte */
} cmx_limits[] = {
	{ IB_SA_PATH_REC_SERVICE_ID, 0, 8, 0xff, 0xff },
	{ IB_SA_PATH_REC_DLID, 40, 2, 0xff, 0xff },
	{ IB_SA_PATH_REC_SLID, 42, 2, 0xff, 0xff },
	{ IB_SA_PATH_REC_FLOW_LABEL, 44, 3, 0x0f, 0xff },
	{ IB_SA_PATH_REC_HOP_LIMIT, 47, 1, 0xff, 0xff },
	{ IB_SA_PATH_REC_TRAFFIC_CLASS, 48, 1, 0xff, 0xff },
	{ IB_SA_PATH_REC_NUMB_PATH, 49, 1, 0x7f, 0x7f },
	{ IB_SA_PATH_REC_PKEY, 50, 2, 0xff, 0xff },
	{ IB_SA_PATH_REC_QOS_CLASS, 52, 2, 0xff, 0xf0 },
	{ IB_SA_PATH_REC_SL, 53, 1, 0x0f, 0x0f },
	{ IB_SA_PATH_REC_MTU_SELECTOR | IB_SA_PATH_REC_MTU, 54, 1, 0xff, 0xff },
	{ IB_SA_PATH_REC_RATE_SELECTOR | IB_SA_PATH_REC_RATE, 55, 1, 0xff,
	  0xff },
	{ IB_SA_PATH_REC_PACKET_LIFE_TIME_SELECTOR |
	  IB_SA_PATH_REC_PACKET_LIFE_TIME, 56, 1, 0xff, 0xff },
};

/* Adds the fields of a limit that are not 0 to the query. */
static void cmx_path_limit(struct cmx_sa_query *q,
			   const struct ib_path_rec_data *limit)
{
	const u8 *want = (const u8 *)limit->path_rec;
	const struct cmx_limit *l;
	u8 field[8];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(cmx_limits); i++) {
		l = &cmx_limits[i];
		memcpy(field, want + l->at, l->len);
		field[0] &= l->first;
		field[l->len - 1] &= l->last;
		if (!memchr_inv(field, 0, l->len))
			continue;
		q->comp_mask |= (__force __be64)l->bits;
		q->rec[l->at] &= ~l->first;
		q->rec[l->at + l->len - 1] &= ~l->last;
		for (j = 0; j < l->len; j++) {
			if (j && j < l->len - 1)
				q->rec[l->at + j] = 0;
			q->rec[l->at + j] |= field[j];
		}
	}
}

/* As rdma_cm derives it from an id's type of service and source */
void cmx_path_set_class(struct sa_path_rec *rec, const struct sockaddr *src,
			u8 tos)
{
	__be32 flow = 0;

	if (src->sa_family == AF_INET)
		rec->qos_class = cpu_to_be16(tos);
	else if (src->sa_family == AF_INET6)
		flow = ((const struct sockaddr_in6 *)src)->sin6_flowinfo;
	else if (src->sa_family == AF_IB)
		flow = ((const struct sockaddr_ib *)src)->sib_flowinfo;
	rec->traffic_class = be32_to_cpu(flow) >> 20;
}

/* The query of rdma_cm, but for all paths, up to the maximum */
void cmx_path_query(struct cmx_sa_query *q, struct sa_path_rec *rec,
		    sa_family_t family, bool qos,
		    const struct ib_path_rec_data *limit)
{
	ib_sa_comp_mask mask = IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
			       IB_SA_PATH_REC_REVERSIBLE |
			       IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_PKEY;

	if (qos)
		mask |= IB_SA_PATH_REC_SERVICE_ID;
	else
		rec->service_id = 0;
	if (family != AF_INET)
		mask |= IB_SA_PATH_REC_TRAFFIC_CLASS;
	else if (qos)
		mask |= IB_SA_PATH_REC_QOS_CLASS;
	else
		rec->qos_class = 0;
	rec->rec_type = SA_PATH_REC_TYPE_IB;
	rec->reversible = 1;
	rec->numb_path = CMX_MAX_PATHS;

	memset(q, 0, sizeof(*q));
	q->attr_id = cpu_to_be16(IB_SA_ATTR_PATH_REC);
	q->method = IB_SA_METHOD_GET_TABLE;
	q->rec_len = CMX_SA_PATH_REC_SIZE;
	q->comp_mask = (__force __be64)mask;
	ib_sa_pack_path(rec, q->rec);
	if (limit)
		cmx_path_limit(q, limit);
}
