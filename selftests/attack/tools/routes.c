// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * routes MODE ADDR IDS [FILE]: ids of an ordinary user, each with a route query
 * to ADDR that has the longest timeout. FILE is opened after them, as the device
 * of the verbs. Prints "ready" when all are outstanding, and "ended" when nothing
 * failed. In between, by MODE:
 *	hold		wait for the end
 *	close, destroy	of the file, of each id; exit
 *	namespaces	leave those of user, network and processes; exit
 *	events		wait until each id has its DEVICE_REMOVAL; exit
 *	threads		call anything at random on shared ids until SIGTERM, when
 *			it prints the number of calls; "ready" comes after the
 *			first ones
 */
#include "uapi.h"

#include <pthread.h>
#include <rdma/ib_user_sa.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define MAX_IDS	4096
#define THREADS	6
#define FIRST	200	/* calls */

static const char *addr;
static uint32_t ids[MAX_IDS];
static int count;

static int route_start(int fd, uint32_t id)
{
	struct rdma_cmx_resolve_route arg = {
		.id = id,
		.timeout_ms = INT32_MAX,
	};

	return call(fd, RESOLVE_ROUTE, &arg);
}

/* Take events until @n of the type have come. */
static int events_wait(int fd, uint32_t type, int n)
{
	union event_buf buf;
	int ret;

	while (n) {
		ret = event_next(fd, &buf);
		/* Others may take long. */
		if (ret && ret != -ETIME)
			return ret;
		n -= !ret && buf.ev.event == type;
	}
	return 0;
}

static int routes_start(int fd)
{
	int i, ret = 0;

	for (i = 0; !ret && i < count; i++)
		ret = id_create(fd, i & 1 ? RDMA_PS_UDP : RDMA_PS_TCP, i + 1,
				&ids[i]) ?:
		      id_resolve_addr(fd, ids[i], NULL, addr, 7480);
	ret = ret ?: events_wait(fd, EV_ADDR_RESOLVED, count);
	for (i = 0; !ret && i < count; i++)
		ret = route_start(fd, ids[i]);
	return ret;
}

/* As the first process of namespaces that it does not share */
static int namespaces_leave(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID))
		return -errno;
	pid = fork();
	if (!pid)
		_exit(0);
	return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
}

/* --- threads --- */

static _Atomic int files[2];
static _Atomic uint32_t shared[4];
static _Atomic long calls;
static atomic_bool stop;

static int path_set(int fd, uint32_t id)
{
	struct ib_path_rec_data path = {
		.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL,
	};
	struct rdma_cmx_id_set_option arg = {
		.id = id,
		.level = RDMA_OPTION_IB,
		.optname = RDMA_OPTION_IB_PATH,
		.optval = (uintptr_t)&path,
		.optlen = sizeof(path),
	};

	return call(fd, ID_SET_OPTION, &arg);
}

static void id_replace(int fd, int i)
{
	uint32_t id;

	id_destroy(fd, shared[i]);
	if (!id_create(fd, RDMA_PS_TCP, 1, &id))
		shared[i] = id;
}

static void id_move(int fd, int other, int i)
{
	struct rdma_cmx_id_migrate arg = { .id = shared[i], .src_fd = other };

	if (!call(fd, ID_MIGRATE, &arg))
		shared[i] = arg.new_id;
}

static void file_replace(int i)
{
	int fd = dev_open(O_NONBLOCK);

	if (fd >= 0)
		close(atomic_exchange(&files[i], fd));
}

static void play(unsigned int *seed)
{
	unsigned int r = rand_r(seed), s = rand_r(seed);
	int fd = files[s & 1], other = files[~s & 1], i = (s >> 1) % 4;
	char buf[4096] __attribute__((aligned(8)));
	uint32_t n;

	switch (r % 16) {
	case 0: case 1: case 2: case 3:
		id_resolve_addr(fd, shared[i], NULL, addr, 7480);
		break;
	case 4: case 5: case 6: case 7:
		route_start(fd, shared[i]);
		break;
	case 8: path_set(fd, shared[i]); break;
	case 9: id_connect(fd, shared[i]); break;
	case 10: id_move(fd, other, i); break;
	case 11: case 12: id_replace(fd, i); break;
	case 13: case 14: events_get(fd, buf, sizeof(buf), 0, &n); break;
	case 15:
		if (!(s & 0xf0))
			file_replace(s & 1);
		break;
	}
	calls++;
}

static void *player(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!stop)
		play(&seed);
	return NULL;
}

static void stop_set(int sig)
{
	stop = true;
}

static int threads_run(void)
{
	pthread_t threads[THREADS];
	int i;

	signal(SIGTERM, stop_set);
	for (i = 0; i < 2; i++) {
		files[i] = dev_open(O_NONBLOCK);
		if (files[i] < 0)
			return -errno;
	}
	for (i = 0; i < 4; i++)
		id_replace(files[i & 1], i);
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, player,
				   (void *)(uintptr_t)(i + 1)))
			return -EAGAIN;
	}
	while (calls < FIRST)
		poll(NULL, 0, 10);
	puts("ready");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("calls: %ld\n", calls);
	return 0;
}

static int mode_run(const char *mode, const char *file)
{
	int fd, i, ret;

	if (!strcmp(mode, "threads"))
		return threads_run();
	fd = dev_open(O_NONBLOCK);
	ret = fd < 0 ? -errno : routes_start(fd);
	if (!ret && file && open(file, O_RDWR | O_CLOEXEC) < 0)
		ret = -errno;
	if (ret)
		return ret;
	puts("ready");
	if (!strcmp(mode, "close"))
		close(fd);
	else if (!strcmp(mode, "destroy"))
		for (i = 0; ret >= 0 && i < count; i++)
			ret = id_destroy(fd, ids[i]);
	else if (!strcmp(mode, "namespaces"))
		ret = namespaces_leave();
	else if (!strcmp(mode, "events"))
		ret = events_wait(fd, EV_DEVICE_REMOVAL, count);
	else
		pause();
	return ret < 0 ? ret : 0;
}

int main(int argc, char **argv)
{
	int ret = -EINVAL;

	setlinebuf(stdout);
	if (argc >= 4) {
		addr = argv[2];
		count = atoi(argv[3]);
	}
	if (count > 0 && count <= MAX_IDS && !user_become(1000))
		ret = mode_run(argv[1], argv[4]);
	puts(ret ? strerror(-ret) : "ended");
	return !!ret;
}
