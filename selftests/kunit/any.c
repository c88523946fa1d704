// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A race of an id whose winner is lost before the id takes it over, whose
 * device is removed, or that has ended; and the deadline of a CONNECT that
 * waits for a slot. The two candidates of the races have
 * sources that no host has: they fail at once, without a device.
 */
#include <linux/completion.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>
#include <trace/events/kmem.h>

#include "any.h"
#include "connect/connect.h"
#include "resolve/paths.h"
#include "fake_id.h"

#define UID		4242
#define MOVED_UID	4244	/* no connect of it is outstanding */

struct bed {
	struct fake_id f;
	struct ucmx_any *any;
	struct cmx_dest dests[2];
};

static struct rdma_cm_id *cm_make(struct kunit *test)
{
	struct rdma_cm_id *cm;

	cm = rdma_create_id(&init_net, fake_id_no_event, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cm));
	return cm;
}

static struct rdma_cmx_result *result_make(struct kunit *test, struct bed *b)
{
	static const struct cmx_hints h = {
		.qp_type = IB_QPT_RC, .port_space = RDMA_PS_TCP,
	};
	struct cmx_candidates cands = {};
	struct cmx_paths paths = { .h = &h, .dests = b->dests };
	struct rdma_cmx_result *res;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(b->dests); i++) {
		b->dests[i].src.in.sin_family = AF_INET;
		b->dests[i].src.in.sin_addr.s_addr = htonl(0x0a620001 + i);
		b->dests[i].dst.in.sin_family = AF_INET;
		b->dests[i].dst.in.sin_addr.s_addr = htonl(0x0a630001 + i);
		b->dests[i].rank = CMX_RANK_RDMA;
		b->dests[i].port_num = 1;
	}
	res = cmx_result_build(&h, &cands, b->dests, ARRAY_SIZE(b->dests),
			       &paths, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(res));
	KUNIT_ASSERT_EQ(test, res->count, 2u);
	return res;
}

static struct bed *bed_make(struct kunit *test)
{
	const struct rdma_cmx_resolve_any arg = { .timeout_ms = 60000 };
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	fake_id_make(test, &b->f);
	b->f.user.index = UID;
	b->f.id->cm = cm_make(test);
	b->any = ucmx_any_alloc(b->f.id, &arg);
	KUNIT_ASSERT_NOT_NULL(test, b->any);
	b->any->result = result_make(test, b);
	b->f.id->any = b->any;
	return b;
}

static bool is_racing(struct bed *b)
{
	bool racing;

	mutex_lock(&b->f.id->mutex);
	racing = b->f.id->racing;
	mutex_unlock(&b->f.id->mutex);
	return racing;
}

/* The race has ended, and its callback has released the mutex. */
static bool race_over(struct bed *b)
{
	return WAIT_FOR(!is_racing(b));
}

/* The only event, or 0 */
static int event_type(struct bed *b, int *status)
{
	struct ucmx_event *ev;
	int type = 0;

	spin_lock(&b->f.file.lock);
	if (list_is_singular(&b->f.file.events)) {
		ev = list_first_entry(&b->f.file.events, struct ucmx_event,
				      ready);
		type = ev->event;
		*status = ev->status;
	}
	spin_unlock(&b->f.file.lock);
	return type;
}

static int race_start(struct bed *b)
{
	int ret;

	mutex_lock(&b->f.id->mutex);
	ret = ucmx_any_start(b->f.id, b->any, false);
	mutex_unlock(&b->f.id->mutex);
	return ret;
}

static void bed_end(struct kunit *test, struct bed *b)
{
	/* The end of an id waits for its race, which a failed test may lack. */
	if (!b->any->connector) {
		KUNIT_EXPECT_EQ(test, race_start(b), 0);
		race_over(b);
	}
	fake_id_end(test, &b->f);
}

/* A report of a race that the first candidate has won */
static struct rdma_cmx_connect_report *report_make(struct kunit *test)
{
	struct rdma_cmx_connect_report *report;

	report = kvzalloc(struct_size(report, candidates, 2), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, report);
	kref_init(&report->ref);
	report->count = 2;
	report->candidates[0].step = RDMA_CMX_CONNECT_UP;
	report->candidates[0].attempts = 1;
	report->candidates[1].step = RDMA_CMX_CONNECT_ADDR;
	report->candidates[1].error = -ECANCELED;
	report->candidates[1].attempts = 1;
	return report;
}

/* Allocations of a task that wait for its cgroup */
static struct {
	struct task_struct *task;
	unsigned int count;
} waits;

static void waits_probe(void *data, unsigned long call_site, const void *ptr,
			size_t req, size_t len, gfp_t gfp, int node)
{
	if (current == waits.task && gfp & __GFP_ACCOUNT &&
	    gfpflags_allow_blocking(gfp))
		waits.count++;
}

