// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GAI-13: 64 threads resolve at once. A barrier starts them together; each
 * checks its results and counts the wrong ones.
 */
#include <pthread.h>

#include "api.h"

#define THREADS	64
#define ROUNDS	8

struct worker {
	pthread_t thread;
	unsigned int index;
	unsigned int wrong;
};

static pthread_barrier_t start;

/* 1 if the result is not the expected one */
static unsigned int number_resolve(unsigned int i)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC }, *res;
	unsigned int wrong;
	char port[16], dst[64];

	snprintf(port, sizeof(port), "%u", 8000 + i);
	snprintf(dst, sizeof(dst), "10.55.0.2:%u", 8000 + i);
	if (rdma_getaddrinfo(PEER4, port, &hints, &res))
		return 1;
	wrong = ai_count(res) != 1 || !ai_find(res, dst);
	rdma_freeaddrinfo(res);
	return wrong;
}

static unsigned int name_resolve(unsigned int i)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC }, *res;
	unsigned int wrong;
	char text[160];

	if (rdma_getaddrinfo(NAME_STORAGE, PORT, &hints, &res))
		return 1;
	wrong = ai_count(res) != 3 || !ai_find(res, "10.55.0.2:7471") ||
		!ai_find(res, "[fd55::2]:7471") ||
		!ai_find(res, "192.168.77.2:7471") ||
		!strcmp(host_text(res->ai_dst_addr, text, sizeof(text)),
			MGMT_PEER4);
	rdma_freeaddrinfo(res);
	return wrong;
}

static unsigned int error_resolve(unsigned int i)
{
	struct rdma_addrinfo *res;

	return rdma_getaddrinfo("nobody.cmx.test", PORT, NULL, &res) !=
	       EAI_NONAME;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&start);
	for (unsigned int i = 0; i < ROUNDS; i++)
		switch ((w->index + i) % 3) {
		case 0:
			w->wrong += number_resolve(w->index);
			break;
		case 1:
			w->wrong += name_resolve(w->index);
			break;
		case 2:
			w->wrong += error_resolve(w->index);
			break;
		}
	return NULL;
}

TEST(GAI_13_64_threads)
{
	static struct worker workers[THREADS];

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, THREADS));
	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i].index = i;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work,
					    &workers[i]));
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].wrong) {
			TH_LOG("thread %u", i);
		}
	}
}

/* The first use of the library, by all threads at once */
static void *first_use(void *arg)
{
	unsigned int *wrong = arg;

	pthread_barrier_wait(&start);
	*wrong = number_resolve(0);
	return NULL;
}

TEST(GAI_13_first_use_by_many_threads)
{
	pthread_t threads[16];
	unsigned int wrong[16];

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 16));
	for (int i = 0; i < 16; i++) {
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, first_use,
					    &wrong[i]));
	}
	for (int i = 0; i < 16; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, wrong[i]);
	}
}

/*
 * A new name that all threads resolve at once causes one query of each type to
 * the name server.
 */
static char shared_name[128];

static void *shared_resolve(void *arg)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC }, *res;
	unsigned int *wrong = arg;

	pthread_barrier_wait(&start);
	*wrong = rdma_getaddrinfo(shared_name, PORT, &hints, &res) != 0;
	if (!*wrong) {
		*wrong = ai_count(res) != 1 || !ai_find(res, "10.55.0.2:7471");
		rdma_freeaddrinfo(res);
	}
	return NULL;
}

TEST(GAI_13_same_name_is_queried_once)
{
	pthread_t threads[16];
	unsigned int wrong[16];

	name_fresh("any.cmx.test", shared_name, sizeof(shared_name));
	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 16));
	for (int i = 0; i < 16; i++) {
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, shared_resolve,
					    &wrong[i]));
	}
	for (int i = 0; i < 16; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, wrong[i]);
	}
	dns_barrier();
	/*
	 * A and AAAA; more if a late thread finds the response expired. Without
	 * sharing each of them would cost 32 queries.
	 */
	EXPECT_LE(1, dns_queries(shared_name));
	EXPECT_GE(12, dns_queries(shared_name));
}

TEST_HARNESS_MAIN
