// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Resolution by the SA with faults of the fabric: the SM is dead, slow or
 * replaced, packets are lost, a port goes down, a device is removed. Every
 * query ends, and the next one after the fault succeeds.
 */
#include <string.h>

#include "sa.h"

FIXTURE(faults) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	char name[64];
	unsigned long long sid;
};

FIXTURE_SETUP(faults)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, self->id);
	service_name(self->name);
	self->sid = service_id();
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid));
}

FIXTURE_TEARDOWN(faults)
{
	EXPECT_EQ(0, bash("knobs_off $(fab_dev 1); knobs_off $(fab_dev 2); sm_resume; link_up %s",
			  device(DEV_OWN)));
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

static int query_start(struct rdma_cm_id *id, const char *service)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA | RAI_NOROUTE };

	return rdma_resolve_addrinfo(id, NULL, service, &hints) ? -errno : 0;
}

/* The status of the event, 0 when resolved */
static int query_end(struct rdma_event_channel *channel)
{
	int status = 0;

	switch (event_take(channel, &status)) {
	case RDMA_CM_EVENT_ADDRINFO_RESOLVED:
		return status;
	case RDMA_CM_EVENT_ADDRINFO_ERROR:
		return status ? status : -EPROTO;
	default:
		return -ENOMSG;
	}
}

/* A new SM has no earlier service. */
static void works_again(struct __test_metadata *_metadata,
			struct rdma_cm_id *id)
{
	char name[64];

	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set",
			     service_name(name), service_id()));
	EXPECT_EQ(1, sa_count(id, name));
}

TEST_F(faults, RAI_03_SM_dead_before)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_addrinfo *res;
	char retries[32], timeout[32];

	ASSERT_TRUE(parameter_set("sa_retries", "3", retries));
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "100", timeout));
	ASSERT_EQ(0, bash("sm_stop"));
	EXPECT_EQ(-ETIMEDOUT, sa_count(self->id, self->name));
	EXPECT_EQ(EAI_AGAIN, rdma_getaddrinfo(NULL, self->name, &hints, &res));
	EXPECT_TRUE(parameter_set("sa_retries", retries, NULL));
	EXPECT_TRUE(parameter_set("sa_timeout_ms", timeout, NULL));
	ASSERT_EQ(0, bash("sm_start && port_active_wait"));
	works_again(_metadata, self->id);
}

TEST_F(faults, RAI_03_SM_dies_while_queried)
{
	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, query_start(self->id, self->name));
	ASSERT_EQ(0, bash("sm_stop"));
	EXPECT_EQ(-ETIMEDOUT, query_end(self->channel));
	ASSERT_EQ(0, bash("sm_start && port_active_wait"));
	works_again(_metadata, self->id);
}

/* A cached response is valid for its lifetime; other queries fail. */
TEST_F(faults, SM_dies_after_an_answer)
{
	char other[64], timeout[32], lifetime[32];
	long long events = counter("sa_events");
	int cached;

	ASSERT_TRUE(parameter_set("sa_cache_ms", "3600000", lifetime));
	ASSERT_EQ(1, sa_count(self->id, self->name));
	ASSERT_EQ(0, bash("sm_stop"));
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "10", timeout));
	cached = sa_count(self->id, self->name);
	/* An event of the port empties its cache. */
	if (counter("sa_events") == events)
		EXPECT_EQ(1, cached);
	EXPECT_EQ(-ETIMEDOUT, sa_count(self->id, service_name(other)));
	EXPECT_TRUE(parameter_set("sa_timeout_ms", timeout, NULL));
	EXPECT_TRUE(parameter_set("sa_cache_ms", lifetime, NULL));
	ASSERT_EQ(0, bash("sm_start && port_active_wait"));
	works_again(_metadata, self->id);
}

/* The SM resumes between two retries. */
TEST_F(faults, SM_slow)
{
	long long before = sa_queries(ATTR_SERVICE);

	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, query_start(self->id, self->name));
	for (long long end = now_ms() + WAIT_MS; now_ms() < end; usleep(50000))
		if (sa_queries(ATTR_SERVICE) >= before + 2)
			break;
	EXPECT_LE(before + 2, sa_queries(ATTR_SERVICE));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, bash("sm_resume"));
	EXPECT_EQ(0, query_end(self->channel));
}

