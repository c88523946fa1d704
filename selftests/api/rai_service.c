// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port of a service with a slow name service: rdma_resolve_addrinfo() does
 * not wait for it (RAI-01, RAI-02, RAI-03, RAI-07). Its lookup may fail
 * (GAI-02). The library calls this program's getservbyname_r(), whose delay and
 * error the test controls.
 */
#include <pthread.h>
#include <rdma/rdma_cmx.h>

#include "api.h"

#define UNCHANGED	-1

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool closed;
static int inside, calls, here;
static int files;	/* files that stay open: rdma_getaddrinfo() has one */
static pthread_t tester;
static const char *failing;	/* the protocol whose lookups fail, or NULL */
static int failure;	/* with this error, UNCHANGED: with errno */
static size_t room;	/* that an entry needs */

static const struct {
	const char *name, *proto;
	int port;
} services[] = {
	{ "cmx-both", "tcp", 7501 },
	{ "cmx-both", "udp", 7501 },
	{ "cmx-tcp", "tcp", 7502 },
	{ "cmx-udp", "udp", 7503 },
	{ "cmx-two", "tcp", 7504 },
	{ "cmx-two", "udp", 7505 },
};

int getservbyname_r(const char *name, const char *proto, struct servent *ent,
		    char *buf, size_t len, struct servent **res)
{
	pthread_mutex_lock(&gate);
	calls++;
	here += pthread_equal(pthread_self(), tester) != 0;
	inside++;
	pthread_cond_broadcast(&moved);
	while (closed)
		pthread_cond_wait(&moved, &gate);
	inside--;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
	*res = NULL;
	if (failing && !strcmp(proto, failing))
		return failure == UNCHANGED ? errno : failure;
	if (len < room)
		return ERANGE;
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		if (strcmp(name, services[i].name) ||
		    strcmp(proto, services[i].proto))
			continue;
		*ent = (struct servent){ .s_port = htons(services[i].port) };
		*res = ent;
	}
	return 0;
}

static void gate_set(bool close)
{
	pthread_mutex_lock(&gate);
	closed = close;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

/* Waits until @count lookups have entered. */
static void inside_wait(int count)
{
	pthread_mutex_lock(&gate);
	while (inside != count)
		pthread_cond_wait(&moved, &gate);
	pthread_mutex_unlock(&gate);
}

FIXTURE(service) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *id2;
};

FIXTURE_SETUP(service)
{
	tester = pthread_self();
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id2, NULL,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(service)
{
	gate_set(false);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->id2));
	rdma_destroy_event_channel(self->channel);
	EXPECT_TRUE(live_objects_are(files, WAIT_MS));
	/* The calling thread did not look up a service. */
	EXPECT_EQ(0, here);
}

/* The result of rdma_getaddrinfo(), which resolves the service itself. */
static void same_expect(struct __test_metadata *_metadata,
			FIXTURE_DATA(service) *self, const char *node,
			const char *service, const struct rdma_addrinfo *hints)
{
	char async[TEXT_MAX], sync[TEXT_MAX];
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, node, service, hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
	ai_text(res, async, sizeof(async));
	rdma_freeaddrinfo(res);
	/* This thread may look up a service in this call. */
	tester = 0;
	ASSERT_EQ(0, rdma_getaddrinfo(node, service, hints, &res));
	tester = pthread_self();
	files = 1;
	ai_text(res, sync, sizeof(sync));
	rdma_freeaddrinfo(res);
	EXPECT_STREQ(sync, async) {
		TH_LOG("%s %s", node ?: "-", service);
	}
}

/* A number, a name for the kernel, no node; each with each kind of service */
TEST_F(service, RAI_02_as_rdma_getaddrinfo)
{
	static const char *const nodes[] = { PEER4, PEER6, NAME_STORAGE, NULL };
	static const char *const names[] = {
		"cmx-both", "cmx-tcp", "cmx-udp", "cmx-two",
	};
	static const struct rdma_addrinfo hints[] = {
		{ .ai_port_space = RDMA_PS_IB },
		{ .ai_flags = RAI_PASSIVE },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		for (k = 0; k < ARRAY_SIZE(names); k++)
			same_expect(_metadata, self, nodes[i], names[k], NULL);
	}
	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		for (k = 0; k < ARRAY_SIZE(names); k++)
			same_expect(_metadata, self,
				    hints[i].ai_flags ? OWN4 : PEER4, names[k],
				    &hints[i]);
	}
}

/* Names that libc resolves, with the port in one command */
TEST_F(service, RAI_02_names_of_this_process)
{
	ASSERT_EQ(0, setenv("RDMACMX_NAMES", "libc", 1));
	same_expect(_metadata, self, NAME_STORAGE, "cmx-both", NULL);
	same_expect(_metadata, self, NAME_V4, "cmx-udp", NULL);
	same_expect(_metadata, self, PEER4, "cmx-tcp", NULL);
	same_expect(_metadata, self, NULL, "cmx-tcp", NULL);
}

