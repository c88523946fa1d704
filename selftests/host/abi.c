// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints the layout of everything in <rdma/rdma_cma.h> and <rdma/rsocket.h>. Compiled once with
 * the stock header and once with the project's; the output must be the same
 * (abi.sh). No state.
 */
#include <stdio.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define FIELD(type, field)						\
	printf(#type "." #field " %zu+%zu\n",				\
	       __builtin_offsetof(type, field), sizeof(((type *)0)->field))
#define VALUE(name) printf(#name " %lld\n", (long long)(name))

/* A function's type must be the stock's: a redeclaration would not compile. */
#define SAME(fn, ret, ...) ret fn(__VA_ARGS__)

SAME(rdma_create_event_channel, struct rdma_event_channel *, void);
SAME(rdma_destroy_event_channel, void, struct rdma_event_channel *);
SAME(rdma_create_id, int, struct rdma_event_channel *, struct rdma_cm_id **,
     void *, enum rdma_port_space);
SAME(rdma_create_ep, int, struct rdma_cm_id **, struct rdma_addrinfo *,
     struct ibv_pd *, struct ibv_qp_init_attr *);
SAME(rdma_destroy_ep, void, struct rdma_cm_id *);
SAME(rdma_destroy_id, int, struct rdma_cm_id *);
SAME(rdma_bind_addr, int, struct rdma_cm_id *, struct sockaddr *);
SAME(rdma_resolve_addr, int, struct rdma_cm_id *, struct sockaddr *,
     struct sockaddr *, int);
SAME(rdma_resolve_route, int, struct rdma_cm_id *, int);
SAME(rdma_create_qp, int, struct rdma_cm_id *, struct ibv_pd *,
     struct ibv_qp_init_attr *);
SAME(rdma_create_qp_ex, int, struct rdma_cm_id *,
     struct ibv_qp_init_attr_ex *);
SAME(rdma_destroy_qp, void, struct rdma_cm_id *);
SAME(rdma_connect, int, struct rdma_cm_id *, struct rdma_conn_param *);
SAME(rdma_establish, int, struct rdma_cm_id *);
SAME(rdma_listen, int, struct rdma_cm_id *, int);
SAME(rdma_get_request, int, struct rdma_cm_id *, struct rdma_cm_id **);
SAME(rdma_accept, int, struct rdma_cm_id *, struct rdma_conn_param *);
SAME(rdma_reject, int, struct rdma_cm_id *, const void *, uint8_t);
SAME(rdma_reject_ece, int, struct rdma_cm_id *, const void *, uint8_t);
SAME(rdma_notify, int, struct rdma_cm_id *, enum ibv_event_type);
SAME(rdma_disconnect, int, struct rdma_cm_id *);
SAME(rdma_join_multicast, int, struct rdma_cm_id *, struct sockaddr *,
     void *);
SAME(rdma_join_multicast_ex, int, struct rdma_cm_id *,
     struct rdma_cm_join_mc_attr_ex *, void *);
SAME(rdma_leave_multicast, int, struct rdma_cm_id *, struct sockaddr *);
SAME(rdma_get_cm_event, int, struct rdma_event_channel *,
     struct rdma_cm_event **);
SAME(rdma_ack_cm_event, int, struct rdma_cm_event *);
SAME(rdma_get_src_port, __be16, struct rdma_cm_id *);
SAME(rdma_get_dst_port, __be16, struct rdma_cm_id *);
SAME(rdma_get_devices, struct ibv_context **, int *);
SAME(rdma_free_devices, void, struct ibv_context **);
SAME(rdma_event_str, const char *, enum rdma_cm_event_type);
SAME(rdma_set_option, int, struct rdma_cm_id *, int, int, void *, size_t);
SAME(rdma_migrate_id, int, struct rdma_cm_id *, struct rdma_event_channel *);
SAME(rdma_getaddrinfo, int, const char *, const char *,
     const struct rdma_addrinfo *, struct rdma_addrinfo **);
