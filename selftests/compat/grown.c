// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: functions of the library that use later fields and flags of the user
 * ABI. frozen.sh also runs this on the published modules, where the library
 * works without them.
 */
#include <sys/syscall.h>

#include <rdma/rdma_cmx.h>

#include "pair.h"

#define SERVICE		"cmxgrown"
#define SERVICE_PORT	7627
#define COPY_PORT	7628
#define GROUP		"239.55.63.1"

/* RDMA_CMX_AIQ_PORT_LATER */
TEST(RAI_02_service)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int status = 0;

	ASSERT_EQ(0, etc_private("services", "\n" SERVICE " 7627/tcp\n"));
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, OWN4, SERVICE, &hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event_take(channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	EXPECT_NE(NULL, ai_find(res, OWN4 ":7627"));
	rdma_freeaddrinfo(res);
	/* By an event, or at once if the calling thread looks it up */
	errno = 0;
	if (rdma_resolve_addrinfo(id, OWN4, "nosuchservice", &hints)) {
		EXPECT_EQ(EINVAL, errno);
	} else {
		EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
			  event_take(channel, &status));
		EXPECT_EQ(-EINVAL, status);
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/* rdma_cmx_ai_entry.gid_index and rdma_cmx_ai_query.dev: both or none */
TEST(RA_02_device)
{
	struct rdma_addrinfo *res = NULL, *one;
	int index, type, err;

	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, "7471", NULL, &res));
	errno = 0;
	index = rdmacmx_ai_gid_index(res, &type);
	err = errno;
	if (index < 0) {
		EXPECT_EQ(ENODATA, err);
		EXPECT_EQ(EAI_BADFLAGS,
			  rdmacmx_getaddrinfo(IBDEV, OWN4, "7471", NULL, &one));
	} else {
		EXPECT_EQ(IBV_GID_TYPE_ROCE_V2, type);
		ASSERT_EQ(0, rdmacmx_getaddrinfo(IBDEV, OWN4, "7471", NULL,
						 &one));
		EXPECT_EQ(index, rdmacmx_ai_gid_index(one, NULL));
		rdma_freeaddrinfo(one);
	}
	rdma_freeaddrinfo(res);
}

struct copies {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *member;
	int parent;		/* its pidfd */
	int result[2];		/* pipe */
};

/* After the exit of the parent the child destroys its copies. */
static int copies_end(struct copies *c)
{
	struct pollfd pfd = { .fd = c->parent, .events = POLLIN };
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	if (poll(&pfd, 1, WAIT_MS) != 1)
		return __LINE__;
	if (rdma_leave_multicast(c->member, addr_make(&ss, GROUP, 0)))
		return __LINE__;
	if (rdma_destroy_id(c->member) || rdma_destroy_id(c->id))
		return __LINE__;
	if (rdma_create_id(c->channel, &id, NULL, RDMA_PS_TCP) ||
	    id_bind(id, OWN4, COPY_PORT))
		return __LINE__;
	return 0;
}

static int copies_leave_behind(struct copies *c)
{
	struct sockaddr_storage ss;
	int wrong;
	pid_t pid;

	c->parent = syscall(SYS_pidfd_open, getpid(), 0);
	c->channel = rdma_create_event_channel();
	if (!c->channel ||
	    rdma_create_id(c->channel, &c->id, NULL, RDMA_PS_TCP) ||
	    rdma_create_id(c->channel, &c->member, NULL, RDMA_PS_UDP) ||
	    id_bind(c->id, OWN4, COPY_PORT) || id_bind(c->member, OWN4, 0) ||
	    rdma_join_multicast(c->member, addr_make(&ss, GROUP, 0), NULL) ||
	    event_take(c->channel, NULL) != RDMA_CM_EVENT_MULTICAST_JOIN)
		return 1;
	pid = fork();
	if (pid)
		return pid < 0;
	wrong = copies_end(c);
	return write(c->result[1], &wrong, sizeof(wrong)) != sizeof(wrong);
}

/* rdma_cmx_destroy.uid */
TEST(RA_02_copies)
{
	struct pollfd pfd = { .events = POLLIN };
	int wrong = -1, status;
	struct copies c;
	pid_t pid;

	ASSERT_EQ(0, pipe(c.result));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(copies_leave_behind(&c));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	pfd.fd = c.result[0];
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
	EXPECT_EQ(sizeof(wrong), read(pfd.fd, &wrong, sizeof(wrong)));
	EXPECT_EQ(0, wrong);
}

TEST_HARNESS_MAIN
