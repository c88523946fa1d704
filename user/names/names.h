/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The decisions of the name helper that need no query: the names that it
 * accepts, the form of an answer, the errno of a failure. Pure functions
 * without state, so that tests and fuzzers can call them.
 */
#ifndef CMX_NAMES_H
#define CMX_NAMES_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>

#include <rdma/rdma_cmx_names.h>

/* The longest answer there can be. */
#define CMX_NAMES_ANSWER_MAX						\
	(sizeof(struct rdma_cmx_names) +				\
	 RDMA_CMX_NAMES_MAX_ADDRS * sizeof(struct rdma_cmx_names_addr) +\
	 RDMA_CMX_NAMES_MAX_NAME)

/* A name that may be looked up: host name syntax, and not an address. */
bool cmx_names_valid(const char *name);

/*
 * Write an answer to @buf, which has room for CMX_NAMES_ANSWER_MAX bytes and is
 * aligned for struct rdma_cmx_names: begin it, add @max addresses of lists with
 * the port of each, and end it with the canonical name or NULL. Returns its
 * length, 0 when it has no address.
 */
void cmx_names_begin(void *buf, unsigned int version);
void cmx_names_add(void *buf, const struct addrinfo *list, unsigned int port,
		   unsigned int max);
size_t cmx_names_end(void *buf, const char *canon);

/* The same for one list without ports. */
size_t cmx_names_pack(const struct addrinfo *list, void *buf);

/*
 * The errno of RDMA_CMX_NAMES for a result of getaddrinfo, 0 for success.
 * @gai: return value of getaddrinfo
 * @dns: res_h_errno, the last error of the DNS client of this process; 0 if it
 *	sent no query
 * @sys: errno, used for EAI_SYSTEM only
 */
int cmx_names_errno(int gai, int dns, int sys);

/* An errno that rdma_cmx_names.h gives a meaning. */
bool cmx_names_known(int error);

/* @len bytes, aligned, are a well-formed answer with a valid name. */
bool cmx_names_check(const void *answer, size_t len);

/* A decimal number from @min to @max and nothing else. */
bool cmx_names_number(const char *text, long min, long max, long *value);

#endif /* CMX_NAMES_H */
