// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The firmware of a port that is down is slow, and many callers want to know
 * if the port is active: they share a read, and delay no other device. What a
 * read finds, or cannot find, and events of a port.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cmx.h>

#include "resolve/paths.h"
#include "resolver.h"
#include "fake_id.h"

#define CALLS	16

struct call {
	struct work_struct work;
	struct task_struct *task;
	struct cmx_sa_port *port;
	struct completion over;
};

static struct fake slow, other;
static struct call calls[CALLS];
static struct workqueue_struct *wq;
/* Port 1 of @slow: not used for MADs, because the port has no SM */
static struct ib_mad_agent agent;
static struct completion released;
static bool active;
static atomic_t reads, io, own, failures;
static atomic_t ups, downs;	/* reports of port 1 of @slow */

static int ports_read(struct ib_device *ibdev, u32 num,
		      struct ib_port_attr *attr)
{
	if (ibdev != slow.ibdev || num != 1)
		return 0;
	attr->sm_lid = 0;
	attr->state = READ_ONCE(active) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	/* A removal waits for the read, and I/O may need the device. */
	if (!(current->flags & PF_MEMALLOC_NOIO))
		atomic_inc(&io);
	/* A caller that reads may keep the lock until it is scheduled. */
	if (!(current->flags & PF_WQ_WORKER))
		atomic_inc(&own);
	atomic_inc(&reads);
	wait_for_completion(&released);
	return atomic_add_unless(&failures, -1, 0) ? -EIO : 0;
}

static void ports_changed(struct cmx_sa_port *port, enum cmx_sa_change change)
{
	if (port == slow.port[1])
		atomic_inc(change == CMX_SA_UP ? &ups : &downs);
}

static struct cmx_sa_watcher watcher = { .changed = ports_changed };

static int ports_init(struct kunit *test)
{
	int ret;

	wq = alloc_workqueue("cmx_kunit_ports", WQ_UNBOUND, 0);
	if (!wq)
		return -ENOMEM;
	memset(calls, 0, sizeof(calls));
	init_completion(&released);
	active = false;
	atomic_set(&reads, 0);
	atomic_set(&io, 0);
	atomic_set(&own, 0);
	atomic_set(&failures, 0);
	atomic_set(&ups, 0);
	atomic_set(&downs, 0);
	ret = fake_up(&slow) ?: fake_up(&other);
	if (ret)
		return ret;
	slow.port[1]->agent = &agent;
	slow.port[1]->active = false;
	WRITE_ONCE(fake_read, ports_read);
	return 0;
}

/* No read follows, not even one that a caller has begun without waiting. */
static void ports_end_reads(void)
{
	down_write(&slow.port[1]->agent_lock);
	slow.port[1]->agent = NULL;
	up_write(&slow.port[1]->agent_lock);
}

static void ports_exit(struct kunit *test)
{
	complete_all(&released);
	if (wq)
		destroy_workqueue(wq);
	wq = NULL;
	if (slow.ibdev && slow.port[1])
		ports_end_reads();
	WRITE_ONCE(fake_read, NULL);
	fake_down(&other);
	fake_down(&slow);
}

static void call_get(struct work_struct *work)
{
	struct call *c = container_of(work, struct call, work);

	WRITE_ONCE(c->task, current);
	c->port = cmx_sa_port_get(slow.ibdev->index, 1);
	complete(&c->over);
}

static void call_start(struct call *c, work_func_t fn)
{
	INIT_WORK(&c->work, fn);
	init_completion(&c->over);
	queue_work(wq, &c->work);
}

/* Does the call sleep? It has no other reason to. */
static bool call_waits(struct call *c)
{
	struct task_struct *task = READ_ONCE(c->task);

	return task && !task_is_running(task);
}

