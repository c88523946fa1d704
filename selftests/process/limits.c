// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: descriptors and limits. exec closes all descriptors of the library.
 * Without a free descriptor or memory a call fails with EMFILE or ENOMEM,
 * leaves no object, and works when there is space again.
 */
#include <fcntl.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_verbs.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "process.h"

#define PORT_LIMITS	7680
#define GROUP		"239.55.68.1"

TEST(RA_02_exec_closes_all)
{
	int before = fds_kept_by_exec(false), opened = fds_open();
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *sync, *resolving;
	struct rdma_addrinfo *res;
	struct server server;
	char name[128], text[64];
	FILE *f;

	/* Lookups of this process have separate sockets. */
	setenv("RDMACMX_NAMES", "libc", 1);
	server_start(&server, PORT_LIMITS);
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	id = id_ready(channel, PORT_LIMITS);
	ASSERT_NE(NULL, id);
	EXPECT_EQ(0, id_connect(id));
	sync = id_make(NULL);
	ASSERT_EQ(0, id_bind(sync, OWN4, 0));
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, NULL, &res));
	EXPECT_NE(NULL, rdmacmx_ai_device(res, NULL));
	rdma_freeaddrinfo(res);
	resolving = id_make(channel);
	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_resolve_addrinfo(resolving, name, PORT, NULL));
	ASSERT_TRUE(wait_for(WAIT_MS, "ls -l /proc/%d/fd | grep -q socket:",
			     getpid()));

	TH_LOG("%d more descriptors are open", fds_open() - opened);
	EXPECT_LE(6, fds_open() - opened);
	EXPECT_EQ(before, fds_kept_by_exec(false)) {
		fds_kept_by_exec(true);
	}
	/* A program checks it, too: ls has one descriptor for the directory. */
	f = popen("ls -l /proc/self/fd | grep -cE 'infiniband|infinibandevent|socket:'",
		  "re");
	ASSERT_NE(NULL, f);
	ASSERT_NE(NULL, fgets(text, sizeof(text), f));
	EXPECT_EQ(0, atoi(text));
	pclose(f);

	EXPECT_EQ(0, rdma_destroy_id(resolving));
	EXPECT_EQ(0, rdma_destroy_id(sync));
	EXPECT_EQ(0, id_hang_up(id, true));
	rdma_destroy_event_channel(channel);
	EXPECT_EQ(0, server_end(&server));
}

/* The objects that a call needs, and those that it leaves at the end */
struct scene {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;		/* bound, with a device */
	struct rdma_cm_id *made;
	struct rdma_addrinfo *res;
	struct ibv_context **devices;
};

static int make_channel(struct scene *s)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel)
		return -1;
	rdma_destroy_event_channel(channel);
	return 0;
}

static int make_sync(struct scene *s)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return -1;
	return rdma_destroy_id(id);
}

static int make_ep(struct scene *s)
{
	struct rdma_addrinfo ai = {
		.ai_flags = RAI_PASSIVE,
		.ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC,
	};
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	ai.ai_src_addr = addr_make(&ss, OWN4, 0);
	ai.ai_src_len = addr_len(ai.ai_src_addr);
	if (rdma_create_ep(&id, &ai, NULL, NULL))
		return -1;
	rdma_destroy_ep(id);
	return 0;
}

static int make_qp(struct scene *s)
{
	if (qp_make(s->id, IBV_QPT_RC))
		return -1;
	rdma_destroy_qp(s->id);
	return 0;
}

/* To another channel, and back */
static int migrate(struct scene *s)
{
	if (rdma_migrate_id(s->id, NULL))
		return -1;
	return rdma_migrate_id(s->id, s->channel);
}

TEST(RA_02_no_descriptor_left)
{
	static const struct {
		const char *name;
		int (*fn)(struct scene *s);
	} calls[] = {
		{ "rdma_create_event_channel", make_channel },
		{ "rdma_create_id without a channel", make_sync },
		{ "rdma_create_ep", make_ep },
		{ "rdma_create_qp", make_qp },
		{ "rdma_migrate_id", migrate },
	};
	struct scene s;
	int before, ret;
	size_t i;

	s.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, s.channel);
	s.id = id_make(s.channel);
	ASSERT_EQ(0, id_bind(s.id, OWN4, 0));
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		before = fds_open();
		fds_limit();
		errno = 0;
		ret = calls[i].fn(&s);
		EXPECT_EQ(EMFILE, errno);
		fds_unlimit();
		EXPECT_EQ(-1, ret) {
			TH_LOG("%s", calls[i].name);
		}
		EXPECT_EQ(before, fds_open());
		EXPECT_EQ(0, calls[i].fn(&s)) {
			TH_LOG("%s: %s", calls[i].name, strerror(errno));
		}
		EXPECT_EQ(before, fds_open());
	}
	EXPECT_EQ(0, rdma_destroy_id(s.id));
	rdma_destroy_event_channel(s.channel);
}

/*
 * The first use of the devices without a free descriptor: libibverbs would find
 * no device for the rest of the process.
 */
