// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See uapi.h. */
#include "uapi.h"

int listener_new(int fd, uint64_t uid, uint32_t *id, uint16_t *port)
{
	struct rdma_cmx_id_query query = {};
	int ret;

	ret = id_create(fd, RDMA_PS_TCP, uid, id) ?:
	      id_bind(fd, *id, ADDR_RDMA, 0) ?: id_listen(fd, *id);
	query.id = *id;
	ret = ret ?: call(fd, ID_QUERY, &query);
	*port = addr_port(&query.info.src);
	return ret;
}

int active_new(int fd, uint64_t uid, uint16_t port, uint32_t *id)
{
	union event_buf buf;

	return id_create(fd, RDMA_PS_TCP, uid, id) ?:
	       id_resolve_addr(fd, *id, NULL, ADDR_RDMA, port) ?:
	       event_want(fd, EV_ADDR_RESOLVED, &buf) ?:
	       id_resolve_route(fd, *id) ?:
	       event_want(fd, EV_ROUTE_RESOLVED, &buf);
}

int connect_start(int fd, uint64_t uid, uint16_t port, uint32_t *id)
{
	return active_new(fd, uid, port, id) ?: id_connect(fd, *id);
}

bool nothing_left(void)
{
	static const char * const names[] = {
		"live_ids", "live_mcs", "live_events", "live_queries",
	};
	bool none = counter_wait("live_files", 0);
	unsigned int i;

	/* With the files go all others, and nothing is late. */
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!counter(names[i]))
			continue;
		fprintf(stderr, "# %s is %ld, not 0\n", names[i],
			counter(names[i]));
		none = false;
	}
	return none;
}
