// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The guarantees of rdma_cmx_ioctl.h for every command: sizes, unknown parts,
 * reserved fields, unknown bits, limits. The module's own ioctl is called with
 * memory of the process that loads this module.
 */
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ucmx.h"
#include "kunit.h"

#define USER_PAGES	2	/* that there are; behind them there is none */

static struct mm_struct *mm;
static unsigned long user;

static int abi_suite_init(struct kunit_suite *suite)
{
	unsigned long len = (USER_PAGES + 1) * PAGE_SIZE;

	if (!current->mm)
		return -EINVAL;
	user = vm_mmap(NULL, 0, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(user))
		return (long)user;
	vm_munmap(user + USER_PAGES * PAGE_SIZE, PAGE_SIZE);
	mm = current->mm;
	mmget(mm);
	return 0;
}

static void abi_suite_exit(struct kunit_suite *suite)
{
	if (!mm)
		return;
	vm_munmap(user, USER_PAGES * PAGE_SIZE);
	mmput(mm);
	mm = NULL;
}

/* A file that is open on the device. */
static struct file *filp;

static int abi_init(struct kunit *test)
{
	filp = kunit_kzalloc(test, sizeof(*filp), GFP_KERNEL);
	if (!filp)
		return -ENOMEM;
	filp->f_flags = O_NONBLOCK;
	return ucmx_fops.open(NULL, filp);
}

static void abi_exit(struct kunit *test)
{
	params_restore(test);
	if (filp && filp->private_data)
		ucmx_fops.release(NULL, filp);
	filp = NULL;
}

/*
 * The ioctl at @at of the user's memory, where @size bytes of @arg are put
 * before, and taken from afterwards.
 */
static long call_at(unsigned long at, unsigned int ioctl, void *arg,
		    size_t size)
{
	void __user *uarg = (void __user *)at;
	size_t there = min_t(size_t, size, user + USER_PAGES * PAGE_SIZE - at);
	long ret = -EIO;

	kthread_use_mm(mm);
	if (!copy_to_user(uarg, arg, there)) {
		ret = ucmx_fops.unlocked_ioctl(filp, ioctl, at);
		if (copy_from_user(arg, uarg, there))
			ret = -EIO;
	}
	kthread_unuse_mm(mm);
	return ret;
}

static long call(unsigned int ioctl, void *arg, size_t size)
{
	return call_at(user, ioctl, arg, size);
}

/*
 * Number, first published size and size now of each command. The first two
 * never change.
 */
static const struct command {
	const char *name;
	u8 nr;
	u16 first;
	u16 size;
} commands[] = {
	{ "GET_INFO", 0, 24, 56 },
	{ "GET_EVENTS", 1, 32, 32 },
	{ "ID_CREATE", 2, 32, 32 },
	{ "ID_DESTROY", 3, 24, 32 },
	{ "ID_BIND", 4, 280, 280 },
	{ "ID_QUERY", 5, 376, 376 },
	{ "ID_SET_OPTION", 6, 32, 32 },
	{ "ID_MIGRATE", 7, 32, 32 },
	{ "RESOLVE_ADDR", 8, 112, 112 },
	{ "RESOLVE_ROUTE", 9, 16, 16 },
	{ "INIT_QP_ATTR", 10, 160, 160 },
	{ "CONNECT", 11, 48, 304 },
	{ "LISTEN", 12, 16, 16 },
	{ "ACCEPT", 13, 48, 304 },
	{ "REJECT", 14, 272, 272 },
	{ "DISCONNECT", 15, 16, 16 },
	{ "NOTIFY", 16, 16, 16 },
	{ "WRITE_EVENT", 17, 24, 24 },
	{ "RESOLVE_ADDRINFO", 18, 184, 184 },
	{ "GIVE_NAMES", 19, 24, 40 },
	{ "QUERY_ADDRINFO", 20, 24, 24 },
	{ "GETADDRINFO", 21, 200, 200 },
	{ "JOIN", 22, 72, 104 },
	{ "LEAVE", 23, 24, 32 },
	{ "CONN_QP_ATTR", 24, 168, 168 },
	{ "JOIN_MANY", 25, 32, 32 },
};

