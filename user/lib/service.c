// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services that this process advertises. Each has a private file, whose poll
 * reports changes of this service only, and whose close at the end of the
 * process withdraws it. No lock: the kernel serialises the commands.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/rdma_cmx.h>

#include "lib.h"

/* Most hosts have at most so many ports. */
#define PORTS	16

struct rdmacmx_service {
	int fd;
	uint32_t handle;
	uint64_t process;	/* the process that advertises it */
};

static int text_copy(uint8_t *to, size_t size, const char *text, size_t len)
{
	if (len >= size)
		return ENAMETOOLONG;
	memcpy(to, text, len);
	return 0;
}

/* Returns an error number. */
static int attr_to_kern(const struct rdmacmx_service_attr *attr,
			struct rdma_cmx_advertise *cmd)
{
	size_t i, len;
	int err;

	for (i = 0; i < sizeof(attr->reserved) / sizeof(attr->reserved[0]); i++)
		if (attr->reserved[i])
			return EINVAL;
	if (!attr->name || !*attr->name || (attr->data_len && !attr->data))
		return EINVAL;
	if (attr->data_len > sizeof(cmd->data))
		return EMSGSIZE;
	err = text_copy(cmd->name, sizeof(cmd->name), attr->name,
			strlen(attr->name));
	if (err)
		return err;
	if (attr->device) {
		err = cmx_device_parse(attr->device, &len, &cmd->dev_port);
		if (err)
			return err;
		if (!len || text_copy(cmd->dev, sizeof(cmd->dev), attr->device,
				      len))
			return ENODEV;
	}
	if (attr->data_len)
		memcpy(cmd->data, attr->data, attr->data_len);
	cmd->service_id = attr->id;
	cmd->pkey = attr->pkey;
	cmd->lease_s = attr->lease;
	return 0;
}

/* Returns an error number, EOPNOTSUPP if the module lacks the command. */
static int advertise(int fd, struct rdma_cmx_advertise *cmd)
{
	if (!ioctl(fd, RDMA_CMX_IO(ADVERTISE), cmd))
		return 0;
	return errno == ENOTTY ? EOPNOTSUPP : errno;
}

CMX_EXPORT struct rdmacmx_service *
rdmacmx_advertise(const struct rdmacmx_service_attr *attr)
{
	struct rdma_cmx_advertise cmd = { .size = sizeof(cmd) };
	struct rdmacmx_service *service;
	int err;

	errno = EINVAL;
	if (!attr)
		return NULL;
	err = attr_to_kern(attr, &cmd);
	if (err) {
		errno = err;
		return NULL;
	}
	service = malloc(sizeof(*service));
	if (!service)
		return NULL;
	service->process = cmx_process_cookie();
	if (!service->process)
		goto err_free;
	service->fd = cmx_file_open();
	if (service->fd < 0)
		goto err_free;
	cmd.owner = service->process;
	err = advertise(service->fd, &cmd);
	if (err)
		goto err_close;
	service->handle = cmd.handle;
	return service;

err_close:
	/* close() may end the thread. */
	syscall(SYS_close, service->fd);
	errno = err;
err_free:
	err = errno;
	free(service);
	errno = err;
	return NULL;
}

/*
 * A child of fork() only closes its copy of the file. The service of the
 * process that created it is unchanged.
 */
CMX_EXPORT int rdmacmx_withdraw(struct rdmacmx_service *service)
{
	struct rdma_cmx_destroy cmd = { .size = sizeof(cmd) };
	int cancel;

	if (!service)
		return cmx_err(EINVAL);
	/* close() may end the thread. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/*
	 * Other processes may have the file, so that its close does not
	 * withdraw it.
	 */
	if (service->process == cmx_process_cookie()) {
		cmd.handle = service->handle;
		cmd.owner = service->process;
		ioctl(service->fd, RDMA_CMX_IO(WITHDRAW), &cmd);
	}
	close(service->fd);
	pthread_setcancelstate(cancel, NULL);
	free(service);
	return 0;
}

CMX_EXPORT int rdmacmx_service_fd(const struct rdmacmx_service *service)
{
	return service ? service->fd : cmx_err(EINVAL);
}

static void port_from_kern(struct rdmacmx_service_port *to,
			   const struct rdma_cmx_service_port *from)
{
	const char *name = cmx_device_name(from->ibdev_index);

	memset(to, 0, sizeof(*to));
	if (name)
		strncpy(to->device, name, sizeof(to->device) - 1);
	to->port = from->port_num;
	to->state = from->state;
	to->error = -from->error;
	to->lease = from->lease_s;
	to->pkey = from->pkey;
	memcpy(&to->gid, from->gid, sizeof(to->gid));
}

CMX_EXPORT int rdmacmx_service_ports(struct rdmacmx_service *service,
				     struct rdmacmx_service_port *ports,
				     int room)
{
	struct rdma_cmx_service_port some[PORTS], *raw = some;
	struct rdma_cmx_query_advertised cmd = {
		.size = sizeof(cmd),
		.port_size = sizeof(some[0]),
	};
	int i, ret, err;

	if (!service || room < 0 || (room && !ports))
		return cmx_err(EINVAL);
	if (room > PORTS) {
		raw = calloc(room, sizeof(*raw));
		if (!raw)
			return -1;
	}
	cmd.handle = service->handle;
	cmd.ports = (uintptr_t)raw;
	cmd.max_ports = room;
	ret = ioctl(service->fd, RDMA_CMX_IO(QUERY_ADVERTISED), &cmd);
	err = errno;
	if (!ret) {
		ret = cmd.num_ports;
		if (room > ret)
			room = ret;
		cmx_mem_written(raw, room * sizeof(*raw));
		for (i = 0; i < room; i++)
			port_from_kern(&ports[i], &raw[i]);
	}
	if (raw != some)
		free(raw);
	errno = err;
	return ret;
}
