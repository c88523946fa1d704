/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the tests of the uAPI: calls that set the size and return a
 * negative errno, events by type with a deadline, addresses of the test bed
 * (10.55.0.1 has a soft-RoCE device, 192.168.77.1 has none). No state but the
 * arguments.
 */
#ifndef IOCTL_COMMON_H
#define IOCTL_COMMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_cmx_ioctl.h>
#include <rdma/rdma_cmx_names.h>
#include <rdma/rdma_user_cm.h>

/* This guest's address: set before main(), so that no test queries it. */
extern const char *addr_rdma;
extern bool on_infiniband;

#define ADDR_RDMA	addr_rdma
#define ADDR_PLAIN	"192.168.77.1"
#define GROUP		"239.55.0.1"

/* Numbers of enum rdma_cm_event_type, which is not in the uAPI headers. */
enum {
	EV_ADDR_RESOLVED, EV_ADDR_ERROR, EV_ROUTE_RESOLVED, EV_ROUTE_ERROR,
	EV_CONNECT_REQUEST, EV_CONNECT_RESPONSE, EV_CONNECT_ERROR,
	EV_UNREACHABLE, EV_REJECTED, EV_ESTABLISHED, EV_DISCONNECTED,
	EV_DEVICE_REMOVAL, EV_MULTICAST_JOIN, EV_MULTICAST_ERROR,
	EV_ADDR_CHANGE, EV_TIMEWAIT_EXIT,
};

/* One ioctl: sets the size; returns 0 or a negative errno. */
#define call(fd, cmd, arg) ({						\
	(arg)->size = sizeof(*(arg));					\
	ioctl(fd, RDMA_CMX_IO(cmd), arg) ? -errno : 0;			\
})

/* An event with its parts */
union event_buf {
	struct rdma_cmx_event ev;
	char space[RDMA_CMX_MAX_EVENT];
};

/* Numbers of enum ib_uverbs_qp_type, likewise */
enum {
	QPT_RC = 2,
	QPT_UC = 3,
	QPT_UD = 4,
	QPT_RAW_PACKET = 8,
	QPT_XRC_INI = 9,
	QPT_XRC_TGT = 10,
};

/* A kernel with KASAN, lockdep and faults: a call takes ten times as long. */
static inline bool kernel_slow(void)
{
	return !access("/sys/kernel/debug/failslab", F_OK);
}

int dev_open(int flags);
/* The QP type of a port space */
uint32_t qp_type_of(uint32_t ps);
int id_create(int fd, uint32_t ps, uint64_t uid, uint32_t *id);
/* Returns a negative errno, or the number of reported events. */
int id_destroy(int fd, uint32_t id);
int mc_leave(int fd, uint32_t mc);
int id_bind(int fd, uint32_t id, const char *addr, uint16_t port);
int id_resolve_addr(int fd, uint32_t id, const char *src, const char *dst,
		    uint16_t port);
int id_resolve_route(int fd, uint32_t id);
int id_listen(int fd, uint32_t id);
/* Number of the queue pair of the last connect or accept */
extern uint32_t qp_num_last;
int id_connect(int fd, uint32_t id);
int id_accept(int fd, uint32_t id, uint64_t uid);
int id_write_event(int fd, uint32_t id, int status, uint64_t arg);
int mc_join(int fd, uint32_t id, const char *group, uint64_t uid,
	    uint32_t *mc);

void addr_set(struct rdma_cmx_addr *addr, const char *text, uint16_t port);
uint16_t addr_port(const struct rdma_cmx_addr *addr);

/* Takes up to @max events, without waiting. */
int events_get(int fd, void *buf, uint32_t len, uint32_t max,
	       uint32_t *count);
/* Waits for the next event; -ETIME after the deadline of 60 s. */
int event_next(int fd, union event_buf *buf);
/* Likewise, and checks its type; -EPROTO if it is not @type. */
int event_want(int fd, uint32_t type, union event_buf *buf);
bool event_pending(int fd);
/* The parts behind the fixed part of a record; NULL if absent */
struct rdma_cmx_id_info *event_info(struct rdma_cmx_event *ev);

/* The number in a file, or -1 */
long number_get(const char *path);
int number_set(const char *path, long value);

#define UCMX_PARAMETERS	"/sys/module/rdma_ucmx/parameters/"
/* A file of /sys/module/rdma_ucmx/counters; -1 if it cannot be read. */
long counter(const char *name);
/* Waits until a counter has a value; false after 60 s. */
bool counter_wait(const char *name, long value);

/* Makes an id listen at a free port of ADDR_RDMA. */
int id_listen_port(int fd, uint32_t id, uint16_t *port);
/* Creates a listening id with user id @uid; returns its port. */
int listener_of(int fd, uint32_t ps, uint64_t uid, uint32_t *id,
		uint16_t *port);
int listener_new(int fd, uint64_t uid, uint32_t *id, uint16_t *port);
/* An id with user id @uid and a route to @port of ADDR_RDMA */
int active_of(int fd, uint32_t ps, uint64_t uid, uint16_t port, uint32_t *id);
int active_new(int fd, uint64_t uid, uint16_t port, uint32_t *id);
/* Likewise; its connection request is sent. */
int connect_start(int fd, uint64_t uid, uint16_t port, uint32_t *id);

/* A connection request of @fd to a new listener of @fd; its passive id */
int request_get(int fd, uint32_t ps, uint64_t active_uid, uint32_t *listener,
		uint32_t *active, uint32_t *passive);

/* Connect two ids of @fd over loopback; handles of both ends, of the
 * listening id too. 0 or a negative errno.
 */
int connect_pair(int fd, uint32_t *listener, uint32_t *active,
		 uint32_t *passive);

double now_ms(void);

#endif /* IOCTL_COMMON_H */
