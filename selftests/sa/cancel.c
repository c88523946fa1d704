// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Resolutions on InfiniBand that end before a response: by their deadline, or
 * by the destroy of the id, in each stage. Each test is a separate process.
 */
#include <pthread.h>
#include <string.h>

#include "sa.h"

#define IDS		100
#define PROMPT_MS	50000	/* less than any deadline, on a slow guest */
#define THREADS		4
#define ROUNDS		100

FIXTURE(cancel) {
	struct rdma_event_channel *channel;
	char name[64];
};

FIXTURE_SETUP(cancel)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	service_name(self->name);
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     service_id()));
}

FIXTURE_TEARDOWN(cancel)
{
	rdma_destroy_event_channel(self->channel);
	bash("knob_set %s faults clear", device(DEV_SM));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

static struct rdma_addrinfo sa_hints = { .ai_flags = RAI_SA };

static int resolve(struct rdma_cm_id *id, const char *node, const char *service)
{
	return rdma_resolve_addrinfo(id, node, service,
				     node ? NULL : &sa_hints);
}

/* Many ids, each with a query; all are destroyed at once, without an event. */
static void destroy_expect(struct __test_metadata *_metadata,
			   struct rdma_event_channel *channel,
			   const char *node, const char *service)
{
	struct rdma_cm_id *ids[IDS];
	long long start;

	for (int i = 0; i < IDS; i++) {
		ids[i] = id_on(channel, DEV_OWN);
		ASSERT_NE(NULL, ids[i]);
		ASSERT_EQ(0, resolve(ids[i], node, service));
	}
	start = now_ms();
	for (int i = 0; i < IDS; i++)
		EXPECT_EQ(0, rdma_destroy_id(ids[i]));
	EXPECT_GT(PROMPT_MS, now_ms() - start);
	EXPECT_EQ(0, channel_readable(channel, 0));
}

TEST_F(cancel, RAI_07_destroy_while_services_are_queried)
{
	ASSERT_EQ(0, bash("knob_set %s faults 'drop class=3 attr=0x31'",
			  device(DEV_SM)));
	destroy_expect(_metadata, self->channel, NULL, self->name);
}

TEST_F(cancel, RAI_07_destroy_while_paths_are_queried)
{
	struct rdma_cm_id *id = id_on(self->channel, DEV_OWN);

	ASSERT_NE(NULL, id);
	ASSERT_EQ(1, sa_count(id, self->name));
	ASSERT_EQ(0, bash("knob_set %s faults 'drop class=3 attr=0x35'",
			  device(DEV_SM)));
	destroy_expect(_metadata, self->channel, NULL, self->name);
	rdma_destroy_id(id);
}

TEST_F(cancel, RAI_07_destroy_while_neighbours_are_looked_for)
{
	char usual[32];

	ASSERT_TRUE(parameter_set("neigh_timeout_ms", "60000", usual));
	destroy_expect(_metadata, self->channel, "10.66.0.99", PORT);
	destroy_expect(_metadata, self->channel, "fd66::99", PORT);
	EXPECT_TRUE(parameter_set("neigh_timeout_ms", usual, NULL));
}

/* Without path responses the result has no route. */
TEST_F(cancel, GAI_09_paths_do_not_come_in_time)
{
	struct rdma_cm_id *id = id_on(self->channel, DEV_OWN);
	char route[32], sa[32];
	struct rdma_addrinfo *res;
	long long start;
	int ret;

	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, bash("knob_set %s faults 'drop class=3 attr=0x35'",
			  device(DEV_SM)));
	/* The deadline of 60 s is long after the 3 s of path queries. */
	ASSERT_TRUE(parameter_set("route_timeout_ms", "3000", route));
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "20000", sa));
	start = now_ms();
	ret = sa_get(id, self->name, 0, &res);
	EXPECT_GT(30000, now_ms() - start);
	EXPECT_TRUE(parameter_set("route_timeout_ms", route, NULL));
	EXPECT_TRUE(parameter_set("sa_timeout_ms", sa, NULL));
	/* The query, which has no waiter, ends before its timeout. */
	EXPECT_EQ(0, bash("knob_set %s event client_reregister",
			  device(DEV_OWN)));
	ASSERT_EQ(0, ret);
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(0, res->ai_route_len);
	EXPECT_NE(0, res->ai_src_len);
	rdma_freeaddrinfo(res);
	rdma_destroy_id(id);
}

/* The port goes down in both stages: an error at once, or no route */
TEST_F(cancel, RAI_03_port_down_while_it_is_queried)
{
	struct rdma_cm_id *id = id_on(self->channel, DEV_OWN);
	struct rdma_addrinfo *res;
	int status;

	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, bash("knob_set %s faults 'drop class=3 attr=0x31'",
			  device(DEV_SM)));
	ASSERT_EQ(0, resolve(id, NULL, self->name));
	ASSERT_EQ(0, bash("link_down %s", device(DEV_OWN)));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENODEV, status);
	errno = 0;
	EXPECT_EQ(-1, resolve(id, NULL, self->name));
	EXPECT_EQ(ENODEV, errno);

	ASSERT_EQ(0, bash("link_up %s; knob_set %s faults clear; "
			  "port_active_wait", device(DEV_OWN), device(DEV_SM)));
	ASSERT_EQ(0, sa_get(id, self->name, 0, &res));
	EXPECT_NE(0, res->ai_route_len);
	rdma_freeaddrinfo(res);
	rdma_destroy_id(id);
}

struct churn {
	pthread_t thread;
	const char *name;
	unsigned int seed;
	unsigned int answers;
	const char *error;
};

static void *churn_run(void *arg)
{
	struct churn *c = arg;
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	struct rdma_addrinfo *res;

	for (int i = 0; i < ROUNDS && channel && !c->error; i++) {
		id = id_on(channel, DEV_OWN);
		if (!id || resolve(id, NULL, c->name)) {
			c->error = "cannot send a query";
			break;
		}
		usleep(rand_r(&c->seed) % 8000);
		if (rand_r(&c->seed) % 4 == 0) {
			if (event_take(channel, NULL) !=
			    RDMA_CM_EVENT_ADDRINFO_RESOLVED ||
			    rdma_query_addrinfo(id, &res))
				c->error = "no answer";
			else
				rdma_freeaddrinfo(res);
			c->answers++;
		}
		if (rdma_destroy_id(id))
			c->error = "destroy";
	}
	rdma_destroy_event_channel(channel);
	return NULL;
}

/* At random moments, with a slow SA */
TEST_F(cancel, RAI_07_destroy_at_any_moment)
{
	struct churn churn[THREADS] = {};
	unsigned int answers = 0;

	ASSERT_EQ(0, bash("knob_set %s faults 'delay class=3 ms=2'; "
			  "echo 0 >/sys/module/rdma_cmx/parameters/sa_cache_ms",
			  device(DEV_SM)));
	/* The threads need these values, which are read before they start. */
	gid(DEV_OWN);
	for (int i = 0; i < THREADS; i++) {
		churn[i].name = self->name;
		churn[i].seed = i;
		ASSERT_EQ(0, pthread_create(&churn[i].thread, NULL, churn_run,
					    &churn[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(churn[i].thread, NULL);
		EXPECT_EQ(NULL, churn[i].error) {
			TH_LOG("%s", churn[i].error);
		}
		answers += churn[i].answers;
	}
	EXPECT_NE(0, answers);
	EXPECT_EQ(0, bash("echo 15000 >/sys/module/rdma_cmx/parameters/sa_cache_ms"));
}

TEST_HARNESS_MAIN
