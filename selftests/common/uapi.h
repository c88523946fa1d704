/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What tests at the uAPI share beyond single commands (selftests/ioctl/common.h):
 * listeners and the active side of a connection, and the check that nothing is
 * left. No state but what a test hands in.
 */
#ifndef COMMON_UAPI_H
#define COMMON_UAPI_H

#include "../ioctl/common.h"

/* A listening id with user id @uid, and the port that it got. */
int listener_new(int fd, uint64_t uid, uint32_t *id, uint16_t *port);
/* An id with user id @uid whose route to @port of ADDR_RDMA is resolved. */
int active_new(int fd, uint64_t uid, uint16_t port, uint32_t *id);
/* The same; its connection request is sent. */
int connect_start(int fd, uint64_t uid, uint16_t port, uint32_t *id);

/* Do all live objects of the module go? Names those that stay. */
bool nothing_left(void);

#endif /* COMMON_UAPI_H */