/*
 * The winner loses its device while the callback waits for the mutex, which
 * NEXT has until its end.
 */
static void winner_lose(struct kunit *test, struct bed *b)
{
	struct rdma_cmx_connect_report *report = report_make(test);
	int ret;

	mutex_lock(&b->f.id->mutex);
	ret = ucmx_event_reserve(b->f.id, UCMX_SLOT_ROUTE);
	b->f.id->racing = true;
	atomic_set(&b->f.file.nr_requests, 1);
	atomic_set(&b->f.user.requests, 1);
	mutex_unlock(&b->f.id->mutex);
	KUNIT_ASSERT_EQ(test, ret, 0);
	b->any->lost = -ENODEV;
	waits.count = 0;
	ucmx_any_done(NULL, cm_make(test), report, b->any);
}

/* The other candidate is next, and then there is one last event. */
static void any_winner_lost(struct kunit *test)
{
	struct bed *b = bed_make(test);
	const struct rdma_cmx_candidate *list;
	int status = 0;

	winner_lose(test, b);
	KUNIT_EXPECT_TRUE(test, race_over(b));
	KUNIT_EXPECT_EQ(test, event_type(b, &status),
			(int)RDMA_CM_EVENT_ROUTE_ERROR);
	/* That of the candidate with the last step */
	KUNIT_EXPECT_EQ(test, status, -ENODEV);
	KUNIT_EXPECT_EQ(test, b->any->report->winner, 2u);
	list = b->any->report->candidates;
	KUNIT_EXPECT_EQ(test, list[0].error, -ENODEV);
	KUNIT_EXPECT_EQ(test, list[0].attempts, 1u);
	KUNIT_EXPECT_EQ(test, list[1].error, -EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, list[1].attempts, 1u);
	bed_end(test, b);
}

/*
 * The id has moved to a file of another user meanwhile, who has no object yet.
 * The removal of the winner's device waits for the start of the race, which
 * does not wait for a cgroup.
 */
static void any_lost_and_moved(struct kunit *test)
{
	struct bed *b = bed_make(test);
	void *charged;

	b->f.user.index = MOVED_UID;
	waits.task = current;
	waits.count = 0;
	KUNIT_ASSERT_EQ(test, register_trace_kmalloc(waits_probe, NULL), 0);
	charged = kmalloc(64, GFP_KERNEL_ACCOUNT);
	KUNIT_EXPECT_EQ(test, waits.count, 1u);
	kfree(charged);
	winner_lose(test, b);
	unregister_trace_kmalloc(waits_probe, NULL);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, waits.count, 0u);
	KUNIT_EXPECT_TRUE(test, race_over(b));
	KUNIT_EXPECT_EQ(test, b->any->report->candidates[1].attempts, 1u);
	bed_end(test, b);
}

struct other {
	struct completion begun, go;
};

static void other_done(struct rdma_cmx_connector *connector,
		       struct rdma_cm_id *cm,
		       struct rdma_cmx_connect_report *report, void *context)
{
	struct other *other = context;

	rdma_cmx_connect_report_put(report);
	complete(&other->begun);
	wait_for_completion_timeout(&other->go, KUNIT_WAIT);
}

/*
 * Another connect of the user, whose callback lasts: the work items of a user's
 * connects run one at a time.
 */
static struct rdma_cmx_connector *other_start(struct kunit *test,
					      struct bed *b,
					      struct other *other)
{
	const struct rdma_cmx_connect_attr attr = {
		.query.net = &init_net,
		.handler = fake_id_no_event,
		.timeout_ms = 60000,
	};
	const struct cmx_connect_given given = {
		.result = b->any->result,
		.started = ktime_get(),
		.port_space = RDMA_PS_TCP,
		.qp_type = IB_QPT_RC,
		.uid = KUIDT_INIT(UID),
		.gfp = GFP_KERNEL,
	};
	struct rdma_cmx_connector *connector;

	init_completion(&other->begun);
	init_completion(&other->go);
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_connect_start_for(&attr, &given, other_done,
						   other, &connector));
	KUNIT_EXPECT_NE(test, 0ul,
			wait_for_completion_timeout(&other->begun, KUNIT_WAIT));
	return connector;
}

