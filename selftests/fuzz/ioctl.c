// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ioctl [-s SEED] [-n CALLS] [-d SECONDS] [-t THREADS] [-o FILE]: the fuzzer of
 * the uAPI. FILE gets a line for each call. The test checks that no object is
 * left, and that the device works afterwards. The runner checks that each call
 * ends, and that the kernel log has no report. The seed is printed; with one
 * thread the same seed generates the same calls.
 */
#include "fuzz.h"
#include "uapi.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define THREADS_MAX	16
/* All threads together, on Debian's kernel and on the debug kernel */
#define CALLS		5200000
#define CALLS_DEBUG	260000

struct options {
	uint64_t seed;
	uint64_t calls;
	unsigned int seconds;
	unsigned int threads;
};

static struct fuzz_world world;
static struct options opt = { .seed = 20240611, .threads = 3 };
static uint64_t made;		/* calls, all threads together */
static uint64_t good;		/* calls without an error */
static uint64_t good_of[FUZZ_COMMANDS];
static double end_ms;
static volatile bool stop;
static FILE *trace;		/* a line for each call */

/*
 * Frequency of each command. Slow commands (connections, groups) are rarer, so
 * that there are many calls.
 */
static const uint8_t weights[FUZZ_COMMANDS] = {
	[RDMA_CMX_CMD_GET_INFO] = 20,
	[RDMA_CMX_CMD_GET_EVENTS] = 60,
	[RDMA_CMX_CMD_ID_CREATE] = 12,
	[RDMA_CMX_CMD_ID_DESTROY] = 6,
	[RDMA_CMX_CMD_ID_BIND] = 20,
	[RDMA_CMX_CMD_ID_QUERY] = 40,
	[RDMA_CMX_CMD_ID_SET_OPTION] = 40,
	[RDMA_CMX_CMD_ID_MIGRATE] = 20,
	[RDMA_CMX_CMD_RESOLVE_ADDR] = 12,
	[RDMA_CMX_CMD_RESOLVE_ROUTE] = 16,
	[RDMA_CMX_CMD_INIT_QP_ATTR] = 30,
	[RDMA_CMX_CMD_CONNECT] = 8,
	[RDMA_CMX_CMD_LISTEN] = 10,
	[RDMA_CMX_CMD_ACCEPT] = 12,
	[RDMA_CMX_CMD_REJECT] = 10,
	[RDMA_CMX_CMD_DISCONNECT] = 10,
	[RDMA_CMX_CMD_NOTIFY] = 20,
	[RDMA_CMX_CMD_WRITE_EVENT] = 30,
	[RDMA_CMX_CMD_RESOLVE_ADDRINFO] = 20,
	[RDMA_CMX_CMD_GIVE_NAMES] = 20,
	[RDMA_CMX_CMD_QUERY_ADDRINFO] = 30,
	[RDMA_CMX_CMD_GETADDRINFO] = 20,
	[RDMA_CMX_CMD_JOIN] = 6,
	[RDMA_CMX_CMD_LEAVE] = 10,
	[RDMA_CMX_CMD_CONN_QP_ATTR] = 30,
	[RDMA_CMX_CMD_JOIN_MANY] = 2,
	[RDMA_CMX_CMD_ADVERTISE] = 12,
	[RDMA_CMX_CMD_WITHDRAW] = 12,
	[RDMA_CMX_CMD_QUERY_ADVERTISED] = 20,
	[RDMA_CMX_CMD_GET_SERVICES] = 10,
	[RDMA_CMX_CMD_RESOLVE_ANY] = 20,
	[RDMA_CMX_CMD_QUERY_CANDIDATES] = 20,
	[RDMA_CMX_CMD_GET_PATHS] = 20,
	[RDMA_CMX_CMD_DROP_PATHS] = 20,
};

