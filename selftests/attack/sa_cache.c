// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user queries an SA for ever more services, until the cache of the port is
 * full. The path and the services of other users stay in the cache; the oldest
 * entries of this user are dropped.
 */
#include "uapi.h"

#include "harness.h"

#define ADDR_ASKER	"10.66.0.2"
#define ADDR_PEER	"10.66.0.3"
#define SERVICE		"/usr/lib/rdma-cmx/selftests/sa/tools/service "
#define ENTRIES		12
/* Services cache-0 and so on; the next two belong to root and to a user. */
#define FLOOD		50
#define SERVICES	"-i 0x8a00 -c 52 "
#define TIMEOUT		60000
#define WAIT		60000

#define ATTACKER	2000
#define VICTIM		3000

struct services {
	int first;
	int last;
};

/* Queries them one after the other. An errno. */
static int services_query(void *arg)
{
	const struct services *s = arg;
	int fd = dev_open(O_NONBLOCK);
	int ret = fd < 0 ? fd : 0;
	char name[32];
	int i;

	for (i = s->first; !ret && i <= s->last; i++) {
		snprintf(name, sizeof(name), "cache-%d", i);
		ret = service_query(fd, ADDR_ASKER, name, TIMEOUT) ?:
		      query_result(fd);
	}
	return -ret;
}

/* Resolves a route to the peer. An errno. */
static int peer_query(void *unused)
{
	int paths = route_query(ADDR_ASKER, ADDR_PEER, TIMEOUT);

	return paths < 0 ? -paths : paths ? 0 : ENODATA;
}

/* Queries services @first to @last as @uid. Number of SA queries, or -1. */
static long services_cost(uid_t uid, int first, int last)
{
	struct services s = { first, last };
	long before = number_get(COUNTERS "sa_queries");

	if (user_end(user_start(uid, services_query, &s)))
		return -1;
	return number_get(COUNTERS "sa_queries") - before;
}

/* Likewise for the route */
static long route_cost(uid_t uid)
{
	long before = number_get(COUNTERS "sa_queries");

	if (user_end(user_start(uid, peer_query, NULL)))
		return -1;
	return number_get(COUNTERS "sa_queries") - before;
}

/* Neighbour discovery may take some time, too. */
static bool route_known(uid_t uid)
{
	double end = now_ms() + WAIT;

	while (route_cost(uid))
		if (now_ms() > end)
			return false;
	return true;
}

/* Sends an event that IPoIB ignores. Each port then queries ClassPortInfo. */
static bool caches_empty(void)
{
	long known = number_get(COUNTERS "sa_queries") +
		     number_get(COUNTERS "sa_ports");
	double end = now_ms() + WAIT;

	if (fabric_bash("for dev in $(cat $fab_state/devices); do "
			"knob_set $dev event device_fatal; done"))
		return false;
	while (number_get(COUNTERS "sa_queries") < known && now_ms() < end)
		poll(NULL, 0, 20);
	return number_gone(COUNTERS "live_sa_lookups") &&
	       number_gone(COUNTERS "sa_cached");
}

FIXTURE(cache) {
	long timeout, ms, path_ms, entries, route;
};

FIXTURE_SETUP(cache)
{
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->ms = number_get(PARAMETERS "sa_cache_ms");
	self->path_ms = number_get(PARAMETERS "sa_path_cache_ms");
	self->entries = number_get(PARAMETERS "sa_cache_entries");
	self->route = number_get(PARAMETERS "route_timeout_ms");
	/* Without retries, which count as queries, and without expiry */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 20000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_path_cache_ms", 3600000));
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", TIMEOUT));
	ASSERT_EQ(0, fabric_bash(SERVICE "-C $(fab_dev 3) -n cache-%u "
				 SERVICES "set"));
	ASSERT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
	ASSERT_TRUE(caches_empty());
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_entries", ENTRIES));
}

FIXTURE_TEARDOWN(cache)
{
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_cache_ms", self->ms);
	number_set(PARAMETERS "sa_path_cache_ms", self->path_ms);
	number_set(PARAMETERS "sa_cache_entries", self->entries);
	number_set(PARAMETERS "route_timeout_ms", self->route);
	EXPECT_EQ(0, fabric_bash(SERVICE "-C $(fab_dev 3) " SERVICES
				 "delete"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
}

TEST_F_TIMEOUT(cache, SEC_of_others, 280)
{
	EXPECT_EQ(1, services_cost(0, FLOOD, FLOOD));
	EXPECT_EQ(1, services_cost(VICTIM, FLOOD + 1, FLOOD + 1));
	ASSERT_TRUE(route_known(VICTIM));

	EXPECT_EQ(FLOOD, services_cost(ATTACKER, 0, FLOOD - 1));
	EXPECT_EQ(ENTRIES, number_get(COUNTERS "sa_cached"));
	EXPECT_EQ(0, services_cost(0, FLOOD, FLOOD));
	EXPECT_EQ(0, services_cost(VICTIM, FLOOD + 1, FLOOD + 1));
	EXPECT_EQ(0, route_cost(VICTIM));

	/* The attacker has the rest of the cache: the newest services. */
	EXPECT_EQ(0, services_cost(ATTACKER, FLOOD - ENTRIES + 3, FLOOD - 1));
	EXPECT_EQ(1, services_cost(ATTACKER, 0, 0));
}

/* A path is dropped for the limit like another response, and counted. */
TEST_F_TIMEOUT(cache, path_of_the_attacker, 280)
{
	long evicted = number_get(COUNTERS "paths_evicted");

	ASSERT_TRUE(route_known(ATTACKER));
	EXPECT_EQ(evicted, number_get(COUNTERS "paths_evicted"));
	EXPECT_EQ(ENTRIES, services_cost(ATTACKER, 0, ENTRIES - 1));
	EXPECT_EQ(evicted + 1, number_get(COUNTERS "paths_evicted"));
	EXPECT_EQ(1, route_cost(ATTACKER));
}

TEST_HARNESS_MAIN
