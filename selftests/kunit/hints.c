// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Valid queries: each combination of flags, family, queue pair type, port
 * space, node and service against the rules of GAI-02, GAI-03, RAI-05 and
 * RDMA_CMX_AI_ERRNOS. Where several rules are broken, any of their errnos
 * passes: no document defines their order. And the entries that a netdevice or a
 * device limits the result to.
 */
#include <linux/in.h>
#include <net/flow.h>
#include <net/net_namespace.h>
#include <rdma/ib_sa.h>

#include "resolve/request.h"
#include "kunit.h"

/* The documented values, by number: RAI_*, RDMA_PS_*, IBV_QPT_*. */
enum {
	PASSIVE = 1, NUMERICHOST = 2, NOROUTE = 4, FAMILY = 8, SA = 16,
	DNS = 32, FLAGS_KNOWN = 63,
	PS_IPOIB = 0x2, PS_IB = 0x13f, PS_TCP = 0x106, PS_UDP = 0x111,
	RC = 2, UC = 3, UD = 4, XRC_SEND = 9, XRC_RECV = 10,
};

static const u32 families[] = { 0, 2, 10, 27, 1, 65535 };
static const u32 qp_types[] = { 0, RC, UC, UD, XRC_SEND, XRC_RECV,
				1, 8, 11, 0x80000002, ~0u };
static const u32 port_spaces[] = { 0, PS_IPOIB, PS_IB, PS_TCP, PS_UDP,
				   0x107, 0x10106, ~0u };

/* The parts of a query beside its hints */
static const struct shape {
	const char *node;
	const char *service;
	bool has_port;
	int numeric;		/* family of a numeric node */
} shapes[] = {
	{ NULL, NULL, false, 0 },
	{ NULL, NULL, true, 0 },
	{ "192.0.2.1", NULL, true, 2 },
	{ "2001:db8::1", NULL, true, 10 },
	{ "host.example", NULL, false, 0 },
	{ "", NULL, true, 0 },
	{ NULL, "target", false, 0 },
	{ NULL, "", true, 0 },
	{ "host.example", "target", true, 0 },
	{ NULL, "0x1234", true, 0 },
};

struct wanted {
	int errors[8];
	int count;
	u32 qp_type;
	u32 port_space;
	u32 family;
};

static void broken(struct wanted *w, int error)
{
	w->errors[w->count++] = error;
}

static bool is_stream(u32 qp_type)
{
	return qp_type == RC || qp_type == UC || qp_type == XRC_SEND ||
	       qp_type == XRC_RECV;
}

static void types_rule(struct wanted *w, u32 qp_type, u32 ps, bool sa)
{
	bool known_type = !qp_type || qp_type == UD || is_stream(qp_type);
	bool datagrams = ps == PS_UDP || ps == PS_IPOIB;
	bool known_ps = !ps || ps == PS_IB || ps == PS_TCP || datagrams;

	if (!known_type || !known_ps ||
	    (qp_type == UD && ps == PS_TCP) ||
	    (is_stream(qp_type) && datagrams)) {
		broken(w, -EPROTOTYPE);
		return;
	}
	w->qp_type = qp_type;
	if (!qp_type && ps)
		w->qp_type = datagrams ? UD : RC;
	w->port_space = ps;
	if (!ps && qp_type)
		w->port_space = qp_type == UD ? PS_UDP : PS_TCP;
	if (sa) {
		w->port_space = PS_IB;
		if (!w->qp_type)
			w->qp_type = RC;
	}
}

static void rule(struct wanted *w, u32 flags, u32 family, u32 qp_type, u32 ps,
		 const struct shape *shape)
{
	bool sa = flags & SA;

	memset(w, 0, sizeof(*w));
	if (flags & ~FLAGS_KNOWN)
		broken(w, -EOPNOTSUPP);
	if (sa && flags & DNS)
		broken(w, -EOPNOTSUPP);
	if (family && family != 2 && family != 10 && family != 27)
		broken(w, -EAFNOSUPPORT);
	types_rule(w, qp_type, ps, sa);
	/* AF_IB has an effect with RAI_FAMILY only. */
	w->family = family == 27 && !(flags & FAMILY) ? 0 : family;

	if (sa) {
		if (shape->node)
			broken(w, -EOPNOTSUPP);
		if (!shape->service || !*shape->service)
			broken(w, -EINVAL);
		if (w->family && w->family != 27)
			broken(w, -EADDRNOTAVAIL);
		return;
	}
	if (shape->service)
		broken(w, -EINVAL);
	if (!shape->node) {
		if (!shape->has_port && !(flags & PASSIVE))
			broken(w, -ENOENT);
		return;
	}
	if (!*shape->node)
		broken(w, -ENOENT);
	if (shape->numeric == 2 && w->family && w->family != 2)
		broken(w, -EADDRNOTAVAIL);
	if (shape->numeric == 10 && w->family == 2)
		broken(w, -EADDRNOTAVAIL);
	if (!shape->numeric && flags & NUMERICHOST)
		broken(w, -ENOENT);
}

