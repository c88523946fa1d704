// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mc, the multicast programs of the system tests:
 *
 *  mc hold ADDR GROUP full|sendonly
 *	join, print "joined", wait for the end of standard input, leave
 *  mc send ADDR GROUP SECONDS
 *	join send-only and send a message every 10 ms for that long
 *  mc recv ADDR GROUP COUNT MEMBER...
 *	one id and queue pair for each MEMBER: full; sendonly; own (full, a
 *	queue pair that this program attaches); twice (full, joined twice).
 *	Print "joined"; wait until each but the send-only ones has received
 *	COUNT messages; print the counts
 *  mc leave ADDR GROUP COUNT MEMBER...
 *	as recv, then leave once on the first member; wait until all the
 *	others (and the first, if joined twice) have received COUNT more
 *
 * ADDR is the local address. One thread; gives up after 60 s.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define DEADLINE_S	60
#define MSG_LEN		64
#define GRH_LEN		40
#define DEPTH		64
#define MEMBERS_MAX	8
/* One that is on its way at a leave is not as late as this many later ones. */
#define IN_FLIGHT	20

struct member {
	const char *kind;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint32_t qkey;
	unsigned int got;
	char buf[DEPTH][GRH_LEN + MSG_LEN];
};

static struct sockaddr_storage local, group;

static void fatal(const char *what)
{
	fprintf(stderr, "mc: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int kind_is(const struct member *m, const char *kind)
{
	return !strcmp(m->kind, kind);
}

static void recv_post(struct member *m, unsigned int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)m->buf[slot],
		.length = sizeof(m->buf[slot]),
		.lkey = m->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	if (ibv_post_recv(m->qp, &wr, &bad))
		fatal("post_recv");
}

static void member_qp_make(struct member *m)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr mod = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				   .qkey = RDMA_UDP_QKEY };

	m->pd = ibv_alloc_pd(m->id->verbs);
	m->cq = ibv_create_cq(m->id->verbs, 2 * DEPTH, NULL, NULL, 0);
	m->mr = ibv_reg_mr(m->pd, m->buf, sizeof(m->buf),
			   IBV_ACCESS_LOCAL_WRITE);
	if (!m->pd || !m->cq || !m->mr)
		fatal("verbs resources");
	attr.send_cq = m->cq;
	attr.recv_cq = m->cq;
	if (!kind_is(m, "own")) {
		if (rdma_create_qp(m->id, m->pd, &attr))
			fatal("rdma_create_qp");
		m->qp = m->id->qp;
		return;
	}
	m->qp = ibv_create_qp(m->pd, &attr);
	if (!m->qp)
		fatal("ibv_create_qp");
	if (ibv_modify_qp(m->qp, &mod, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		fatal("INIT");
	mod.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(m->qp, &mod, IBV_QP_STATE))
		fatal("RTR");
	mod.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(m->qp, &mod, IBV_QP_STATE | IBV_QP_SQ_PSN))
		fatal("RTS");
}

static void join(struct member *m, int flags)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = flags,
		.addr = (struct sockaddr *)&group,
	};
	struct rdma_cm_event *event;

	if (rdma_join_multicast_ex(m->id, &attr, m))
		fatal("rdma_join_multicast_ex");
	if (rdma_get_cm_event(m->channel, &event))
		fatal("rdma_get_cm_event");
	if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN) {
		errno = -event->status;
		fatal(rdma_event_str(event->event));
	}
	m->qkey = event->param.ud.qkey;
	if (kind_is(m, "send")) {
		m->ah = ibv_create_ah(m->pd, &event->param.ud.ah_attr);
		if (!m->ah)
			fatal("ibv_create_ah");
	}
	if (kind_is(m, "own") &&
	    ibv_attach_mcast(m->qp, &event->param.ud.ah_attr.grh.dgid,
			     event->param.ud.ah_attr.dlid))
		fatal("ibv_attach_mcast");
	rdma_ack_cm_event(event);
}

static struct member *member_make(const char *kind)
{
	struct member *m = calloc(1, sizeof(*m));
	int flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;

	if (!m)
		fatal("memory");
	m->kind = kind;
	m->channel = rdma_create_event_channel();
	if (!m->channel ||
	    rdma_create_id(m->channel, &m->id, NULL, RDMA_PS_UDP) ||
	    rdma_bind_addr(m->id, (struct sockaddr *)&local))
		fatal("id");
	if (!kind_is(m, "hold")) {
		member_qp_make(m);
		for (unsigned int i = 0; i < DEPTH && !kind_is(m, "send"); i++)
			recv_post(m, i);
	}
	if (kind_is(m, "sendonly") || kind_is(m, "send"))
		flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	if (!kind_is(m, "hold"))
		join(m, flags);
	if (kind_is(m, "twice"))
		join(m, flags);
	return m;
}

