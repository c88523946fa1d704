/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of rdma_cmx share. A question passes them in this order:
 *
 *	hints.c		is it well formed?
 *	numeric.c	is the node a number?
 *	names.c		otherwise, what does the name service say?
 *	answer.c	does that answer add up?
 *	result.c	the list that comes out, each address annotated by
 *	route.c		(source address by the routing table) and
 *	device.c	(RDMA device of that source), put in order
 *	query.c		who waits for it, until when, and how that ends
 */
#ifndef CMX_CORE_H
#define CMX_CORE_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cmx.h>

#include "compat.h"
#include "stats.h"

struct key;
struct net_device;
struct cmx_lookup;

#define CMX_AI_FLAGS							\
	(RDMA_CMX_AI_PASSIVE | RDMA_CMX_AI_NUMERICHOST |		\
	 RDMA_CMX_AI_NOROUTE | RDMA_CMX_AI_FAMILY | RDMA_CMX_AI_SA |	\
	 RDMA_CMX_AI_DNS)

/**
 * struct cmx_hints - a checked question without its name
 * @net: as asked; whoever keeps the hints keeps a reference
 * @uid: as asked
 * @flags: as asked
 * @family: AF_INET, AF_INET6; AF_IB only with RAI_FAMILY; 0: any
 * @qp_type: as asked, or what @port_space implies; 0: RC and then UD
 * @port_space: as asked, or what @qp_type implies
 * @port: port number, 0 if none
 * @has_port: a port was given
 * @src: wanted source, family 0: any
 * @dst: hints.ai_dst_addr, family 0: none
 */
struct cmx_hints {
	struct net *net;
	kuid_t uid;
	u32 flags;
	sa_family_t family;
	u32 qp_type;
	u32 port_space;
	u16 port;
	bool has_port;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
};

static inline bool cmx_passive(const struct cmx_hints *h)
{
	return h->flags & RDMA_CMX_AI_PASSIVE;
}

/* hints.c */
int cmx_hints_init(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr);

/* addr.c */
size_t cmx_addr_size(sa_family_t family);
bool cmx_addr_is_link_local(const union rdma_cmx_sockaddr *addr);
bool cmx_addr_is_multicast(const union rdma_cmx_sockaddr *addr);
bool cmx_addr_is_any(const union rdma_cmx_sockaddr *addr);
void cmx_addr_set_port(union rdma_cmx_sockaddr *addr, u32 port_space, u16 port);

/* numeric.c */
int cmx_numeric_parse(const struct cmx_hints *h, const char *node,
		      union rdma_cmx_sockaddr *addr);

/* answer.c */
int cmx_answer_check(const struct rdma_cmx_names *names, size_t len);

/**
 * struct cmx_answer - checked answer of a name service, kept alive
 * @names: the answer, or NULL
 * @key: reference of the key that holds @names, or NULL
 * @own: memory of ours that holds @names, or NULL
 */
struct cmx_answer {
	const struct rdma_cmx_names *names;
	struct key *key;
	void *own;
};

int cmx_answer_copy(struct cmx_answer *answer,
		    const struct rdma_cmx_names *names, size_t len);
void cmx_answer_share(struct cmx_answer *to, const struct cmx_answer *from);
void cmx_answer_release(struct cmx_answer *answer);

/* names.c: names that the kernel looks up through its key service. */
/**
 * struct cmx_waiter - waits for a look-up
 * @done: called once without locks, from a work item: the answer, of which a
 *	copy takes cmx_answer_share(), or an error
 * @node: among the waiters of @lookup
 * @lookup: NULL when it does not wait (any more)
 */
struct cmx_waiter {
	void (*done)(struct cmx_waiter *waiter, const struct cmx_answer *answer,
		     int error);
	struct list_head node;
	struct cmx_lookup *lookup;
};

bool cmx_name_valid(const char *name);
int cmx_names_cached(const char *name, struct cmx_answer *answer);
int cmx_names_lookup(const char *name, kuid_t uid, struct cmx_waiter *waiter);
bool cmx_names_forget(struct cmx_waiter *waiter);
int cmx_names_init(void);
void cmx_names_exit(void);

/* nameskey.c: the key type. */
extern struct key_type cmx_names_key_type;
int cmx_names_key_answer(struct key *key, struct cmx_answer *answer);

/**
 * struct cmx_candidates - addresses to build a result from
 * @count: how many
 * @names: where they are, or NULL
 * @fixed: where they are if @names is NULL
 * @canonname: canonical name or NULL; not terminated
 * @canon_len: its length
 */
struct cmx_candidates {
	u32 count;
	const struct rdma_cmx_names *names;
	union rdma_cmx_sockaddr fixed[2];
	const char *canonname;
	u32 canon_len;
};

/* candidates.c */
int cmx_candidates_local(const struct cmx_hints *h,
			 struct cmx_candidates *cands);
int cmx_candidates_names(const struct cmx_hints *h,
			 const struct rdma_cmx_names *names,
			 struct cmx_candidates *cands);
bool cmx_candidates_get(const struct cmx_hints *h,
			const struct cmx_candidates *cands, u32 i,
			union rdma_cmx_sockaddr *addr);

enum cmx_rank {
	CMX_RANK_RDMA,		/* a local RDMA device reaches it */
	CMX_RANK_REACHED,	/* the routing table reaches it */
	CMX_RANK_UNREACHED,
	CMX_RANK_COUNT,
};

/**
 * struct cmx_path - one address with what we know about the way there
 * @src: local address, family 0: none
 * @dst: address of the node, family 0: none
 * @rank: how well it is reached
 * @ibdev_index: device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 */
struct cmx_path {
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	enum cmx_rank rank;
	u32 ibdev_index;
	u32 port_num;
};

/* route.c */
int cmx_route_annotate(const struct cmx_hints *h, struct cmx_path *path);

/* device.c */
bool cmx_device_find(struct net *net, const union ib_gid *ip_gid,
		     struct net_device *ndev, struct cmx_path *path);
bool cmx_device_find_ib(struct net *net, struct cmx_path *path);
int cmx_device_init(void);
void cmx_device_exit(void);

/* result.c */
struct rdma_cmx_result *cmx_result_build(const struct cmx_hints *h,
					 const struct cmx_candidates *cands);

/* query.c */
int cmx_query_init(void);
void cmx_query_exit(void);

#endif /* CMX_CORE_H */
