/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of tests at the uAPI beyond single commands (ioctl.h): queries,
 * parameters and counters, processes of other users, the check that no object
 * is left. No state but the arguments.
 */
#ifndef COMMON_UAPI_H
#define COMMON_UAPI_H

#include <sys/types.h>

#include "ioctl.h"

#define PARAMETERS	"/sys/module/rdma_cmx/parameters/"
#define COUNTERS	"/sys/module/rdma_cmx/counters/"

/* Starts a query for a name by an id, for a service by an id bound to @src. */
int name_query(int fd, uint32_t id, const char *name, uint32_t timeout_ms);
int service_query(int fd, const char *src, const char *service,
		  uint32_t timeout_ms);
/* The number of path records of a query for @dst from @src, or -errno */
int route_query(const char *src, const char *dst, uint32_t timeout_ms);

/* The result of one of them: 0, or a negative errno. Waits for minutes. */
int query_result(int fd);

/* Waits until the number in a file is 0. */
bool number_gone(const char *path);

/* Connects that wait for a slot */
#define WAITS		COUNTERS "live_connect_waits"
/* Waits until there are so many; false after 60 s. */
bool waits_are(long n);

int user_become(uid_t uid);
/* Opens the device without blocking, for another user: the real one counts. */
int other_user_open(void);
/*
 * The calling thread acts as an ordinary user: between user_enter() and
 * user_leave() each right of the kernel's is the user's, and so are threads and
 * processes that it starts. A test sets parameters outside of them. 0 or -1.
 */
int user_enter(uid_t uid);
int user_leave(void);
/* Starts a process of user @uid that exits with @run's result, 0 to 253. */
pid_t user_start(uid_t uid, int (*run)(void *arg), void *arg);
/* Waits for it: its exit status, or -1. */
int user_end(pid_t pid);
/* Queries a name as user @uid: 0 or an errno. */
int user_resolve(uid_t uid, const char *name, uint32_t timeout_ms);
/*
 * Sets the timeout of the name helper. A busy or slow host may need more than
 * its 4 s to start one.
 */
#define HELPER_SECONDS	4
int helper_timeout(int seconds);
/*
 * Maps the ids of a process's user namespace, in its uid_map or gid_map: 0 to
 * @root, and @count others from @first on.
 */
int id_map_write(pid_t pid, const char *file, uid_t root, uid_t first,
		 unsigned int count);
/* Kills the started ones of @count processes. */
void pids_kill(const pid_t *pids, int count);

/* Runs a command of bash, with the functions for the simulated fabric. */
int fabric_bash(const char *command);

/* True if all live objects of the module are freed. Prints the others. */
bool nothing_left(void);

#endif /* COMMON_UAPI_H */
