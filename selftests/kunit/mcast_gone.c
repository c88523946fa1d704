// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The end of a membership, MC-09: after the removal of the id's device was
 * reported, which is the last event, and while its JOIN is unread. The join
 * waits for the SA, which the test simulates, so the order is certain.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_user_cm.h>

#include "fake_id.h"

#define PORT	1

static struct fake fake;
/* Of the process that loads the module: the command writes a handle. */
static struct mm_struct *user_mm;

struct bed {
	struct fake_id f;
	bool joins;	/* JOIN is reported before the end, */
	bool reads;	/* and is read */
	int type;
	struct completion reported;
};

static int gone_suite_init(struct kunit_suite *suite)
{
	user_mm = current->mm;
	return user_mm ? 0 : -ENODEV;
}

static int gone_init(struct kunit *test)
{
	int ret = fake_up(&fake);

	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

static void gone_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
}

static struct ucmx_event *first(struct bed *b)
{
	return list_first_entry_or_null(&b->f.file.events, struct ucmx_event,
					ready);
}

static void joined(struct bed *b, struct rdma_cm_id *cm,
		   const struct rdma_cm_event *end)
{
	struct rdma_cm_event e = {
		.event = RDMA_CM_EVENT_MULTICAST_JOIN,
		/* The group */
		.param.ud.private_data = end->param.ud.private_data,
	};

	ucmx_cm_handler(cm, &e);
	if (!b->reads)
		return;
	spin_lock(&b->f.file.lock);
	ucmx_event_unlink(first(b), &b->f.file);
	spin_unlock(&b->f.file.lock);
}

static int handler(struct rdma_cm_id *cm, struct rdma_cm_event *e)
{
	struct ucmx_id *id = cm->context;
	struct bed *b = container_of(id->file, struct bed, f.file);
	int ret;

	if (b->joins)
		joined(b, cm, e);
	ret = ucmx_cm_handler(cm, e);
	b->type = e->event;
	complete(&b->reported);
	return ret;
}

/* Bound by GID: its joins need no IPoIB. */
static struct rdma_cm_id *cm_make(struct kunit *test, struct ucmx_id *id)
{
	struct rdma_dev_addr *dev;
	struct rdma_cm_id *cm;

	cm = rdma_create_id(&init_net, handler, id, RDMA_PS_UDP, IB_QPT_UD);
	KUNIT_ASSERT_FALSE(test, IS_ERR(cm));
	cm->device = fake.ibdev;
	cm->port_num = PORT;
	cm->route.addr.src_addr.ss_family = AF_IB;
	dev = &cm->route.addr.dev_addr;
	rdma_addr_set_sgid(dev, &(union ib_gid){ .raw = { 0xfe, 0x80, [15] = 1 } });
	ib_addr_set_pkey(dev, 0xffff);
	return cm;
}

static struct bed *bed_make(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	init_completion(&b->reported);
	fake_id_make(test, &b->f);
	b->f.id->cm = cm_make(test, b->f.id);
	return b;
}

/* Calls JOIN. It queries the capabilities of the SA first. */
static int join(struct bed *b)
{
	struct file filp = { .private_data = &b->f.file };
	struct rdma_cmx_join arg = {
		.size = sizeof(arg),
		.id = b->f.handle,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.uid = 1,
		.addr = { .family = AF_INET, .data = { 0, 0, 239, 1, 2, 3 } },
	};
	unsigned long at;
	int ret = -EFAULT;

	kthread_use_mm(user_mm);
	at = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (!IS_ERR_VALUE(at)) {
		if (!copy_to_user((void __user *)at, &arg, sizeof(arg)))
			ret = ucmx_fops.unlocked_ioctl(&filp, RDMA_CMX_IO(JOIN),
						       at);
		vm_munmap(at, PAGE_SIZE);
	}
	kthread_unuse_mm(user_mm);
	return ret;
}

/* The SA does not respond. */
static void join_fails(struct kunit *test, struct bed *b, bool gone)
{
	struct cmx_sa_port *port = fake.port[PORT];
	struct cmx_sa_lookup *l = NULL;

	KUNIT_EXPECT_EQ(test, join(b), 0);
	if (WAIT_FOR(READ_ONCE(port->sched.nr_running)))
		l = fake_lookup(port);
	KUNIT_EXPECT_NOT_NULL(test, l);
	if (!l)
		return;
	spin_lock(&b->f.id->lock);
	WRITE_ONCE(b->f.id->gone, gone);
	spin_unlock(&b->f.id->lock);
	fake_say(l, NULL, -ETIMEDOUT);
	KUNIT_EXPECT_NE(test, 0ul,
			wait_for_completion_timeout(&b->reported, KUNIT_WAIT));
	KUNIT_EXPECT_EQ(test, b->type, (int)RDMA_CM_EVENT_MULTICAST_ERROR);
}

static void gone_before(struct kunit *test)
{
	struct bed *b = bed_make(test);

	join_fails(test, b, true);
	KUNIT_EXPECT_EQ(test, b->f.file.nr_events, 0u);
	fake_id_end(test, &b->f);
}

/* Without a removal there is the event that the other case does not have. */
static void gone_never(struct kunit *test)
{
	struct bed *b = bed_make(test);

	join_fails(test, b, false);
	KUNIT_EXPECT_EQ(test, b->f.file.nr_events, 1u);
	fake_id_end(test, &b->f);
}

/* One event, which is readable, as that of a join that fails */
static void is_error(struct kunit *test, struct bed *b)
{
	struct ucmx_event *ev = first(b);

	KUNIT_EXPECT_EQ(test, b->f.file.nr_events, 1u);
	KUNIT_ASSERT_NOT_NULL(test, ev);
	KUNIT_EXPECT_EQ(test, (int)ev->event,
			(int)RDMA_CM_EVENT_MULTICAST_ERROR);
	KUNIT_EXPECT_EQ(test, ev->status, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, ev->flags, 0);
	KUNIT_EXPECT_EQ(test, ev->len, 0);
}

/* No program attaches its queue pair to a group that is lost already. */
static void lost_before_join_is_read(struct kunit *test)
{
	struct bed *b = bed_make(test);

	b->joins = true;
	join_fails(test, b, false);
	is_error(test, b);
	fake_id_end(test, &b->f);
}

static void lost_after_join_is_read(struct kunit *test)
{
	struct bed *b = bed_make(test);

	b->joins = true;
	b->reads = true;
	join_fails(test, b, false);
	is_error(test, b);
	fake_id_end(test, &b->f);
}

static struct kunit_case gone_cases[] = {
	KUNIT_CASE(gone_before),
	KUNIT_CASE(gone_never),
	KUNIT_CASE(lost_before_join_is_read),
	KUNIT_CASE(lost_after_join_is_read),
	{}
};

static struct kunit_suite gone_suite = {
	.name = "ucmx_mcast_gone",
	.suite_init = gone_suite_init,
	.init = gone_init,
	.exit = gone_exit,
	.test_cases = gone_cases,
};

kunit_test_suite(gone_suite);