/* All callers wait for the first one's read. */
static void calls_begin(struct kunit *test)
{
	int i;

	call_start(&calls[0], call_get);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(atomic_read(&reads)));
	for (i = 1; i < CALLS; i++)
		call_start(&calls[i], call_get);
	for (i = 1; i < CALLS; i++)
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(call_waits(&calls[i])));
}

static int port_count(struct cmx_sa_port *port, void *arg)
{
	*(u32 *)arg += port->dev == slow.ibdev || port->dev == other.ibdev;
	return 0;
}

/* A walk, a lookup, and the removal of another device */
static void call_others(struct work_struct *work)
{
	struct call *c = container_of(work, struct call, work);
	u32 count = 0;

	if (!cmx_sa_ports_for_each(&init_net, port_count, &count) &&
	    count == 2 * FAKE_PORTS)
		c->port = cmx_sa_port_get(other.ibdev->index, 1);
	cmx_sa_port_put(c->port);
	fake_down(&other);
	complete(&c->over);
}

static void ports_others(struct kunit *test)
{
	static struct call others;
	int i;

	calls_begin(test);
	call_start(&others, call_others);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&others.over,
							    KUNIT_WAIT));
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 1);
	complete_all(&released);
	flush_workqueue(wq);
	KUNIT_EXPECT_NOT_NULL(test, others.port);
	for (i = 0; i < CALLS; i++)
		KUNIT_EXPECT_NULL(test, calls[i].port);
}

/*
 * Callers that come during a read share the next one: the first may have missed
 * the event that they know about. Later ones share neither.
 */
static void ports_share(struct kunit *test)
{
	int i;

	calls_begin(test);
	WRITE_ONCE(active, true);
	complete_all(&released);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 2);
	/* The first caller may return after the second read, with its result. */
	cmx_sa_port_put(calls[0].port);
	for (i = 1; i < CALLS; i++) {
		KUNIT_EXPECT_PTR_EQ(test, calls[i].port, slow.port[1]);
		cmx_sa_port_put(calls[i].port);
	}
	slow.port[1]->active = false;
	WRITE_ONCE(active, false);
	KUNIT_EXPECT_NULL(test, cmx_sa_port_get(slow.ibdev->index, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&io), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&own), 0);
}

static bool busy;

/* Another caller, who begins one read after another */
static void call_begin(struct work_struct *work)
{
	struct call *c = container_of(work, struct call, work);

	while (READ_ONCE(busy)) {
		cmx_sa_port_check_begin(slow.port[1]);
		cond_resched();
	}
	complete(&c->over);
}

/* A caller waits for the read that begins after its call, not for later ones. */
static void ports_others_read(struct kunit *test)
{
	u32 before;
	int i;

	complete_all(&released);
	WRITE_ONCE(busy, true);
	call_start(&calls[0], call_begin);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&reads) > 10));
	for (i = 0; i < 20; i++) {
		before = READ_ONCE(slow.port[1]->checks);
		KUNIT_EXPECT_FALSE(test, cmx_sa_port_check(slow.port[1]));
		KUNIT_EXPECT_LE(test, before + 1,
				READ_ONCE(slow.port[1]->checks));
	}
	WRITE_ONCE(busy, false);
	flush_workqueue(wq);
}

/* An id at port 1 of @slow, with an address */
static struct rdma_cm_id *cm_make(struct kunit *test)
{
	struct rdma_cm_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, id);
	id->device = slow.ibdev;
	id->port_num = 1;
	id->ps = RDMA_PS_TCP;
	id->route.addr.src_addr.ss_family = AF_INET;
	id->route.addr.dst_addr.ss_family = AF_INET;
	id->route.addr.dev_addr.net = &init_net;
	return id;
}

/* In an event handler of rdma_cm: no read at all */
static void ports_cached_path(struct kunit *test)
{
	struct rdma_cm_id *id = cm_make(test);

	/* Or a read would not end. */
	complete_all(&released);
	KUNIT_EXPECT_EQ(test, rdma_cmx_set_cached_path(id), -ENODEV);
	rdma_cmx_drop_cached_path(id);
	slow.port[1]->active = true;
	KUNIT_EXPECT_EQ(test, rdma_cmx_set_cached_path(id), -ENOENT);
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 0);
}

