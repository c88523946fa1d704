// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Nonsense: every command with structs whose fields hold small numbers, live
 * handles, good and bad pointers, odd sizes and noise. Only that the kernel
 * stays whole, that every call ends and that nothing is left is checked. The
 * seed is fixed and printed; the first argument is another one, the second
 * how many calls each thread makes.
 */
#include "common.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define THREADS		3
#define COMMANDS	26
#define MAX_STRUCT	368

static const uint16_t sizes[COMMANDS] = {
	24, 24, 24, 16, 272, 368, 32, 24, 112, 16, 160, 304, 16, 304, 272, 16,
	16, 24, 184, 24, 24, 200, 104, 16, 168, 32,
};

static int fds[2];
static unsigned int base_seed = 20240611;
static int calls = 8000;
static uint8_t *pool;		/* 4 KiB, with nothing behind it */

struct rng {
	uint64_t state;
};

static uint32_t rng_next(struct rng *r)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return r->state >> 33;
}

static uint32_t rng_below(struct rng *r, uint32_t n)
{
	return rng_next(r) % n;
}

static uint64_t word_random(struct rng *r)
{
	switch (rng_below(r, 8)) {
	case 0:
		return rng_below(r, 12);
	case 1:
		return (uintptr_t)pool + rng_below(r, 4096);
	case 2:
		return (uint64_t)rng_next(r) << 32 | rng_next(r);
	case 3:
		return UINT64_MAX << rng_below(r, 64);
	case 4:
		return (uint64_t)rng_below(r, 300) << 32 | rng_below(r, 8);
	case 5:
		return 0xffff888000000000 + rng_next(r);
	default:
		return 0;
	}
}

static void addr_random(struct rng *r, void *at)
{
	static const char *const text[] = {
		ADDR_RDMA, ADDR_PLAIN, GROUP, "0.0.0.0", "::1", "ff05::55",
		"10.55.0.2", "fd55::1",
	};
	struct rdma_cmx_addr addr;

	addr_set(&addr, text[rng_below(r, 8)], rng_below(r, 3) * 4000);
	memcpy(at, &addr, sizeof(addr));
}

/* Where the commands that take addresses have them. */
static void struct_random(struct rng *r, unsigned int cmd, uint8_t *s)
{
	uint32_t size = sizes[cmd], pos;
	uint64_t word;

	memset(s, 0, 2 * MAX_STRUCT);
	for (pos = 8; pos < size; pos += 8) {
		if (rng_below(r, 3))
			continue;
		word = word_random(r);
		memcpy(s + pos, &word, 8);
	}
	word = rng_below(r, 10);
	memcpy(s + 4, &word, 4);
	if (rng_below(r, 16) == 0)
		size = rng_next(r) % 700;
	memcpy(s, &size, 4);

	switch (cmd) {
	case RDMA_CMX_CMD_ID_CREATE:
		word = (uint32_t[]){ RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB,
				     RDMA_PS_IPOIB }[rng_below(r, 4)];
		memcpy(s + 4, &word, 4);
		break;
	case RDMA_CMX_CMD_ID_BIND:
		addr_random(r, s + 8);
		break;
	case RDMA_CMX_CMD_RESOLVE_ADDR:
		memset(s + 12, 0, 4);
		addr_random(r, s + 64);
		if (rng_below(r, 2))
			memset(s + 16, 0, 48);
		break;
	case RDMA_CMX_CMD_JOIN:
		addr_random(r, s + 24);
		if (rng_below(r, 2))
			memset(s + 72, 0, 32);
		break;
	case RDMA_CMX_CMD_JOIN_MANY:
		/* Items from the pool, whatever is there. */
		word = (uintptr_t)pool;
		memcpy(s + 8, &word, 8);
		word = rng_below(r, 44) | 96ull << 32;
		memcpy(s + 16, &word, 8);
		memset(s + 24, 0, 8);
		break;
	case RDMA_CMX_CMD_ID_MIGRATE:
		word = fds[rng_below(r, 2)];
		memcpy(s + 8, &word, 4);
		memset(s + 20, 0, 4);
		break;
	case RDMA_CMX_CMD_WRITE_EVENT:
		word = RDMA_CMX_EV_USER;
		memcpy(s + 8, &word, 4);
		break;
	case RDMA_CMX_CMD_CONNECT:
	case RDMA_CMX_CMD_ACCEPT:
		memset(s + 16, 0, 8);
		memset(s + 40, 0, 8);
		break;
	case RDMA_CMX_CMD_GETADDRINFO:
	case RDMA_CMX_CMD_RESOLVE_ADDRINFO:
		/* Ends soon, whatever it asks. */
		pos = cmd == RDMA_CMX_CMD_GETADDRINFO ? 24 : 8;
		word = 20;
		memcpy(s + pos + 20, &word, 4);
		memset(s + pos + 40, 0, 8);
		if (rng_below(r, 2))
			memset(s + pos + 80, 0, 96);
		break;
	}
}

static void *fuzz_run(void *arg)
{
	struct rng r = { base_seed + (uintptr_t)arg * 7919 };
	uint8_t s[2 * MAX_STRUCT] __attribute__((aligned(8)));
	unsigned int cmd;
	int i;

	for (i = 0; i < calls; i++) {
		cmd = rng_below(&r, COMMANDS);
		struct_random(&r, cmd, s);
		ioctl(fds[rng_below(&r, 2)], _IO(RDMA_CMX_IOC_TYPE, cmd), s);
		if (rng_below(&r, 32) == 0)
			pool[rng_below(&r, 4096)] = rng_next(&r);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	bool clean;
	int i;

	if (argc > 1)
		base_seed = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		calls = atoi(argv[2]);
	printf("TAP version 13\n1..2\n# seed %u, %d calls by each of %d\n",
	       base_seed, calls, THREADS);
	for (i = 0; i < 2; i++) {
		fds[i] = dev_open(O_NONBLOCK);
		if (fds[i] < 0) {
			printf("Bail out! %s: %s\n", RDMA_CMX_DEVICE,
			       strerror(errno));
			return 1;
		}
	}
	pool = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED || munmap(pool + 4096, 4096))
		return 1;
	memcpy(pool + 64, ADDR_RDMA, sizeof(ADDR_RDMA));
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, fuzz_run,
				   (void *)(uintptr_t)i))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("ok 1 every call ended\n");
	for (i = 0; i < 2; i++)
		close(fds[i]);
	clean = counter_wait("live_files", 0) && counter("live_ids") == 0 &&
		counter("live_mcs") == 0 && counter("live_events") == 0 &&
		counter("live_queries") == 0;
	printf("%s 2 nothing is left\n", clean ? "ok" : "not ok");
	return !clean;
}
