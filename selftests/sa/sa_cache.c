// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SA queries that are not sent: queries that are coalesced with an outstanding
 * one, and those that the cache serves. The SM's device counts the queries. A
 * cache time of an hour proves that an event drops a response.
 */
#include <string.h>
#include <sys/wait.h>

#include "sa.h"

FIXTURE(cache) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	char name[64];
	unsigned long long sid;
	char usual[32];
	char timeout[32];
};

/* A retry would count as another query. */
FIXTURE_SETUP(cache)
{
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "20000", self->timeout));
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, self->id);
	service_name(self->name);
	self->sid = service_id();
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid));
	ASSERT_TRUE(parameter_set("sa_cache_ms", "3600000", self->usual));
}

FIXTURE_TEARDOWN(cache)
{
	if (self->usual[0])
		EXPECT_TRUE(parameter_set("sa_cache_ms", self->usual, NULL));
	EXPECT_TRUE(parameter_set("sa_timeout_ms", self->timeout, NULL));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

TEST_F(cache, queried_once)
{
	long long before;

	ASSERT_EQ(1, sa_count(self->id, self->name));
	before = sa_queries(ATTR_SERVICE);
	ASSERT_LE(0, before);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(1, sa_count(self->id, self->name));
	EXPECT_EQ(before, sa_queries(ATTR_SERVICE));
}

TEST_F(cache, off)
{
	long long before;

	ASSERT_TRUE(parameter_set("sa_cache_ms", "0", NULL));
	ASSERT_EQ(1, sa_count(self->id, self->name));
	before = sa_queries(ATTR_SERVICE);
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(1, sa_count(self->id, self->name));
	EXPECT_LE(before + 5, sa_queries(ATTR_SERVICE));
}

/* Each port sends a query: the SA may respond differently. */
TEST_F(cache, not_for_another_port)
{
	struct rdma_cm_id *other = id_on(self->channel, DEV_OTHER);
	long long before;

	ASSERT_NE(NULL, other);
	ASSERT_EQ(1, sa_count(self->id, self->name));
	before = sa_queries(ATTR_SERVICE);
	EXPECT_EQ(1, sa_count(other, self->name));
	EXPECT_LT(before, sa_queries(ATTR_SERVICE));
	rdma_destroy_id(other);
}

/* The cache keeps a record no longer than its lease. */
TEST_F(cache, lease)
{
	char name[64];
	long long end;
	int tries, count;

	service_name(name);
	/* It may end before the query on a slow guest: then it is set again. */
	for (tries = 0, count = 0; tries < 3 && count != 1; tries++) {
		ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu -l 8 set", name,
				     self->sid + 1));
		count = sa_count(self->id, name);
	}
	ASSERT_EQ(1, count);
	ASSERT_TRUE(wait_for(WAIT_MS, "[ $(" SELFTESTS
			     "/sa/tools/service -n %s count) = 0 ]", name));
	for (end = now_ms() + WAIT_MS; now_ms() < end; usleep(50000))
		if (sa_count(self->id, name) != 1)
			break;
	EXPECT_EQ(-ENOENT, sa_count(self->id, name));
}

static void new_query_expect(struct __test_metadata *_metadata,
			     FIXTURE_DATA(cache) *self, const char *event)
{
	long long before, end;

	ASSERT_EQ(1, sa_count(self->id, self->name));
	ASSERT_EQ(1, sa_count(self->id, self->name));
	/* Other kernel queries after an event do not count. */
	before = sa_queries(ATTR_SERVICE);
	ASSERT_EQ(0, bash("%s", event));
	/* A work item handles the event. */
	for (end = now_ms() + WAIT_MS; now_ms() < end; usleep(20000)) {
		/* A port in error sends no query for a moment. */
		sa_count(self->id, self->name);
		if (sa_queries(ATTR_SERVICE) > before)
			break;
	}
	EXPECT_LT(before, sa_queries(ATTR_SERVICE)) {
		TH_LOG("after: %s", event);
	}
}

TEST_F(cache, dropped_on_events)
{
	static const char *const events[] = {
		"client_reregister", "sm_change", "lid_change", "pkey_change",
		"port_error",
	};
	char event[128];

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		snprintf(event, sizeof(event), "knob_set %s event %s",
			 device(DEV_OWN), events[i]);
		new_query_expect(_metadata, self, event);
	}
}

TEST_F(cache, dropped_on_link_down)
{
	char event[256];

	snprintf(event, sizeof(event),
		 "link_down %s && link_up %s && port_active_wait",
		 device(DEV_OWN), device(DEV_OWN));
	new_query_expect(_metadata, self, event);
}