static void leave(struct member *m)
{
	if (rdma_leave_multicast(m->id, (struct sockaddr *)&group))
		fatal("rdma_leave_multicast");
}

static void poll_all(struct member **members, int count)
{
	struct ibv_wc wc;

	for (int i = 0; i < count; i++)
		while (ibv_poll_cq(members[i]->cq, 1, &wc) == 1) {
			if (wc.status)
				fatal(ibv_wc_status_str(wc.status));
			members[i]->got++;
			recv_post(members[i], wc.wr_id);
		}
	usleep(1000);
}

/* Returns 1 until each receiver has @want messages. */
static int some_wait(struct member **members, int count, unsigned int want,
		     const struct member *except)
{
	for (int i = 0; i < count; i++)
		if (members[i] != except && !kind_is(members[i], "sendonly") &&
		    members[i]->got < want)
			return 1;
	return 0;
}

/* Waits until each receiver has @want messages from now on. */
static void counts_wait(struct member **members, int count, unsigned int want,
			const struct member *except, time_t end)
{
	for (int i = 0; i < count; i++)
		members[i]->got = 0;
	while (some_wait(members, count, want, except) && time(NULL) < end)
		poll_all(members, count);
}

static void counts_print(const char *when, struct member **members, int count)
{
	printf("%s", when);
	for (int i = 0; i < count; i++)
		printf(" %s=%u", members[i]->kind, members[i]->got);
	printf("\n");
	fflush(stdout);
}

static int recv_run(unsigned int want, char **kinds, int count, int leaving)
{
	struct member *members[MEMBERS_MAX], *left = NULL;
	time_t end = time(NULL) + DEADLINE_S;

	for (int i = 0; i < count; i++)
		members[i] = member_make(kinds[i]);
	printf("joined\n");
	fflush(stdout);
	counts_wait(members, count, want, NULL, end);
	counts_print("got", members, count);
	if (some_wait(members, count, want, NULL))
		return 1;
	if (!leaving)
		return 0;

	leave(members[0]);
	printf("left\n");
	fflush(stdout);
	if (!kind_is(members[0], "twice"))
		left = members[0];
	poll_all(members, count);
	counts_wait(members, count, IN_FLIGHT, left, end);
	counts_wait(members, count, want, left, end);
	counts_print("then", members, count);
	return some_wait(members, count, want, left);
}

static int send_run(int seconds)
{
	struct member *m = member_make("send");
	time_t end = time(NULL) + seconds;
	struct ibv_sge sge = {
		.addr = (uintptr_t)m->buf,
		.length = MSG_LEN,
		.lkey = m->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = m->ah, .remote_qpn = 0xffffff,
			   .remote_qkey = m->qkey },
	}, *bad;
	unsigned int sent = 0;
	struct ibv_wc wc;

	printf("joined\n");
	fflush(stdout);
	while (time(NULL) < end) {
		if (ibv_post_send(m->qp, &wr, &bad))
			fatal("ibv_post_send");
		while (!ibv_poll_cq(m->cq, 1, &wc))
			usleep(100);
		if (wc.status)
			fatal(ibv_wc_status_str(wc.status));
		sent++;
		usleep(10000);
	}
	printf("sent %u\n", sent);
	return 0;
}

static int hold_run(const char *kind)
{
	struct member *m = member_make("hold");
	char c;

	join(m, strcmp(kind, "full") ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER :
				       RDMA_MC_JOIN_FLAG_FULLMEMBER);
	printf("joined\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	leave(m);
	printf("left\n");
	rdma_destroy_id(m->id);
	rdma_destroy_event_channel(m->channel);
	return 0;
}

static int addr_parse(struct sockaddr_storage *addr, const char *text)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;

	addr->ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(addr->ss_family, text,
			 addr->ss_family == AF_INET ? (void *)&in->sin_addr :
						      (void *)&in6->sin6_addr);
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc > 5 + MEMBERS_MAX ||
	    addr_parse(&local, argv[2]) != 1 ||
	    addr_parse(&group, argv[3]) != 1) {
		fprintf(stderr, "usage: see the top of tools/mc.c\n");
		return 2;
	}
	if (!strcmp(argv[1], "hold"))
		return hold_run(argv[4]);
	if (!strcmp(argv[1], "send"))
		return send_run(atoi(argv[4]));
	return recv_run(atoi(argv[4]), argv + 5, argc - 5,
			!strcmp(argv[1], "leave"));
}
