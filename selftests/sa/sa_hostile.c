// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responses of a hostile or broken SA, made by tools/fake: each query ends with
 * a right result or a suitable error, and the next valid response is accepted.
 */
#include <rdma/rdma_cmx.h>
#include <string.h>

#include "sa.h"

/* Responses with this many records take 1, several or many segments. */
#define FEW	1
#define SOME	5
#define MANY	200

FIXTURE(fake) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	pid_t pid;
};

FIXTURE_SETUP(fake)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, self->id);
	ASSERT_EQ(0, bash("sm_pause"));
}

FIXTURE_TEARDOWN(fake)
{
	if (self->pid > 0)
		fake_stop(self->pid);
	EXPECT_EQ(0, bash("sm_resume"));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

/* Queries a fake SA in this mode. Number of entries, or the errno. */
static int result(struct __test_metadata *_metadata, FIXTURE_DATA(fake) *self,
		  const char *mode)
{
	char name[64];
	int ret;

	self->pid = fake_start("%s", mode);
	if (self->pid < 0)
		return -ECHILD;
	ret = sa_count(self->id, service_name(name));
	/* The fake SA has received the query. */
	EXPECT_LT(0, fake_stop(self->pid)) {
		TH_LOG("%s", mode);
	}
	self->pid = 0;
	return ret;
}

#define result_expect(want, mode) do {					\
	int got_ = result(_metadata, self, mode);			\
									\
	EXPECT_EQ(want, got_) {						\
		TH_LOG("%s", mode);					\
	}								\
} while (0)

/* Never a valid response: the timeouts are short. */
#define result_late(mode) do {						\
	char usual_[32];						\
									\
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "50", usual_));	\
	result_expect(-ETIMEDOUT, mode);				\
	EXPECT_TRUE(parameter_set("sa_timeout_ms", usual_, NULL));	\
} while (0)

TEST_F(fake, good_answers_of_any_length)
{
	result_expect(FEW, "-n 1 good");
	result_expect(SOME, "-n 5 good");
	result_expect(MANY, "-n 200 good");
	result_expect(-ENOENT, "empty");
}

TEST_F(fake, attribute_offset)
{
	result_expect(-EBADMSG, "offset=0");
	result_expect(-EBADMSG, "offset=1");
	result_expect(-EBADMSG, "offset-small");
	result_expect(-EBADMSG, "offset=0xffff");
	/* A later version may send longer records. */
	result_expect(SOME, "-n 5 stride=3");
	result_expect(MANY, "-n 200 stride=1");
}

TEST_F(fake, table_that_does_not_add_up)
{
	result_expect(-EBADMSG, "-n 1 truncated=100");
	result_expect(-EBADMSG, "-n 5 truncated=50");
	result_expect(-EBADMSG, "-n 200 truncated=1");
}

/* Not malformed: the administrator can raise the limit. */
TEST_F(fake, more_records_than_the_limit)
{
	char most[32];

	ASSERT_TRUE(parameter_set("sa_max_records", "4", most));
	result_expect(-EOVERFLOW, "-n 5 good");
	EXPECT_TRUE(parameter_set("sa_max_records", "5", NULL));
	result_expect(SOME, "-n 5 good");
	EXPECT_TRUE(parameter_set("sa_max_records", most, NULL));
}

TEST_F(fake, records_of_others)
{
	int ret = result(_metadata, self, "-n 5 foreign");

	EXPECT_TRUE(ret == -EBADMSG || ret == -ENOENT) {
		TH_LOG("%d", ret);
	}
	ret = result(_metadata, self, "-n 200 noise=4711");
	EXPECT_TRUE(ret == -EBADMSG || ret == -ENOENT) {
		TH_LOG("%d", ret);
	}
}

TEST_F(fake, headers)
{
	result_expect(-EBADMSG, "method");
	result_expect(-EBADMSG, "method=0x81");
	result_expect(-EBADMSG, "attribute");
}

TEST_F(fake, status_for_good)
{
	result_expect(-ECONNREFUSED, "redirect");
	result_expect(-ECONNREFUSED, "status=0x0200");
	result_expect(-ECONNREFUSED, "status=0x0700");
	result_expect(-ECONNREFUSED, "status=0x000c");
	result_expect(-ECONNREFUSED, "status=0x7ffc");
	result_expect(-ENOENT, "status=0x0300");
}

TEST_F(fake, RAI_03_busy_for_ever)
{
	char usual[32];

	ASSERT_TRUE(parameter_set("sa_timeout_ms", "700", usual));
	result_expect(-EAGAIN, "busy");
	EXPECT_TRUE(parameter_set("sa_timeout_ms", usual, NULL));
}

TEST_F(fake, busy_for_a_while)
{
	result_expect(SOME, "-n 5 -t 2 busy");
	result_expect(SOME, "-n 5 -t 2 status=0x0100");
}

