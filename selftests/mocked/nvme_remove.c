// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-05: when cmx nvme connect --follow --sa removes the controller of an
 * absent address: with a clock of the test, as results may be minutes apart.
 */
#include "../../user/cmx/nvme_remove.c"
#include "harness.h"

#define LIFE	15	/* of a response of the SA, the default */

static long seconds = 1000;
static bool disconnected;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){ .tv_sec = seconds };
	return 0;
}

/* sa_cache_ms */
bool file_line(char *text, size_t size, const char *format, ...)
{
	return snprintf(text, size, "%d", LIFE * 1000) > 0;
}

bool number_parse(const char *text, unsigned long max, unsigned long *value)
{
	*value = strtoul(text, NULL, 0);
	return true;
}

bool signals_ended(void)
{
	return false;
}

bool nvme_path_same(const struct nvme_path *a, const struct nvme_path *b)
{
	return !strcmp(a->addr, b->addr);
}

const struct nvme_path *nvme_path_find(const struct nvme_paths *paths,
				       const struct nvme_path *path)
{
	size_t i;

	for (i = 0; i < paths->count; i++)
		if (nvme_path_same(&paths->path[i], path))
			return &paths->path[i];
	return NULL;
}

/* The controllers of both addresses */
void nvme_controllers(const char *nqn, struct nvme_paths *paths)
{
	paths->count = 2;
	strcpy(paths->path[0].addr, "10.55.0.2");
	strcpy(paths->path[0].name, "nvme2");
	strcpy(paths->path[1].addr, "10.55.0.3");
	strcpy(paths->path[1].name, "nvme3");
}

bool nvme_served(const struct nvme_path *path, const char *nqn,
		 const struct nvme_paths *by)
{
	return true;
}

bool nvme_disconnect(const struct nvme_path *path, const char *nqn)
{
	disconnected = true;
	return true;
}

void nvme_change_print(const char *what, const struct nvme_path *path)
{
}

/* A round, @after so many seconds. True: it has removed a controller. */
static bool round_after(long after, bool both, bool more)
{
	static struct nvme_paths joined;
	static struct nvme_result result;
	const struct nvme nvme = { .node = "array", .sa = true };

	seconds += after;
	nvme_controllers(NULL, &result.want);
	result.want.count = both ? 2 : 1;
	result.more = more;
	disconnected = false;
	nvme_remove(&nvme, &result, &joined);
	return disconnected;
}

static bool lacks(long after)
{
	return round_after(after, false, false);
}

TEST(KA_05_absent_in_three_lifetimes)
{
	EXPECT_FALSE(round_after(0, true, false));
	EXPECT_FALSE(lacks(10));
	EXPECT_FALSE(lacks(10));
	EXPECT_FALSE(lacks(10));
	EXPECT_FALSE(lacks(10));
	EXPECT_FALSE(lacks(10));
	EXPECT_TRUE(lacks(10));
}

/* The second and the third result are of one query. */
TEST(KA_05_results_within_a_lifetime)
{
	EXPECT_FALSE(lacks(0));
	EXPECT_FALSE(lacks(4 * LIFE));
	EXPECT_FALSE(lacks(0));
	EXPECT_FALSE(lacks(LIFE));
	EXPECT_TRUE(lacks(1));
}

/* The subnet manager restarts again: it responds with half of the records. */
TEST(KA_05_outage_between_results)
{
	EXPECT_FALSE(lacks(0));
	EXPECT_FALSE(lacks(LIFE + 1));
	EXPECT_FALSE(round_after(2 * LIFE, false, true));
	EXPECT_FALSE(lacks(LIFE));
	EXPECT_FALSE(lacks(LIFE + 1));
	EXPECT_FALSE(lacks(LIFE + 1));
	EXPECT_TRUE(lacks(LIFE + 1));
}

TEST(KA_05_no_result_between_results)
{
	EXPECT_FALSE(lacks(0));
	EXPECT_FALSE(lacks(LIFE + 1));
	seconds += 2 * LIFE;
	nvme_result_missed();
	EXPECT_FALSE(lacks(LIFE));
	EXPECT_FALSE(lacks(LIFE + 1));
	EXPECT_FALSE(lacks(LIFE + 1));
	EXPECT_TRUE(lacks(LIFE + 1));
}

TEST_HARNESS_MAIN