TEST_F(service, RAI_01_does_not_block)
{
	static const char *const nodes[] = { PEER4, NAME_V4, NULL };
	struct rdma_addrinfo *res, hints = { .ai_port_space = RDMA_PS_TCP };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		gate_set(true);
		ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, nodes[i],
						   "cmx-tcp", &hints));
		inside_wait(1);
		errno = 0;
		EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
		EXPECT_EQ(ENOENT, errno);
		EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, PEER4, PORT,
						    NULL));
		EXPECT_EQ(EBUSY, errno);
		/*
		 * Another id works meanwhile, and a numeric port needs no
		 * thread.
		 */
		ASSERT_EQ(0, rdma_resolve_addrinfo(self->id2, PEER4, PORT,
						   NULL));
		EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
			  event_take(self->channel, NULL));
		EXPECT_EQ(0, channel_readable(self->channel, 0));
		EXPECT_EQ((int)i + 1, calls);
		gate_set(false);
		ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
			  event_take(self->channel, NULL));
		ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
		EXPECT_EQ(htons(7502),
			  ((struct sockaddr_in *)res->ai_dst_addr)->sin_port);
		rdma_freeaddrinfo(res);
	}
}

TEST_F(service, RAI_03_unknown)
{
	static const char *const nodes[] = { PEER4, NAME_V4, "nobody.cmx.test",
					     NULL };
	struct rdma_cm_id *sync;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		status = 0;
		ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, nodes[i],
						   "cmx-none", NULL));
		EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
			  event_take(self->channel, &status));
		EXPECT_EQ(-EINVAL, status);
	}
	ASSERT_EQ(0, rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP));
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(sync, PEER4, "cmx-none", NULL));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, rdma_resolve_addrinfo(sync, PEER4, "cmx-both", NULL));
	EXPECT_EQ(0, rdma_destroy_id(sync));
}

/* The service of one transport could not be looked up. */
TEST_F(service, GAI_02_lookup_fails)
{
	static const struct {
		int error, eai, err;
	} errors[] = {
		{ EMFILE, EAI_SYSTEM, EMFILE }, { ENFILE, EAI_SYSTEM, ENFILE },
		{ ENOMEM, EAI_MEMORY, ENOMEM }, { ERANGE, EAI_SYSTEM, ERANGE },
		/* The source is unavailable. */
		{ ENOENT, 0, 0 }, { ECONNREFUSED, 0, 0 }, { EAGAIN, 0, 0 },
		{ UNCHANGED, 0, 0 },
	};
	static const struct {
		const char *proto, *service;
	} lookups[] = { { "tcp", "cmx-udp" }, { "udp", "cmx-tcp" } };
	struct rdma_addrinfo *res;
	int status;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(errors); i++) {
		failing = lookups[i % 2].proto;
		failure = errors[i / 2].error;
		/* Missing, it limits the result to the other transport. */
		if (!errors[i / 2].eai) {
			same_expect(_metadata, self, PEER4,
				    lookups[i % 2].service, NULL);
			continue;
		}
		tester = 0;
		errno = 0;
		EXPECT_EQ(errors[i / 2].eai,
			  rdma_getaddrinfo(PEER4, lookups[i % 2].service, NULL,
					   &res));
		if (errors[i / 2].eai == EAI_SYSTEM) {
			EXPECT_EQ(errors[i / 2].err, errno);
		}
		tester = pthread_self();
		files = 1;
		ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, PEER4,
						   lookups[i % 2].service,
						   NULL));
		EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
			  event_take(self->channel, &status));
		EXPECT_EQ(-errors[i / 2].err, status);
	}
}

/* libc returns errno, which an unavailable source has not set. */
TEST_F(service, GAI_02_errno_of_the_caller)
{
	static const int before[] = { EAGAIN, EMFILE };
	struct rdma_addrinfo *res;

	tester = 0;
	/* Opens the file, which may change errno. */
	EXPECT_EQ(EAI_SERVICE, rdma_getaddrinfo(PEER4, "cmx-none", NULL, &res));
	failing = "udp";
	failure = UNCHANGED;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		errno = before[i];
		EXPECT_EQ(EAI_SERVICE, rdma_getaddrinfo(PEER4, "cmx-none", NULL,
							&res));
	}
	tester = pthread_self();
	files = 1;
}

/* An entry with many aliases */
TEST_F(service, GAI_02_large_entry)
{
	struct rdma_addrinfo *res;

	room = 100 * 1000;
	same_expect(_metadata, self, PEER4, "cmx-both", NULL);
	/* Larger than any: the library does not retry for ever. */
	room = SIZE_MAX;
	tester = 0;
	errno = 0;
	EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo(PEER4, "cmx-both", NULL, &res));
	EXPECT_EQ(ERANGE, errno);
	tester = pthread_self();
}

/* An invalid call fails at once, without a lookup of the service. */
TEST_F(service, RAI_04_at_once)
{
	struct rdma_addrinfo hints = { .ai_family = AF_INET6 };

	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, PEER4, "cmx-both",
					    &hints));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, PEER4, "70000", NULL));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, calls);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

TEST_F(service, RAI_07_destroy_in_flight)
{
	static const char *const nodes[] = { PEER4, NAME_V4, NULL };
	struct rdma_cm_id *id;

	gate_set(true);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL,
					    RDMA_PS_TCP));
		ASSERT_EQ(0, rdma_resolve_addrinfo(id, nodes[i], "cmx-both",
						   NULL));
		inside_wait(i + 1);
		EXPECT_EQ(0, rdma_destroy_id(id));
	}
	/* The threads now drop their results. */
	gate_set(false);
	inside_wait(0);
	same_expect(_metadata, self, PEER4, "cmx-both", NULL);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

TEST_HARNESS_MAIN
