// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Jobs of one user run one at a time, in the order of their arrival. One that
 * must not wait for the others is the next, wherever it is in the list.
 */
#include <linux/completion.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>

#include "advertise/advertise.h"
#include "connect/connect.h"
#include "resolve/resolve.h"
#include "kunit.h"

#define JOBS	8
#define UID	4243

struct job {
	struct cmx_job job;
	int number;
};

static struct job jobs[JOBS];
static struct completion begun, go, over;
static int order[JOBS + 1], ran;

static void job_run(struct cmx_job *job)
{
	struct job *j = container_of(job, struct job, job);

	/* The first one lasts until all others are in the list. */
	if (!j->number) {
		complete(&begun);
		wait_for_completion_timeout(&go, KUNIT_WAIT);
	}
	order[ran++] = j->number;
	if (ran == JOBS)
		complete(&over);
}

static struct cmx_user *jobs_start(struct kunit *test)
{
	struct cmx_user *user;
	int i;

	init_completion(&begun);
	init_completion(&go);
	init_completion(&over);
	ran = 0;
	user = cmx_user_get(&cmx_connect_users, KUIDT_INIT(UID), false,
				  GFP_KERNEL_ACCOUNT);
	KUNIT_ASSERT_NOT_NULL(test, user);
	for (i = 0; i < JOBS; i++) {
		jobs[i].job.run = job_run;
		jobs[i].number = i;
		cmx_user_run(user, &jobs[i].job);
		if (!i)
			wait_for_completion(&begun);
	}
	return user;
}

static void jobs_end(struct kunit *test, struct cmx_user *user,
		     const int *expected)
{
	int i;

	complete(&go);
	KUNIT_ASSERT_NE(test, 0ul,
			wait_for_completion_timeout(&over, KUNIT_WAIT));
	for (i = 0; i < JOBS; i++)
		KUNIT_EXPECT_EQ_MSG(test, order[i], expected[i], "%d", i);
	cmx_user_put(user);
	/* The list is empty: the last job has left it. */
	KUNIT_EXPECT_EQ(test, ran, JOBS);
}

static void jobs_in_order(struct kunit *test)
{
	static const int expected[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	jobs_end(test, jobs_start(test), expected);
}

static void jobs_run_first(struct kunit *test)
{
	static const int expected[] = { 0, 3, 7, 1, 2, 4, 5, 6 };
	struct cmx_user *user = jobs_start(test);

	cmx_user_run_first(user, &jobs[7].job);
	cmx_user_run_first(user, &jobs[3].job);
	/* It runs. */
	cmx_user_run_first(user, &jobs[0].job);
	jobs_end(test, user, expected);
}

/*
 * A user's processes, the kernel in the user's containers, and the kernel
 * outside share no jobs.
 */
static void jobs_of_kernel(struct kunit *test)
{
	static const struct {
		kuid_t uid;
		bool kernel;
	} of[] = {
		{ KUIDT_INIT(UID), false },
		{ KUIDT_INIT(UID), true },
		{ KUIDT_INIT(0), true },
		{ CMX_KERNEL_UID, true },
	};
	struct cmx_user *user[ARRAY_SIZE(of)], *again;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		user[i] = cmx_user_get(&cmx_query_users, of[i].uid,
					     of[i].kernel, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, user[i]);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_PTR_NE(test, user[i], user[j]);
	}
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		again = cmx_user_get(&cmx_query_users, of[i].uid,
					   of[i].kernel, GFP_KERNEL);
		KUNIT_EXPECT_PTR_EQ(test, again, user[i]);
		cmx_user_put(again);
		cmx_user_put(user[i]);
	}
}

/* What a kernel consumer does in a container counts for the owner. */
static void jobs_kernel_uid(struct kunit *test)
{
	struct user_namespace *ns;
	struct net *net;

	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_kernel_uid(&init_net),
				       CMX_KERNEL_UID));
	ns = kunit_kzalloc(test, sizeof(*ns), GFP_KERNEL);
	net = kunit_kzalloc(test, sizeof(*net), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ns);
	KUNIT_ASSERT_NOT_NULL(test, net);
	ns->parent = &init_user_ns;
	ns->owner = KUIDT_INIT(UID);
	net->user_ns = ns;
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_kernel_uid(net), KUIDT_INIT(UID)));
	/* A namespace of the host's users */
	net->user_ns = &init_user_ns;
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_kernel_uid(net), CMX_KERNEL_UID));
}

struct turn {
	struct work_struct work;
	struct rdma_cmx_service service;	/* has a caller only */
};

static struct turn *turns[4];		/* the calls, in the order of execution */
static unsigned int turns_taken;

static void turn_take(void *arg)
{
	turns[turns_taken++] = arg;
}

static void turn_work(struct work_struct *work)
{
	struct turn *turn = container_of(work, struct turn, work);

	cmx_service_call(&turn->service, turn_take, turn);
}

static unsigned int jobs_of(struct cmx_user *user)
{
	struct list_head *node;
	unsigned int n = 0;

	spin_lock(&user->lock);
	list_for_each(node, &user->jobs)
		n++;
	spin_unlock(&user->lock);
	return n;
}

/* A user's call for a service waits for one of another user, who has several. */
static void jobs_service_calls(struct kunit *test)
{
	struct cmx_user *user[2];
	struct turn *turn;
	int i;

	turn = kunit_kcalloc(test, ARRAY_SIZE(turns), sizeof(*turn), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, turn);
	for (i = 0; i < 2; i++) {
		user[i] = cmx_user_get(&cmx_service_callers,
				       KUIDT_INIT(UID + i), false, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, user[i]);
	}
	turns_taken = 0;
	mutex_lock(&cmx_service_lock);
	for (i = 0; i < ARRAY_SIZE(turns); i++) {
		turn[i].service.caller = user[i == 3];
		INIT_WORK(&turn[i].work, turn_work);
		queue_work(system_unbound_wq, &turn[i].work);
		/* The first one runs, and waits for the lock. */
		if (i < 3)
			KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(user[0]->active) &&
							 jobs_of(user[0]) == i));
		else
			KUNIT_EXPECT_TRUE(test, WAIT_FOR(jobs_of(user[1]) == 1));
	}
	mutex_unlock(&cmx_service_lock);
	for (i = 0; i < ARRAY_SIZE(turns); i++)
		flush_work(&turn[i].work);
	KUNIT_EXPECT_EQ(test, 4u, turns_taken);
	KUNIT_EXPECT_PTR_EQ(test, turns[0], &turn[0]);
	KUNIT_EXPECT_PTR_EQ(test, turns[1], &turn[3]);
	KUNIT_EXPECT_PTR_EQ(test, turns[2], &turn[1]);
	KUNIT_EXPECT_PTR_EQ(test, turns[3], &turn[2]);
	for (i = 0; i < 2; i++)
		cmx_user_put(user[i]);
}

static struct kunit_case jobs_cases[] = {
	KUNIT_CASE(jobs_in_order),
	KUNIT_CASE(jobs_run_first),
	KUNIT_CASE(jobs_of_kernel),
	KUNIT_CASE(jobs_kernel_uid),
	KUNIT_CASE(jobs_service_calls),
	{}
};

static struct kunit_suite jobs_suite = {
	.name = "cmx_user_jobs",
	.test_cases = jobs_cases,
};

kunit_test_suite(jobs_suite);