static void command_desc(const struct command *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(command, commands, command_desc);

#define IOCTL(nr)	_IO(0xbd, nr)
#define ROOM		(USER_PAGES * PAGE_SIZE)

/* Zeroes with a size field of @size, of which @give bytes exist */
static long call_zero(u8 *buf, const struct command *c, u32 size)
{
	memset(buf, 0, ROOM);
	memcpy(buf, &size, sizeof(size));
	return call(IOCTL(c->nr), buf, min_t(size_t, size, ROOM) ?: 4);
}

static void abi_size(struct kunit *test)
{
	const struct command *c = test->param_value;
	static const u32 large[] = { 4097, 8192, 0x7fffffff, 0x80000000, ~0u };
	u8 *buf = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	u32 size, i;
	long whole, ret;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (size = 0; size < c->first; size++)
		KUNIT_EXPECT_EQ_MSG(test, call_zero(buf, c, size), -EINVAL,
				    "%u bytes", size);
	/* The struct is read, and refused only for its content. */
	whole = call_zero(buf, c, c->size);
	KUNIT_EXPECT_NE(test, whole, -E2BIG);
	KUNIT_EXPECT_NE(test, whole, -ENOTTY);
	KUNIT_EXPECT_NE(test, whole, -EFAULT);
	for (size = c->first; size <= c->size; size++)
		KUNIT_EXPECT_EQ(test, call_zero(buf, c, size), whole);
	/* Longer ones are the same, as long as the rest is zero. */
	for (i = 1; i <= 64; i++)
		KUNIT_EXPECT_EQ(test, call_zero(buf, c, c->size + i), whole);
	KUNIT_EXPECT_EQ(test, call_zero(buf, c, 4096), whole);
	for (i = 0; i < ARRAY_SIZE(large); i++)
		KUNIT_EXPECT_EQ(test, call_zero(buf, c, large[i]), -E2BIG);
	for (i = c->size; i < c->size + 40; i++) {
		memset(buf, 0, ROOM);
		*(u32 *)buf = c->size + 40;
		buf[i] = 1;
		ret = call(IOCTL(c->nr), buf, c->size + 40);
		KUNIT_EXPECT_EQ_MSG(test, ret, -E2BIG, "byte %u", i);
	}
}

/* A struct that ends where there is no memory */
static void abi_fault(struct kunit *test)
{
	const struct command *c = test->param_value;
	unsigned long last = user + USER_PAGES * PAGE_SIZE;
	u8 *buf = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	u32 there;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	*(u32 *)buf = c->size + 8;
	/* The unknown part does not exist. */
	KUNIT_EXPECT_EQ(test, call_at(last - c->size, IOCTL(c->nr), buf,
				      c->size + 8), -EFAULT);
	*(u32 *)buf = c->size;
	for (there = 4; there < 12; there += 4)
		KUNIT_EXPECT_EQ(test, call_at(last - there, IOCTL(c->nr), buf,
					      c->size), -EFAULT);
	/* None of the struct exists. */
	KUNIT_EXPECT_EQ(test, call_at(last, IOCTL(c->nr), buf, 0), -EFAULT);
}

static void abi_unknown(struct kunit *test)
{
	u8 buf[64] = { sizeof(buf) };
	u32 nr, dir;

	for (nr = ARRAY_SIZE(commands); nr < 256; nr++)
		KUNIT_EXPECT_EQ(test, call(IOCTL(nr), buf, sizeof(buf)),
				-ENOTTY);
	for (nr = 0; nr < ARRAY_SIZE(commands); nr++) {
		for (dir = 1; dir < 4; dir++)
			KUNIT_EXPECT_EQ(test, call(IOCTL(nr) | dir << 30, buf,
						   sizeof(buf)), -ENOTTY);
		KUNIT_EXPECT_EQ(test, call(IOCTL(nr) | 8 << 16, buf,
					   sizeof(buf)), -ENOTTY);
		KUNIT_EXPECT_EQ(test, call(_IO(0xbc, nr), buf, sizeof(buf)),
				-ENOTTY);
	}
}

/*
 * Bytes that have to be zero, in calls that name an id that does not exist, and
 * that would otherwise fail for that.
 */
#define NO_ID	99

static const struct reserved {
	u32 nr;
	u32 size;
	u32 at;
	u32 len;
} reserveds[] = {
	{ 3, 24, 12, 4 },
	{ 4, 280, 12, 4 },
	{ 5, 376, 12, 4 },
	{ 6, 32, 28, 4 },
	{ 8, 112, 12, 4 },
	{ 9, 16, 12, 4 },
	{ 10, 160, 12, 4 },
	{ 11, 304, 20, 4 },
	{ 12, 16, 12, 4 },
	{ 13, 304, 20, 4 },
	{ 14, 272, 9, 1 },
	{ 14, 272, 12, 4 },
	{ 15, 16, 12, 4 },
	{ 16, 16, 12, 4 },
	{ 18, 184, 48, 8 },
	{ 22, 104, 76, 4 },
	{ 23, 24, 12, 4 },
	{ 24, 168, 20, 4 },
	/* CONNECT takes no cookie, DISCONNECT no event. */
	{ 11, 304, 8, 8 },
	{ 15, 16, 8, 4 },
	/* Private data ends at its length, a flag marks a port. */
	{ 11, 304, 48, 256 },
	{ 13, 304, 48, 256 },
	{ 14, 272, 16, 256 },
	{ 18, 184, 22, 2 },
};

static void reserved_desc(const struct reserved *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s byte %u",
		 commands[r->nr].name, r->at);
}

