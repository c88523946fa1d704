// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names that the library resolves with libc: with RDMACMX_NAMES=libc, and for a
 * caller in another network namespace (RAI-01, RAI-02, RAI-03, GAI-01, GAI-02).
 * A host in a private /etc/hosts of this process shows which resolver was used.
 */
#include <fcntl.h>
#include <sched.h>

#include "api.h"

#define PRIVATE_HOST	"private.hosts.test"
#define PRIVATE_LINES	"\n10.55.0.2 " PRIVATE_HOST "\n"

static const struct rdma_addrinfo rc_hints = {
	.ai_qp_type = IBV_QPT_RC,
	.ai_port_space = RDMA_PS_TCP,
};

static int host_mounts = -1;

FIXTURE(libc) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *id2;
};

FIXTURE_SETUP(libc)
{
	host_mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, host_mounts);
	ASSERT_EQ(0, setenv("RDMACMX_NAMES", "libc", 1));
	ASSERT_EQ(0, etc_private("hosts", PRIVATE_LINES));
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id2, NULL,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(libc)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->id2));
	rdma_destroy_event_channel(self->channel);
}

/* The kernel's resolver does not know the private host. */
static int kernel_resolve(const char *node)
{
	struct rdma_addrinfo *res;
	pid_t pid = fork();
	int status, ret;

	if (!pid) {
		if (setns(host_mounts, CLONE_NEWNS))
			_exit(1);
		unsetenv("RDMACMX_NAMES");
		ret = rdma_getaddrinfo(node, PORT, NULL, &res);
		_exit(-ret & 0xff);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

TEST_F(libc, GAI_01_libc_name)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo(PRIVATE_HOST, PORT, &rc_hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	EXPECT_STREQ(PRIVATE_HOST, res->ai_dst_canonname ?: "(none)");
	rdma_freeaddrinfo(res);
	/* Other processes do not see the names of this one. */
	EXPECT_EQ(EAI_NONAME, kernel_resolve(PRIVATE_HOST));
}

TEST_F(libc, RAI_02_libc_name)
{
	struct rdma_addrinfo *res;
	char text[160];

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, PRIVATE_HOST, PORT,
					   &rc_hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	EXPECT_STREQ(OWN4, host_text(res->ai_src_addr, text, sizeof(text)));
	rdma_freeaddrinfo(res);
	EXPECT_EQ(EAI_NONAME, kernel_resolve(PRIVATE_HOST));
}

TEST_F(libc, GAI_02_libc_same_answers_as_the_kernel)
{
	static const char *const nodes[] = { NAME_STORAGE, NAME_ALIAS,
					     NAME_V4, NAME_V6, PEER4, PEER6 };
	char by_libc[TEXT_MAX], by_kernel[TEXT_MAX];
	struct rdma_addrinfo *res;

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		setenv("RDMACMX_NAMES", "libc", 1);
		ASSERT_EQ(0, rdma_getaddrinfo(nodes[i], PORT, NULL, &res));
		ai_text(res, by_libc, sizeof(by_libc));
		rdma_freeaddrinfo(res);
		unsetenv("RDMACMX_NAMES");
		ASSERT_EQ(0, rdma_getaddrinfo(nodes[i], PORT, NULL, &res));
		ai_text(res, by_kernel, sizeof(by_kernel));
		rdma_freeaddrinfo(res);
		EXPECT_STREQ(by_kernel, by_libc);
	}
}

TEST_F(libc, GAI_02_libc_errors)
{
	struct rdma_addrinfo hints = { .ai_family = AF_INET6 }, *res;
	char name[128];

	name_fresh("cmx.test", name, sizeof(name));
	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo(name, PORT, NULL, &res));
	EXPECT_EQ(EAI_NODATA, rdma_getaddrinfo(NAME_NODATA, PORT, NULL, &res));
	EXPECT_EQ(EAI_ADDRFAMILY,
		  rdma_getaddrinfo(NAME_V4, PORT, &hints, &res));
	name_fresh("servfail.test", name, sizeof(name));
	EXPECT_EQ(EAI_AGAIN, rdma_getaddrinfo(name, PORT, NULL, &res));
}

TEST_F(libc, GAI_02_libc_silent_server)
{
	struct rdma_addrinfo *res;
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	EXPECT_EQ(EAI_AGAIN, rdma_getaddrinfo(name, PORT, NULL, &res));
}

TEST_F(libc, RAI_01_libc_silent_server_does_not_block)
{
	struct rdma_cm_event *event;
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, name, PORT, NULL));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id2, PRIVATE_HOST, PORT,
					   NULL));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->id2, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event->event);
	rdma_ack_cm_event(event);
	/* The kernel's deadline ends the query if libc returns no result. */
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR, event->event);
	EXPECT_TRUE(event->status == -ETIMEDOUT || event->status == -EAGAIN) {
		TH_LOG("status %d", event->status);
	}
	rdma_ack_cm_event(event);
}

TEST_F(libc, RAI_03_libc_no_such_name)
{
	int status = 0;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, "nobody.cmx.test", PORT,
					   NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENOENT, status);
}

TEST_F(libc, RAI_07_libc_destroy_in_flight)
{
	struct rdma_cm_id *id;
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, name, PORT, NULL));
	EXPECT_EQ(0, rdma_destroy_id(id));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, PEER4, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* Another network namespace needs no environment variable. */
TEST(GAI_01_other_namespace)
{
	struct rdma_addrinfo *res;
	char name[128];

	unsetenv("RDMACMX_NAMES");
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, etc_private("hosts", PRIVATE_LINES));
	ASSERT_EQ(0, rdma_getaddrinfo(PRIVATE_HOST, PORT, &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	/* The namespace has no route. */
	EXPECT_EQ(0, res->ai_src_len);
	rdma_freeaddrinfo(res);
	/* Its libc cannot reach the name server of the kernel's resolver. */
	name_fresh("any.cmx.test", name, sizeof(name));
	EXPECT_EQ(EAI_AGAIN, rdma_getaddrinfo(name, PORT, &rc_hints, &res));
}

TEST(RAI_02_other_namespace)
{
	struct rdma_event_channel *channel;
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	unsetenv("RDMACMX_NAMES");
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, etc_private("hosts", PRIVATE_LINES));
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, PRIVATE_HOST, PORT, &rc_hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event_take(channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

TEST_HARNESS_MAIN
