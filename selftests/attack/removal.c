// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user blocks the kernel in a page fault while a command copies, and the
 * administrator removes the RDMA device. Each command that copies has a
 * separate process, of an ordinary user unless it needs a capability.
 * Userfaultfd blocks its copy, which a parameter allows; FUSE needs none.
 * Meanwhile other commands use the id, the removal of the device ends, and
 * SIGKILL ends the process. Other delays of the end of an id are here, too.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "uapi.h"

#include "harness.h"

#define PAGE		4096
#define DEVICE_ADDR	"10.97.0.1"
#define DEADLINE_S	60	/* of the removal, and of a killed process */
#define PREPARE_S	120	/* of a process beside the others */
#define GROUPS		3
#define USER		1000
#define USERFAULTFD	"/proc/sys/vm/unprivileged_userfaultfd"
/* A CM request without a reply times out after 69 s: 16 times 4.3 s. */
#define PROMPT_MS	30000

/* The objects of a blocked command; @arg and @buf are a page each */
struct victim {
	int fd, other, uffd;
	uint32_t id;		/* that the command locks, if any */
	uint32_t free;		/* that another thread uses */
	void *arg, *buf;
	unsigned int ioctl;
	atomic_int ended;
};

/* Where the copy blocks */
enum stop {
	WRITE_ARG,
	WRITE_BUF,
	READ_BUF,
};

struct command {
	const char *name;
	unsigned int nr;
	int (*prepare)(struct victim *v);
	enum stop stop;
	bool admin;		/* it needs CAP_NET_ADMIN */
};

#define ARG(v, name, cmd)						\
	struct rdma_cmx_##name *arg = ((v)->ioctl = RDMA_CMX_IO(cmd), (v)->arg); \
	arg->size = sizeof(*arg)

static int prepare_info(struct victim *v)
{
	ARG(v, get_info, GET_INFO);
	return 0;
}

static int prepare_events(struct victim *v)
{
	ARG(v, get_events, GET_EVENTS);
	arg->buf = (uintptr_t)v->buf;
	arg->buf_len = PAGE;
	return id_write_event(v->fd, v->id, 0, 1);
}

static int prepare_create(struct victim *v)
{
	ARG(v, id_create, ID_CREATE);
	arg->port_space = RDMA_PS_TCP;
	arg->qp_type = QPT_RC;
	arg->uid = 1;
	return 0;
}

static int prepare_destroy(struct victim *v)
{
	ARG(v, destroy, ID_DESTROY);
	arg->handle = v->id;
	return 0;
}

static int prepare_bind(struct victim *v)
{
	int ret = id_create(v->fd, RDMA_PS_TCP, 5, &v->id);
	ARG(v, id_bind, ID_BIND);

	arg->id = v->id;
	addr_set(&arg->addr, DEVICE_ADDR, 0);
	v->free = v->id;
	return ret;
}

static int prepare_query(struct victim *v)
{
	ARG(v, id_query, ID_QUERY);
	arg->id = v->id;
	return 0;
}

static int prepare_option(struct victim *v)
{
	ARG(v, id_set_option, ID_SET_OPTION);
	arg->id = v->id;
	arg->level = RDMA_OPTION_ID;
	arg->optname = RDMA_OPTION_ID_REUSEADDR;
	arg->optval = (uintptr_t)v->buf;
	arg->optlen = sizeof(int);
	return 0;
}

static int prepare_migrate(struct victim *v)
{
	ARG(v, id_migrate, ID_MIGRATE);
	arg->id = v->id;
	arg->src_fd = v->fd;
	v->other = v->fd;
	v->fd = dev_open(O_NONBLOCK);
	return v->fd < 0 ? -errno : 0;
}

static int prepare_qp_attr(struct victim *v)
{
	ARG(v, init_qp_attr, INIT_QP_ATTR);
	arg->id = v->id;
	arg->qp_state = 1;	/* IB_QPS_INIT */
	return 0;
}

