// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: the library loads libibverbs when it opens the first device. A process
 * without a device does not load it. On a host without libibverbs the call that
 * needs a device fails, and so does one in another root directory than that of
 * the start. No test here calls verbs itself.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <rdma/rsocket.h>

#include "api.h"

#define THREADS 8

/* Reads from which file @name is mapped; false: it is not. */
static bool mapped(const char *name, char *path)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 128];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = strstr(line, name) && strchr(line, '/');
		if (found && path)
			sscanf(strchr(line, '/'), "%4095s", path);
	}
	if (f)
		fclose(f);
	return found;
}

/* Replaces the function of libibverbs, like a program that measures verbs. */
static int pds;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	__typeof__(&ibv_alloc_pd) fn = dlsym(RTLD_NEXT, __func__);

	__atomic_add_fetch(&pds, 1, __ATOMIC_RELAXED);
	return fn ? fn(context) : NULL;
}

static struct rdma_cm_id *id_new(void)
{
	struct rdma_cm_id *id;

	return rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ? NULL : id;
}

TEST(RA_02_not_before_the_first_device)
{
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	ASSERT_FALSE(mapped("libibverbs.so", NULL));
	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, "7471", NULL, &res));
	rdma_freeaddrinfo(res);
	id = id_new();
	ASSERT_NE(NULL, id);
	EXPECT_FALSE(mapped("libibverbs.so", NULL));
	EXPECT_EQ(0, id_bind(id, OWN4, 0));
	EXPECT_NE(NULL, id->verbs);
	EXPECT_TRUE(mapped("libibverbs.so", NULL));
	EXPECT_EQ(1, pds);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* Finds the path of the library by another process; does not load it here. */
static int path_find(char *path)
{
	int status, ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		struct rdma_cm_id *id = id_new();

		if (!id || id_bind(id, OWN4, 0) || !mapped("libibverbs.so", path))
			_exit(1);
		_exit(write(ends[1], path, PATH_MAX) != PATH_MAX);
	}
	close(ends[1]);
	status = pid > 0 && read(ends[0], path, PATH_MAX) == PATH_MAX ? 0 : -1;
	close(ends[0]);
	return waitpid(pid, NULL, 0) == pid ? status : -1;
}

TEST(RA_02_a_host_without_libibverbs)
{
	char path[PATH_MAX];
	struct rdma_cm_id *id;

	ASSERT_EQ(0, path_find(path));
	ASSERT_FALSE(mapped("libibverbs.so", NULL));
	/* With the same root the library loads it. */
	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_EQ(0, mount("/dev/null", path, NULL, MS_BIND, NULL));
	id = id_new();
	ASSERT_NE(NULL, id);
	EXPECT_EQ(-1, id_bind(id, OWN4, 0));
	EXPECT_EQ(ELIBACC, errno);
	EXPECT_EQ(NULL, id->verbs);
	EXPECT_EQ(NULL, rdma_get_devices(NULL));
	EXPECT_EQ(ELIBACC, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));
	/* The next call searches again. */
	ASSERT_EQ(0, umount(path));
	id = id_new();
	ASSERT_NE(NULL, id);
	EXPECT_EQ(0, id_bind(id, OWN4, 0));
	EXPECT_NE(NULL, id->verbs);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* Directories of this root that a loader or a provider needs */
static const char *const folders[] = {
	"dev", "etc", "lib", "lib64", "proc", "sys", "usr",
};

/* Makes a root with the files of this one, in a directory of the same mount. */
static int root_make(char dir[64])
{
	char from[16], to[80];
	size_t i;

	strcpy(dir, "/lazy.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(from, sizeof(from), "/%s", folders[i]);
		snprintf(to, sizeof(to), "%s/%s", dir, folders[i]);
		if (!access(from, F_OK) &&
		    (mkdir(to, 0755) ||
		     mount(from, to, NULL, MS_BIND | MS_REC, NULL)))
			return -1;
	}
	return 0;
}

static void root_remove(const char *dir)
{
	char to[80];
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(to, sizeof(to), "%s/%s", dir, folders[i]);
		umount2(to, MNT_DETACH);
		rmdir(to);
	}
	rmdir(dir);
}

/*
 * Tries in another root with the same files. 0, or the failure. @before: the
 * libraries are loaded already.
 */
static int elsewhere_try(const char *dir, bool before)
{
	struct ibv_context **list;
	struct rdma_cm_id *id;
	int socket;

	if (before) {
		list = rdma_get_devices(NULL);
		socket = rsocket(AF_INET, SOCK_STREAM, 0);
		if (!list || socket < 0)
			return 1;
		rdma_free_devices(list);
		rclose(socket);
	}
	if (chroot(dir) || chdir("/"))
		return 2;
	id = id_new();
	if (!id)
		return 3;
	if (before)
		return id_bind(id, OWN4, 0) || !id->verbs ? 4 : 0;
	if (!id_bind(id, OWN4, 0) || errno != ELIBACC)
		return 5;
	if (rdma_get_devices(NULL) || errno != ELIBACC)
		return 6;
	if (rsocket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != ELIBACC)
		return 7;
	return mapped("libibverbs.so", NULL) ? 8 : 0;
}

static int elsewhere(const char *dir, bool before)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(elsewhere_try(dir, before));
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RA_02_nothing_is_loaded_from_another_root)
{
	char dir[64];

	EXPECT_EQ(0, root_make(dir));
	EXPECT_EQ(0, elsewhere(dir, false));
	EXPECT_EQ(0, elsewhere(dir, true));
	root_remove(dir);
}

/* A thread that ends at its first cancellation point */
static void *cancelled(void *done)
{
	pthread_cancel(pthread_self());
	rdma_get_devices(NULL);
	*(bool *)done = true;
	pthread_testcancel();
	return NULL;
}

/*
 * Opening the devices is no cancellation point, since the list would stay
 * locked.
 */
TEST(RA_02_a_thread_is_cancelled_while_it_loads)
{
	struct ibv_context **list;
	bool done = false;
	pthread_t thread;
	void *ret;

	ASSERT_FALSE(mapped("libibverbs.so", NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, cancelled, &done));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_TRUE(done);
	EXPECT_EQ(PTHREAD_CANCELED, ret);
	list = rdma_get_devices(NULL);
	EXPECT_NE(NULL, list);
	rdma_free_devices(list);
}

static void *bind_first(void *barrier)
{
	struct rdma_cm_id *id = id_new();
	struct ibv_context **list;
	long ret;

	pthread_barrier_wait(barrier);
	list = rdma_get_devices(NULL);
	ret = !id || !list || id_bind(id, OWN4, 0) || !id->verbs;
	if (list)
		rdma_free_devices(list);
	if (id)
		rdma_destroy_id(id);
	return (void *)ret;
}

TEST(RA_02_by_many_threads_at_once)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	void *ret;
	int i;

	ASSERT_EQ(0, pthread_barrier_init(&barrier, NULL, THREADS));
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, bind_first,
					    &barrier));
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], &ret));
		EXPECT_EQ(NULL, ret);
	}
}

TEST_HARNESS_MAIN