TEST_F(fake, RAI_03_silent)
{
	result_late("silent");
}

TEST_F(fake, another_transaction)
{
	result_late("tid");
}

/* All of it is right but the source. */
TEST_F(fake, another_port)
{
	long long before = counter("sa_responses_ignored");
	char mode[64];
	int i;

	snprintf(mode, sizeof(mode), "-n 1 -f %s good", device(DEV_OTHER));
	/* On a slow host the query may end before the fake SA responds. */
	for (i = 0; i < 5 && counter("sa_responses_ignored") == before; i++)
		result_late(mode);
	EXPECT_LT(before, counter("sa_responses_ignored"));
	result_expect(FEW, "-n 1 good");
}

TEST_F(fake, silent_for_a_while)
{
	result_expect(SOME, "-n 5 -t 2 silent");
	result_expect(SOME, "-n 5 -t 1 tid");
}

TEST_F(fake, segments_duplicated_and_reordered)
{
	result_expect(MANY, "-n 200 duplicate=2");
	result_expect(SOME, "-n 5 duplicate=3");
	result_expect(20, "-n 20 reorder");
}

TEST_F(fake, segments_lost_once)
{
	result_expect(MANY, "-n 200 -t 1 lost=1");
	result_expect(MANY, "-n 200 -t 1 lost=17");
	result_expect(MANY, "-n 200 -t 1 lost-last");
	result_expect(SOME, "-n 5 -t 1 no-last");
	result_expect(SOME, "-n 5 -t 1 abort");
	result_expect(SOME, "-n 5 -t 1 stop");
}

TEST_F(fake, segments_lost_always)
{
	result_late("-n 5 lost=3");
}

TEST_F(fake, no_last_segment)
{
	result_late("-n 5 no-last");
}

TEST_F(fake, aborted)
{
	result_late("-n 5 abort");
}

/* The kernel uses the length of the last segment only. */
TEST_F(fake, absurd_payload_lengths)
{
	result_expect(SOME, "-n 5 million");
	result_expect(SOME, "-n 5 paylen-first=0xffffffff");
	result_expect(SOME, "-n 5 paylen-first=0");
	result_expect(-EBADMSG, "-n 5 paylen-last=0");
	result_expect(-EBADMSG, "-n 5 paylen-last=0xffffffff");
	result_expect(-EBADMSG, "-n 5 early-last=2");
}

/* The P_Key is that of the record, even if the port does not have it. */
TEST_F(fake, RAI_06_partition)
{
	struct rdma_addrinfo *res;
	char name[64];

	self->pid = fake_start("-n 1 -p 0x7fff good");
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(0, sa_get(self->id, service_name(name), 0, &res));
	EXPECT_EQ(0x7fff, be16toh(ib(res->ai_dst_addr)->sib_pkey));
	EXPECT_NE(0, res->ai_src_len);
	rdma_freeaddrinfo(res);
	EXPECT_LT(0, fake_stop(self->pid));

	/* The port cannot send to it: no source, no route. */
	self->pid = fake_start("-n 1 -p 0x8123 good");
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(0, sa_get(self->id, service_name(name), 0, &res));
	EXPECT_EQ(NULL, res->ai_next);
	EXPECT_EQ(0x8123, be16toh(ib(res->ai_dst_addr)->sib_pkey));
	EXPECT_EQ(0, res->ai_src_len);
	EXPECT_EQ(0, res->ai_route_len);
	rdma_freeaddrinfo(res);
	EXPECT_LT(0, fake_stop(self->pid));
	self->pid = 0;
}

/* The query ends in any case, and a valid response is accepted afterwards. */
TEST_F(fake, RMPP_headers)
{
	static const char *const modes[] = {
		"-n 5 -t 1 version=2", "-n 5 -t 1 type=9", "-n 5 -t 1 inactive",
		"-n 5 -t 1 number=0", "-n 5 -t 1 number=1000000",
		"-n 5 -t 1 no-first", "-n 5 -t 1 all-first",
		"-n 5 -t 1 class-version=1",
	};
	int ret;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		ret = result(_metadata, self, modes[i]);
		EXPECT_TRUE(ret == SOME || ret == -EBADMSG ||
			    ret == -ECONNREFUSED) {
			TH_LOG("%s: %d", modes[i], ret);
		}
	}
	result_expect(SOME, "-n 5 good");
}

/* The same for the path query of a resolution */
TEST_F(fake, path_records)
{
	static const char *const modes[] = {
		"-a 0x35 -n 1 empty", "-a 0x35 -n 1 redirect",
		"-a 0x35 -n 1 offset=0", "-a 0x35 -n 1 noise=99",
		"-a 0x35 -n 1 attribute", "-a 0x35 -n 1 truncated=30",
	};
	struct rdma_addrinfo *res;
	char name[64];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		self->pid = fake_start("%s", modes[i]);
		ASSERT_LT(0, self->pid);
		/* The service exists; only its path is unknown. */
		EXPECT_EQ(0, sa_get(self->id, service_name(name), 0, &res)) {
			TH_LOG("%s", modes[i]);
		}
		EXPECT_EQ(1, ai_count(res));
		EXPECT_EQ(0, res ? res->ai_route_len : 1);
		rdma_freeaddrinfo(res);
		EXPECT_LT(0, fake_stop(self->pid));
		self->pid = 0;
	}
}

