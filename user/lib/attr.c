// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Converts verbs attributes and path records from their form in the ABI.
 * libibverbs has such functions too, but no header for them. Pure functions.
 */
#include <endian.h>
#include <string.h>

#include "lib.h"

void cmx_ah_attr_from_kern(struct ibv_ah_attr *dst,
			   const struct ib_uverbs_ah_attr *src)
{
	memset(dst, 0, sizeof(*dst));
	memcpy(dst->grh.dgid.raw, src->grh.dgid, sizeof(dst->grh.dgid));
	dst->grh.flow_label = src->grh.flow_label;
	dst->grh.sgid_index = src->grh.sgid_index;
	dst->grh.hop_limit = src->grh.hop_limit;
	dst->grh.traffic_class = src->grh.traffic_class;
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

void cmx_qp_attr_from_kern(struct ibv_qp_attr *dst,
			   const struct ib_uverbs_qp_attr *src)
{
	memset(dst, 0, sizeof(*dst));
	dst->qp_state = src->qp_state;
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	dst->cap.max_send_wr = src->max_send_wr;
	dst->cap.max_recv_wr = src->max_recv_wr;
	dst->cap.max_send_sge = src->max_send_sge;
	dst->cap.max_recv_sge = src->max_recv_sge;
	dst->cap.max_inline_data = src->max_inline_data;
	cmx_ah_attr_from_kern(&dst->ah_attr, &src->ah_attr);
	cmx_ah_attr_from_kern(&dst->alt_ah_attr, &src->alt_ah_attr);
	dst->pkey_index = src->pkey_index;
	dst->alt_pkey_index = src->alt_pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->sq_draining = src->sq_draining;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
}

/* From the bit fields in wire format. Selector 2 means an exact value. */
void cmx_path_from_kern(struct ibv_sa_path_rec *dst,
			const struct ibv_path_record *src)
{
	uint32_t flow_hop = be32toh(src->flowlabel_hoplimit);

	memset(dst, 0, sizeof(*dst));
	dst->dgid = src->dgid;
	dst->sgid = src->sgid;
	dst->dlid = src->dlid;
	dst->slid = src->slid;
	dst->flow_label = htobe32(flow_hop >> 8 & 0xFFFFF);
	dst->hop_limit = flow_hop & 0xFF;
	dst->traffic_class = src->tclass;
	dst->reversible = src->reversible_numpath >> 7;
	dst->numb_path = 1;
	dst->pkey = src->pkey;
	dst->sl = be16toh(src->qosclass_sl) & 0xF;
	dst->mtu_selector = 2;
	dst->mtu = src->mtu & 0x3F;
	dst->rate_selector = 2;
	dst->rate = src->rate & 0x3F;
	dst->packet_life_time_selector = 2;
	dst->packet_life_time = src->packetlifetime & 0x3F;
}
