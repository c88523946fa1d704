/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the tests of resolution by the SA, on top of api.h: the fabric's
 * devices, services at the SA, the fake SA, queries and results.
 *
 * Each test runs in a separate process, so no locks are necessary.
 */
#ifndef CMX_SELFTEST_SA_H
#define CMX_SELFTEST_SA_H

#include <infiniband/ib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "api.h"

/* OpenSM is on the first device; the tests query on the second one. */
#define DEVICES		4
#define DEV_SM		1
#define DEV_OWN		2
#define DEV_OTHER	3
#define DEV_FAKE	4
#define DEV_GONE	4

/* Name, GID as text and GID of device 1 to DEVICES */
const char *device(unsigned int n);
const char *gid_text(unsigned int n);
const struct ib_addr *gid(unsigned int n);

/* Runs a command of bash with the functions of lib.sh and fabric.sh. */
int bash(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Likewise; its output as a number, -1 if it is none */
long long bash_number(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Runs tools/service on @n's port. Returns its exit code. */
int service(unsigned int n, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Names and ids that no other test uses. */
const char *service_name(char name[64]);
unsigned long long service_id(void);

/*
 * Queries on attribute @attr that the device of the SM has received so far by
 * GetTable, which rdma_cmx sends. rdma_cm and IPoIB send Get, and retry when
 * the SA is slow: these are not counted, see paths_lost().
 */
#define ATTR_SERVICE	0x31
#define ATTR_PATH	0x35
long long sa_queries(unsigned int attr);
/*
 * Drops path queries of all senders on their way to the SA, until false. An
 * operation that succeeds meanwhile has sent none.
 */
int paths_lost(bool lost);
/*
 * Clears the cache, and waits until the capabilities of the SA are known again:
 * a path query depends on them.
 */
bool cache_renew(void);
/* A counter of rdma_cmx, -1 if there is none. */
long long counter(const char *name);

/* Sets a parameter of rdma_cmx; @old gets its former value, if not NULL. */
bool parameter_set(const char *name, const char *value, char old[32]);

/* Starts the fake SA instead of the SM, for DEV_OWN. Its process, or -1. */
pid_t fake_start(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Waits until it has received a query for services, and stops it. The number of
 * these queries, or -1.
 */
int fake_stop(pid_t pid);

/* An id bound to the GID of device @n, NULL if that fails. */
struct rdma_cm_id *id_on(struct rdma_event_channel *channel, unsigned int n);

/* Queries by @id and waits; 0 and @res, or the negative errno. */
int sa_get(struct rdma_cm_id *id, const char *service, int flags,
	   struct rdma_addrinfo **res);
/* Likewise without the result: the number of entries, or the errno */
int sa_count(struct rdma_cm_id *id, const char *service);

/* AF_IB address of an entry */
const struct sockaddr_ib *ib(const struct sockaddr *addr);

#endif /* CMX_SELFTEST_SA_H */
