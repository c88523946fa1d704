// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The network namespace, the mount namespace and the root directory of the
 * caller determine its names, for each call and each thread, whatever the cache
 * has (GAI-01, GAI-02, RAI-02). On the host v4only is 10.55.0.2, in the other
 * environments 10.55.0.1.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"

#define OTHER_LINES	"\n10.55.0.1 " NAME_V4 "\n"

static const struct rdma_addrinfo rc_hints = {
	.ai_qp_type = IBV_QPT_RC,
	.ai_port_space = RDMA_PS_TCP,
};

static const char *first_text(struct rdma_addrinfo *res, char *buf, size_t len)
{
	host_text(res->ai_dst_addr, buf, len);
	rdma_freeaddrinfo(res);
	return buf;
}

static const char *by_call(const char *node, char *buf, size_t len)
{
	struct rdma_addrinfo *res;
	int ret = rdma_getaddrinfo(node, PORT, &rc_hints, &res);

	if (!ret)
		return first_text(res, buf, len);
	snprintf(buf, len, "error %d", ret);
	return buf;
}

/* With a channel this function waits for the event, else the library. */
static const char *by_id(struct rdma_event_channel *channel, const char *node,
			 int back, char *buf, size_t len)
{
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	int status = 0;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return "no id";
	if (rdma_resolve_addrinfo(id, node, PORT, &rc_hints)) {
		snprintf(buf, len, "errno %d", errno);
	} else if (back >= 0 && setns(back, CLONE_NEWNS)) {
		snprintf(buf, len, "setns: errno %d", errno);
	} else if (channel && event_take(channel, &status) !=
			      RDMA_CM_EVENT_ADDRINFO_RESOLVED) {
		snprintf(buf, len, "status %d", status);
	} else if (rdma_query_addrinfo(id, &res)) {
		snprintf(buf, len, "query: errno %d", errno);
	} else {
		first_text(res, buf, len);
	}
	rdma_destroy_id(id);
	return buf;
}

FIXTURE(world) {
	struct rdma_event_channel *channel;
	char buf[128];
};

/* The host has resolved all names, so they are in the cache. */
FIXTURE_SETUP(world)
{
	unsetenv("RDMACMX_NAMES");
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_STREQ(PEER4, by_call(NAME_V4, self->buf, sizeof(self->buf)));
	ASSERT_STREQ(PEER4, by_id(self->channel, NAME_V4, -1, self->buf,
				  sizeof(self->buf)));
}

FIXTURE_TEARDOWN(world)
{
	rdma_destroy_event_channel(self->channel);
}

#define EXPECT_ALL(_want, _node) do {					\
	EXPECT_STREQ(_want, by_call(_node, self->buf, sizeof(self->buf)));\
	EXPECT_STREQ(_want, by_id(self->channel, _node, -1, self->buf,	\
				  sizeof(self->buf)));			\
	EXPECT_STREQ(_want, by_id(NULL, _node, -1, self->buf,		\
				  sizeof(self->buf)));			\
} while (0)

TEST_F(world, GAI_01_own_mount_namespace)
{
	ASSERT_EQ(0, etc_private("hosts", OTHER_LINES));
	EXPECT_ALL(OWN4, NAME_V4);
	/* An invalid text fails as on the host. */
	EXPECT_STREQ("status -2", by_id(self->channel, "no:number", -1,
					self->buf, sizeof(self->buf)));
}

/* The guest's /etc/hosts has storage-in-hosts. */
TEST_F(world, GAI_01_own_network_namespace)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	EXPECT_ALL(PEER4, "storage-in-hosts");
}

/* An id of another network namespace */
TEST_F(world, RAI_02_id_of_other_namespace)
{
	int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	ASSERT_LE(0, host);
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, setns(host, CLONE_NEWNET));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, NAME_V4, PORT, &rc_hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	EXPECT_STREQ(PEER4, first_text(res, self->buf, sizeof(self->buf)));
	rdma_destroy_id(id);
	close(host);
}

/* A thread that changes its namespace does not affect the other threads. */
struct other {
	pthread_t thread;
	void (*enter)(struct other *other);
	struct rdma_event_channel *channel;
	pthread_barrier_t barrier;
	int host;
	bool entered;
	char call[128], event[128], back[128], again[128];
};

