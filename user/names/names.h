/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The decisions of the name helper that need no query: valid names, the form of
 * a result, the errno of a failure. Pure functions without state, so that tests
 * and fuzzers can call them.
 */
#ifndef CMX_NAMES_H
#define CMX_NAMES_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>

#include <rdma/rdma_cmx_names.h>

/* Maximum length of a result */
#define CMX_NAMES_ANSWER_MAX						\
	(sizeof(struct rdma_cmx_names) +				\
	 RDMA_CMX_NAMES_MAX_ADDRS * sizeof(struct rdma_cmx_names_addr) +\
	 RDMA_CMX_NAMES_MAX_NAME)

/* True if a name may be looked up: host name syntax, and no address */
bool cmx_names_valid(const char *name);

/*
 * Writes a result to @buf, which has CMX_NAMES_ANSWER_MAX bytes and is aligned
 * for struct rdma_cmx_names: begin, add up to @max addresses of lists with the
 * port of each, and end with the canonical name or NULL. Returns its length, 0
 * without an address.
 *
 * A name server rotates the addresses, and the same ones must count each time:
 * of a list with more than @max, the lowest ones by memcmp(), in its order.
 */
void cmx_names_begin(void *buf, unsigned int version);
void cmx_names_add(void *buf, const struct addrinfo *list, unsigned int port,
		   unsigned int max);
size_t cmx_names_end(void *buf, const char *canon);

/* Likewise for one list without ports */
size_t cmx_names_pack(const struct addrinfo *list, void *buf);

/*
 * The errno of RDMA_CMX_NAMES for a result of getaddrinfo, 0 for success.
 * @gai: return value of getaddrinfo
 * @dns: res_h_errno, the last error of the DNS client of this process; 0 if it
 *	sent no query
 * @sys: errno, used for EAI_SYSTEM only
 */
int cmx_names_errno(int gai, int dns, int sys);

/* True if rdma_cmx_names.h defines the errno */
bool cmx_names_known(int error);

/* True if @len bytes, aligned, are a well-formed result with a valid name */
bool cmx_names_check(const void *answer, size_t len);

/* Parses a decimal number from @min to @max. */
bool cmx_names_number(const char *text, long min, long max, long *value);

#endif /* CMX_NAMES_H */
