/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* cmx nvme: the paths to a subsystem, and nvme-cli's commands for them. */
#ifndef CMX_NVME_H
#define CMX_NVME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cmx.h"

/* Maximum paths of a result, as in nvme-cli: others are left out. */
#define NVME_PATHS_MAX	32
/* Maximum controllers of a subsystem that are examined; nvme-cli makes more. */
#define NVME_CONTROLLERS_MAX	1024
#define NVME_NQN_MAX	223

/*
 * A controller of the subsystem, or an address that should have one. All text
 * is numeric, as in the "address" file of a controller.
 */
struct nvme_path {
	char addr[ADDR_TEXT_MAX];
	char port[16];
	char source[ADDR_TEXT_MAX];	/* "" of a controller without one */
	char device[80];
	char name[32];			/* of the controller, "nvme0"; "" */
	char state[16];			/* of the controller */
};

struct nvme_paths {
	size_t count;
	struct nvme_path path[NVME_CONTROLLERS_MAX];
};

/* The arguments of the command */
struct nvme {
	const char *node;
	const char *service;
	const char *device;	/* NULL: any */
	const char *nqn;
	char **options;		/* of nvme-cli */
	unsigned long follow;	/* seconds; 0: once */
	bool sa;
	bool json;
};

/* The present result for a name */
struct nvme_result {
	struct nvme_paths want;
	struct nvme_paths unreached;	/* by no device now */
	bool more;			/* the result is not complete */
};

/* Gets the present controllers of subsystem @nqn over RDMA. */
void nvme_controllers(const char *nqn, struct nvme_paths *paths);

/* True for equal address, port and, where both have one, source */
bool nvme_path_same(const struct nvme_path *a, const struct nvme_path *b);

/* The same path in @paths; NULL: none */
const struct nvme_path *nvme_path_find(const struct nvme_paths *paths,
				       const struct nvme_path *path);

/*
 * Runs "nvme connect" for all @paths in parallel, with @options behind the
 * command's, and waits for them. @quiet: without the output of nvme. False if
 * nvme cannot be started, which is reported.
 */
bool nvme_connect(const struct nvme_paths *paths, const char *nqn,
		  char *const options[], bool quiet);

/*
 * True if a controller of @by that is live now serves each namespace of the
 * controller @path. False before it has found them, and without the kernel's
 * multipath.
 */
bool nvme_served(const struct nvme_path *path, const char *nqn,
		 const struct nvme_paths *by);

/* Disconnects one controller, if it is still that of @nqn. */
bool nvme_disconnect(const struct nvme_path *path, const char *nqn);

/* Prints a change as one line, and flushes: it is a log. */
void nvme_change_print(const char *what, const struct nvme_path *path);

/*
 * Removes the controllers whose address the result no longer has. @joined: the
 * controllers of addresses of the result.
 */
void nvme_remove(const struct nvme *nvme, const struct nvme_result *result,
		 const struct nvme_paths *joined);

/* Call for a round without such a result. */
void nvme_result_missed(void);

/*
 * From now on the signals that end the command wait for the following
 * functions. Without the call they do what they do by default.
 */
void signals_block(void);

/* True if a signal has come that ends the command */
bool signals_ended(void);

/* Waits, at most until SIGHUP. False if the command ends. */
bool signals_pause(unsigned long seconds);

/*
 * Waits for the end of a child. Sends SIGTERM to it if the command ends
 * meanwhile. False: there is none.
 */
bool child_wait(pid_t pid, int *status);

#endif /* CMX_NVME_H */
