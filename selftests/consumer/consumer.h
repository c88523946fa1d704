/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that the files of cmx_consumer share. One mutex guards all. */
#ifndef CMX_CONSUMER_H
#define CMX_CONSUMER_H

#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_connect.h>
#include <rdma/rdma_cmx_mcast.h>
#include <rdma/rdma_cmx_service.h>

#include "caller.h"

struct seq_file;

#define CONSUMER_LINE 2048
#define CONSUMER_TEXT 2048

/**
 * struct consumer_request - a query in the syntax of a test
 * @attr: points to the other fields
 * @caller: on whose behalf
 * @src: text after src=
 * @dst: text after dst=
 * @cancel_inside: the callback cancels its query
 * @gids: print the GID indices, too
 * @why: print the reason for a missing route, too
 */
struct consumer_request {
	struct rdma_cmx_query_attr attr;
	struct cmx_caller caller;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	bool cancel_inside;
	bool gids;
	bool why;
};

/* NODE PORT [WORD…], see parse.c; @line is cut to pieces. */
int consumer_parse(char *line, struct consumer_request *q);
int consumer_parse_addr(const char *text, union rdma_cmx_sockaddr *addr);

void consumer_print(struct seq_file *m, const struct rdma_cmx_result *res,
		    bool gids, bool why);

/**
 * struct consumer_stress - counts of many queries
 * @started: accepted
 * @refused: not accepted
 * @cancelled: cancelled before their callback
 * @answered: callbacks with a result
 * @failed: callbacks with an error
 * @wrong: callbacks that came twice, after a cancel, or never
 */
struct consumer_stress {
	unsigned int started;
	unsigned int refused;
	unsigned int cancelled;
	unsigned int answered;
	unsigned int failed;
	unsigned int wrong;
};

int consumer_stress(unsigned int count, const char *name, u32 timeout_ms,
		    struct consumer_stress *out);

/* services, services-wait, services-cancel: see sa.c. */
int consumer_sa(const char *verb, char *line, char *text, size_t size);
void consumer_sa_end(void);

/* slow-cancel, fail-add: see slow.c. */
int consumer_slow(const char *ms);
int consumer_fail_add(const char *on);
void consumer_slow_end(void);

/* outputs.c: the result goes to @text. */
int consumer_output(const char *verb, char *line,
		    const struct rdma_cmx_result *res, char *text, size_t size);
void consumer_output_end(void);

int consumer_crowd(unsigned int count, const char *name, const char *last);

/* join.c: the result goes to @text. */
int consumer_join(char *line, char *text, size_t size);
int consumer_join_more(char *line, char *text, size_t size);
int consumer_join_again(char *text, size_t size);
int consumer_receive(const char *number, char *text, size_t size);
int consumer_part(const char *group_text);
int consumer_member_events(char *text, size_t size);
int consumer_join_many(const char *verb, char *line, char *text, size_t size);
int consumer_history(char *text, size_t size);
int consumer_end_next(void);
int consumer_end(char *text, size_t size);
int consumer_share(char *line, char *text, size_t size);
void consumer_leave(void);

/* share.c */
int consumer_share_run(struct rdma_cm_id *id, unsigned int threads,
		       const union rdma_cmx_sockaddr *group, char *text,
		       size_t size);

/* advertise, advertised, withdraw: see advertise.c. */
int consumer_advertise(const char *verb, char *line, char *text, size_t size);
void consumer_withdraw_all(void);
/* connect.c, listen.c: see there. */
int consumer_connect(const char *verb, char *line, char *text, size_t size);
void consumer_connect_end(void);
int consumer_listen(const char *verb, char *line, char *text, size_t size);
void consumer_unlisten(void);
void consumer_listen_lose(bool losing);
/* paths, …: see paths.c. */
int consumer_paths(const char *verb, char *line, char *text, size_t size);
void consumer_paths_end(void);
/* watch, watched, unwatch, …: see watch.c. */
int consumer_watch(const char *verb, char *line, char *text, size_t size);
void consumer_unwatch(void);

#endif /* CMX_CONSUMER_H */