/* Usual sequences: the second command often follows the first on one id. */
static const uint8_t next[FUZZ_COMMANDS] = {
	[RDMA_CMX_CMD_ID_CREATE] = RDMA_CMX_CMD_ID_BIND,
	[RDMA_CMX_CMD_ID_BIND] = RDMA_CMX_CMD_LISTEN,
	[RDMA_CMX_CMD_LISTEN] = RDMA_CMX_CMD_GET_EVENTS,
	[RDMA_CMX_CMD_RESOLVE_ADDR] = RDMA_CMX_CMD_RESOLVE_ROUTE,
	[RDMA_CMX_CMD_RESOLVE_ROUTE] = RDMA_CMX_CMD_CONNECT,
	[RDMA_CMX_CMD_CONNECT] = RDMA_CMX_CMD_GET_EVENTS,
	[RDMA_CMX_CMD_GET_EVENTS] = RDMA_CMX_CMD_ACCEPT,
	[RDMA_CMX_CMD_ACCEPT] = RDMA_CMX_CMD_INIT_QP_ATTR,
	[RDMA_CMX_CMD_INIT_QP_ATTR] = RDMA_CMX_CMD_DISCONNECT,
	[RDMA_CMX_CMD_RESOLVE_ADDRINFO] = RDMA_CMX_CMD_GIVE_NAMES,
	[RDMA_CMX_CMD_GIVE_NAMES] = RDMA_CMX_CMD_RESOLVE_ANY,
	[RDMA_CMX_CMD_RESOLVE_ANY] = RDMA_CMX_CMD_CONNECT,
	[RDMA_CMX_CMD_JOIN] = RDMA_CMX_CMD_LEAVE,
};

static unsigned int command_random(struct rng *r)
{
	static unsigned int total;
	unsigned int cmd, sum = 0, pick;

	if (!total) {
		for (cmd = 0; cmd < FUZZ_COMMANDS; cmd++)
			sum += weights[cmd];
		total = sum;
	}
	pick = rng_below(r, total);
	for (cmd = 0; pick >= weights[cmd]; cmd++)
		pick -= weights[cmd];
	return cmd;
}

/*
 * Maps a page far from other memory. A kernel write behind it, or at a pointer
 * with a flipped bit, does not hit the program's memory.
 */
static void *memory_get(int prot)
{
	static uint64_t count;
	void *at = (void *)((1ull << 44) +
			    (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED)
			     << 32));

	at = mmap(at, FUZZ_POOL, prot, MAP_PRIVATE | MAP_ANONYMOUS |
		  MAP_FIXED_NOREPLACE, -1, 0);
	if (at == MAP_FAILED)
		abort();
	return at;
}

static void *fuzz_run(void *arg)
{
	const uint64_t calls = opt.calls / opt.threads;
	struct rng r = { (opt.seed << 8) + (uintptr_t)arg };
	static __thread struct fuzz_call c;
	uint64_t i, well = 0;
	unsigned int file, slot;
	void *place;
	int ret;

	c.buf = memory_get(PROT_READ | PROT_WRITE);
	for (i = 0; !stop && (!calls || i < calls); i++) {
		/* The same id again, or another one */
		file = c.file;
		slot = c.slot;
		if (i && next[c.cmd] && rng_one_in(&r, 3)) {
			call_make(&r, &world, &c, next[c.cmd]);
			if (c.cmd != RDMA_CMX_CMD_ID_MIGRATE &&
			    c.cmd != RDMA_CMX_CMD_LEAVE) {
				c.file = file;
				c.slot = slot;
				memcpy(c.arg + 4, &world.ids[file][slot], 4);
			}
		} else {
			call_make(&r, &world, &c, command_random(&r));
		}
		/* Most calls are invalid; valid ones take the time. */
		place = rng_one_in(&r, 5) ? c.arg : call_spoil(&r, &world, &c);
		ret = ioctl(world.fds[c.file],
			    _IO(RDMA_CMX_IOC_TYPE, c.cmd), place);
		if (trace)
			fprintf(trace, "%llu: %u on %u/%u%s = %d\n",
				(unsigned long long)i, c.cmd, c.file, c.slot,
				place == c.arg ? "" : " elsewhere",
				ret ? -errno : 0);
		if (!ret) {
			well++;
			__atomic_fetch_add(&good_of[c.cmd], 1,
					   __ATOMIC_RELAXED);
		}
		if (place == c.arg)
			call_note(&world, &c, ret);
		if (i % 256 == 0 && end_ms && now_ms() > end_ms)
			stop = true;
	}
	__atomic_fetch_add(&made, i, __ATOMIC_RELAXED);
	__atomic_fetch_add(&good, well, __ATOMIC_RELAXED);
	return NULL;
}