static bool allowed(const struct wanted *w, int ret)
{
	int i;

	if (!w->count)
		return !ret;
	for (i = 0; i < w->count; i++) {
		if (w->errors[i] == ret)
			return true;
	}
	return false;
}

/* The errno of invalid attributes */
static int check_for(const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller)
{
	static struct cmx_request req;

	return cmx_request_parse(&req, attr, caller);
}

static int check(const struct rdma_cmx_query_attr *attr)
{
	static const struct cmx_caller kernel;

	return check_for(attr, &kernel);
}

static u32 check_one(struct kunit *test, u32 flags, u32 family, u32 qp_type,
		     u32 ps, const struct shape *shape)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = shape->node,
		.service = shape->service,
		.has_port = shape->has_port,
		.port = shape->has_port ? 4420 : 0,
		.flags = flags,
		.family = family,
		.qp_type = qp_type,
		.port_space = ps,
	};
	struct cmx_hints hints;
	struct wanted w;
	int ret;

	rule(&w, flags, family, qp_type, ps, shape);
	ret = check(&attr);
	if (!allowed(&w, ret)) {
		KUNIT_FAIL(test,
			   "flags %#x family %u qp %u ps %#x node %s service %s: %d",
			   flags, family, qp_type, ps, shape->node ?: "-",
			   shape->service ?: "-", ret);
		return 1;
	}
	if (w.count)
		return 0;
	ret = cmx_hints_init(&hints, &attr);
	if (ret || hints.qp_type != w.qp_type || hints.family != w.family ||
	    hints.port_space != w.port_space || hints.flags != flags) {
		KUNIT_FAIL(test,
			   "flags %#x family %u qp %u ps %#x: %d, qp %u ps %#x family %u",
			   flags, family, qp_type, ps, ret, hints.qp_type,
			   hints.port_space, hints.family);
		return 1;
	}
	return 0;
}

/* GAI-02, GAI-03, RAI-05 */
static void hints_matrix(struct kunit *test)
{
	u32 flags, f, q, p, s, bad = 0;

	/* Each combination of the known flags, and unknown ones. */
	for (flags = 0; flags < 2 * (FLAGS_KNOWN + 1) && bad < 8; flags++)
		for (f = 0; f < ARRAY_SIZE(families); f++, cond_resched())
			for (q = 0; q < ARRAY_SIZE(qp_types); q++)
				for (p = 0; p < ARRAY_SIZE(port_spaces); p++)
					for (s = 0; s < ARRAY_SIZE(shapes); s++)
						bad += check_one(test, flags,
								 families[f],
								 qp_types[q],
								 port_spaces[p],
								 &shapes[s]);
}

static void hints_unknown_flags(struct kunit *test)
{
	unsigned int bit;

	for (bit = 6; bit < 32; bit++)
		check_one(test, BIT(bit), 0, 0, 0, &shapes[2]);
}

static int query_of(const struct rdma_cmx_query_attr *with)
{
	struct rdma_cmx_query_attr attr = *with;

	attr.net = &init_net;
	return check(&attr);
}

#define QUERY(...) query_of(&(struct rdma_cmx_query_attr){ __VA_ARGS__ })

/* GAI-07, GAI-15 */
static void hints_addresses(struct kunit *test)
{
	static const u32 from[] = { 2, 10, 27 };
	union rdma_cmx_sockaddr src = {}, dst = {};
	int i, j, k, ret;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			src.sa.sa_family = from[i];
			dst.sa.sa_family = from[j];
			ret = QUERY(.src = &src, .dst = &dst);
			KUNIT_EXPECT_EQ(test, ret, i == j ? 0 : -EINVAL);
			for (k = 0; k < 3; k++) {
				ret = QUERY(.src = &src, .family = from[k],
					    .flags = FAMILY);
				KUNIT_EXPECT_EQ(test, ret,
						i == k ? 0 : -EINVAL);
				ret = QUERY(.dst = &dst, .family = from[k],
					    .flags = FAMILY);
				KUNIT_EXPECT_EQ(test, ret,
						j == k ? 0 : -EINVAL);
			}
		}
	}
	for (i = 0; i < 64; i++) {
		if (i == 2 || i == 10 || i == 27)
			continue;
		src.sa.sa_family = i;
		KUNIT_EXPECT_EQ(test, QUERY(.src = &src), -EINVAL);
		KUNIT_EXPECT_EQ(test, QUERY(.dst = &src), -EINVAL);
	}
}

