// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers as text, for scripts:
 *	error=-2
 * or
 *	entries=2 canonname=storage.example.com
 *	rc tcp src=10.0.0.1 dst=10.0.0.2:4420 dev=1 port=1
 * with "-" for what there is not, and, on InfiniBand, " paths=1 connect=36"
 * behind it; " gid=INDEX/TYPE" or " gid=-1", and " error=N", where they are
 * wanted. No state.
 */
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>

#include "consumer.h"

static void print_addr(struct seq_file *m, const char *what,
		       const union rdma_cmx_sockaddr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		seq_printf(m, " %s=%pISp", what, addr);
		break;
	case AF_INET6:
		seq_printf(m, " %s=%pISpc", what, addr);
		if (addr->in6.sin6_scope_id)
			seq_printf(m, "%%%u", addr->in6.sin6_scope_id);
		break;
	case AF_IB:
		seq_printf(m, " %s=%pI6c,sid=0x%llx,mask=0x%llx,pkey=0x%x",
			   what, &addr->ib.sib_addr,
			   be64_to_cpu(addr->ib.sib_sid),
			   be64_to_cpu(addr->ib.sib_sid_mask),
			   be16_to_cpu(addr->ib.sib_pkey));
		break;
	default:
		seq_printf(m, " %s=-", what);
		break;
	}
}

static void print_types(struct seq_file *m, const struct rdma_cmx_entry *e)
{
	switch (e->qp_type) {
	case IB_QPT_RC:
		seq_puts(m, "rc");
		break;
	case IB_QPT_UD:
		seq_puts(m, "ud");
		break;
	default:
		seq_printf(m, "qp%u", e->qp_type);
		break;
	}
	switch (e->port_space) {
	case RDMA_PS_TCP:
		seq_puts(m, " tcp");
		break;
	case RDMA_PS_UDP:
		seq_puts(m, " udp");
		break;
	default:
		seq_printf(m, " ps0x%x", e->port_space);
		break;
	}
}

void consumer_print(struct seq_file *m, const struct rdma_cmx_result *res,
		    bool gids, bool why)
{
	const struct rdma_cmx_entry *e;
	u32 i;

	if (IS_ERR(res)) {
		seq_printf(m, "error=%ld\n", PTR_ERR(res));
		return;
	}
	seq_printf(m, "entries=%u canonname=%s\n", res->count,
		   res->canonname ?: "-");
	rdma_cmx_for_each_entry(e, i, res) {
		print_types(m, e);
		print_addr(m, "src", &e->src);
		print_addr(m, "dst", &e->dst);
		if (e->port_num)
			seq_printf(m, " dev=%u port=%u", e->ibdev_index,
				   e->port_num);
		else
			seq_puts(m, " dev=- port=-");
		if (e->route_count)
			seq_printf(m, " paths=%u", e->route_count);
		if (e->connect_len)
			seq_printf(m, " connect=%u", e->connect_len);
		if (gids && e->gid_index >= 0)
			seq_printf(m, " gid=%d/%d", e->gid_index, e->gid_type);
		else if (gids)
			seq_printf(m, " gid=%d", e->gid_index);
		if (why)
			seq_printf(m, " error=%d", e->error);
		seq_putc(m, '\n');
	}
}