/* For the work of races, which the removal of another device waits for: none */
static void ports_route(struct kunit *test)
{
	struct rdma_cm_id *id = cm_make(test);
	struct cmx_route route = { .addressed = true, .locked = true };
	int i;

	complete_all(&released);
	for (i = 0; i < 2; i++, route.locked = false) {
		KUNIT_EXPECT_EQ(test, cmx_route_query_start(id, &route, 1000, 0,
							    KUIDT_INIT(1000)),
				-ENODEV);
		KUNIT_EXPECT_EQ(test, atomic_read(&reads), i);
	}
}

/* An id that resolves a service by all ports */
struct bed {
	struct fake_id f;
	struct ucmx_request req;
	struct work_struct work;
	int ret;
};

static struct bed *bed_make(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	fake_id_make(test, &b->f);
	b->f.id->cm = rdma_create_id(&init_net, fake_id_no_event, NULL,
				     RDMA_PS_IB, IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->f.id->cm));
	b->req.all_ports = true;
	/* The namespace of the id counts, not that of the caller. */
	b->req.attr.net = NULL;
	b->req.attr.flags = RDMA_CMX_AI_SA;
	b->req.attr.service = "service";
	return b;
}

static void bed_resolve(struct work_struct *work)
{
	struct bed *b = container_of(work, struct bed, work);

	b->ret = ucmx_addrinfo_start(&b->f.file, b->f.handle, &b->req);
}

/* The device of an id goes while its resolution waits for another device. */
static void ports_removal(struct kunit *test)
{
	struct bed *b = bed_make(test);

	INIT_WORK(&b->work, bed_resolve);
	queue_work(wq, &b->work);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&reads)));
	ucmx_id_removal_alloc(b->f.id);
	ucmx_id_device_gone(b->f.id);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(b->f.id->cm)));
	complete_all(&released);
	flush_workqueue(wq);
	KUNIT_EXPECT_EQ(test, b->ret, -ENODEV);
	fake_id_end(test, &b->f);
}

/* One read, before the lock, and of no other device than the request's */
static void ports_read_once(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct rdma_cmx_query_attr attr = b->req.attr;

	complete_all(&released);
	KUNIT_EXPECT_EQ(test, 0,
			ucmx_addrinfo_start(&b->f.file, b->f.handle, &b->req));
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 1);
	attr.net = &init_net;
	attr.dev = dev_name(&other.ibdev->dev);
	rdma_cmx_services_check_ports(&attr);
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 1);
	attr.dev = dev_name(&slow.ibdev->dev);
	rdma_cmx_services_check_ports(&attr);
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 2);
	fake_id_end(test, &b->f);
}

/* The paths of a request read no port, either, unless they may wait. */
static void ports_paths(struct kunit *test)
{
	struct cmx_hints h = {
		.net = &init_net, .qp_type = IB_QPT_RC,
		.port_space = RDMA_PS_TCP, .locked = true,
	};
	struct cmx_dest dest = {
		.ib = true, .rank = CMX_RANK_RDMA, .port_num = 1,
		.ibdev_index = slow.ibdev->index, .pkey = htons(0xffff),
		.dgid_state = CMX_DGID_SELF,
	};
	struct cmx_paths paths;
	int i;

	dest.dst.sa.sa_family = AF_INET;
	complete_all(&released);
	for (i = 0; i < 2; i++, h.locked = false) {
		memset(&paths, 0, sizeof(paths));
		cmx_sa_requests_init(&paths.requests);
		KUNIT_EXPECT_EQ(test, cmx_paths_init(&paths, &h, &dest, 1), 0);
		KUNIT_EXPECT_EQ(test, paths.count, 1u);
		KUNIT_EXPECT_EQ(test, atomic_read(&reads), i);
		cmx_paths_release(&paths);
	}
}