static void *other_run(void *arg)
{
	struct other *o = arg;

	o->enter(o);
	for (int i = 0; i < 4; i++) {
		pthread_barrier_wait(&o->barrier);
		by_call(NAME_V4, o->call, sizeof(o->call));
		by_id(o->channel, NAME_V4, -1, o->event, sizeof(o->event));
		pthread_barrier_wait(&o->barrier);
	}
	if (o->host >= 0) {
		/*
		 * The query starts in the namespace, and ends after the return
		 * to the host.
		 */
		by_id(o->channel, NAME_V4, o->host, o->back, sizeof(o->back));
		by_call(NAME_V4, o->again, sizeof(o->again));
	}
	return NULL;
}

static void other_mounts(struct other *o)
{
	o->entered = !etc_private("hosts", OTHER_LINES);
}

static bool file_make(const char *dir, const char *name, const char *lines)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/etc/%s", dir, name);
	file = fopen(path, "w");
	if (!file)
		return false;
	fputs(lines, file);
	return !fclose(file);
}

static void other_root(struct other *o)
{
	char dir[] = "/tmp/root.XXXXXX", path[64];

	if (!mkdtemp(dir))
		return;
	snprintf(path, sizeof(path), "%s/etc", dir);
	o->entered = !mkdir(path, 0755) &&
		     file_make(dir, "hosts", OTHER_LINES) &&
		     file_make(dir, "nsswitch.conf", "hosts: files\n") &&
		     !unshare(CLONE_FS) && !chroot(dir) && !chdir("/");
}

static void other_threads(struct __test_metadata *_metadata,
			  void (*enter)(struct other *), bool back)
{
	struct other o = { .enter = enter, .host = -1 };
	char buf[128];

	o.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, o.channel);
	if (back)
		o.host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, pthread_barrier_init(&o.barrier, NULL, 2));
	ASSERT_EQ(0, pthread_create(&o.thread, NULL, other_run, &o));
	for (int i = 0; i < 4; i++) {
		pthread_barrier_wait(&o.barrier);
		/* At the same time */
		EXPECT_STREQ(PEER4, by_call(NAME_V4, buf, sizeof(buf)));
		pthread_barrier_wait(&o.barrier);
		EXPECT_STREQ(OWN4, o.call);
		EXPECT_STREQ(OWN4, o.event);
		EXPECT_STREQ(PEER4, by_call(NAME_V4, buf, sizeof(buf)));
	}
	ASSERT_EQ(0, pthread_join(o.thread, NULL));
	EXPECT_TRUE(o.entered);
	if (back) {
		EXPECT_STREQ(OWN4, o.back);
		EXPECT_STREQ(PEER4, o.again);
		close(o.host);
	}
	pthread_barrier_destroy(&o.barrier);
	rdma_destroy_event_channel(o.channel);
}

TEST_F(world, GAI_01_mount_namespace_of_a_thread)
{
	other_threads(_metadata, other_mounts, true);
}

TEST_F(world, GAI_01_root_directory_of_a_thread)
{
	other_threads(_metadata, other_root, false);
	run("rm -rf /tmp/root.*");
}

/* Each environment reports the errors of its servers: GAI-02. */
TEST_F(world, GAI_02_refusal_in_another_world)
{
	int try, ret = EAI_AGAIN;
	struct rdma_addrinfo *res;
	char name[128];

	ASSERT_EQ(0, etc_private("hosts", OTHER_LINES));
	/* The library waits for a second, for which a host may stop. */
	for (try = 0; try < 4 && ret == EAI_AGAIN; try++) {
		name_fresh("refused.test", name, sizeof(name));
		ret = rdma_getaddrinfo(name, PORT, &rc_hints, &res);
	}
	EXPECT_EQ(EAI_FAIL, ret);
	name_fresh("servfail.test", name, sizeof(name));
	EXPECT_EQ(EAI_AGAIN, rdma_getaddrinfo(name, PORT, &rc_hints, &res));
	name_fresh("cmx.test", name, sizeof(name));
	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo(name, PORT, &rc_hints, &res));
}

TEST_HARNESS_MAIN
