/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The subnet administrator from user space, by ib_umad: helpers of the tools in
 * this directory. One thread, no locks.
 */
#ifndef CMX_SELFTEST_MAD_H
#define CMX_SELFTEST_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_types.h>

/* ServiceRecord in wire format */
struct service_record {
	__be64 id;
	uint8_t gid[16];
	__be16 pkey;
	__be16 reserved;
	__be32 lease;
	uint8_t key[16];
	char name[64];
	uint8_t data[64];
} __attribute__((packed));

_Static_assert(sizeof(struct service_record) == 176, "ServiceRecord");

/* Components of a ServiceRecord; each element of the data has one. */
#define SERVICE_ID	(1ULL << 0)
#define SERVICE_GID	(1ULL << 1)
#define SERVICE_PKEY	(1ULL << 2)
#define SERVICE_LEASE	(1ULL << 4)
#define SERVICE_KEY	(1ULL << 5)
#define SERVICE_NAME	(1ULL << 6)
#define SERVICE_DATA	(((1ULL << 37) - 1) & ~((1ULL << 7) - 1))

/* Bytes before the records, and before the SA's header */
#define SA_HEADER	offsetof(struct umad_sa_packet, data)
#define RMPP_HEADER	offsetof(struct umad_sa_packet, sm_key)
#define SA_SEGMENT	UMAD_LEN_SA_DATA
#define MAD_SIZE	256

/* RMPP constants that umad_types.h lacks */
enum {
	RMPP_TYPE_DATA = 1,
	RMPP_TYPE_ACK = 2,
	RMPP_TYPE_STOP = 3,
	RMPP_TYPE_ABORT = 4,
	RMPP_ACTIVE = 1,
	RMPP_FIRST = 2,
	RMPP_LAST = 4,
};

/* One port of a device, opened for management datagrams */
struct mad_port {
	char device[UMAD_CA_NAME_LEN];
	int number;
	int fd;
	uint32_t agent;
	unsigned int lid;
	unsigned int sm_lid;
	unsigned int sm_sl;
	uint8_t gid[16];
};

/* Prints "PROGRAM: ..." to stderr and exits with 1. */
void die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/*
 * Opens @device, or with NULL the first active InfiniBand port. Each of these
 * functions exits with a message after a failure.
 */
void mad_open(struct mad_port *port, const char *device, int number);
/* Registers a client of the SA; the kernel reassembles segments. */
void mad_register_client(struct mad_port *port);
/* Registers a server as SA: it receives raw requests, and sends segments. */
void mad_register_server(struct mad_port *port);
/* Reads the LIDs again. */
void mad_refresh(struct mad_port *port);
void mad_close(struct mad_port *port);

/* Sends a request to the port's SA; its response has the low half of @tid. */
void sa_send(struct mad_port *port, uint32_t tid, uint8_t method,
	     uint16_t attr, uint64_t mask, const void *record, size_t len);

/* The result of sa_receive() */
struct sa_answer {
	uint32_t tid;
	int error;		/* ETIMEDOUT: no response */
	uint16_t status;
	uint16_t attr;
	uint8_t method;
	size_t stride;		/* bytes from record to record */
	const uint8_t *data;	/* valid until the next call */
	size_t len;
};

/* Waits for one response; false after @timeout_ms milliseconds. */
bool sa_receive(struct mad_port *port, struct sa_answer *answer,
		int timeout_ms);

/*
 * Points the port @victim at the SA on LID @lid, like a subnet manager: it sets
 * PortInfo by a directed route of no hops. Returns the former LID.
 */
unsigned int sm_lid_set(const struct mad_port *victim, unsigned int lid);

double now_us(void);

#endif /* CMX_SELFTEST_MAD_H */