SAME(rdma_freeaddrinfo, void, struct rdma_addrinfo *);
SAME(rdma_init_qp_attr, int, struct rdma_cm_id *, struct ibv_qp_attr *,
     int *);
SAME(rdma_set_local_ece, int, struct rdma_cm_id *, struct ibv_ece *);
SAME(rdma_get_remote_ece, int, struct rdma_cm_id *, struct ibv_ece *);
SAME(rdma_create_srq, int, struct rdma_cm_id *, struct ibv_pd *,
     struct ibv_srq_init_attr *);
SAME(rdma_create_srq_ex, int, struct rdma_cm_id *,
     struct ibv_srq_init_attr_ex *);
SAME(rdma_destroy_srq, void, struct rdma_cm_id *);

SAME(rsocket, int, int, int, int);
SAME(rbind, int, int, const struct sockaddr *, socklen_t);
SAME(rlisten, int, int, int);
SAME(raccept, int, int, struct sockaddr *, socklen_t *);
SAME(rconnect, int, int, const struct sockaddr *, socklen_t);
SAME(rshutdown, int, int, int);
SAME(rclose, int, int);
SAME(rrecv, ssize_t, int, void *, size_t, int);
SAME(rrecvfrom, ssize_t, int, void *, size_t, int, struct sockaddr *,
     socklen_t *);
SAME(rrecvmsg, ssize_t, int, struct msghdr *, int);
SAME(rread, ssize_t, int, void *, size_t);
SAME(rreadv, ssize_t, int, const struct iovec *, int);
SAME(rsend, ssize_t, int, const void *, size_t, int);
SAME(rsendto, ssize_t, int, const void *, size_t, int, const struct sockaddr *,
     socklen_t);
SAME(rsendmsg, ssize_t, int, const struct msghdr *, int);
SAME(rwrite, ssize_t, int, const void *, size_t);
SAME(rwritev, ssize_t, int, const struct iovec *, int);
SAME(rpoll, int, struct pollfd *, nfds_t, int);
SAME(rselect, int, int, fd_set *, fd_set *, fd_set *, struct timeval *);
SAME(repoll_create, int, int);
SAME(repoll_ctl, int, int, int, int, struct epoll_event *);
SAME(repoll_wait, int, int, struct epoll_event *, int, int);
SAME(rgetpeername, int, int, struct sockaddr *, socklen_t *);
SAME(rgetsockname, int, int, struct sockaddr *, socklen_t *);
SAME(rsetsockopt, int, int, int, int, const void *, socklen_t);
SAME(rgetsockopt, int, int, int, int, void *, socklen_t *);
SAME(rfcntl, int, int, int, ...);
SAME(riomap, off_t, int, void *, size_t, int, int, off_t);
SAME(riounmap, int, int, void *, size_t);
SAME(riowrite, size_t, int, const void *, size_t, off_t, int);