static int prepare_resolve(struct victim *v)
{
	ARG(v, resolve_addrinfo, RESOLVE_ADDRINFO);
	arg->id = v->id;
	arg->query.node = (uintptr_t)v->buf;
	arg->query.node_len = strlen(DEVICE_ADDR);
	return 0;
}

static int prepare_names(struct victim *v)
{
	ARG(v, give_names, GIVE_NAMES);
	arg->id = v->id;
	arg->names = (uintptr_t)v->buf;
	arg->names_len = sizeof(struct rdma_cmx_names);
	return 0;
}

static int result_make(int fd, uint32_t id)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };
	union event_buf buf;

	arg.query.node = (uintptr_t)DEVICE_ADDR;
	arg.query.node_len = strlen(DEVICE_ADDR);
	return call(fd, RESOLVE_ADDRINFO, &arg) ?:
	       event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf);
}

static int prepare_result(struct victim *v)
{
	ARG(v, query_addrinfo, QUERY_ADDRINFO);
	arg->id = v->id;
	arg->buf = (uintptr_t)v->buf;
	arg->buf_len = PAGE;
	return result_make(v->fd, v->id);
}

static int prepare_getaddrinfo(struct victim *v)
{
	ARG(v, getaddrinfo, GETADDRINFO);
	arg->query.node = (uintptr_t)DEVICE_ADDR;
	arg->query.node_len = strlen(DEVICE_ADDR);
	arg->buf = (uintptr_t)v->buf;
	arg->buf_len = PAGE;
	return 0;
}

static int prepare_join(struct victim *v)
{
	ARG(v, join, JOIN);
	arg->id = v->id;
	arg->uid = 1;
	arg->join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	addr_set(&arg->addr, GROUP, 0);
	return 0;
}

static void items_set(struct rdma_cmx_join_item *items, int n)
{
	char group[20];
	int i;

	for (i = 0; i < n; i++) {
		snprintf(group, sizeof(group), "239.97.0.%d", i + 1);
		items[i].uid = i + 1;
		items[i].join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
		addr_set(&items[i].addr, group, 0);
	}
}

static int prepare_join_many(struct victim *v)
{
	ARG(v, join_many, JOIN_MANY);
	arg->id = v->id;
	arg->items = (uintptr_t)v->buf;
	arg->count = GROUPS;
	arg->item_size = sizeof(struct rdma_cmx_join_item);
	items_set(v->buf, GROUPS);
	return 0;
}

static int prepare_leave(struct victim *v)
{
	int ret = mc_join(v->fd, v->id, GROUP, 1, &v->free);
	ARG(v, destroy, LEAVE);

	arg->handle = v->free;
	v->free = v->id;
	return ret;
}

/* An id with a request of its peer, on the device that stays */
static int prepare_conn_qp_attr(struct victim *v)
{
	uint32_t listener, active;
	int ret = request_get(v->fd, RDMA_PS_TCP, 2, &listener, &active,
			      &v->id);
	ARG(v, conn_qp_attr, CONN_QP_ATTR);

	arg->id = v->id;
	v->free = v->id;
	return ret;
}

static int prepare_any(struct victim *v)
{
	int ret = id_create(v->fd, RDMA_PS_TCP, 5, &v->id);
	ARG(v, resolve_any, RESOLVE_ANY);

	arg->id = v->id;
	arg->flags = RDMA_CMX_ANY_RACE;
	arg->timeout_ms = 60000;
	arg->qps = (uintptr_t)v->buf;
	arg->num_qps = 1;
	v->free = v->id;
	return ret ?: result_make(v->fd, v->id);
}

static int prepare_candidates(struct victim *v)
{
	ARG(v, query_candidates, QUERY_CANDIDATES);
	arg->id = v->id;
	arg->flags = RDMA_CMX_CANDIDATES_UNTRIED;
	arg->candidates = (uintptr_t)v->buf;
	arg->candidate_size = sizeof(struct rdma_cmx_candidate_info);
	arg->max_candidates = PAGE / arg->candidate_size;
	return result_make(v->fd, v->id);
}

