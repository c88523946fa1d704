/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What tests at the uAPI share beyond single commands (selftests/ioctl/common.h):
 * connections, queries, parameters and counters, processes of other users, the
 * check that nothing is left. No state but what a test hands in.
 */
#ifndef COMMON_UAPI_H
#define COMMON_UAPI_H

#include <sys/types.h>

#include "../ioctl/common.h"

#define PARAMETERS	"/sys/module/rdma_cmx/parameters/"
#define COUNTERS	"/sys/module/rdma_cmx/counters/"

/* A listening id with user id @uid, and the port that it got. */
int listener_new(int fd, uint64_t uid, uint32_t *id, uint16_t *port);
/* An id with user id @uid whose route to @port of ADDR_RDMA is resolved. */
int active_new(int fd, uint64_t uid, uint16_t port, uint32_t *id);
/* The same; its connection request is sent. */
int connect_start(int fd, uint64_t uid, uint16_t port, uint32_t *id);

/* A connection request of @fd to a new listener of @fd; its passive id. */
int request_get(int fd, uint64_t active_uid, uint32_t *listener,
		uint32_t *active, uint32_t *passive);

/* Start a query for a name by an id, for a service by an id bound to @src. */
int name_query(int fd, uint32_t id, const char *name, uint32_t timeout_ms);
int service_query(int fd, const char *src, const char *service,
		  uint32_t timeout_ms);

/* A file that has one number in it, or -1 */
long number_get(const char *path);
int number_set(const char *path, long value);
/* Wait until it is 0. */
bool number_gone(const char *path);

int user_become(uid_t uid);
/* A process of user @uid that exits with what @run returns, 0 to 253. */
pid_t user_start(uid_t uid, int (*run)(void *arg), void *arg);
/* Wait for it: its exit status, or -1. */
int user_end(pid_t pid);
/* Query a name as user @uid: 0 or an errno. */
int user_resolve(uid_t uid, const char *name, uint32_t timeout_ms);
/* Kill those of @count processes that were started. */
void pids_kill(const pid_t *pids, int count);

/* Run a command of bash, with the functions for the simulated fabric. */
int fabric_bash(const char *command);

/* Do all live objects of the module go? Names those that stay. */
bool nothing_left(void);

#endif /* COMMON_UAPI_H */