static void structs(void)
{
	SIZE(struct rdma_ib_addr);
	FIELD(struct rdma_ib_addr, sgid);
	FIELD(struct rdma_ib_addr, dgid);
	FIELD(struct rdma_ib_addr, pkey);
	SIZE(struct rdma_addr);
	FIELD(struct rdma_addr, src_addr);
	FIELD(struct rdma_addr, src_sin);
	FIELD(struct rdma_addr, src_sin6);
	FIELD(struct rdma_addr, src_storage);
	FIELD(struct rdma_addr, dst_addr);
	FIELD(struct rdma_addr, dst_sin);
	FIELD(struct rdma_addr, dst_sin6);
	FIELD(struct rdma_addr, dst_storage);
	FIELD(struct rdma_addr, addr.ibaddr);
	SIZE(struct rdma_route);
	FIELD(struct rdma_route, addr);
	FIELD(struct rdma_route, path_rec);
	FIELD(struct rdma_route, num_paths);
	SIZE(struct rdma_event_channel);
	FIELD(struct rdma_event_channel, fd);
	SIZE(struct rdma_cm_id);
	FIELD(struct rdma_cm_id, verbs);
	FIELD(struct rdma_cm_id, channel);
	FIELD(struct rdma_cm_id, context);
	FIELD(struct rdma_cm_id, qp);
	FIELD(struct rdma_cm_id, route);
	FIELD(struct rdma_cm_id, ps);
	FIELD(struct rdma_cm_id, port_num);
	FIELD(struct rdma_cm_id, event);
	FIELD(struct rdma_cm_id, send_cq_channel);
	FIELD(struct rdma_cm_id, send_cq);
	FIELD(struct rdma_cm_id, recv_cq_channel);
	FIELD(struct rdma_cm_id, recv_cq);
	FIELD(struct rdma_cm_id, srq);
	FIELD(struct rdma_cm_id, pd);
	FIELD(struct rdma_cm_id, qp_type);
	SIZE(struct rdma_conn_param);
	FIELD(struct rdma_conn_param, private_data);
	FIELD(struct rdma_conn_param, private_data_len);
	FIELD(struct rdma_conn_param, responder_resources);
	FIELD(struct rdma_conn_param, initiator_depth);
	FIELD(struct rdma_conn_param, flow_control);
	FIELD(struct rdma_conn_param, retry_count);
	FIELD(struct rdma_conn_param, rnr_retry_count);
	FIELD(struct rdma_conn_param, srq);
	FIELD(struct rdma_conn_param, qp_num);
	SIZE(struct rdma_ud_param);
	FIELD(struct rdma_ud_param, private_data);
	FIELD(struct rdma_ud_param, private_data_len);
	FIELD(struct rdma_ud_param, ah_attr);
	FIELD(struct rdma_ud_param, qp_num);
	FIELD(struct rdma_ud_param, qkey);
	SIZE(struct rdma_cm_event);
	FIELD(struct rdma_cm_event, id);
	FIELD(struct rdma_cm_event, listen_id);
	FIELD(struct rdma_cm_event, event);
	FIELD(struct rdma_cm_event, status);
	FIELD(struct rdma_cm_event, param);
	FIELD(struct rdma_cm_event, param.conn);
	FIELD(struct rdma_cm_event, param.ud);
	SIZE(struct rdma_addrinfo);
	FIELD(struct rdma_addrinfo, ai_flags);
	FIELD(struct rdma_addrinfo, ai_family);
	FIELD(struct rdma_addrinfo, ai_qp_type);
	FIELD(struct rdma_addrinfo, ai_port_space);
	FIELD(struct rdma_addrinfo, ai_src_len);
	FIELD(struct rdma_addrinfo, ai_dst_len);
	FIELD(struct rdma_addrinfo, ai_src_addr);
	FIELD(struct rdma_addrinfo, ai_dst_addr);
	FIELD(struct rdma_addrinfo, ai_src_canonname);
	FIELD(struct rdma_addrinfo, ai_dst_canonname);
	FIELD(struct rdma_addrinfo, ai_route_len);
	FIELD(struct rdma_addrinfo, ai_route);
	FIELD(struct rdma_addrinfo, ai_connect_len);
	FIELD(struct rdma_addrinfo, ai_connect);
	FIELD(struct rdma_addrinfo, ai_next);
	SIZE(struct rdma_cm_join_mc_attr_ex);
	FIELD(struct rdma_cm_join_mc_attr_ex, comp_mask);
	FIELD(struct rdma_cm_join_mc_attr_ex, join_flags);
	FIELD(struct rdma_cm_join_mc_attr_ex, addr);
}

