/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A victim is a process whose command is blocked while it copies from or to a
 * page of the process.
 */
#ifndef ATTACK_VICTIM_H
#define ATTACK_VICTIM_H

#include <stdatomic.h>

#include "uapi.h"

#define PAGE		4096
#define DEVICE_ADDR	"10.97.0.1"
#define GROUPS		3

/* The objects of a blocked command; @arg and @buf are a page each */
struct victim {
	int fd, other, uffd;
	uint32_t id;		/* that the command locks, if any */
	uint32_t free;		/* that another thread uses */
	void *arg, *buf;
	unsigned int ioctl;
	atomic_int ended;
};

/* Where the copy blocks */
enum stop {
	WRITE_ARG,
	WRITE_BUF,
	READ_BUF,
};

struct command {
	const char *name;
	unsigned int nr;
	int (*prepare)(struct victim *v);
	enum stop stop;
	bool admin;		/* it needs CAP_NET_ADMIN */
};

/* commands.c: all that copy */
extern const struct command commands[];
extern const unsigned int commands_count;
/* Is it in the table, or known not to be stopped? */
bool command_listed(unsigned int nr);
/* Sets the result of an id, and the command that copies it. */
int prepare_result(struct victim *v);
/* @n groups to join */
void items_set(struct rdma_cmx_join_item *items, int n);

/* victim.c: the pages of a victim */
int victim_pages(struct victim *v);
/* The pages have data. From now on an access to one of them blocks. */
int stop_set(struct victim *v, enum stop stop);
/* True if a thread is blocked, false if the command has ended */
bool stopped(struct victim *v);
/* Lets the copy to @page go on, or blocks the next one. */
int protect(struct victim *v, void *page, bool on);
/* The process of one command */
void victim_main(const struct command *cmd, int to);

#endif /* ATTACK_VICTIM_H */
