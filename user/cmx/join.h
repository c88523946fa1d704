/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The options of cmx join, and the objects that it has opened. */
#ifndef CMX_JOIN_H
#define CMX_JOIN_H

#include <rdma/rdma_cmx.h>

#include "traffic.h"

struct group {
	const char *text;	/* as given */
	struct sockaddr_storage addr;
	bool left;		/* or not joined */
	bool joined;		/* and reported */
};

struct join {
	const char *text;	/* the groups, for messages */
	struct group *groups;
	struct rdmacmx_join_attr *attrs;	/* one for each */
	int ngroups;
	int joined;		/* groups */
	struct sockaddr_storage source;	/* family 0: by the routing table */
	struct rdmacmx_group wanted;
	bool persistent;
	unsigned long count;
	unsigned long done;
	bool send_only;
	bool once;
	bool json;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct traffic traffic;
	int signals;
};

/*
 * CMX_OK, or the error after a message. The caller frees groups and attrs, also
 * after an error.
 */
int join_parse(struct join *join, int argc, char **argv);

#endif /* CMX_JOIN_H */
