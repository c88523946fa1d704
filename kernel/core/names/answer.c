// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Results of a name service, the host's or a caller's. cmx_answer_check()
 * validates all of their contents before use. A shared result has its
 * references, separate from its key, whose payload is freed with the key type.
 * No locks.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "names/names.h"

static bool cmx_answer_version_ok(const struct rdma_cmx_names *names)
{
	return names->version == RDMA_CMX_NAMES_VERSION ||
	       names->version == RDMA_CMX_NAMES_VERSION_PORTS;
}

static bool cmx_answer_addr_ok(const struct rdma_cmx_names *names, u32 i)
{
	const struct rdma_cmx_names_addr *a = &names->addrs[i];
	struct in6_addr in6;

	if (a->port && names->version != RDMA_CMX_NAMES_VERSION_PORTS)
		return false;
	switch (a->family) {
	case AF_INET:
		return !a->scope_id && !memchr_inv(a->addr + 4, 0, 12);
	case AF_INET6:
		memcpy(&in6, a->addr, sizeof(in6));
		return !a->scope_id ||
		       __ipv6_addr_needs_scope_id(__ipv6_addr_type(&in6));
	default:
		return false;
	}
}

/* Returns 0 or -EBADMSG. */
int cmx_answer_check(const struct rdma_cmx_names *names, size_t len)
{
	const u8 *canon;
	u32 i;

	if (len < sizeof(*names) || !cmx_answer_version_ok(names) ||
	    names->reserved || !names->addr_count ||
	    names->addr_count > RDMA_CMX_NAMES_MAX_ADDRS ||
	    names->canon_len > RDMA_CMX_NAMES_MAX_NAME ||
	    len != struct_size(names, addrs, names->addr_count) +
		   names->canon_len)
		return -EBADMSG;

	for (i = 0; i < names->addr_count; i++) {
		if (!cmx_answer_addr_ok(names, i))
			return -EBADMSG;
	}
	canon = (const u8 *)&names->addrs[names->addr_count];
	for (i = 0; i < names->canon_len; i++) {
		if (canon[i] <= ' ' || canon[i] == 0x7f)
			return -EBADMSG;
	}
	return 0;
}

/* Maximum length of a valid result */
#define CMX_ANSWER_MAX							\
	(sizeof(struct rdma_cmx_names) +				\
	 RDMA_CMX_NAMES_MAX_ADDRS * sizeof(struct rdma_cmx_names_addr) + \
	 RDMA_CMX_NAMES_MAX_NAME)

int cmx_answer_copy(struct cmx_answer *answer,
		    const struct rdma_cmx_names *names, size_t len)
{
	int ret;

	if (!names || len > CMX_ANSWER_MAX)
		return -EBADMSG;
	/* Copied first: the caller's memory may change during the check. */
	answer->own = kmemdup(names, len, GFP_KERNEL_ACCOUNT);
	if (!answer->own)
		return -ENOMEM;
	ret = cmx_answer_check(answer->own, len);
	if (ret) {
		kfree(answer->own);
		answer->own = NULL;
		return ret;
	}
	answer->names = answer->own;
	answer->shared = NULL;
	return 0;
}

/* NULL without memory. @names has passed the check. */
struct cmx_shared_names *
cmx_shared_names_new(const struct rdma_cmx_names *names, size_t len)
{
	size_t head = offsetof(struct cmx_shared_names, names);
	struct cmx_shared_names *shared;

	shared = kmalloc(head + len, GFP_KERNEL);
	if (!shared)
		return NULL;
	refcount_set(&shared->usage, 1);
	memcpy((u8 *)shared + head, names, len);
	return shared;
}

void cmx_shared_names_put(struct cmx_shared_names *shared)
{
	if (shared && refcount_dec_and_test(&shared->usage))
		kfree(shared);
}

/* A caller's result cannot be shared. */
void cmx_answer_share(struct cmx_answer *to, const struct cmx_answer *from)
{
	refcount_inc(&from->shared->usage);
	to->shared = from->shared;
	to->names = from->names;
	to->own = NULL;
}

void cmx_answer_release(struct cmx_answer *answer)
{
	if (!answer->names)
		return;
	cmx_shared_names_put(answer->shared);
	kfree(answer->own);
	memset(answer, 0, sizeof(*answer));
}