TEST_F(faults, SM_restarts_while_queried)
{
	char name[64];

	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, query_start(self->id, service_name(name)));
	ASSERT_EQ(0, bash("sm_stop && sm_start"));
	/* The new SM has no such service, unless it starts too late. */
	switch (query_end(self->channel)) {
	case -ENOENT:
	case -ETIMEDOUT:
		break;
	default:
		EXPECT_TRUE(false);
	}
	ASSERT_EQ(0, bash("port_active_wait"));
	works_again(_metadata, self->id);
}

/*
 * The master may change between a service and its query, and the new one has no
 * such service.
 */
static bool works_soon(struct rdma_cm_id *id)
{
	const long long end = now_ms() + 2 * WAIT_MS;
	char name[64];
	int ret;

	do {
		if (service(DEV_OTHER, "-n %s -i %llu set",
			    service_name(name), service_id()))
			continue;
		ret = sa_count(id, name);
		/* Any other error is the library's. */
		if (ret != -ENOENT)
			return ret == 1;
	} while (now_ms() < end);
	return false;
}

/* Two SMs; the master ends, and the other takes over. */
TEST_F(faults, SM_hands_over)
{
	ASSERT_EQ(0, bash("sm_start %s -p 14 && port_active_wait",
			  device(DEV_OTHER)));
	ASSERT_TRUE(works_soon(self->id));
	ASSERT_EQ(0, bash("sm_stop $(fab_dev 1)"));
	ASSERT_EQ(0, bash("wait_for 120 " SELFTESTS
			  "/sa/tools/service -C %s count; port_active_wait",
			  device(DEV_OWN)));
	ASSERT_TRUE(works_soon(self->id));
	ASSERT_EQ(0, bash("sm_stop; sm_start; port_active_wait"));
	works_again(_metadata, self->id);
}

#define ROUNDS	30

/* All at the same time; every sixth response has several segments. */
TEST_F_TIMEOUT(faults, thirty_percent_of_MADs_lost, 240)
{
	struct rdma_cm_id *ids[ROUNDS];
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	int i, records, good = 0, late = 0;
	char name[80];

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, service(DEV_OTHER, "-n %s-%d -i %llu -c %d set",
				     self->name, i, self->sid + 100 + 10 * i,
				     i % 6 ? 1 : 5));
		ids[i] = id_on(self->channel, DEV_OWN);
		ASSERT_NE(NULL, ids[i]);
		ids[i]->context = (void *)(intptr_t)(i % 6 ? 1 : 5);
	}
	ASSERT_EQ(0, bash("knob_set %s faults 'drop chance=30'",
			  device(DEV_OWN)));
	ASSERT_EQ(0, bash("knob_set %s faults 'drop chance=30'",
			  device(DEV_SM)));
	for (i = 0; i < ROUNDS; i++) {
		snprintf(name, sizeof(name), "%s-%d", self->name, i);
		ASSERT_EQ(0, query_start(ids[i], name));
	}
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
		if (event->event == RDMA_CM_EVENT_ADDRINFO_RESOLVED) {
			records = (intptr_t)event->id->context;
			ASSERT_EQ(0, rdma_query_addrinfo(event->id, &res));
			EXPECT_EQ(records, ai_count(res));
			rdma_freeaddrinfo(res);
			good++;
		} else {
			EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR, event->event);
			EXPECT_EQ(-ETIMEDOUT, event->status);
			late++;
		}
		rdma_ack_cm_event(event);
	}
	TH_LOG("%d answered, %d timed out", good, late);
	EXPECT_LE(ROUNDS / 2, good);
	for (i = 0; i < ROUNDS; i++)
		EXPECT_EQ(0, rdma_destroy_id(ids[i]));
}

