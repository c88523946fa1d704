/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the tests of processes, on top of those of the API tests: the size
 * of a test, connections within this host, children, descriptors.
 *
 * CMX_ROUNDS and CMX_THREADS make a test smaller, for valgrind. No locks are
 * necessary; functions with an id are for one thread at a time.
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

/* The value of the environment variable, or @usual */
int size_of(const char *variable, int usual);
int rounds_of(int usual);
int threads_of(int usual);

/* Creates ids with a RoCE device of this host. Aborts on failure. */
struct rdma_cm_id *id_make(struct rdma_event_channel *channel);
struct rdma_cm_id *id_listening(struct rdma_event_channel *channel,
				unsigned int port);
/* An id with a route and a QP, or NULL */
struct rdma_cm_id *id_ready(struct rdma_event_channel *channel,
			    unsigned int port);
/*
 * Connects up to ESTABLISHED, and disconnects. 0, or the line number of the
 * failure. id_hang_up() waits for the end only with @wait, on a channel of the
 * id.
 */
int id_connect(struct rdma_cm_id *id);
int id_hang_up(struct rdma_cm_id *id, bool wait);

/*
 * A thread that accepts all requests of a listening id until it is ended.
 *
 * The kernel's CM (ib_cm) processes one message at a time on each CPU. So it
 * may process a DREQ before the RTU that preceded it, and the accepted id then
 * receives only the event of its end: overtaken. This applies to any library.
 */
struct server {
	pthread_t thread;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	unsigned int accepted;
	unsigned int established;
	unsigned int overtaken;
	bool leaves;		/* a peer may leave before it has the reply */
	bool silent;		/* the last one may leave without a message */
	struct rdma_cm_id *last;	/* of the last request, if it exists */
	int wrong;		/* line number of the failure, or 0 */
};

void server_start(struct server *server, unsigned int port);
/* Ends it. Returns its wrong. */
int server_end(struct server *server);
/* True if @connections were made; half may be overtaken, of less than 4 all. */
bool server_served(const struct server *server, unsigned int connections);

/* Starts a child that runs @fn and exits with its result, within WAIT_MS. */
pid_t child_start(int (*fn)(void *arg), void *arg);
/* Its exit status; -signal if it was killed; -1000 after the timeout */
int child_wait(pid_t pid);

/* Objects that a child inherits of its parent, and may destroy */
struct heritage {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

/* For child_start(): destroys the copies of id and channel. */
int heritage_destroy(void *heritage);
/* Connects to @port and disconnects, on a separate channel. 0 or a number. */
int connect_out(unsigned int port);

/* True if thread @tid sleeps in system call @nr now; or before a deadline */
bool thread_in_call(pid_t tid, long nr);
bool thread_sleeps(pid_t tid, long nr);

/* A thread in a call that waits: others see that it sleeps, or has ended. */
struct caller {
	pthread_t thread;
	void *(*run)(void *arg);
	void *arg;
	pid_t tid;		/* atomic */
	bool ended;		/* atomic */
};

void caller_start(struct caller *c, void *(*run)(void *arg), void *arg);
bool caller_sleeps(struct caller *c, long nr);
bool caller_ended(struct caller *c);
/* Waits for the end. The result of run(). */
void *caller_end(struct caller *c);
/* A run() for a listener without a channel: 0, or the errno */
void *request_wait(void *listener);

/* Number of open descriptors, and of those not closed by exec */
int fds_open(void);
int fds_kept_by_exec(bool show);
/* Limits descriptors to the present ones; undoes it. */
void fds_limit(void);
void fds_unlimit(void);

#endif /* CMX_SELFTEST_PROCESS_H */