KUNIT_ARRAY_PARAM(reserved, reserveds, reserved_desc);

/* A call with the byte at @at changed, or with none */
static long call_reserved(u8 *buf, const struct reserved *r, u32 at)
{
	u32 head[2] = { r->size, NO_ID };

	memset(buf, 0, ROOM);
	memcpy(buf, head, sizeof(head));
	if (r->nr == 4)
		((struct rdma_cmx_id_bind *)buf)->addr.family = AF_INET;
	if (r->nr == 8)
		((struct rdma_cmx_resolve_addr *)buf)->dst.family = AF_INET;
	if (at)
		buf[at] = 0x40;
	return call(IOCTL(r->nr), buf, r->size);
}

static void abi_reserved(struct kunit *test)
{
	const struct reserved *r = test->param_value;
	u8 *buf = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_EQ(test, call_reserved(buf, r, 0), -ENOENT);
	for (i = r->at; i < r->at + r->len; i++)
		KUNIT_EXPECT_EQ_MSG(test, call_reserved(buf, r, i), -EINVAL,
				    "byte %u", i);
}

static void abi_private_data(struct kunit *test)
{
	struct rdma_cmx_connect connect;
	struct rdma_cmx_reject reject;
	u32 len;

	for (len = 0; len < 300; len++) {
		memset(&connect, 0, sizeof(connect));
		connect.size = sizeof(connect);
		connect.id = NO_ID;
		connect.param.private_data_len = len;
		memset(connect.param.private_data, 1,
		       min_t(u32, len, RDMA_CMX_MAX_PRIVATE_DATA));
		/* No message of the CM holds more than 255 bytes. */
		KUNIT_EXPECT_EQ(test, call(IOCTL(11), &connect,
					   sizeof(connect)),
				len < 256 ? -ENOENT : -EINVAL);
		connect.param.qp_num = 1 << 24;
		KUNIT_EXPECT_EQ(test, call(IOCTL(11), &connect,
					   sizeof(connect)), -EINVAL);
		memset(&reject, 0, sizeof(reject));
		reject.size = sizeof(reject);
		reject.id = NO_ID;
		reject.private_data_len = len;
		memset(reject.private_data, 1,
		       min_t(u32, len, RDMA_CMX_MAX_PRIVATE_DATA));
		KUNIT_EXPECT_EQ(test, call(IOCTL(14), &reject, sizeof(reject)),
				len < 256 ? -ENOENT : -EINVAL);
	}
}

/* A bit that means nothing yet is EOPNOTSUPP. */
static void abi_flags(struct kunit *test)
{
	struct rdma_cmx_resolve_addrinfo ai;
	struct rdma_cmx_getaddrinfo gai;
	struct rdma_cmx_connect connect;
	u32 bit;

	for (bit = 0; bit < 32; bit++) {
		memset(&connect, 0, sizeof(connect));
		connect.size = sizeof(connect);
		connect.id = NO_ID;
		connect.flags = BIT(bit);
		KUNIT_EXPECT_EQ(test, call(IOCTL(11), &connect,
					   sizeof(connect)), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, call(IOCTL(13), &connect,
					   sizeof(connect)),
				bit ? -EOPNOTSUPP : -ENOENT);
		memset(&ai, 0, sizeof(ai));
		ai.size = sizeof(ai);
		ai.id = NO_ID;
		ai.query.flags = BIT(bit);
		KUNIT_EXPECT_EQ(test, call(IOCTL(18), &ai, sizeof(ai)),
				bit < 3 ? -ENOENT : -EOPNOTSUPP);
		/* GETADDRINFO takes no names later. */
		memset(&gai, 0, sizeof(gai));
		gai.size = sizeof(gai);
		gai.query.flags = BIT(bit);
		KUNIT_EXPECT_EQ(test, call(IOCTL(21), &gai, sizeof(gai)),
				bit ? -EOPNOTSUPP : -ENOSPC);
		gai.query.flags = RDMA_CMX_AIQ_PORT;
		gai.query.ai_flags = BIT(bit);
		if (bit >= 6)
			KUNIT_EXPECT_EQ(test, call(IOCTL(21), &gai,
						   sizeof(gai)), -EOPNOTSUPP);
	}
}

