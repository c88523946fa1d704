/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries to the name servers after a lookup with a temporary failure.
 */
#ifndef CMX_NAMES_PROBE_H
#define CMX_NAMES_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* The result of a query to the servers: the highest of all replies. */
enum cmx_probe {
	CMX_PROBE_SILENT,	/* nothing, or nothing that is an answer */
	CMX_PROBE_REFUSED,	/* FORMERR, NOTIMP, REFUSED: permanent */
	CMX_PROBE_FAILING,	/* SERVFAIL, or no server at the address */
	CMX_PROBE_ANSWERED,	/* an answer, good or bad */
};

/* The meaning of a reply to @query; SILENT if it is no reply to it. */
enum cmx_probe cmx_probe_reply(const unsigned char *query, size_t query_len,
			       const unsigned char *reply, size_t reply_len);

/*
 * Initialise the DNS client of this process, with waits so short that it
 * queries every server within @seconds. False when out of memory.
 */
bool cmx_probe_setup(long seconds);

/*
 * Query all servers for @name. Returns REFUSED only when each one refuses. It
 * waits for a silent server for @timeout_ms; less than 0: until the caller's
 * alarm ends it.
 */
enum cmx_probe cmx_probe_query(const char *name, int timeout_ms);

#endif /* CMX_NAMES_PROBE_H */