static void world_open(void)
{
	int i;

	for (i = 0; i < FUZZ_FILES; i++) {
		world.fds[i] = dev_open(O_NONBLOCK);
		if (world.fds[i] < 0) {
			printf("Bail out! %s: %s\n", RDMA_CMX_DEVICE,
			       strerror(errno));
			exit(1);
		}
	}
	world.pool = memory_get(PROT_READ | PROT_WRITE);
	world.read_only = memory_get(PROT_READ);
}

static bool works(void)
{
	int fd = dev_open(O_NONBLOCK);
	uint32_t id;
	bool ok;

	ok = fd >= 0 && !id_create(fd, RDMA_PS_TCP, 1, &id) &&
	     !id_bind(fd, id, ADDR_RDMA, 0) && !id_destroy(fd, id);
	close(fd);
	return ok;
}

static int result(int n, bool ok, const char *what)
{
	printf("%sok %d %s\n", ok ? "" : "not ", n, what);
	return !ok;
}

/* cmx.fuzz=SEED:SECONDS, by `make fuzz` */
static void options_boot(void)
{
	unsigned long long seed;
	unsigned int seconds;
	char line[2048] = "";
	const char *at;
	FILE *f;

	f = fopen("/proc/cmdline", "re");
	if (!f)
		return;
	at = fgets(line, sizeof(line), f) ? strstr(line, "cmx.fuzz=") : NULL;
	if (at && sscanf(at, "cmx.fuzz=%llu:%u", &seed, &seconds) == 2) {
		opt.seed = seed;
		opt.seconds = seconds;
		opt.calls = 0;
	}
	fclose(f);
}

static void options_get(int argc, char **argv)
{
	int c;

	opt.calls = access("/sys/kernel/debug/failslab", F_OK) ? CALLS :
								CALLS_DEBUG;
	options_boot();
	while ((c = getopt(argc, argv, "s:n:d:t:o:")) != -1) {
		switch (c) {
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			opt.calls = strtoull(optarg, NULL, 0);
			break;
		case 'd':
			opt.seconds = atoi(optarg);
			opt.calls = 0;
			break;
		case 't':
			opt.threads = atoi(optarg);
			break;
		case 'o':
			trace = fopen(optarg, "we");
			if (trace)
				setvbuf(trace, NULL, _IOLBF, 0);
			break;
		default:
			exit(2);
		}
	}
	if (!opt.threads || opt.threads > THREADS_MAX)
		exit(2);
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	double start = now_ms();
	unsigned int i, met = 0;
	int bad = 0;

	options_get(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..3\n# seed %llu, %llu calls, %u threads\n",
	       (unsigned long long)opt.seed, (unsigned long long)opt.calls,
	       opt.threads);
	if (opt.seconds)
		end_ms = start + opt.seconds * 1e3;
	world_open();
	for (i = 0; i < opt.threads; i++)
		if (pthread_create(&thread[i], NULL, fuzz_run,
				   (void *)(uintptr_t)i))
			return 1;
	for (i = 0; i < opt.threads; i++)
		pthread_join(thread[i], NULL);
	printf("# %llu calls, %llu of them without an error, %.0f s\n",
	       (unsigned long long)made, (unsigned long long)good,
	       (now_ms() - start) / 1e3);
	/* Otherwise the test would prove nothing. */
	for (i = 0; i < FUZZ_COMMANDS; i++) {
		if (good_of[i])
			met++;
		else
			printf("# command %u never succeeded\n", i);
	}
	bad += result(1, met >= 20 || made < 100000,
		      "the commands succeed, too");
	for (i = 0; i < FUZZ_FILES; i++)
		close(world.fds[i]);
	bad += result(2, nothing_left(), "nothing is left");
	bad += result(3, works(), "the device works");
	return bad != 0;
}