static int prepare_advertise(struct victim *v)
{
	ARG(v, advertise, ADVERTISE);
	arg->service_id = 0x1061970;
	strcpy((char *)arg->name, "removal");
	return 0;
}

/* A service without a port: this guest has no InfiniBand. */
static int service_new(int fd, uint64_t service_id, uint32_t *handle)
{
	struct rdma_cmx_advertise arg = {
		.service_id = service_id, .name = "removal",
	};
	int ret = call(fd, ADVERTISE, &arg);

	*handle = arg.handle;
	return ret;
}

static int prepare_withdraw(struct victim *v)
{
	ARG(v, destroy, WITHDRAW);
	return service_new(v->fd, 0x1061971, &arg->handle);
}

static int prepare_advertised(struct victim *v)
{
	ARG(v, query_advertised, QUERY_ADVERTISED);
	return service_new(v->fd, 0x1061972, &arg->handle);
}

static int prepare_get_paths(struct victim *v)
{
	ARG(v, get_paths, GET_PATHS);
	return 0;
}

static int prepare_drop_paths(struct victim *v)
{
	ARG(v, drop_paths, DROP_PATHS);
	return 0;
}

#define ROW(cmd, what, prepare, stop)					\
	{ #cmd what, RDMA_CMX_CMD_##cmd, prepare, stop, false }
#define ADMIN_ROW(cmd, prepare, stop)					\
	{ #cmd, RDMA_CMX_CMD_##cmd, prepare, stop, true }

static const struct command commands[] = {
	ROW(GET_INFO, "", prepare_info, WRITE_ARG),
	ROW(GET_EVENTS, "", prepare_events, WRITE_BUF),
	ROW(ID_CREATE, "", prepare_create, WRITE_ARG),
	ROW(ID_DESTROY, "", prepare_destroy, WRITE_ARG),
	ROW(ID_BIND, "", prepare_bind, WRITE_ARG),
	ROW(ID_QUERY, "", prepare_query, WRITE_ARG),
	ROW(ID_SET_OPTION, "", prepare_option, READ_BUF),
	ROW(ID_MIGRATE, "", prepare_migrate, WRITE_ARG),
	ROW(INIT_QP_ATTR, "", prepare_qp_attr, WRITE_ARG),
	ROW(RESOLVE_ADDRINFO, "", prepare_resolve, READ_BUF),
	ROW(GIVE_NAMES, "", prepare_names, READ_BUF),
	ROW(QUERY_ADDRINFO, "", prepare_result, WRITE_BUF),
	ROW(QUERY_ADDRINFO, "'s struct", prepare_result, WRITE_ARG),
	ROW(GETADDRINFO, "", prepare_getaddrinfo, WRITE_BUF),
	ROW(JOIN, "", prepare_join, WRITE_ARG),
	ROW(JOIN_MANY, "", prepare_join_many, WRITE_BUF),
	ROW(JOIN_MANY, "'s struct", prepare_join_many, WRITE_ARG),
	ROW(LEAVE, "", prepare_leave, WRITE_ARG),
	ROW(CONN_QP_ATTR, "", prepare_conn_qp_attr, WRITE_ARG),
	ROW(RESOLVE_ANY, "", prepare_any, READ_BUF),
	ROW(QUERY_CANDIDATES, "", prepare_candidates, WRITE_BUF),
	ROW(QUERY_CANDIDATES, "'s struct", prepare_candidates, WRITE_ARG),
	ADMIN_ROW(ADVERTISE, prepare_advertise, WRITE_ARG),
	ADMIN_ROW(WITHDRAW, prepare_withdraw, WRITE_ARG),
	ADMIN_ROW(QUERY_ADVERTISED, prepare_advertised, WRITE_ARG),
	ROW(GET_PATHS, "", prepare_get_paths, WRITE_ARG),
	ADMIN_ROW(DROP_PATHS, prepare_drop_paths, WRITE_ARG),
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

/* Commands that are not stopped */
static const unsigned int unstopped[] = {
	/* The only copy is that of their struct, before they begin. */
	RDMA_CMX_CMD_RESOLVE_ADDR,
	RDMA_CMX_CMD_RESOLVE_ROUTE,
	RDMA_CMX_CMD_CONNECT,
	RDMA_CMX_CMD_LISTEN,
	RDMA_CMX_CMD_ACCEPT,
	RDMA_CMX_CMD_REJECT,
	RDMA_CMX_CMD_DISCONNECT,
	RDMA_CMX_CMD_NOTIFY,
	RDMA_CMX_CMD_WRITE_EVENT,
	/* It copies nothing without an InfiniBand port. */
	RDMA_CMX_CMD_GET_SERVICES,
};

#define UNSTOPPED	(sizeof(unstopped) / sizeof(unstopped[0]))

static int protect(struct victim *v, void *page, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)page, PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(v->uffd, UFFDIO_WRITEPROTECT, &wp);
}

/* The pages have data. From now on an access to one of them blocks. */
static int stop_set(struct victim *v, enum stop stop)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = {
		.range = { (uintptr_t)v->arg, 2 * PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING |
			UFFDIO_REGISTER_MODE_WP,
	};

	v->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (v->uffd < 0 || ioctl(v->uffd, UFFDIO_API, &api) ||
	    ioctl(v->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	if (stop == READ_BUF)
		return madvise(v->buf, PAGE, MADV_DONTNEED);
	return protect(v, stop == WRITE_ARG ? v->arg : v->buf, true);
}

/* True if a thread is blocked, false if the command has ended */
static bool stopped(struct victim *v)
{
	struct pollfd pfd = { v->uffd, POLLIN, 0 };
	struct uffd_msg msg;

	for (;;) {
		if (poll(&pfd, 1, 10) == 1 &&
		    read(v->uffd, &msg, sizeof(msg)) == sizeof(msg))
			return true;
		if (v->ended)
			return false;
	}
}

static void *victim_run(void *arg)
{
	struct victim *v = arg;

	ioctl(v->fd, v->ioctl, v->arg);
	v->ended = 1;
	return NULL;
}

static int victim_prepare(struct victim *v, const struct command *cmd)
{
	int ret;

	v->arg = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (v->arg == MAP_FAILED)
		return -errno;
	v->buf = v->arg + PAGE;
	memset(v->arg, 0, 2 * PAGE);
	v->fd = v->other = dev_open(O_NONBLOCK);
	if (v->fd < 0)
		return -errno;
	ret = id_create(v->fd, RDMA_PS_UDP, 1, &v->id) ?:
	      id_bind(v->fd, v->id, DEVICE_ADDR, 0);
	v->free = v->id;
	return ret ?: cmd->prepare(v) ?: stop_set(v, cmd->stop);
}

static void say(int to, char what)
{
	if (write(to, &what, 1) != 1)
		_exit(1);
}

/*
 * Runs one command. Writes 's' when its copy is blocked, and 'f' when another
 * command on the id was not. Then the copy continues up to the next one, if
 * there is one, and this repeats.
 */
static void victim_main(const struct command *cmd, int to)
{
	struct victim v = {};
	pthread_t thread;
	int round;

	if ((!cmd->admin && user_become(USER)) || victim_prepare(&v, cmd) ||
	    pthread_create(&thread, NULL, victim_run, &v))
		_exit(1);
	for (round = 0; round < 2 && stopped(&v); round++) {
		say(to, 's');
		/* The command may have ended already. */
		id_write_event(v.other, v.free, 0, 2);
		say(to, 'f');
		if (round || cmd->stop == READ_BUF)
			break;
		protect(&v, cmd->stop == WRITE_ARG ? v.arg : v.buf, false);
		protect(&v, cmd->stop == WRITE_ARG ? v.arg : v.buf, true);
	}
	say(to, 'd');
	for (;;)
		pause();
}

/* The next byte; 0 after the deadline */
static char receive(int from)
{
	struct pollfd pfd = { from, POLLIN, 0 };
	char what;

	if (poll(&pfd, 1, PREPARE_S * 1000) != 1 ||
	    read(from, &what, 1) != 1)
		return 0;
	return what;
}

static bool ends(pid_t pid)
{
	int i;

	for (i = 0; i < DEADLINE_S * 10; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		poll(NULL, 0, 100);
	}
	return false;
}

static bool run_within(const char *command)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return ends(pid);
}

static int device_add(void)
{
	return system("ip link add cmxrm0 type dummy && "
		      "ip addr add " DEVICE_ADDR "/24 dev cmxrm0 && "
		      "ip link set cmxrm0 up multicast on && "
		      "rdma link add rxe_rm type rxe netdev cmxrm0");
}

FIXTURE(removal) {
	int fd;
};

FIXTURE_SETUP(removal)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(removal)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
	EXPECT_TRUE(counter_wait("live_mcs", 0));
	EXPECT_TRUE(counter_wait("live_queries", 0));
	EXPECT_TRUE(counter_wait("live_advertised", 0));
}

static bool is_listed(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < COMMANDS; i++)
		if (commands[i].nr == nr)
			return true;
	for (i = 0; i < UNSTOPPED; i++)
		if (unstopped[i] == nr)
			return true;
	return false;
}

/* Each command of the module is in one of the tables. */
TEST_F(removal, all_commands)
{
	unsigned int nr;

	for (nr = 0; ioctl(self->fd, _IO(RDMA_CMX_IOC_TYPE, nr), NULL) &&
	     errno == EFAULT; nr++) {
		EXPECT_TRUE(is_listed(nr)) {
			TH_LOG("command %u is in no table", nr);
		}
	}
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_LT(RDMA_CMX_CMD_DROP_PATHS, nr);
}

TEST_F_TIMEOUT(removal, stopped_copies, 1200)
{
	pid_t pids[COMMANDS];
	int pipes[COMMANDS][2];
	long before = number_get(USERFAULTFD);
	unsigned int i;

	ASSERT_EQ(0, number_set(USERFAULTFD, 1));
	ASSERT_EQ(0, device_add());
	for (i = 0; i < COMMANDS; i++) {
		ASSERT_EQ(0, pipe(pipes[i]));
		pids[i] = fork();
		if (!pids[i])
			victim_main(&commands[i], pipes[i][1]);
		close(pipes[i][1]);
	}
	for (i = 0; i < COMMANDS; i++) {
		char what = receive(pipes[i][0]);

		EXPECT_EQ('s', what) {
			TH_LOG("%s was not stopped", commands[i].name);
		}
		for (; what == 's'; what = receive(pipes[i][0])) {
			what = receive(pipes[i][0]);
			EXPECT_EQ('f', what) {
				TH_LOG("%s holds its id", commands[i].name);
			}
			if (!what)
				break;
		}
	}
	EXPECT_TRUE(run_within("rdma link del rxe_rm")) {
		TH_LOG("the device waits");
	}
	for (i = 0; i < COMMANDS; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < COMMANDS; i++) {
		EXPECT_TRUE(ends(pids[i])) {
			TH_LOG("%s does not end", commands[i].name);
		}
		close(pipes[i][0]);
	}
	EXPECT_EQ(0, system("ip link del cmxrm0"));
	EXPECT_EQ(0, number_set(USERFAULTFD, before));
}

static void *result_take(void *arg)
{
	struct victim *v = arg;

	v->ended = ioctl(v->fd, v->ioctl, v->arg) ? errno : -1;
	return NULL;
}

/* Two callers copy the result; one of them consumes it. */
TEST_F_TIMEOUT(removal, result_is_taken_once, 100)
{
	struct rdma_cmx_query_addrinfo second = {};
	struct victim v = { .fd = self->fd };
	static char buf[PAGE];
	pthread_t thread;
	int ended;

	v.arg = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, v.arg);
	v.buf = v.arg + PAGE;
	ASSERT_EQ(0, id_create(v.fd, RDMA_PS_TCP, 1, &v.id));
	ASSERT_EQ(0, prepare_result(&v));
	ASSERT_EQ(0, stop_set(&v, WRITE_BUF));
	ASSERT_EQ(0, pthread_create(&thread, NULL, result_take, &v));
	ASSERT_TRUE(stopped(&v));

	second.id = v.id;
	second.buf = (uintptr_t)buf;
	second.buf_len = 8;
	EXPECT_EQ(-ENOSPC, call(v.fd, QUERY_ADDRINFO, &second));
	second.buf_len = sizeof(buf);
	EXPECT_EQ(0, call(v.fd, QUERY_ADDRINFO, &second));
	EXPECT_LT(0, second.len);
	EXPECT_EQ(-ENOENT, call(v.fd, QUERY_ADDRINFO, &second));

	ASSERT_EQ(0, protect(&v, v.buf, false));
	pthread_join(thread, NULL);
	ended = v.ended;
	EXPECT_EQ(ENOENT, ended);
	EXPECT_EQ(0, id_destroy(v.fd, v.id) < 0);
	close(v.uffd);
}

