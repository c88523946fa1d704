// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records of a response: read from the MADs of an SA, which are untrusted
 * input, and shared by all that waited for them.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "sa/internal.h"
#include "sa/wire.h"

unsigned int cmx_sa_max_records = 8192;
module_param_named(sa_max_records, cmx_sa_max_records, cmx_positive, 0644);
MODULE_PARM_DESC(sa_max_records,
		 "Maximum records in an SA response; a longer one fails with EOVERFLOW (default 8192)");

struct cmx_sa_response *cmx_sa_response_alloc(u32 count, u32 stride)
{
	struct cmx_sa_response *response;
	size_t len = (size_t)count * stride;

	response = kvmalloc(struct_size(response, data, len), GFP_KERNEL);
	if (!response)
		return NULL;
	refcount_set(&response->ref, 1);
	response->count = count;
	response->stride = stride;
	response->len = len;
	cmx_stat_inc(live_sa_responses);
	return response;
}

/* May sleep */
void cmx_sa_response_put(struct cmx_sa_response *response)
{
	if (response && refcount_dec_and_test(&response->ref)) {
		kvfree(response);
		cmx_stat_dec(live_sa_responses);
	}
}

/*
 * Returns 0: there are records; 1: there are none; -EBUSY: the SA may respond
 * later; -ECONNREFUSED.
 */
static int cmx_sa_status(u16 status)
{
	if (status & CMX_SA_STATUS_BUSY)
		return -EBUSY;
	if (status & CMX_SA_STATUS_REDIRECT) {
		cmx_stat_inc(sa_redirects);
		return -ECONNREFUSED;
	}
	switch (status) {
	case 0:
		return 0;
	case CMX_SA_STATUS_NO_RECORDS:
	case CMX_SA_STATUS_INVALID_GID:	/* no port has it */
		return 1;
	case CMX_SA_STATUS_NO_RESOURCES:
		return -EBUSY;
	}
	return -ECONNREFUSED;
}

/* Copies @len bytes of records from the segments of @wc. */
static int cmx_sa_copy(void *to, const struct ib_mad_recv_wc *wc, size_t len)
{
	const struct ib_mad_recv_buf *seg;
	const struct ib_sa_mad *mad;
	size_t n;

	list_for_each_entry(seg, &wc->rmpp_list, list) {
		mad = (const void *)seg->mad;
		n = min_t(size_t, len, sizeof(mad->data));
		memcpy(to, mad->data, n);
		to += n;
		len -= n;
		if (!len)
			return 0;
	}
	return len ? -EBADMSG : 0;
}

/* Number and distance of the records in a response with status 0 */
static int cmx_sa_measure(const struct cmx_sa_query *q,
			  const struct ib_mad_recv_wc *wc,
			  u32 *count, u32 *stride)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	bool rmpp = mad->rmpp_hdr.rmpp_rtime_flags & IB_MGMT_RMPP_FLAG_ACTIVE;
	int len = wc->mad_len - IB_MGMT_SA_HDR;
	u8 method = q->method | IB_MGMT_METHOD_RESP;
	u32 max;

	if (q->method == IB_MGMT_METHOD_SET)
		method = IB_MGMT_METHOD_GET_RESP;
	if (mad->mad_hdr.method != method ||
	    mad->mad_hdr.attr_id != q->attr_id || len < 0)
		return -EBADMSG;
	if (q->method != IB_SA_METHOD_GET_TABLE) {
		if (len < q->rec_len)
			return -EBADMSG;
		*count = 1;
		*stride = q->rec_len;
		return 0;
	}
	/* Only RMPP has the length of a table. */
	if (!rmpp)
		return -EBADMSG;
	*count = 0;
	*stride = be16_to_cpu(mad->sa_hdr.attr_offset) * 8;
	if (!len) {
		*stride = q->rec_len;
		return 0;
	}
	if (*stride < q->rec_len || !*stride || len % *stride)
		return -EBADMSG;
	*count = len / *stride;
	max = READ_ONCE(cmx_sa_max_records);
	/* The SA chooses the distance of the records. */
	if (*count > max || len > (u64)max * round_up(q->rec_len, 8))
		return -EOVERFLOW;
	return 0;
}

/*
 * Reads the response to @q. Returns 0 with a reference in @presponse; -EBUSY:
 * the SA may respond later; or an error as for a waiter.
 */
int cmx_sa_read(const struct cmx_sa_query *q,
		const struct ib_mad_recv_wc *wc,
		struct cmx_sa_response **presponse)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	u32 count = 0, stride = q->rec_len;
	struct cmx_sa_response *response;
	int ret;

	ret = cmx_sa_status(be16_to_cpu(mad->mad_hdr.status));
	if (ret < 0)
		return ret;
	if (!ret) {
		ret = cmx_sa_measure(q, wc, &count, &stride);
		if (ret)
			return ret;
	}
	response = cmx_sa_response_alloc(count, stride);
	if (!response)
		return -ENOMEM;
	if (count) {
		ret = cmx_sa_copy(response->data, wc, response->len);
		if (ret) {
			cmx_sa_response_put(response);
			return ret;
		}
	}
	*presponse = response;
	return 0;
}
