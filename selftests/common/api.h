/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the API tests: the guest's addresses and names, and functions that
 * wait for events, print results and watch the name server.
 *
 * Each test runs in a separate process (kselftest_harness.h), so nothing
 * here needs a lock.
 */
#ifndef CMX_SELFTEST_API_H
#define CMX_SELFTEST_API_H

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* The harness defines functions, so only one file of a program has it. */
#ifndef CMX_SELFTEST_NO_HARNESS
#include "harness.h"
#endif

#ifndef AF_IB
#define AF_IB 27
#endif

/* struct sockaddr_ib of <rdma/ib.h>: <infiniband/ib.h> uses the name, too. */
struct sockaddr_ib_view {
	unsigned short family;
	__be16 pkey;
	__be32 flowinfo;
	unsigned char gid[16];
	__be64 sid;
	__be64 sid_mask;
	__u64 scope_id;
};

/* The two guests: A runs the tests, B is the peer. */
#define ETH		"eth0"
#define IBDEV		"rxe0"
#define OWN4		"10.55.0.1"
#define OWN6		"fd55::1"
#define PEER4		"10.55.0.2"
#define PEER6		"fd55::2"
#define MGMT4		"192.168.77.1"
#define MGMT_PEER4	"192.168.77.2"
#define NOBODY4		"10.55.0.77"	/* on the link, does not reply to ARP */

#define NAME_STORAGE	"storage.cmx.test"
#define NAME_ALIAS	"alias.cmx.test"
#define NAME_V4		"v4only.cmx.test"
#define NAME_V6		"v6only.cmx.test"
#define NAME_NODATA	"nodata.cmx.test"

#define NAME_FAR	"unreachable.cmx.test"	/* 203.0.113.9, no route */

#define PORT		"7471"

#define SELFTESTS	"/usr/lib/rdma-cmx/selftests"
#define DNS_LOG		"/run/dns/log"

/* Longer than any deadline of the project (10 s for a name) */
#define WAIT_MS		60000

#define TEXT_MAX	4096

/* "10.55.0.2:7471", "[fd55::2]:7471", "none", … */
const char *addr_text(const struct sockaddr *addr, char *buf, size_t len);
/* Likewise without the port */
const char *host_text(const struct sockaddr *addr, char *buf, size_t len);

/* Prints the parts of a result that equal results have in common. */
const char *ai_text(const struct rdma_addrinfo *ai, char *buf, size_t len);
unsigned int ai_count(const struct rdma_addrinfo *ai);
/* First entry whose destination prints as @dst, NULL if there is none. */
struct rdma_addrinfo *ai_find(struct rdma_addrinfo *ai, const char *dst);

/* Makes a socket address from a text, which determines the family. */
struct sockaddr *addr_make(struct sockaddr_storage *ss, const char *host,
			   unsigned int port);
socklen_t addr_len(const struct sockaddr *addr);

/* rdma_get_cm_event() with a deadline: 0, or -1 with ETIMEDOUT. */
int event_wait(struct rdma_event_channel *channel, struct rdma_cm_event **event,
	       int timeout_ms);
/* Waits for an event and acks it; its type, or -1 with errno. */
int event_take(struct rdma_event_channel *channel, int *status);
/* Wait until the channel's fd is readable: 1; 0 after the timeout. */
int channel_readable(struct rdma_event_channel *channel, int timeout_ms);

/* bind, resolve_addr and resolve_route with the wait for their events */
int id_resolve_addr(struct rdma_cm_id *id, const char *src, const char *dst,
		    unsigned int port, int *status);
int id_bind(struct rdma_cm_id *id, const char *host, unsigned int port);

/* Creates a QP of an id with a device, with the library's PD and CQs. */
int qp_make(struct rdma_cm_id *id, enum ibv_qp_type type);

/* Runs a shell command. Returns its exit code. */
int run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Waits until a shell command succeeds. */
bool wait_for(int timeout_ms, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Runs a shell command in guest B, with the functions of lib.sh. */
int peer(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
long long now_ms(void);

/* A name without an earlier query, in a zone of the name server. */
const char *name_fresh(const char *zone, char *buf, size_t len);
/* Number of queries of a name to the name server so far, of all types */
unsigned int dns_queries(const char *name);
/* Makes the name server log a query, so that all before it is logged. */
void dns_barrier(void);

/* Sum of the live_* counters of both modules. */
long live_objects(void);
bool live_objects_are(long wanted, int timeout_ms);
bool live_objects_gone(int timeout_ms);
/* Connections of this test in this process; GSI and SMI have other types. */
bool queue_pairs_gone(void);

/*
 * Adds lines to /etc/FILE for this process and its children only, by a private
 * mount namespace. 0 or -1.
 */
int etc_private(const char *file, const char *lines);

/* A buffer that ends where unmapped memory begins: reads past it crash. */
void *guarded(const void *data, size_t len);

#endif /* CMX_SELFTEST_API_H */