TEST(RA_02_no_descriptor_for_the_device)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int n, status, before;

	ASSERT_NE(NULL, channel);
	before = fds_open();
	fds_limit();
	errno = 0;
	EXPECT_EQ(NULL, rdma_get_devices(&n));
	EXPECT_EQ(EMFILE, errno);

	id = id_make(channel);
	errno = 0;
	EXPECT_EQ(-1, id_bind(id, OWN4, 0));
	EXPECT_EQ(EMFILE, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));

	id = id_make(channel);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_ERROR,
		  id_resolve_addr(id, NULL, OWN4, PORT_LIMITS, &status));
	EXPECT_EQ(-EMFILE, status);
	EXPECT_EQ(0, rdma_destroy_id(id));
	fds_unlimit();
	EXPECT_EQ(before, fds_open());

	id = id_make(channel);
	EXPECT_EQ(0, id_bind(id, OWN4, 0));
	EXPECT_NE(NULL, id->verbs);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(GAI_02_no_descriptor_for_getaddrinfo)
{
	struct rdma_addrinfo *res;
	int before = fds_open();

	fds_limit();
	errno = 0;
	EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo(PEER4, PORT, NULL, &res));
	EXPECT_EQ(EMFILE, errno);
	fds_unlimit();
	EXPECT_EQ(before, fds_open());
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, NULL, &res));
	rdma_freeaddrinfo(res);
	EXPECT_EQ(before + 1, fds_open());

	/*
	 * From now on the library needs no further descriptor, for names
	 * neither.
	 */
	fds_limit();
	EXPECT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, NULL, &res));
	rdma_freeaddrinfo(res);
	fds_unlimit();
}

/* A name that libc has to look up without a descriptor */
TEST(RAI_03_no_descriptor_for_a_name)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int status = 0;
	char name[128];

	setenv("RDMACMX_NAMES", "libc", 1);
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	name_fresh("any.cmx.test", name, sizeof(name));
	fds_limit();
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, name, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR, event_take(channel, &status));
	TH_LOG("status %d", status);
	EXPECT_GT(0, status);
	fds_unlimit();
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, name, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(channel, &status));
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

/*
 * A request on a synchronous id needs a descriptor. Without one it is rejected,
 * and the listener waits for the next request.
 */
struct waiting {
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	int ret;
};

static void *request_get(void *arg)
{
	struct waiting *w = arg;

	w->ret = rdma_get_request(w->listener, &w->id);
	return NULL;
}

TEST(RA_02_no_descriptor_for_a_request)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct waiting w = { .ret = -2 };
	struct rdma_cm_id *ids[2];
	int i, before;
	pthread_t thread;
	bool connected;

	ASSERT_NE(NULL, channel);
	w.listener = id_listening(NULL, PORT_LIMITS);
	for (i = 0; i < 2; i++) {
		ids[i] = id_ready(channel, PORT_LIMITS);
		ASSERT_NE(NULL, ids[i]);
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, request_get, &w));
	before = fds_open();
	fds_limit();
	ASSERT_EQ(0, rdma_connect(ids[0], NULL));
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(channel, NULL));
	fds_unlimit();
	EXPECT_EQ(before, fds_open());

	ASSERT_EQ(0, rdma_connect(ids[1], NULL));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, w.ret);
	connected = !qp_make(w.id, IBV_QPT_RC);
	EXPECT_TRUE(connected);
	EXPECT_EQ(0, rdma_reject(w.id, NULL, 0));
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(channel, NULL));
	rdma_destroy_ep(w.id);
	for (i = 0; i < 2; i++)
		rdma_destroy_ep(ids[i]);
	rdma_destroy_ep(w.listener);
	rdma_destroy_event_channel(channel);
}

/* The sanitizers use too much address space. */
#ifndef __SANITIZE_ADDRESS__
/* Memory: creates as many ids as possible, and frees all of them. */
TEST(RA_02_no_address_space_left)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rlimit limit, before;
	struct rdma_cm_id *first = NULL, *id;
	int made = 0, failed;
	unsigned long pages;
	FILE *f;

	ASSERT_NE(NULL, channel);
	f = fopen("/proc/self/statm", "r");
	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%lu", &pages));
	fclose(f);
	ASSERT_EQ(0, getrlimit(RLIMIT_AS, &before));
	limit = before;
	limit.rlim_cur = pages * 4096 + 256 * 1024;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	while (!rdma_create_id(channel, &id, first, RDMA_PS_TCP)) {
		first = id;
		made++;
	}
	failed = errno;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &before));
	TH_LOG("%d ids", made);
	/* The kernel limits the ids of a channel, too. */
	EXPECT_TRUE(failed == ENOMEM || failed == EMFILE) {
		TH_LOG("%s", strerror(failed));
	}
	EXPECT_LT(0, made);
	while (first) {
		id = first;
		first = id->context;
		EXPECT_EQ(0, rdma_destroy_id(id));
	}
	id = id_make(channel);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}
#endif

/*
 * An ordinary user who may not lock memory: ids need none. The device's driver
 * determines whether a registration fails.
 */
static int user_without_memory(void *arg)
{
	struct rlimit limit = { 0, 0 };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char buf[64];

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(1000) || setuid(1000))
		return 1;
	channel = rdma_create_event_channel();
	if (!channel)
		return 2;
	id = id_make(channel);
	if (id_bind(id, OWN4, 0))
		return 3;
	errno = 0;
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	printf("# registering memory: %s\n", mr ? "done" : strerror(errno));
	if (mr)
		rdma_dereg_mr(mr);
	if (rdma_destroy_id(id))
		return 5;
	rdma_destroy_event_channel(channel);
	return 0;
}

TEST(RA_02_no_locked_memory)
{
	EXPECT_EQ(0, child_wait(child_start(user_without_memory, NULL)));
}

TEST_HARNESS_MAIN