/* A result has no more paths than the query requests, whatever arrives. */
TEST_F(fake, more_paths_than_requested)
{
	const size_t path = sizeof(struct ibv_path_data);
	struct rdma_addrinfo *res;
	char name[64];

	self->pid = fake_start("-a 0x35 -n 1 repeat=1000");
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(0, sa_get(self->id, service_name(name), 0, &res));
	EXPECT_LE(path, res->ai_route_len);
	EXPECT_GE(4 * path, res->ai_route_len);
	rdma_freeaddrinfo(res);
	EXPECT_LT(0, fake_stop(self->pid));
	self->pid = 0;
}

/* Waits for changes until the service has this state, lease and error. */
static bool service_is(struct rdmacmx_service *service, unsigned int state,
		       unsigned int lease, int error)
{
	struct pollfd pfd = {
		.fd = rdmacmx_service_fd(service), .events = POLLPRI,
	};
	struct rdmacmx_service_port port;

	do {
		if (poll(&pfd, 1, WAIT_MS) != 1 ||
		    rdmacmx_service_ports(service, &port, 1) != 1)
			return false;
	} while (port.state != state || port.lease != lease ||
		 port.error != error);
	return true;
}

/* The first lease is 5 s. */
TEST_F(fake, SV_01_renewal_with_another_lease)
{
	struct rdmacmx_service_attr attr = {
		.name = "renewed", .id = service_id(), .device = device(DEV_OWN),
		.lease = 8,
	};
	struct rdmacmx_service *service;

	self->pid = fake_start("-t 1 lease=5");
	ASSERT_LT(0, self->pid);
	service = rdmacmx_advertise(&attr);
	ASSERT_NE(NULL, service);
	EXPECT_TRUE(service_is(service, RDMACMX_SERVICE_SET, 8, 0));
	EXPECT_EQ(0, rdmacmx_withdraw(service));
	EXPECT_LT(0, fake_stop(self->pid));
	self->pid = 0;
}

/* The SA deletes the record of such a lease before a renewal. */
TEST_F(fake, SV_01_lease_too_short_to_renew)
{
	static const struct {
		const char *mode;
		unsigned int state, lease;
		int error;
	} grants[] = {
		{ "lease=0", RDMACMX_SERVICE_TRYING, 0, ERANGE },
		{ "lease=1", RDMACMX_SERVICE_TRYING, 0, ERANGE },
		{ "lease=3", RDMACMX_SERVICE_TRYING, 0, ERANGE },
		{ "lease=4", RDMACMX_SERVICE_SET, 4, 0 },
		{ "lease=0xffffffff", RDMACMX_SERVICE_SET, 8, 0 },
	};
	struct rdmacmx_service_attr attr = {
		.name = "granted", .device = device(DEV_OWN), .lease = 8,
	};
	struct rdmacmx_service *service;
	size_t i;

	for (i = 0; i < sizeof(grants) / sizeof(*grants); i++) {
		self->pid = fake_start("%s", grants[i].mode);
		ASSERT_LT(0, self->pid);
		attr.id = service_id();
		service = rdmacmx_advertise(&attr);
		ASSERT_NE(NULL, service);
		EXPECT_TRUE(service_is(service, grants[i].state,
				       grants[i].lease, grants[i].error)) {
			TH_LOG("%s", grants[i].mode);
		}
		EXPECT_EQ(0, rdmacmx_withdraw(service));
		EXPECT_LT(0, fake_stop(self->pid));
		self->pid = 0;
	}
}

/* No SA responds, so the first attempt has not ended when the port goes down. */
TEST_F(fake, SV_01_port_down_before_the_first_result)
{
	struct rdmacmx_service_attr attr = {
		.name = "early", .id = service_id(), .device = device(DEV_OWN),
	};
	struct rdmacmx_service *service;

	service = rdmacmx_advertise(&attr);
	ASSERT_NE(NULL, service);
	ASSERT_EQ(0, bash("link_down $(fab_dev %d)", DEV_OWN));
	EXPECT_TRUE(service_is(service, RDMACMX_SERVICE_DOWN, 0, ENODEV));
	EXPECT_EQ(0, rdmacmx_withdraw(service));
	ASSERT_EQ(0, bash("sm_resume && link_up $(fab_dev %d) && "
			  "port_active_wait && sm_pause", DEV_OWN));
}

TEST_HARNESS_MAIN
