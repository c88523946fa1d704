// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SV-01: services and their records through the library, without InfiniBand:
 * calls that fail, also without the device, and a service that waits for a
 * port.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cmx.h>
#include <sched.h>
#include <sys/mount.h>

#include "api.h"

#define REFUSED(err, attr) do {						\
	errno = 0;							\
	EXPECT_EQ(NULL, rdmacmx_advertise(attr));			\
	EXPECT_EQ(err, errno);						\
} while (0)

TEST(SV_01_refused)
{
	struct rdmacmx_service_attr attr = { .name = "a", .id = 0x1061d2f };
	char name[66], data[RDMACMX_SERVICE_DATA + 1] = {};

	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	REFUSED(EINVAL, NULL);
	attr.name = NULL;
	REFUSED(EINVAL, &attr);
	attr.name = "";
	REFUSED(EINVAL, &attr);
	attr.name = name;
	REFUSED(ENAMETOOLONG, &attr);
	attr.name = "a";
	attr.id = 0;
	REFUSED(EINVAL, &attr);
	attr.id = 0x1061d2f;
	attr.data = data;
	attr.data_len = sizeof(data);
	REFUSED(EMSGSIZE, &attr);
	attr.data_len = 1;
	attr.lease = 1;
	REFUSED(ERANGE, &attr);
	attr.lease = 0;
	attr.device = "nosuch0";
	REFUSED(ENODEV, &attr);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_withdraw(NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_service_fd(NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_service_ports(NULL, NULL, 0));
	EXPECT_EQ(EINVAL, errno);
}

TEST(SV_01_waits_for_a_port)
{
	struct rdmacmx_service_attr attr = {
		.name = "waits", .id = 0x1061d2f, .data = "d", .data_len = 1,
	};
	struct rdmacmx_service_port ports[2];
	struct rdmacmx_service *service;
	struct pollfd pfd = { .events = POLLPRI };

	service = rdmacmx_advertise(&attr);
	ASSERT_NE(NULL, service);
	EXPECT_EQ(0, rdmacmx_service_ports(service, NULL, 0));
	EXPECT_EQ(0, rdmacmx_service_ports(service, ports, 2));
	pfd.fd = rdmacmx_service_fd(service);
	EXPECT_LE(0, pfd.fd);
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_EQ(0, rdmacmx_withdraw(service));
}

TEST(SV_01_records)
{
	struct rdmacmx_service_record *records = NULL;
	char name[66];
	int error = 0;

	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_get_services(NULL, "a", &records, &error));
	EXPECT_EQ(ENODEV, errno);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_get_services(NULL, NULL, &records, NULL));
	EXPECT_EQ(ENODEV, errno);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_get_services("nosuch0", "a", &records, NULL));
	EXPECT_EQ(ENODEV, errno);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_get_services(NULL, name, &records, NULL));
	EXPECT_EQ(ENAMETOOLONG, errno);
}

/* The files of the device become files of @instead. Returns their number. */
static int files_become(int instead)
{
	char path[32], target[64] = {};
	int fd, n = 0;

	for (fd = 3; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(target, 0, sizeof(target));
		if (readlink(path, target, sizeof(target) - 1) < 0 ||
		    strcmp(target, "/dev/infiniband/rdma_cmx"))
			continue;
		n += instead < 0 ? !close(fd) : dup2(instead, fd) == fd;
	}
	return n;
}

/* The program closes all files, as a daemon does, and opens others. */
TEST(SV_01_records_after_the_file_was_closed)
{
	struct rdmacmx_service_record *records = NULL;
	int i, instead, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, null);
	for (i = 0; i < 3; i++) {
		errno = 0;
		EXPECT_EQ(-1, rdmacmx_get_services(NULL, "a", &records, NULL));
		EXPECT_EQ(ENODEV, errno);
		instead = i ? null : -1;
		/* The call opens one again, and only one. */
		EXPECT_EQ(1, files_become(instead));
	}
}

/* The device is absent for this process, as in a container. */
static int device_hide(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return errno;
	return run("mkdir infiniband && cp -a /dev/infiniband/* infiniband/ && "
		   "rm infiniband/rdma_cmx && "
		   "mount --bind infiniband /dev/infiniband");
}

/* What rdmacmx(7), Without the device, says. */
TEST(SV_01_without_the_device)
{
	struct rdmacmx_service_attr attr = { .name = "a", .id = 0x1061d2f };
	struct rdmacmx_service_record *records = NULL;
	struct rdmacmx_join_attr join = {};
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	int i;

	ASSERT_EQ(0, device_hide());
	/* First librdmacm is not loaded, then it serves the process. */
	for (i = 0; i < 2; i++) {
		REFUSED(ENOENT, &attr);
		errno = 0;
		EXPECT_EQ(-1, rdmacmx_get_services(NULL, "a", &records, NULL));
		EXPECT_EQ(ENOENT, errno);
		errno = 0;
		EXPECT_EQ(EAI_SYSTEM,
			  rdmacmx_getaddrinfo(IBDEV, OWN4, PORT, NULL, &res));
		EXPECT_EQ(ENOENT, errno);
		if (!i) {
			ASSERT_NE(NULL, dlopen("librdmacm.so.1", RTLD_NOW));
			ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL,
						    RDMA_PS_UDP));
		}
	}
	EXPECT_EQ(0, rdmacmx_getaddrinfo(NULL, OWN4, PORT, NULL, &res));
	rdma_freeaddrinfo(res);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_join_multicast(id, &join, NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_connect_name(id, OWN4, PORT, NULL, NULL));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_HARNESS_MAIN