/* With NO_PARAM the parameters must be zero. */
static void abi_no_param(struct kunit *test)
{
	struct rdma_cmx_connect connect;
	u32 i;

	for (i = 0; i <= sizeof(connect.param); i++) {
		memset(&connect, 0, sizeof(connect));
		connect.size = sizeof(connect);
		connect.id = NO_ID;
		connect.flags = RDMA_CMX_ACCEPT_NO_PARAM;
		if (i < sizeof(connect.param))
			((u8 *)&connect.param)[i] = 1;
		KUNIT_EXPECT_EQ_MSG(test, call(IOCTL(13), &connect,
					       sizeof(connect)),
				    i < sizeof(connect.param) ? -EINVAL :
								-ENOENT,
				    "byte %u", i);
	}
}

static u32 id_create(struct kunit *test, long want)
{
	struct rdma_cmx_id_create create = {
		.size = sizeof(create), .port_space = RDMA_PS_TCP,
		.qp_type = IB_QPT_RC, .uid = 1,
	};

	KUNIT_EXPECT_EQ(test, call(IOCTL(2), &create, sizeof(create)), want);
	return create.id;
}

static long id_destroy(u32 handle)
{
	struct rdma_cmx_destroy destroy = {
		.size = sizeof(destroy), .handle = handle,
	};

	return call(IOCTL(3), &destroy, sizeof(destroy));
}

static void abi_limit_ids(struct kunit *test)
{
	u32 id[3];

	param_set(test, ucmx_fops.owner, "max_ids", 3);
	id[0] = id_create(test, 0);
	id[1] = id_create(test, 0);
	id[2] = id_create(test, 0);
	id_create(test, -EMFILE);
	KUNIT_EXPECT_EQ(test, id_destroy(id[1]), 0);
	KUNIT_EXPECT_EQ(test, id_destroy(id[1]), -ENOENT);
	id[1] = id_create(test, 0);
	id_create(test, -EMFILE);
	KUNIT_EXPECT_EQ(test, id_destroy(id[0]), 0);
	/* The close of the file destroys the rest. */
}

static void abi_limit_events(struct kunit *test)
{
	struct rdma_cmx_write_event event = {
		.size = sizeof(event), .event = 18, .status = -5, .arg = 7,
	};
	struct rdma_cmx_get_events get = {
		.size = sizeof(get), .buf = user + PAGE_SIZE,
		.buf_len = PAGE_SIZE,
	};
	int i;

	param_set(test, ucmx_fops.owner, "max_events", 3);
	event.id = id_create(test, 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, call(IOCTL(17), &event, sizeof(event)),
				0);
	KUNIT_EXPECT_EQ(test, call(IOCTL(17), &event, sizeof(event)), -EAGAIN);
	get.buf_len = 8;
	KUNIT_EXPECT_EQ(test, call(IOCTL(1), &get, sizeof(get)), -ENOSPC);
	get.buf_len = PAGE_SIZE;
	get.buf = user + USER_PAGES * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, call(IOCTL(1), &get, sizeof(get)), -EFAULT);
	/* Neither took one away. */
	get.buf = user + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, call(IOCTL(1), &get, sizeof(get)), 0);
	KUNIT_EXPECT_EQ(test, get.count, 3u);
	KUNIT_EXPECT_EQ(test, call(IOCTL(1), &get, sizeof(get)), -EAGAIN);
	KUNIT_EXPECT_EQ(test, call(IOCTL(17), &event, sizeof(event)), 0);
	event.event = 17;
	KUNIT_EXPECT_EQ(test, call(IOCTL(17), &event, sizeof(event)), -EINVAL);
	KUNIT_EXPECT_EQ(test, id_destroy(event.id), 0);
	KUNIT_EXPECT_EQ(test, call(IOCTL(1), &get, sizeof(get)), -EAGAIN);
}