/* The state of port 1 of @slow is reported until ports_unwatch(). */
static void ports_watch(void)
{
	complete_all(&released);
	cmx_sa_watch(&watcher);
	fake_follow(slow.port[1]);
}

static void ports_unwatch(void)
{
	cmx_sa_unwatch(&watcher);
	ports_end_reads();
}

/* The state that a failed read does not give is read again without an event. */
static void ports_read_failed(struct kunit *test)
{
	slow.port[1]->active = true;
	WRITE_ONCE(active, true);
	atomic_set(&failures, 2);
	ports_watch();
	/* As an event */
	cmx_sa_port_kick(slow.port[1], 0);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&reads) >= 3));
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&ups)));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(slow.port[1]->active));
	KUNIT_EXPECT_EQ(test, atomic_read(&downs), 0);
	ports_unwatch();
}

/* The next read comes late, but a caller's read succeeds before. */
static void ports_read_late(struct kunit *test)
{
	slow.port[1]->active = true;
	WRITE_ONCE(active, true);
	ports_watch();
	slow.port[1]->retry = 3600 * HZ;
	cmx_sa_port_refresh(slow.port[1]);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&ups)));
	KUNIT_EXPECT_EQ(test, atomic_read(&downs), 0);
	KUNIT_EXPECT_EQ(test, slow.port[1]->retry, 0ul);
	ports_unwatch();
}

/*
 * A port that cannot be read after the driver has reported an error is down, at
 * once and once, until a read succeeds.
 */
static void ports_read_error(struct kunit *test)
{
	slow.port[1]->active = true;
	WRITE_ONCE(active, true);
	atomic_set(&failures, 2);
	ports_watch();
	/* As an event of that kind */
	atomic_inc(&slow.port[1]->errors);
	cmx_sa_port_kick(slow.port[1], 0);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&downs)));
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&ups)));
	KUNIT_EXPECT_GE(test, atomic_read(&reads), 3);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(slow.port[1]->active));
	KUNIT_EXPECT_EQ(test, atomic_read(&downs), 1);
	ports_unwatch();
}

/* A change that a caller finds is reported as after an event. */
static void ports_found(struct kunit *test)
{
	struct cmx_sa_port *port;

	ports_watch();
	WRITE_ONCE(active, true);
	port = cmx_sa_port_get(slow.ibdev->index, 1);
	KUNIT_EXPECT_PTR_EQ(test, port, slow.port[1]);
	cmx_sa_port_put(port);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&ups)));
	KUNIT_EXPECT_EQ(test, atomic_read(&downs), 0);
	ports_unwatch();
}

/* Without cmx_sa_lock: that is the caller's. */
static void inform_queue(struct cmx_sa_port *port, unsigned long delay)
{
	mod_delayed_work(system_unbound_wq, &port->inform.work, delay);
}

/*
 * The work item of a subscription waits for the lock, to queue itself for the
 * renewal. False if it has not come so far: another processor is busy. Sets the
 * time that this run has set, before the next one can set another.
 */
static bool inform_event(struct cmx_sa_port *port, unsigned long *set)
{
	unsigned long due = READ_ONCE(port->inform.due);
	ktime_t end = ktime_add_ms(ktime_get(), 500);
	bool waits = false;

	spin_lock(&cmx_sa_lock);
	inform_queue(port, 0);
	while (!waits && ktime_before(ktime_get(), end)) {
		cpu_relax();
		waits = READ_ONCE(port->inform.due) != due;
	}
	/* An event */
	if (waits)
		inform_queue(port, 1);
	*set = READ_ONCE(port->inform.due);
	spin_unlock(&cmx_sa_lock);
	return waits;
}