/* A group whose handle cannot be written is never joined. */
TEST_F(removal, unwritable_items_are_not_joined)
{
	struct rdma_cmx_join_many arg = {
		.count = GROUPS,
		.item_size = sizeof(struct rdma_cmx_join_item),
	};
	long before = counter("memberships");
	void *page;

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	items_set(page, GROUPS);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &arg.id));
	ASSERT_EQ(0, id_bind(self->fd, arg.id, ADDR_RDMA, 0));
	arg.items = (uintptr_t)page;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(before, counter("memberships"));
	EXPECT_FALSE(event_pending(self->fd));
}

/* The peer has the reply of the passive id and does not send the RTU. */
static int half_connect(int fd, uint32_t *passive)
{
	uint32_t listener, active;
	union event_buf buf;

	return request_get(fd, RDMA_PS_TCP, 2, &listener, &active, passive) ?:
	       id_accept(fd, *passive, 3) ?:
	       event_want(fd, EV_CONNECT_RESPONSE, &buf);
}

static double destroy_ms(int fd, uint32_t id)
{
	double start = now_ms();

	id_destroy(fd, id);
	return now_ms() - start;
}

TEST_F_TIMEOUT(removal, reject_after_accept, 100)
{
	struct rdma_cmx_reject reject = {};

	ASSERT_EQ(0, half_connect(self->fd, &reject.id));
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &reject));
	EXPECT_GT(PROMPT_MS, destroy_ms(self->fd, reject.id));
}