/* NEXT has started the race, and the device of the failed winner goes. */
static void any_device_gone(struct kunit *test)
{
	struct rdma_cmx_connector *connector;
	struct bed *b = bed_make(test);
	struct other other;
	int status = 0;

	connector = other_start(test, b, &other);
	KUNIT_EXPECT_EQ(test, race_start(b), 0);
	ucmx_id_removal_alloc(b->f.id);
	ucmx_id_device_gone(b->f.id);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(b->f.id->cm)));
	/* The race does not run in vain. */
	mutex_lock(&b->f.id->mutex);
	KUNIT_EXPECT_FALSE(test, b->f.id->racing);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->f.file.nr_requests), 0);
	mutex_unlock(&b->f.id->mutex);
	complete(&other.go);
	rdma_cmx_connect_cancel(connector);
	rdma_cmx_connect_put(connector);
	/* All its work items have run: the callback has not. */
	KUNIT_EXPECT_TRUE(test, rdma_cmx_connect_cancel(b->any->connector));
	KUNIT_EXPECT_NULL(test, b->any->report);
	KUNIT_EXPECT_EQ(test, event_type(b, &status),
			(int)RDMA_CM_EVENT_DEVICE_REMOVAL);
	bed_end(test, b);
}

/* An id keeps the report of a race, not the candidates. */
static void any_memory(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct rdma_cmx_connector *c;

	KUNIT_ASSERT_EQ(test, race_start(b), 0);
	KUNIT_EXPECT_TRUE(test, race_over(b));
	KUNIT_EXPECT_NOT_NULL(test, b->any->report);
	c = b->any->connector;
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(c->tries)));
	/* The connect has ended, and can be cancelled still. */
	KUNIT_EXPECT_FALSE(test, rdma_cmx_connect_cancel(c));
	bed_end(test, b);
}

/* Its timer runs now, whenever it is due. True if CONNECT has timed out. */
static bool times_out(struct bed *b)
{
	flush_delayed_work(&b->any->limit);
	return READ_ONCE(b->any->expired);
}

/*
 * A CONNECT that waits for a slot for 200 s. The deadline was 60 s after the
 * call, and is 260 s after it. The limit of the CONNECT moves likewise, and
 * begins with the end of the wait.
 */
static void any_waits(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct ucmx_any *any = b->any;
	unsigned long expires;

	mutex_lock(&b->f.id->mutex);
	any->report = report_make(test);
	any->report->candidates[1].error = -ENODEV;
	any->connect = true;
	KUNIT_EXPECT_EQ(test, any->until - any->expires,
			msecs_to_jiffies(120000));
	any->until += 3600 * HZ;
	KUNIT_ASSERT_TRUE(test, ucmx_any_connects(b->f.id));
	ucmx_any_waits(b->f.id);
	any->waits_since -= 200 * HZ;
	any->expires -= 200 * HZ;
	any->due -= 200 * HZ;
	expires = any->expires;
	KUNIT_EXPECT_FALSE(test, times_out(b));
	KUNIT_EXPECT_GT(test, ucmx_any_time(any), 0l);
	ucmx_any_waited(b->f.id);
	KUNIT_EXPECT_FALSE(test, times_out(b));
	KUNIT_EXPECT_GE(test, any->expires - expires, 200ul * HZ);
	KUNIT_EXPECT_LE(test, ucmx_any_time(any), 60l * HZ);
	KUNIT_EXPECT_LE(test, (long)(any->due - jiffies), 60l * HZ);
	/* Its own time has passed. */
	any->due = jiffies;
	KUNIT_EXPECT_TRUE(test, times_out(b));
	mutex_unlock(&b->f.id->mutex);
	bed_end(test, b);
}

/* The wait has a limit, too. */
static void any_waits_too_long(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct ucmx_any *any = b->any;

	mutex_lock(&b->f.id->mutex);
	any->report = report_make(test);
	any->report->candidates[1].error = -ENODEV;
	any->connect = true;
	KUNIT_ASSERT_TRUE(test, ucmx_any_connects(b->f.id));
	ucmx_any_waits(b->f.id);
	KUNIT_EXPECT_FALSE(test, times_out(b));
	any->until = jiffies;
	KUNIT_EXPECT_LE(test, ucmx_any_time(any), 0l);
	KUNIT_EXPECT_TRUE(test, times_out(b));
	ucmx_any_waited(b->f.id);
	KUNIT_EXPECT_LE(test, ucmx_any_time(any), 0l);
	mutex_unlock(&b->f.id->mutex);
	bed_end(test, b);
}

static struct kunit_case any_cases[] = {
	KUNIT_CASE(any_winner_lost),
	KUNIT_CASE(any_lost_and_moved),
	KUNIT_CASE(any_device_gone),
	KUNIT_CASE(any_memory),
	KUNIT_CASE(any_waits),
	KUNIT_CASE(any_waits_too_long),
	{}
};

static struct kunit_suite any_suite = {
	.name = "ucmx_any",
	.test_cases = any_cases,
};

kunit_test_suite(any_suite);