/* An event that comes while the work item runs is not lost. */
static void ports_inform(struct kunit *test)
{
	struct cmx_sa_port *port = other.port[1];
	unsigned long due;

	port->active = false;
	fake_follow(port);
	/* Each run sets another time. */
	if (!WAIT_FOR(inform_event(port, &due)))
		kunit_skip(test, "one processor");
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(port->inform.due) != due));
}

static void query_done(struct rdma_cmx_query *query,
		       struct rdma_cmx_result *result, void *context)
{
	rdma_cmx_result_put(result);
	complete(context);
}

/*
 * The port of a service goes down while its SA is queried. The job of the query
 * delays those of all kernel consumers, so it does not wait for the read.
 */
static void ports_job(struct kunit *test)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net, .flags = RDMA_CMX_AI_SA,
		.service = "service", .dev = dev_name(&slow.ibdev->dev),
		.dev_port = 1, .qp_type = IB_QPT_RC,
	};
	struct rdma_cmx_query *query = NULL;
	struct cmx_sa_lookup *lookup;
	struct completion over;
	bool in_time;

	init_completion(&over);
	slow.port[1]->active = true;
	KUNIT_ASSERT_EQ(test, 0, rdma_cmx_query_start(&attr, query_done, &over,
						      NULL, &query));
	lookup = fake_lookup(slow.port[1]);
	slow.port[1]->active = false;
	if (lookup)
		fake_say(lookup, fake_services(1, "service"), 0);
	else
		KUNIT_FAIL(test, "no query");
	in_time = wait_for_completion_timeout(&over, KUNIT_WAIT);
	KUNIT_EXPECT_TRUE(test, in_time);
	/* The query may end before a worker begins the read. */
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&reads) == 1));
	/* The read has not ended. Later callers start no other one. */
	KUNIT_EXPECT_FALSE(test, cmx_sa_port_check_timeout(slow.port[1]));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(slow.port[1]->checking));
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 1);
	complete_all(&released);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(slow.port[1]->checking)));
	KUNIT_EXPECT_FALSE(test, slow.port[1]->active);
	WRITE_ONCE(active, true);
	/* The next one waits for its read, and uses it. */
	KUNIT_EXPECT_TRUE(test,
			  WAIT_FOR(cmx_sa_port_check_timeout(slow.port[1])));
	KUNIT_EXPECT_GE(test, atomic_read(&reads), 2);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(slow.port[1]->checking)));
	KUNIT_EXPECT_EQ(test, atomic_read(&io), 0);
	if (!in_time)
		wait_for_completion(&over);
	rdma_cmx_query_put(query);
}

/* The port is being removed, and so may be the work queue of a read. */
static void ports_unlisted(struct kunit *test)
{
	struct cmx_sa_port *port = cmx_sa_port_unlist(slow.ibdev);

	port->active = false;
	KUNIT_EXPECT_FALSE(test, cmx_sa_port_check_timeout(port));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(port->checking));
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 0);
	cmx_sa_port_list(port);
}

static struct kunit_case ports_cases[] = {
	KUNIT_CASE(ports_others),
	KUNIT_CASE(ports_share),
	KUNIT_CASE(ports_others_read),
	KUNIT_CASE(ports_cached_path),
	KUNIT_CASE(ports_route),
	KUNIT_CASE(ports_removal),
	KUNIT_CASE(ports_read_once),
	KUNIT_CASE(ports_paths),
	KUNIT_CASE(ports_read_failed),
	KUNIT_CASE(ports_read_late),
	KUNIT_CASE(ports_read_error),
	KUNIT_CASE(ports_found),
	KUNIT_CASE(ports_inform),
	KUNIT_CASE(ports_job),
	KUNIT_CASE(ports_unlisted),
	{}
};

static struct kunit_suite ports_suite = {
	.name = "cmx_sa_ports",
	.init = ports_init,
	.exit = ports_exit,
	.test_cases = ports_cases,
};

kunit_test_suite(ports_suite);
