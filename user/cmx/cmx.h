/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the parts of the command cmx share. It is one thread and
 * needs no locks.
 */
#ifndef CMX_H
#define CMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

/* Exit codes, as cmx(1) lists them. */
enum {
	CMX_OK = 0,
	CMX_FAILED = 1,
	CMX_USAGE = 2,
};

struct in6_addr;
struct rdma_addrinfo;
struct sockaddr_ib;

int cmd_resolve(int argc, char **argv);
int cmd_connect(int argc, char **argv);
int cmd_join(int argc, char **argv);
int cmd_advertise(int argc, char **argv);
int cmd_services(int argc, char **argv);
int cmd_paths(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_nvme(int argc, char **argv);
/* Returns only if the program cannot be started. */
int cmd_run(int argc, char **argv);

/* "cmx: ..." to stderr, one line, cleaned; returns CMX_FAILED. */
int failure(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Likewise; names the help and returns CMX_USAGE. */
int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Likewise for a result of getopt_long(): '?' or, as a ':' begins the short
 * options, ':'. getopt_long() itself prints nothing: it would print the raw
 * bytes.
 */
struct option;
int misuse_option(int option, char **argv, const struct option *longs);

/* The open device, or -1 after a message with the remedy. */
int device_open(void);
/* CMX_OK if the device can be opened; else prints the remedy, CMX_FAILED. */
int device_check(void);
bool device_absent(void);

/*
 * Gets an address of @family on a port of RDMA device @device. False if there
 * is none, with the reason in @reason.
 */
bool device_address(const char *device, int family,
		    struct sockaddr_storage *addr, const char **reason);

/*
 * Gets the GID of a port of DEVICE or DEVICE/PORT, which must be an InfiniBand
 * port; without a number the first such port. False likewise.
 */
bool device_gid(const char *text, struct sockaddr_ib *addr,
		const char **reason);

/* True if an IPoIB interface belongs to that GID */
bool ipoib_of(const char *netdev, const struct in6_addr *gid);

/* The arguments of cmx resolve --sa, with those of --dev and --type. */
struct service_query {
	const char *service;
	const char *device;	/* NULL: any */
	int qp_type;
	bool json;
};

int service_resolve(const struct service_query *query);

/* Short names of enum ibv_qp_type and of RDMA_PS_*, and "DEVICE/PORT" */
const char *type_text(int qp_type);
const char *space_text(int port_space);
/* Name and port of the device that reaches the entry; NULL: none does. */
const char *device_text(const struct rdma_addrinfo *ai, char text[80]);

/*
 * Prints the settings by which @form ("nccl", "ucx" or "perftest") uses exactly
 * the port and GID of the first entry of @list with a device. Returns an exit
 * code.
 */
bool env_known(const char *form);
int env_print(const char *form, const struct rdma_addrinfo *list);

/* A whole decimal number of at most @max, or false. */
bool number_parse(const char *text, unsigned long max, unsigned long *value);

/* Numeric text of @addr with its zone, "-" when @addr is NULL. */
#define ADDR_TEXT_MAX 80
const char *addr_text(const struct sockaddr *addr, char text[ADDR_TEXT_MAX]);
unsigned int addr_port(const struct sockaddr *addr);

/* Bytes of the first UTF-8 character of @text; 0: invalid */
int text_char(const char *text, uint32_t *value);
/*
 * True if a terminal would obey it, hide it, or show the rest differently. A
 * terminal of 8 bits gets ASCII only.
 */
bool text_hidden(uint32_t value);
/*
 * For a terminal: replaces hidden characters and invalid bytes by '?'. Others
 * choose names of devices, hosts and services.
 */
void text_clean(char *text);
/* Likewise in a copy, cut to its size */
#define CLEAN_MAX 256
const char *clean(const char *text, char out[CLEAN_MAX]);

/* A JSON document on a stream, one line. */
struct json {
	FILE *file;
	bool comma;
};

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_text(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, unsigned long long value);
void json_integer(struct json *json, const char *key, long long value);

/* Rows of cleaned text, aligned once all are known */
#define TABLE_COLUMNS 8

struct table {
	size_t columns;		/* at most TABLE_COLUMNS */
	size_t rows;
	char **cells;
};

/* @cells: one for each column; false: out of memory */
bool table_add(struct table *table, const char *const cells[]);
void table_print(const struct table *table);
void table_free(struct table *table);

#endif /* CMX_H */
