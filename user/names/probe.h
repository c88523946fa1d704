/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A closer look at the name servers after a look-up that failed for now.
 */
#ifndef CMX_NAMES_PROBE_H
#define CMX_NAMES_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* What the servers make of a question, the most hopeful that was heard. */
enum cmx_probe {
	CMX_PROBE_SILENT,	/* nothing, or nothing that is an answer */
	CMX_PROBE_REFUSED,	/* FORMERR, NOTIMP, REFUSED: for good */
	CMX_PROBE_FAILING,	/* SERVFAIL, or nobody at the address */
	CMX_PROBE_ANSWERED,	/* an answer, good or bad */
};

/* What a reply to @query means; SILENT when it is no reply to it. */
enum cmx_probe cmx_probe_reply(const unsigned char *query, size_t query_len,
			       const unsigned char *reply, size_t reply_len);

/*
 * Have the DNS client of this process initialised, its waits cut so that
 * every server has its turn within @seconds. False when out of memory.
 */
bool cmx_probe_setup(long seconds);

/*
 * Ask all servers for @name. Returns REFUSED only when each one refuses. It
 * waits for a silent server for @timeout_ms; less than 0: until the caller's
 * alarm ends it.
 */
enum cmx_probe cmx_probe_ask(const char *name, int timeout_ms);

#endif /* CMX_NAMES_PROBE_H */
