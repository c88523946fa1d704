/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * SRV records (RFC 2782): the hosts and ports that offer a service. All but the
 * query are pure functions. No state beside that of the thread's DNS client.
 */
#ifndef CMX_NAMES_SRV_H
#define CMX_NAMES_SRV_H

#include <stdbool.h>
#include <stddef.h>

#include <rdma/rdma_cmx_names.h>

/* Records of an answer that count. */
#define CMX_SRV_RECORDS	64
/* Records whose hosts are looked up. */
#define CMX_SRV_HOSTS	16

struct cmx_srv {
	unsigned int priority;
	unsigned int weight;
	unsigned int port;
	char host[RDMA_CMX_NAMES_MAX_NAME + 1];	/* empty: no such service */
};

/* _service._protocol.domain: no name of a host. */
bool cmx_srv_name(const char *name);

/*
 * The valid SRV records of a name server's answer, CMX_SRV_RECORDS at most.
 * Returns how many, -1 if the message is malformed.
 */
int cmx_srv_parse(const unsigned char *msg, size_t len, struct cmx_srv *list);

/*
 * Put them in the order of RFC 2782: by priority, and with one priority at
 * random by weight. @random returns a number from 0 to its argument.
 */
void cmx_srv_order(struct cmx_srv *list, unsigned int count,
		   unsigned int (*random)(unsigned int max));

/*
 * Query the name servers for the records of @name, in their order. Returns how
 * many, 0: it has none; or a negative errno of rdma_cmx_names.h, then
 * _res.res_h_errno says why. @list has room for CMX_SRV_RECORDS.
 */
int cmx_srv_query(const char *name, struct cmx_srv *list);

#endif /* CMX_NAMES_SRV_H */
