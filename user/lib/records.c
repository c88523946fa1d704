// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Service records of the subnet administrators, as the kernel returns them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cmx.h>

#include "lib.h"

/* Initial number of records; most services have fewer providers. */
#define RECORDS		64

/* Seconds after which an interrupted query is not retried */
#define TIMEOUT		30

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Returns an error number. */
static int query_init(struct rdma_cmx_get_services *cmd, const char *device,
		      const char *service)
{
	size_t len;
	int err;

	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	cmd->record_size = sizeof(struct rdma_cmx_service_record);
	if (service) {
		len = strlen(service);
		if (!len || len >= sizeof(cmd->service))
			return len ? ENAMETOOLONG : EINVAL;
		memcpy(cmd->service, service, len);
	}
	if (!device)
		return 0;
	err = cmx_device_parse(device, &len, &cmd->dev_port);
	if (!err && (!len || len >= sizeof(cmd->dev)))
		err = ENODEV;
	if (!err)
		memcpy(cmd->dev, device, len);
	return err;
}

/*
 * The program may have closed files that it had not opened: the number may be
 * that of another device. Or the module lacks the command.
 */
static int query_ioctl(int *fd, struct rdma_cmx_get_services *cmd)
{
	int again, err;

	if (!ioctl(*fd, RDMA_CMX_IO(GET_SERVICES), cmd))
		return 0;
	err = errno;
	again = cmx_file_shared(true);
	if (again < 0 || (again == *fd && err != EBADF))
		return cmx_err(err);
	*fd = again;
	return ioctl(again, RDMA_CMX_IO(GET_SERVICES), cmd);
}

/* Returns an error number; 0: @raw has the records. */
static int query_send(struct rdma_cmx_get_services *cmd,
		      struct rdma_cmx_service_record **raw)
{
	time_t start = now();
	uint32_t room = RECORDS;
	int fd, err;

	fd = cmx_file_shared(false);
	if (fd < 0)
		return errno ? errno : ENODEV;
	do {
		free(*raw);
		*raw = malloc(room * sizeof(**raw));
		if (!*raw)
			return ENOMEM;
		cmd->records = (uintptr_t)*raw;
		cmd->max_records = room;
		err = query_ioctl(&fd, cmd) ? errno : 0;
		/* The number may grow before the next query. */
		if (err == ENOSPC)
			room = cmd->num_records + RECORDS;
	} while ((err == ENOSPC || err == EINTR) && now() - start < TIMEOUT);
	if (err == EINTR || err == ENOSPC)
		return ETIMEDOUT;
	if (!err)
		cmx_mem_written(*raw, cmd->num_records * sizeof(**raw));
	return err == ENOTTY ? EOPNOTSUPP : err;
}

static void record_from_kern(struct rdmacmx_service_record *to,
			     const struct rdma_cmx_service_record *from,
			     const char *device)
{
	memset(to, 0, sizeof(*to));
	to->id = from->service_id;
	memcpy(&to->gid, from->gid, sizeof(to->gid));
	to->lease = from->lease_s;
	to->pkey = from->pkey;
	to->port = from->port_num;
	if (device)
		strncpy(to->device, device, sizeof(to->device) - 1);
	memcpy(to->name, from->name, sizeof(from->name));
	memcpy(to->data, from->data, sizeof(to->data));
}

CMX_EXPORT int rdmacmx_get_services(const char *device, const char *service,
				    struct rdmacmx_service_record **records,
				    int *error)
{
	struct rdma_cmx_service_record *raw = NULL;
	struct rdmacmx_service_record *out = NULL;
	struct rdma_cmx_get_services cmd;
	const char *name = NULL;
	uint32_t i;
	int err;

	if (!records)
		return cmx_err(EINVAL);
	err = query_init(&cmd, device, service);
	if (!err)
		err = query_send(&cmd, &raw);
	if (!err) {
		/* One more, so that calloc() does not return NULL. */
		out = calloc(cmd.num_records + 1, sizeof(*out));
		err = out ? 0 : ENOMEM;
	}
	if (!err) {
		/* The lookup of a device without a provider lists all. */
		for (i = 0; i < cmd.num_records; i++) {
			if (!i || raw[i].ibdev_index != raw[i - 1].ibdev_index)
				name = cmx_device_name(raw[i].ibdev_index);
			record_from_kern(&out[i], &raw[i], name);
		}
		*records = out;
		if (error)
			*error = -cmd.error;
	}
	free(raw);
	return err ? cmx_err(err) : (int)cmd.num_records;
}
