/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device for the library without a kernel module: files, memberships and
 * events in this process. Its state is for one thread at a time.
 */
#ifndef SELFTESTS_MOCK_H
#define SELFTESTS_MOCK_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#define MOCK_MGID	0xff	/* each byte of the MGID of 239.55.1.1 */
#define MOCK_MLID	0xc00a
#define MOCK_QKEY	0x0b1b

struct mock {
	int accept_error;	/* errno of ACCEPT, or 0 */
	int lookup_error;	/* of GETADDRINFO, or 0 */
	int info_error;		/* of GET_INFO, or 0 */
	uint32_t features;	/* of GET_INFO */
	int verbs_error;	/* of each verb, or 0 */
	bool removed;		/* the device of the ids */
	bool cancels;		/* verbs are cancellation points */
	pthread_mutex_t *rtnl;	/* that JOIN takes, or NULL */
	void (*joins)(void);	/* after JOIN_MANY, or NULL */
	void (*inits)(void);	/* before INIT_QP_ATTR returns, or NULL */
	void (*leaves)(void);	/* as LEAVE begins, or NULL */
	void (*attaching)(void);	/* before an attach returns, or NULL */
	int (*creates)(uint64_t uid);	/* ID_CREATE: errno or 0; or NULL */
	int (*services)(void);	/* GET_SERVICES: errno or 0; or NULL */
	unsigned int records;	/* of GET_SERVICES, of an unknown device */
	int status;		/* of the events of ids */
	unsigned int rejects;
	unsigned int lookups;
	unsigned int members;
	int attached;		/* how often the queue pair is */
	uint16_t mlid;		/* of its attachment */
	uint64_t init_uid;	/* that INIT_QP_ATTR compares, or 0 */
	uint32_t init_qkey;	/* of INIT_QP_ATTR, or 0 */
	uint32_t bad_qkey;	/* that cannot be set, or 0 */
	uint32_t qkey;		/* that it was set to, or 0 */
	int qkeys;		/* how often */
	int attaches, detaches;	/* successful ones */
	int destroyed;		/* result of ibv_destroy_qp() */
};

extern struct mock mock;

/* Adds an event of the id, or of its newest membership. */
void mock_event(struct rdma_cm_id *id, uint32_t type);
void mock_joined(void);
/* Adds one of another process's id, which has this cookie. */
void mock_foreign_event(uint64_t uid);
/* Adds one of another membership: the oldest is 0. */
void mock_rejoined(unsigned int which, uint16_t mlid, uint32_t qkey);
/* The fabric ends it. */
void mock_lost(unsigned int which);
/* Adds one of another membership for @id, which has not joined it. */
void mock_misjoined(struct rdma_cm_id *id, unsigned int which);
/* Another process leaves the newest membership. */
void mock_leave(void);
/* The id gets a queue pair, or one with completion queues. */
void mock_qp(struct rdma_cm_id *id, bool cqs);

#endif /* SELFTESTS_MOCK_H */