static void hints_arrays(struct kunit *test)
{
	static const struct ib_path_rec_data route[9];
	static const struct rdma_cmx_names names = { .version = 1 };
	static const struct rdma_cmx_query_attr host = {
		.net = &init_net,
		.node = "host",
	};
	static const struct rdma_cmx_query_attr port = {
		.net = &init_net,
		.has_port = true,
	};

	KUNIT_EXPECT_EQ(test, -EINVAL, QUERY(.route_count = 1, .has_port = 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, QUERY(.route = route, .route_count = 9,
					     .node = "192.0.2.1"));
	KUNIT_EXPECT_EQ(test, 0, QUERY(.route = route, .route_count = 8,
				       .node = "192.0.2.1"));
	KUNIT_EXPECT_EQ(test, -EINVAL, check_for(&host, &(struct cmx_caller){
						 .names_len = 8 }));
	KUNIT_EXPECT_EQ(test, -EINVAL, check_for(&port, &(struct cmx_caller){
						 .names = &names,
						 .names_len = 8 }));
	KUNIT_EXPECT_EQ(test, -EINVAL, check_for(&port, &(struct cmx_caller){
						 .names_later = true }));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			check(&(struct rdma_cmx_query_attr){
				.node = "192.0.2.1" }));
}

/* Texts up to the limit are valid, longer ones invalid, none is cut. */
static void hints_lengths(struct kunit *test)
{
	char *text = kunit_kzalloc(test, RDMA_CMX_MAX_NODE + 2, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	memset(text, 'a', RDMA_CMX_MAX_SERVICE);
	KUNIT_EXPECT_EQ(test, 0, QUERY(.service = text, .flags = SA));
	text[RDMA_CMX_MAX_SERVICE] = 'a';
	KUNIT_EXPECT_EQ(test, -EINVAL, QUERY(.service = text, .flags = SA));
	memset(text, 'a', RDMA_CMX_MAX_NODE);
	KUNIT_EXPECT_EQ(test, 0, QUERY(.node = text));
	text[RDMA_CMX_MAX_NODE] = 'a';
	KUNIT_EXPECT_EQ(test, -ENOENT, QUERY(.node = text));
}

/*
 * KA-06: a bond of IPoIB fails over to its other port. The port of the hints
 * is that of the start of the query. It limits entries by GID only.
 */
static void hints_failover(struct kunit *test)
{
	struct cmx_hints h = {
		.net = &init_net,
		.ifindex = LOOPBACK_IFINDEX,
		.by_dev = true,
		.dev_index = 7,
		.dev_port = 1,
	};
	struct cmx_dest dest = {
		.src.in.sin_family = AF_INET,
		.src.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.ibdev_index = 7,
		.port_num = 2,
	};

	KUNIT_EXPECT_TRUE(test, cmx_dest_taken(&h, &dest));
	dest.ibdev_index = 8;
	KUNIT_EXPECT_TRUE(test, cmx_dest_taken(&h, &dest));
	/* No device, and the address of another netdevice */
	dest.port_num = 0;
	KUNIT_EXPECT_FALSE(test, cmx_dest_taken(&h, &dest));
	dest.port_num = 1;
	dest.src.in.sin_addr.s_addr = htonl(0xc0000201);
	KUNIT_EXPECT_FALSE(test, cmx_dest_taken(&h, &dest));

	memset(&dest.src, 0, sizeof(dest.src));
	dest.src.ib.sib_family = AF_IB;
	KUNIT_EXPECT_FALSE(test, cmx_dest_taken(&h, &dest));
	dest.ibdev_index = 7;
	KUNIT_EXPECT_TRUE(test, cmx_dest_taken(&h, &dest));
	dest.port_num = 2;
	KUNIT_EXPECT_FALSE(test, cmx_dest_taken(&h, &dest));
	/* By the device alone, it limits each entry. */
	h.ifindex = 0;
	memset(&dest.src, 0, sizeof(dest.src));
	dest.src.in.sin_family = AF_INET;
	dest.src.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	KUNIT_EXPECT_FALSE(test, cmx_dest_taken(&h, &dest));
	dest.port_num = 1;
	KUNIT_EXPECT_TRUE(test, cmx_dest_taken(&h, &dest));
}

/* KA-06: a source of the caller without an address keeps its port. */
static void hints_source_port(struct kunit *test)
{
	union rdma_cmx_sockaddr dst = {
		.in.sin_family = AF_INET,
		.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	union rdma_cmx_sockaddr src = { .in.sin_port = htons(900) };

	KUNIT_EXPECT_EQ(test, 0, cmx_source_choose(&init_net, &dst,
						   LOOPBACK_IFINDEX, &src));
	KUNIT_EXPECT_EQ(test, src.in.sin_family, AF_INET);
	KUNIT_EXPECT_EQ(test, src.in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	KUNIT_EXPECT_EQ(test, src.in.sin_port, htons(900));
}

static struct kunit_case hints_cases[] = {
	KUNIT_CASE(hints_matrix),
	KUNIT_CASE(hints_unknown_flags),
	KUNIT_CASE(hints_addresses),
	KUNIT_CASE(hints_arrays),
	KUNIT_CASE(hints_lengths),
	KUNIT_CASE(hints_failover),
	KUNIT_CASE(hints_source_port),
	{}
};

static struct kunit_suite hints_suite = {
	.name = "cmx_hints",
	.test_cases = hints_cases,
};

kunit_test_suite(hints_suite);