/* The new SM does not have the old records, so the response differs. */
TEST_F(cache, no_stale_answer_after_SM_restart)
{
	long long end;
	int ret;

	ASSERT_EQ(1, sa_count(self->id, self->name));
	ASSERT_EQ(0, bash("sm_stop && sm_start && port_active_wait"));
	ASSERT_EQ(0, bash_number("sa_services | grep -c %s || :", self->name));
	ret = sa_count(self->id, self->name);
	for (end = now_ms() + WAIT_MS; ret == 1 && now_ms() < end; usleep(20000))
		ret = sa_count(self->id, self->name);
	EXPECT_EQ(-ENOENT, ret);
}

#define PROCESSES	20
#define IDS		50

/*
 * A process that reports on @ready that it can start, waits for the end of @go,
 * and resolves with all ids at once. Returns the number of right results.
 */
static int client(const char *name, unsigned long long sid, int flags,
		  int ready, int go)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA | flags };
	struct rdma_cm_id *ids[IDS];
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	int i, good = 0;
	char byte = 0;

	for (i = 0; i < IDS; i++) {
		ids[i] = channel ? id_on(channel, DEV_OWN) : NULL;
		if (!ids[i]) {
			fprintf(stderr, "# id %d of a client: %s\n", i,
				strerror(errno));
			return 0;
		}
	}
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 0)
		return 0;
	for (i = 0; i < IDS; i++)
		if (rdma_resolve_addrinfo(ids[i], NULL, name, &hints))
			return 0;
	for (i = 0; i < IDS; i++) {
		if (event_wait(channel, &event, WAIT_MS))
			break;
		if (event->event == RDMA_CM_EVENT_ADDRINFO_RESOLVED &&
		    !rdma_query_addrinfo(event->id, &res)) {
			good += ai_count(res) == 1 &&
				be64toh(ib(res->ai_dst_addr)->sib_sid) == sid;
			rdma_freeaddrinfo(res);
		}
		rdma_ack_cm_event(event);
	}
	for (i = 0; i < IDS; i++)
		rdma_destroy_id(ids[i]);
	rdma_destroy_event_channel(channel);
	return good;
}

static void crowd(struct __test_metadata *_metadata,
		  FIXTURE_DATA(cache) *self, int flags, int most)
{
	int ready[2], go[2], status, i, good = 0;
	struct pollfd poll_in = { .events = POLLIN };
	long long before, after;
	char byte;

	ASSERT_TRUE(cache_renew());
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	gid(DEV_OWN);
	for (i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		close(go[1]);
		_exit(client(self->name, self->sid, flags, ready[1], go[0]));
	}
	close(ready[1]);
	poll_in.fd = ready[0];
	/* The others wait for the start, and keep the pipe open. */
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(1, poll(&poll_in, 1, WAIT_MS));
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	}
	before = sa_queries(ATTR_SERVICE) + sa_queries(ATTR_PATH);
	ASSERT_LE(0, before);
	close(go[1]);
	while (wait(&status) > 0)
		good += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	after = sa_queries(ATTR_SERVICE) + sa_queries(ATTR_PATH);
	EXPECT_EQ(PROCESSES * IDS, good);
	EXPECT_LT(before, after);
	EXPECT_GE(most, after - before) {
		TH_LOG("%lld queries", after - before);
	}
	close(ready[0]);
	close(go[0]);
}

TEST_F(cache, thousand_at_once_coalesced)
{
	crowd(_metadata, self, RAI_NOROUTE, 2);
}

/* One query for the service and one for the path */
TEST_F(cache, thousand_at_once_with_routes)
{
	crowd(_metadata, self, 0, 2);
}

/* Without a cache callers share the response to an outstanding query, too. */
TEST_F(cache, coalesced_without_a_cache)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA | RAI_NOROUTE };
	struct rdma_cm_id *ids[IDS];
	long long coalesced;
	int i;

	ASSERT_TRUE(parameter_set("sa_cache_ms", "0", NULL));
	for (i = 0; i < IDS; i++) {
		ids[i] = id_on(self->channel, DEV_OWN);
		ASSERT_NE(NULL, ids[i]);
	}
	coalesced = counter("sa_coalesced");
	ASSERT_EQ(0, bash("sm_pause"));
	for (i = 0; i < IDS; i++)
		ASSERT_EQ(0, rdma_resolve_addrinfo(ids[i], NULL, self->name,
						   &hints));
	/* The cancel of one does not affect the others. */
	rdma_destroy_id(ids[0]);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, bash("sm_resume"));
	for (i = 1; i < IDS; i++)
		EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
			  event_take(self->channel, NULL));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(coalesced + IDS - 1, counter("sa_coalesced"));
	for (i = 1; i < IDS; i++)
		rdma_destroy_id(ids[i]);
}

TEST_HARNESS_MAIN
