/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queries to the name servers after a lookup with a temporary failure */
#ifndef CMX_NAMES_PROBE_H
#define CMX_NAMES_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* The result of a query to the servers: the highest of all replies */
enum cmx_probe {
	CMX_PROBE_SILENT,	/* no reply, or no valid one */
	CMX_PROBE_REFUSED,	/* FORMERR, NOTIMP, REFUSED: permanent */
	CMX_PROBE_FAILING,	/* SERVFAIL, or no server at the address */
	CMX_PROBE_ANSWERED,	/* a response, positive or negative */
};

/* The meaning of a reply to @query; SILENT if it is no reply to it */
enum cmx_probe cmx_probe_reply(const unsigned char *query, size_t query_len,
			       const unsigned char *reply, size_t reply_len);

/*
 * Initialises the DNS client of this process, with such short timeouts that it
 * queries every server within @seconds. False without memory.
 */
bool cmx_probe_setup(long seconds);

/*
 * Queries all servers for @name. Returns REFUSED only if each one refuses. It
 * waits for a silent server for @timeout_ms milliseconds; if negative, until
 * the caller's alarm ends it.
 */
enum cmx_probe cmx_probe_query(const char *name, int timeout_ms);

#endif /* CMX_NAMES_PROBE_H */