static void values(void)
{
	SIZE(enum rdma_cm_event_type);
	VALUE(RDMA_CM_EVENT_ADDR_RESOLVED);
	VALUE(RDMA_CM_EVENT_ADDR_ERROR);
	VALUE(RDMA_CM_EVENT_ROUTE_RESOLVED);
	VALUE(RDMA_CM_EVENT_ROUTE_ERROR);
	VALUE(RDMA_CM_EVENT_CONNECT_REQUEST);
	VALUE(RDMA_CM_EVENT_CONNECT_RESPONSE);
	VALUE(RDMA_CM_EVENT_CONNECT_ERROR);
	VALUE(RDMA_CM_EVENT_UNREACHABLE);
	VALUE(RDMA_CM_EVENT_REJECTED);
	VALUE(RDMA_CM_EVENT_ESTABLISHED);
	VALUE(RDMA_CM_EVENT_DISCONNECTED);
	VALUE(RDMA_CM_EVENT_DEVICE_REMOVAL);
	VALUE(RDMA_CM_EVENT_MULTICAST_JOIN);
	VALUE(RDMA_CM_EVENT_MULTICAST_ERROR);
	VALUE(RDMA_CM_EVENT_ADDR_CHANGE);
	VALUE(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	SIZE(enum rdma_port_space);
	VALUE(RDMA_PS_IPOIB);
	VALUE(RDMA_PS_TCP);
	VALUE(RDMA_PS_UDP);
	VALUE(RDMA_PS_IB);
	VALUE(RDMA_IB_IP_PS_MASK);
	VALUE(RDMA_IB_IP_PORT_MASK);
	VALUE(RDMA_IB_IP_PS_TCP);
	VALUE(RDMA_IB_IP_PS_UDP);
	VALUE(RDMA_IB_PS_IB);
	VALUE(RDMA_UDP_QKEY);
	VALUE(RDMA_MAX_RESP_RES);
	VALUE(RDMA_MAX_INIT_DEPTH);
	VALUE(RAI_PASSIVE);
	VALUE(RAI_NUMERICHOST);
	VALUE(RAI_NOROUTE);
	VALUE(RAI_FAMILY);
	VALUE(RDMA_CM_JOIN_MC_ATTR_ADDRESS);
	VALUE(RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS);
	VALUE(RDMA_CM_JOIN_MC_ATTR_RESERVED);
	VALUE(RDMA_MC_JOIN_FLAG_FULLMEMBER);
	VALUE(RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
	VALUE(RDMA_MC_JOIN_FLAG_RESERVED);
	VALUE(RDMA_OPTION_ID);
	VALUE(RDMA_OPTION_IB);
	VALUE(RDMA_OPTION_ID_TOS);
	VALUE(RDMA_OPTION_ID_REUSEADDR);
	VALUE(RDMA_OPTION_ID_AFONLY);
	VALUE(RDMA_OPTION_ID_ACK_TIMEOUT);
	VALUE(RDMA_OPTION_IB_PATH);
	VALUE(SOL_RDMA);
	VALUE(RDMA_SQSIZE);
	VALUE(RDMA_RQSIZE);
	VALUE(RDMA_INLINE);
	VALUE(RDMA_IOMAPSIZE);
	VALUE(RDMA_ROUTE);
}

/* Newer than the stock header of Debian 12: numbers of upstream. */
#ifdef ABI_ADDED
SAME(rdma_resolve_addrinfo, int, struct rdma_cm_id *, const char *,
     const char *, const struct rdma_addrinfo *);
SAME(rdma_query_addrinfo, int, struct rdma_cm_id *, struct rdma_addrinfo **);
SAME(rdma_write_cm_event, int, struct rdma_cm_id *, enum rdma_cm_event_type,
     int, uint64_t);
#endif

static void additions(void)
{
#ifdef ABI_ADDED
	VALUE(RDMA_CM_EVENT_ADDRINFO_RESOLVED);
	VALUE(RDMA_CM_EVENT_ADDRINFO_ERROR);
	VALUE(RDMA_CM_EVENT_USER);
	VALUE(RAI_SA);
	VALUE(RAI_DNS);
	FIELD(struct rdma_cm_event, param.arg);
#endif
#ifdef ABI_OWN
	VALUE(EAI_QPTYPE == EAI_SOCKTYPE);
	VALUE(EAI_NODATA);
	VALUE(EAI_ADDRFAMILY);
#endif
}

int main(void)
{
	structs();
	values();
	additions();
	return 0;
}
