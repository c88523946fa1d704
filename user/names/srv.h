/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SRV records (RFC 2782): the hosts and ports that offer a service. All
 * functions but the query are pure. No state except that of the thread's DNS
 * client.
 */
#ifndef CMX_NAMES_SRV_H
#define CMX_NAMES_SRV_H

#include <stdbool.h>
#include <stddef.h>

#include <rdma/rdma_cmx_names.h>

/* Maximum records of a response that are used */
#define CMX_SRV_RECORDS	64
/* Maximum records whose hosts are looked up */
#define CMX_SRV_HOSTS	16

struct cmx_srv {
	unsigned int priority;
	unsigned int weight;
	unsigned int port;
	char host[RDMA_CMX_NAMES_MAX_NAME + 1];	/* empty: no such service */
};

/* True for _service._protocol.domain, which is no host name */
bool cmx_srv_name(const char *name);

/*
 * Reads the valid SRV records of a name server's response. Of more than
 * CMX_SRV_RECORDS, the order of the records does not matter: those with the
 * lowest priority count, then the highest weight, then by host and port.
 * Returns their number, -1 if the message is malformed.
 */
int cmx_srv_parse(const unsigned char *msg, size_t len, struct cmx_srv *list);

/*
 * Selects the records whose hosts are looked up, CMX_SRV_HOSTS by the same
 * order. Returns their number.
 */
unsigned int cmx_srv_limit(struct cmx_srv *list, unsigned int count);

/*
 * Sorts them as in RFC 2782: by priority, and with equal priority at random by
 * weight. @random returns a number from 0 to its argument.
 */
void cmx_srv_order(struct cmx_srv *list, unsigned int count,
		   unsigned int (*random)(unsigned int max));

/*
 * Queries the name servers for the records of @name, limits and sorts them.
 * Returns their number, 0: none; or a negative errno of rdma_cmx_names.h, and
 * _res.res_h_errno has the reason. @list has CMX_SRV_RECORDS elements.
 */
int cmx_srv_query(const char *name, struct cmx_srv *list);

#endif /* CMX_NAMES_SRV_H */
