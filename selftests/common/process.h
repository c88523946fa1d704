/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the tests of processes, on top of those of the API tests: the size
 * of a test, connections inside this machine, children, descriptors.
 *
 * CMX_ROUNDS and CMX_THREADS make a test smaller, for valgrind. Nothing here
 * needs a lock; what works on an id is for one thread at a time.
 */
#ifndef CMX_SELFTEST_PROCESS_H
#define CMX_SELFTEST_PROCESS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "../../user/lib/memcheck.h"
#include "api.h"

/* The value of the environment variable, or @usual. */
int size_of(const char *variable, int usual);
int rounds_of(int usual);
int threads_of(int usual);

/* Ids with a device: on RoCE of this machine. Abort when that fails. */
struct rdma_cm_id *id_make(struct rdma_event_channel *channel);
struct rdma_cm_id *id_listening(struct rdma_event_channel *channel,
				unsigned int port);
/* An id that has resolved all it needs and has a QP, or NULL. */
struct rdma_cm_id *id_ready(struct rdma_event_channel *channel,
			    unsigned int port);
/*
 * Go as far as ESTABLISHED, and back. 0, or the line number of what failed.
 * id_hang_up() waits for the end only with @wait, on a channel of the id's.
 */
int id_connect(struct rdma_cm_id *id);
int id_hang_up(struct rdma_cm_id *id, bool wait);

/*
 * A thread that accepts all requests of a listening id until it is ended.
 *
 * The kernel's CM (ib_cm) works on each CPU at one message at a time. So a
 * DREQ may be processed before the RTU that came ahead of it, and the accepted
 * id then gets the event of its end only: overtaken. It is so on any library.
 */
struct server {
	pthread_t thread;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	unsigned int accepted;
	unsigned int established;
	unsigned int overtaken;
	int wrong;		/* line number of what failed, or 0 */
};

void server_start(struct server *server, unsigned int port);
/* Has all ended well? The same as wrong. */
int server_end(struct server *server);
/* Are @connections established, but for half that may be overtaken? */
bool server_served(const struct server *server, unsigned int connections);

/* A child that runs @fn and exits with what it returns, within WAIT_MS. */
pid_t child_start(int (*fn)(void *arg), void *arg);
/* Its exit status; -signal when it was killed; -1000 when not in time. */
int child_wait(pid_t pid);

/* What a child inherits of its parent, and may destroy. */
struct heritage {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int pipe[2];
};

/* For child_start(): destroys the copies of id and channel. */
int heritage_destroy(void *heritage);
/* Connect to @port and hang up, with a channel apart. 0 or a number. */
int connect_out(unsigned int port);

/* Is thread @tid asleep in system call number @nr? With a deadline. */
bool thread_sleeps(pid_t tid, long nr);

/* Descriptors: how many are open, and those not closed by exec. */
int fds_open(void);
int fds_kept_by_exec(bool show);
/* No more than are open now; and back. */
void fds_limit(void);
void fds_unlimit(void);

#endif /* CMX_SELFTEST_PROCESS_H */
