// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs that are destroyed, reset or put into error, and regions that are
 * deregistered, while the other end is in the middle of its messages. No
 * operation may hang, and each delivered message is complete.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "pair.h"

#define ROUNDS	24

/* One connection between two devices of this process, again and again */
struct worker {
	pthread_t thread;
	unsigned int seed;
	enum ibv_qp_type type;
	int failed_line;
	unsigned int done, broken;
};

#define WANT(what) do {							\
	if (!(what)) {							\
		w->failed_line = __LINE__;				\
		goto out;						\
	}								\
} while (0)

/* Posts all kinds of requests; some are outstanding at the peer's exit. */
static void traffic(struct worker *w, struct end *from, struct end *to)
{
	static const uint32_t lengths[] = { 1, 100, 5000, 70000, 1000000 };
	uint32_t length;
	int i;

	for (i = 0; i < 16; i++) {
		length = lengths[rand_r(&w->seed) % 5];
		end_recv(to, i, 0, length);
		switch (rand_r(&w->seed) % (w->type == IBV_QPT_RC ? 3 : 2)) {
		case 0:
			end_send(from, i, IBV_WR_SEND, 0, length);
			break;
		case 1:
			end_rdma(from, i, IBV_WR_RDMA_WRITE, 0, length, to,
				 1 << 20);
			break;
		default:
			end_rdma(from, i, IBV_WR_RDMA_READ, 2 << 20, length,
				 to, 1 << 20);
		}
	}
}

static int disturb(struct worker *w, struct end *end)
{
	struct ibv_qp *qp = end->qp;
	struct ibv_mr *mr = end->mr;

	switch (rand_r(&w->seed) % 4) {
	case 0:
		return end_state(end, IBV_QPS_ERR);
	case 1:
		return end_state(end, IBV_QPS_RESET);
	case 2:
		end->qp = NULL;
		return ibv_destroy_qp(qp);
	default:
		end->mr = NULL;
		return ibv_dereg_mr(mr);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct end a, b, *victim;
	struct end_attr attr = w->type == IBV_QPT_RC ? rc_attr : uc_attr;
	struct ibv_wc wc;
	int round;

	memset(&a, 0, sizeof(a));
	attr.timeout = 8;
	attr.retry_cnt = 1;
	attr.rnr_retry = 3;
	for (round = 0; round < ROUNDS; round++) {
		memset(&b, 0, sizeof(b));
		WANT(end_open(&a, 0));
		WANT(end_open(&b, 1));
		WANT(pair_up(&a, &b, &attr));
		traffic(w, &a, &b);
		traffic(w, &b, &a);
		usleep(rand_r(&w->seed) % 2000);
		victim = rand_r(&w->seed) & 1 ? &a : &b;
		WANT(!disturb(w, victim));
		/* the other one ends, too */
		victim = victim == &a ? &b : &a;
		if (w->type == IBV_QPT_RC && round % 4 == 0) {
			do {
				WANT(!end_sent(victim, &wc));
				w->broken += wc.status != IBV_WC_SUCCESS;
			} while (wc.wr_id != 15);
		}
		WANT(end_close(&a));
		WANT(end_close(&b));
		w->done++;
	}
	return NULL;
out:
	end_close(&a);
	end_close(&b);
	return NULL;
}

static void run(struct __test_metadata *_metadata, enum ibv_qp_type type)
{
	struct worker workers[4] = {};
	int i;

	for (i = 0; i < 4; i++) {
		workers[i].seed = i + 1;
		workers[i].type = type;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work,
					    &workers[i]));
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(workers[i].thread, NULL));
		EXPECT_EQ(0, workers[i].failed_line);
		EXPECT_EQ(ROUNDS, workers[i].done);
		if (type == IBV_QPT_RC)
			EXPECT_NE(0, workers[i].broken);
	}
}

FIXTURE(stress) {
};

FIXTURE_SETUP(stress)
{
}

FIXTURE_TEARDOWN(stress)
{
}

TEST_F_TIMEOUT(stress, rc, 300)
{
	run(_metadata, IBV_QPT_RC);
}

TEST_F_TIMEOUT(stress, uc, 300)
{
	run(_metadata, IBV_QPT_UC);
}

/* A process exits with all its objects. */
TEST_F_TIMEOUT(stress, killed, 300)
{
	struct end a, b;
	struct worker w = { .type = IBV_QPT_RC };
	int round, status;
	pid_t child;

	for (round = 0; round < 20; round++) {
		child = fork();
		ASSERT_LE(0, child);
		if (!child) {
			if (!end_open(&a, 0) || !end_open(&b, 1) ||
			    !pair_up(&a, &b, &rc_attr))
				_exit(1);
			for (;;) {
				traffic(&w, &a, &b);
				traffic(&w, &b, &a);
				usleep(1000);
			}
		}
		usleep(30000 + 5000 * round);
		ASSERT_EQ(0, kill(child, SIGKILL));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
	}
}

TEST_HARNESS_MAIN