TEST_F_TIMEOUT(removal, accept_after_accept, 100)
{
	uint32_t passive;

	ASSERT_EQ(0, half_connect(self->fd, &passive));
	EXPECT_EQ(-EINVAL, id_accept(self->fd, passive, 4));
	EXPECT_GT(PROMPT_MS, destroy_ms(self->fd, passive));
}

/* IBV_EVENT_COMM_EST */
#define COMM_EST	4

TEST_F_TIMEOUT(removal, destroy_after_notify, 100)
{
	struct rdma_cmx_id_arg notify = { .event = COMM_EST };
	int round;

	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, half_connect(self->fd, &notify.id));
		EXPECT_EQ(0, call(self->fd, NOTIFY, &notify));
		ASSERT_GT(PROMPT_MS, destroy_ms(self->fd, notify.id));
		close(self->fd);
		self->fd = dev_open(O_NONBLOCK);
		ASSERT_LE(0, self->fd);
	}
}

/* More routes than the limit are not copied. */
TEST_F(removal, too_many_routes)
{
	struct rdma_cmx_getaddrinfo arg = {};

	arg.query.node = (uintptr_t)ADDR_RDMA;
	arg.query.node_len = strlen(ADDR_RDMA);
	arg.query.route = 8;
	arg.query.route_len = 8 * 72;
	EXPECT_EQ(-EFAULT, call(self->fd, GETADDRINFO, &arg));
	arg.query.route_len = 9 * 72;
	EXPECT_EQ(-EINVAL, call(self->fd, GETADDRINFO, &arg));
}

TEST_HARNESS_MAIN