TEST_F(faults, port_down_while_queried)
{
	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, query_start(self->id, self->name));
	ASSERT_EQ(0, bash("link_down %s", device(DEV_OWN)));
	EXPECT_EQ(-ENODEV, query_end(self->channel));
	/* While the port is down queries fail, at once or by the event. */
	EXPECT_EQ(-ENODEV, sa_count(self->id, self->name));
	ASSERT_EQ(0, bash("sm_resume && link_up %s && port_active_wait",
			  device(DEV_OWN)));
	works_again(_metadata, self->id);
}

/* The id's device is removed, too: the id reports it, and no call hangs. */
TEST_F(faults, device_removed_while_queried)
{
	struct rdma_cm_event *event;
	bool removed = false, failed = false;

	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, query_start(self->id, self->name));
	ASSERT_EQ(0, run("echo 0 >/sys/kernel/debug/cmx_fabric/fab%d/plugged &",
			 DEV_OWN - 1));
	while ((!removed || !failed) &&
	       !event_wait(self->channel, &event, WAIT_MS)) {
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			removed = true;
		} else {
			EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR, event->event);
			EXPECT_EQ(-ENODEV, event->status);
			failed = true;
		}
		rdma_ack_cm_event(event);
		/* The removal ends after the destruction of its ids. */
		if (removed && failed) {
			EXPECT_EQ(0, rdma_destroy_id(self->id));
			self->id = NULL;
		}
	}
	EXPECT_TRUE(removed);
	EXPECT_TRUE(failed);
	ASSERT_EQ(0, bash("sm_resume; gone() { [ ! -e /sys/class/infiniband/%s ]; }; wait_for 120 gone",
			  device(DEV_OWN)));
	ASSERT_EQ(0, run("echo 1 >/sys/kernel/debug/cmx_fabric/fab%d/plugged",
			 DEV_OWN - 1));
	ASSERT_EQ(0, bash("wait_for 120 dev_is %s ACTIVE", device(DEV_OWN)));
	self->id = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, self->id);
	works_again(_metadata, self->id);
}

/* Below the limit of one channel */
#define CHANNELS	10
#define IDS		300

/* Each call succeeds, and each query completes after the SM resumes. */
TEST_F(faults, three_thousand_outstanding)
{
	static struct rdma_cm_id *ids[CHANNELS][IDS];
	struct rdma_event_channel *channels[CHANNELS];
	int c, i, ret, found = 0, none = 0;
	char query[32], sa[32], name[96];

	for (c = 0; c < CHANNELS; c++) {
		channels[c] = rdma_create_event_channel();
		ASSERT_NE(NULL, channels[c]);
		for (i = 0; i < IDS; i++) {
			ids[c][i] = id_on(channels[c], DEV_OWN);
			ASSERT_NE(NULL, ids[c][i]);
		}
	}
	/* A slow host takes seconds to send them all. */
	ASSERT_TRUE(parameter_set("query_timeout_ms", "60000", query));
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "4000", sa));
	ASSERT_EQ(0, bash("sm_pause"));
	for (c = 0; c < CHANNELS; c++) {
		for (i = 0; i < IDS; i++) {
			snprintf(name, sizeof(name), "%s%s", self->name,
				 i % 4 ? "" : "-none");
			ASSERT_EQ(0, query_start(ids[c][i], name));
		}
	}
	ASSERT_EQ(0, bash("sm_resume"));
	for (c = 0; c < CHANNELS; c++) {
		for (i = 0; i < IDS; i++) {
			ret = query_end(channels[c]);
			found += !ret;
			none += ret == -ENOENT;
		}
		EXPECT_EQ(0, channel_readable(channels[c], 0));
	}
	EXPECT_TRUE(parameter_set("query_timeout_ms", query, NULL));
	EXPECT_TRUE(parameter_set("sa_timeout_ms", sa, NULL));
	EXPECT_EQ(CHANNELS * IDS * 3 / 4, found);
	EXPECT_EQ(CHANNELS * IDS / 4, none);
	for (c = 0; c < CHANNELS; c++) {
		for (i = 0; i < IDS; i++)
			rdma_destroy_id(ids[c][i]);
		rdma_destroy_event_channel(channels[c]);
	}
	works_again(_metadata, self->id);
}

TEST_HARNESS_MAIN