/* The count is that of unfinished resolutions. */
static void abi_limit_requests(struct kunit *test)
{
	struct rdma_cmx_resolve_addrinfo ai = {
		.size = sizeof(ai),
		.query = {
			.flags = RDMA_CMX_AIQ_NAMES_LATER,
			.node = user + PAGE_SIZE, .node_len = 4,
		},
	};
	struct rdma_cmx_give_names give = {
		.size = sizeof(give), .error = ENOENT,
	};
	u32 id[3];
	u8 *buf = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	param_set(test, ucmx_fops.owner, "max_requests", 2);
	for (i = 0; i < 3; i++)
		id[i] = id_create(test, 0);
	for (i = 0; i < 4; i++) {
		memcpy(buf, &ai, sizeof(ai));
		memcpy(buf + 4, &id[i % 3], 4);
		memcpy(buf + PAGE_SIZE, "host", 4);
		KUNIT_EXPECT_EQ(test, call(IOCTL(18), buf, ROOM),
				i < 2 ? 0 : i == 2 ? -EAGAIN : -EBUSY);
	}
	give.id = id[0];
	KUNIT_EXPECT_EQ(test, call(IOCTL(19), &give, sizeof(give)), 0);
	KUNIT_EXPECT_EQ(test, call(IOCTL(19), &give, sizeof(give)), -ESRCH);
	give.id = id[2];
	KUNIT_EXPECT_EQ(test, call(IOCTL(19), &give, sizeof(give)), -ESRCH);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(atomic_read(&((struct ucmx_file *)
					   filp->private_data)->nr_requests) ==
			     1));
	memcpy(buf, &ai, sizeof(ai));
	memcpy(buf + 4, &id[2], 4);
	memcpy(buf + PAGE_SIZE, "host", 4);
	KUNIT_EXPECT_EQ(test, call(IOCTL(18), buf, ROOM), 0);
	/* Two are outstanding when the file is closed. */
}

/* An older caller's struct: not a byte behind it is written. */
static void abi_old_caller(struct kunit *test)
{
	struct rdma_cmx_join *join;
	u8 *buf = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	struct rdma_cmx_get_info *info = (void *)buf;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 0xa5, ROOM);
	info->size = 24;
	KUNIT_EXPECT_EQ(test, call(IOCTL(0), buf, ROOM), 0);
	KUNIT_EXPECT_EQ(test, info->size, 24u);
	KUNIT_EXPECT_EQ(test, info->abi_version, 1u);
	KUNIT_EXPECT_GT(test, info->max_ids, 0u);
	KUNIT_EXPECT_NULL(test, memchr_inv(buf + 24, 0xa5, ROOM - 24));
	/* Fields that an older JOIN did not have are 0, whatever follows. */
	memset(buf, 0xa5, ROOM);
	memset(buf, 0, 72);
	join = (void *)buf;
	join->size = 72;
	join->id = NO_ID;
	KUNIT_EXPECT_EQ(test, call(IOCTL(22), buf, ROOM), -ENOENT);
	KUNIT_EXPECT_NULL(test, memchr_inv(buf + 72, 0xa5, ROOM - 72));
}

static struct kunit_case abi_cases[] = {
	KUNIT_CASE_PARAM(abi_size, command_gen_params),
	KUNIT_CASE_PARAM(abi_fault, command_gen_params),
	KUNIT_CASE(abi_unknown),
	KUNIT_CASE_PARAM(abi_reserved, reserved_gen_params),
	KUNIT_CASE(abi_private_data),
	KUNIT_CASE(abi_flags),
	KUNIT_CASE(abi_no_param),
	KUNIT_CASE(abi_limit_ids),
	KUNIT_CASE(abi_limit_events),
	KUNIT_CASE(abi_limit_requests),
	KUNIT_CASE(abi_old_caller),
	{}
};

static struct kunit_suite abi_suite = {
	.name = "ucmx_abi",
	.suite_init = abi_suite_init,
	.suite_exit = abi_suite_exit,
	.init = abi_init,
	.exit = abi_exit,
	.test_cases = abi_cases,
};

kunit_test_suite(abi_suite);
