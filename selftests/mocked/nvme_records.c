// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-05, OPS-02: cmx nvme connect --sa looks up only numbers of what the nodes
 * of the fabric have written. The library is one of the test.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cmx.h>

#define rdmacmx_getaddrinfo	test_getaddrinfo
#define rdmacmx_get_services	test_get_services
#define rdma_freeaddrinfo	test_freeaddrinfo
int test_getaddrinfo(const char *device, const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res);
int test_get_services(const char *device, const char *service,
		      struct rdmacmx_service_record **records, int *error);
void test_freeaddrinfo(struct rdma_addrinfo *res);
#include "../../user/cmx/nvme.c"
#include "harness.h"

/* Parts of the command that the tests do not use */
int failure(const char *format, ...)
{
	return CMX_FAILED;
}

int misuse(const char *format, ...)
{
	return CMX_USAGE;
}

int misuse_option(int option, char **argv, const struct option *options)
{
	return CMX_USAGE;
}

int device_check(void)
{
	return CMX_OK;
}

bool number_parse(const char *text, unsigned long max, unsigned long *value)
{
	return false;
}

bool nvme_connect(const struct nvme_paths *paths, const char *nqn,
		  char *const options[], bool quiet)
{
	return false;
}

void nvme_controllers(const char *nqn, struct nvme_paths *paths)
{
	paths->count = 0;
}

void nvme_remove(const struct nvme *nvme, const struct nvme_result *result,
		 const struct nvme_paths *joined)
{
}

void nvme_result_missed(void)
{
}

void signals_block(void)
{
}

bool signals_ended(void)
{
	return false;
}

bool signals_pause(unsigned long seconds)
{
	return false;
}

const struct nvme_path *nvme_path_find(const struct nvme_paths *paths,
				       const struct nvme_path *path)
{
	return NULL;
}

/* libibverbs has no provider for the device. */
const char *device_text(const struct rdma_addrinfo *ai, char text[80])
{
	return NULL;
}

static const char *data;	/* of the record */
static char looked_up[128];	/* "NODE SERVICE" */
static int lookup_result;
static struct rdma_addrinfo *looked_up_list;

/* getaddrinfo() of a port that is not a number comes here, too. */
int getservbyname_r(const char *name, const char *proto, struct servent *ent,
		    char *buf, size_t size, struct servent **result)
{
	abort();
}

int test_getaddrinfo(const char *device, const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	*res = looked_up_list;
	snprintf(looked_up, sizeof(looked_up), "%s %s%s", node,
		 service ? service : "-",
		 hints->ai_flags & RAI_NUMERICHOST ? "" : ", by name");
	return lookup_result;
}

void test_freeaddrinfo(struct rdma_addrinfo *res)
{
}

int test_get_services(const char *device, const char *service,
		      struct rdmacmx_service_record **records, int *error)
{
	*records = calloc(1, sizeof(**records));
	if (!*records)
		return -1;
	memcpy((*records)->data, data, strnlen(data, RDMACMX_SERVICE_DATA));
	*error = 0;
	return 1;
}

/* What the command looks up of a record, "" for nothing */
static const char *lookup_of(const char *text)
{
	static const struct nvme nvme = { .node = "array", .sa = true };
	static struct nvme_result result;
	char why[160];

	data = text;
	looked_up[0] = '\0';
	result_get(&nvme, &result, why);
	return looked_up;
}

TEST(KA_05_records_of_addresses)
{
	lookup_result = EAI_NONAME;
	EXPECT_STREQ("10.66.0.2 -", lookup_of("10.66.0.2"));
	EXPECT_STREQ("10.66.0.2 4421", lookup_of("10.66.0.2 4421"));
	EXPECT_STREQ("fd66::2 4421", lookup_of("fd66::2 4421"));
	EXPECT_STREQ("array.example -", lookup_of("array.example"));
}

TEST(OPS_02_records_with_a_service_name)
{
	static const char *const texts[] = {
		"10.66.0.2 nvme-x", "10.66.0.2 http", "10.66.0.2 4420x",
		"10.66.0.2 -1", "10.66.0.2 0x1144", "10.66.0.2 4420 1",
		"10.66.0.2  4420", "10.66.0.2 ", "10.66.0.2 4420\n",
		" 4420", "",
		"10.66.0.2 xxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxx",
	};
	unsigned int i;

	/* The address has no route now: getaddrinfo() is called, too. */
	lookup_result = EAI_SYSTEM;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		EXPECT_STREQ("", lookup_of(texts[i]));
}

/* The kernel connects by devices that user space cannot use. */
TEST(OPS_02_device_without_a_provider)
{
	static const struct nvme nvme = { .node = "array" };
	static struct nvme_result result;
	struct sockaddr_in dst = { .sin_family = AF_INET }, src = dst;
	struct rdma_addrinfo far = {
		.ai_dst_addr = (struct sockaddr *)&dst,
		.ai_dst_len = sizeof(dst),
	};
	struct rdma_addrinfo near = far;
	char why[160];

	inet_pton(AF_INET, "10.66.0.2", &dst.sin_addr);
	inet_pton(AF_INET, "10.66.0.1", &src.sin_addr);
	near.ai_src_addr = (struct sockaddr *)&src;
	near.ai_src_len = sizeof(src);
	near.ai_next = &far;
	lookup_result = 0;
	looked_up_list = &near;
	ASSERT_TRUE(result_get(&nvme, &result, why));
	EXPECT_EQ(1, result.want.count);
	EXPECT_STREQ("10.66.0.2", result.want.path[0].addr);
	EXPECT_STREQ("10.66.0.1", result.want.path[0].source);
	EXPECT_STREQ("", result.want.path[0].device);
	EXPECT_EQ(1, result.unreached.count);
}

TEST_HARNESS_MAIN
