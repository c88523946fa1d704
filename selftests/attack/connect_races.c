// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Threads of unprivileged users race CONNECT, DISCONNECT, RESOLVE_ANY,
 * ID_MIGRATE, ID_DESTROY, close and others on ids that wait for a slot.
 * Meanwhile root changes the parameters, removes the device of one user, tries
 * to unload rdma_ucmx, and kills attackers and a listener. Another listener
 * never accepts.
 *
 * A user who does not attack connects all the time. At the end no object is
 * left, and all slots are free.
 */
#include "connect_races.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STORM_MS	8000
#define THREADS		3
#define CELLS		64
#define FILES		3
#define VICTIM		3000
#define VICTIM_CONNECTS	3

/* Ports of the listeners */
#define SERVED		22001	/* accepts */
#define MORTAL		22003	/* killed and restarted at times */
#define REMOVABLE	22004	/* of DEVICE_ADDR */

static struct shared {
	_Atomic bool calm, served;
	_Atomic int connected, nexts;
} *shared;

/* An attacking process: its files and their ids */
static struct {
	_Atomic int fd[FILES];
	_Atomic uint64_t cell[CELLS];	/* file << 32 | handle; 0: none */
	const char *addr;
} mine;

static int accept_call(int fd, uint32_t id)
{
	struct rdma_cmx_connect arg = { .id = id, .uid = 3 };

	param_set(&arg.param);
	return call(fd, ACCEPT, &arg);
}

/* Accepts all requests, and destroys the ids some time later. */
static int serve_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint32_t old[64] = {}, n = 0;
	union event_buf buf;

	if (fd < 0 || listen_at(fd, ADDR_RDMA, SERVED))
		return 1;
	shared->served = true;
	for (;;) {
		if (poll(&p, 1, 1000) != 1 ||
		    events_get(fd, &buf, sizeof(buf), 1, NULL) ||
		    buf.ev.event != EV_CONNECT_REQUEST)
			continue;
		accept_call(fd, buf.ev.obj);
		if (old[n % 64])
			id_destroy(fd, old[n % 64]);
		old[n++ % 64] = buf.ev.obj;
	}
}

static int silent_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK);
	double end = now_ms() + 60000;

	/* Ids of the previous process may still exist. */
	while (fd >= 0 && listen_at(fd, ADDR_RDMA, (uintptr_t)arg)) {
		if (now_ms() > end)
			return 1;
		poll(NULL, 0, 50);
	}
	pause();
	return 0;
}

/* Connects and waits for the reply. 0; 1: no slot in time; or an error. */
static int victim_connect(int fd)
{
	union event_buf buf;
	uint32_t id;
	int ret;

	ret = active_new(fd, 9, SERVED, &id) ?: connect_call(fd, id);
	if (ret == -EAGAIN)
		ret = 1;
	else if (!ret)
		ret = event_next(fd, &buf);
	if (!ret && buf.ev.event == EV_UNREACHABLE && buf.ev.status == -ETIMEDOUT)
		ret = 1;
	else if (!ret && buf.ev.event != EV_CONNECT_RESPONSE)
		ret = -EPROTO;
	if (ret < 0)
		fprintf(stderr, "# the victim's error %d, event %u, %d\n", ret,
			buf.ev.event, buf.ev.status);
	id_destroy(fd, id);
	return ret;
}

static int victim_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK), ret, n = 0;
	bool calm;

	while (n < VICTIM_CONNECTS) {
		calm = shared->calm;
		ret = victim_connect(fd);
		if (ret < 0 || (ret && calm))
			return 1;
		n += calm;
	}
	return 0;
}

static int cell_get(unsigned int *seed, uint32_t *id, _Atomic uint64_t **cell)
{
	uint64_t value;

	*cell = &mine.cell[rand_r(seed) % CELLS];
	value = **cell;
	*id = value;
	return mine.fd[value >> 32];
}

/* Resolves a name to a result of three addresses. */
static int addrinfo(int fd, uint32_t id)
{
	const char *const text[] = { mine.addr, "fd55::1", ADDR_RDMA };
	struct {
		struct rdma_cmx_names head;
		struct rdma_cmx_names_addr addr[3];
	} names = {
		.head.version = RDMA_CMX_NAMES_VERSION, .head.addr_count = 3,
	};
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.node = (uintptr_t)"any.example",
		.query.node_len = 11,
		.query.port_space = RDMA_PS_TCP,
		.query.port = htons(id % 2 ? SILENT : MORTAL),
		.query.flags = RDMA_CMX_AIQ_PORT,
		.query.names = (uintptr_t)&names,
		.query.names_len = sizeof(names),
	};
	int i;

	for (i = 0; i < 3; i++) {
		names.addr[i].family = i == 1 ? AF_INET6 : AF_INET;
		inet_pton(names.addr[i].family, text[i], names.addr[i].addr);
	}
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

static int any(int fd, uint32_t id, bool next)
{
	struct rdma_cmx_resolve_any arg = {
		.id = id,
		.flags = next ? RDMA_CMX_ANY_NEXT : RDMA_CMX_ANY_CONNECT,
		.timeout_ms = next ? 0 : 500 + id % 4 * 4000,
		.delay_ms = next ? 0 : 10,
		.step = next ? RDMA_CMX_STEP_REQUEST : 0,
		.error = next ? ECONNREFUSED : 0,
	};

	return call(fd, RESOLVE_ANY, &arg);
}

/* Retry a command that came too early? */
static bool again(int ret, double end)
{
	if ((ret != -EINVAL && ret != -EBUSY && ret != -ENOENT) ||
	    now_ms() > end)
		return false;
	poll(NULL, 0, 1);
	return true;
}

static int read_some(int fd)
{
	union event_buf buf;

	return events_get(fd, &buf, sizeof(buf), 0, NULL);
}

/* Creates an id for a cell, which other threads then use; connects it. */
static void id_make(unsigned int *seed)
{
	unsigned int file = rand_r(seed) % FILES, how = rand_r(seed);
	uint16_t port = how % 3 ? SILENT : how & 8 ? SERVED : MORTAL;
	bool by_name = how & 4;
	double end = now_ms() + 2000;
	int fd = mine.fd[file], ret;
	uint64_t old;
	uint32_t id;

	if (!strcmp(mine.addr, DEVICE_ADDR))
		port = REMOVABLE;
	if (id_create(fd, RDMA_PS_TCP, 7, &id))
		return;
	old = atomic_exchange(&mine.cell[rand_r(seed) % CELLS],
			      (uint64_t)file << 32 | id);
	id_destroy(mine.fd[old >> 32], old);
	if (by_name) {
		ret = addrinfo(fd, id);
		while (!ret && again(ret = any(fd, id, false), end))
			ret = read_some(fd);
	} else {
		ret = id_resolve_addr(fd, id, NULL, mine.addr, port);
		while (!ret && again(ret = id_resolve_route(fd, id), end))
			ret = 0;
	}
	while (!ret && again(ret = connect_call(fd, id), end))
		ret = 0;
	if (!ret && by_name)
		shared->nexts += !any(fd, id, true);
	shared->connected += !ret;
}

static int migrate(unsigned int *seed)
{
	struct rdma_cmx_id_migrate arg = {};
	unsigned int to = rand_r(seed) % FILES;
	_Atomic uint64_t *cell;
	int ret;

	arg.src_fd = cell_get(seed, &arg.id, &cell);
	ret = call(mine.fd[to], ID_MIGRATE, &arg);
	if (!ret)
		*cell = (uint64_t)to << 32 | arg.new_id;
	return ret;
}

static int reopen(unsigned int *seed)
{
	unsigned int i = rand_r(seed) % FILES;
	int fd = dev_open(O_NONBLOCK);

	if (fd < 0)
		return fd;
	return close(atomic_exchange(&mine.fd[i], fd));
}

static int one_call(unsigned int *seed, unsigned int what)
{
	struct rdma_cmx_candidate_info infos[4];
	struct rdma_cmx_query_candidates query = {
		.candidates = (uintptr_t)infos, .max_candidates = 4,
		.candidate_size = sizeof(infos[0]),
	};
	struct rdma_cmx_reject reject = {};
	struct rdma_cmx_id_arg arg = {};
	_Atomic uint64_t *cell;
	uint32_t id;
	int fd = cell_get(seed, &id, &cell);

	switch (what) {
	case 0 ... 3:
		return connect_call(fd, id);
	case 4 ... 7:
		arg.id = id;
		return call(fd, DISCONNECT, &arg);
	case 8 ... 9:
		return id_destroy(fd, id) < 0;
	case 10 ... 12:
		return migrate(seed);
	case 13 ... 14:
		return any(fd, id, true);
	case 15:
		return any(fd, id, false);
	case 16:
		query.id = id;
		return call(fd, QUERY_CANDIDATES, &query);
	case 17 ... 19:
		return read_some(fd);
	case 20:
		return accept_call(fd, id);
	case 21:
		reject.id = id;
		return call(fd, REJECT, &reject);
	case 22:
		arg.id = id;
		arg.event = 4;	/* IB_EVENT_COMM_EST */
		return call(fd, NOTIFY, &arg);
	case 23:
		return id_resolve_route(fd, id);
	case 24:
		return addrinfo(fd, id);
	case 25:
		return rand_r(seed) % 8 ? 1 : reopen(seed);
	default:
		id_make(seed);
		return 1;
	}
}

static void *attack(void *arg)
{
	unsigned int seed = (uintptr_t)arg, what;

	for (;;) {
		usleep(rand_r(&seed) % 4000);
		what = rand_r(&seed) % 40;
		one_call(&seed, what);
	}
	return NULL;
}

static pid_t attacker_start(int i)
{
	pthread_t thread;
	uintptr_t t;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (user_become(2000 + i))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mine.addr = i == 2 ? DEVICE_ADDR : ADDR_RDMA;
	for (t = 0; t < FILES; t++)
		mine.fd[t] = dev_open(O_NONBLOCK);
	for (t = 0; t < THREADS; t++)
		pthread_create(&thread, NULL, attack,
			       (void *)(t + getpid() * THREADS));
	pause();
	_exit(0);
}

static void parameter_change(void)
{
	static const long windows[] = { 64, 64, 64, 65, 128, 0 };
	static const long queues[] = { 65536, 20, 1 };
	static const long waits[] = { HOUR_MS, 1000, 1 };

	number_set(WINDOW, windows[rand() % 6]);
	number_set(QUEUE, queues[rand() % 3]);
	number_set(WAIT_MS, waits[rand() % 3]);
}

static void pid_again(pid_t *pid, pid_t fresh)
{
	pids_kill(pid, 1);
	*pid = fresh;
}

static bool unload_refused(void)
{
	return syscall(SYS_delete_module, "rdma_ucmx", O_NONBLOCK) < 0;
}

static bool all_happened(long waited)
{
	return atomic_load(&shared->connected) &&
	       atomic_load(&shared->nexts) &&
	       number_get(COUNTERS "connect_waits") > waited;
}

TEST_F(races, storm)
{
	double end = now_ms() + STORM_MS;
	long waited = number_get(COUNTERS "connect_waits");
	int round, i;

	shared = memory_share(sizeof(*shared));
	ASSERT_NE(MAP_FAILED, shared);
	self->serve = user_start(0, serve_run, NULL);
	while (!shared->served && now_ms() < end + 60000)
		poll(NULL, 0, 10);
	self->silent = user_start(0, silent_run, (void *)SILENT);
	self->victim = user_start(VICTIM, victim_run, NULL);
	for (i = 0; i < ATTACKERS; i++)
		self->pids[i] = attacker_start(i);
	srand(getpid());
	/* Each action runs at least once, on a slow host, too. */
	for (round = 0; round < 3 || now_ms() < end ||
	     (!all_happened(waited) && now_ms() < end + 60000); round++) {
		poll(NULL, 0, 100);
		parameter_change();
		pid_again(&self->mortal,
			  user_start(0, silent_run, (void *)MORTAL));
		text_put(CONSUMER, "connect-start deadline=9000 -- "
			 "10.55.0.1 22002");
		EXPECT_TRUE(unload_refused());
		if (round % 3 == 1) {
			EXPECT_EQ(0, device_del());
			pid_again(&self->pids[round % ATTACKERS],
				  attacker_start(round % ATTACKERS));
			EXPECT_EQ(0, device_add());
		}
		text_put(CONSUMER, round % 2 ? "connect-cancel" : "connect-end");
		ASSERT_EQ(0, waitpid(self->victim, NULL, WNOHANG));
	}
	parameters_calm();
	text_put(CONSUMER, "connect-end");
	shared->calm = true;
	EXPECT_EQ(0, user_end(self->victim));
	self->victim = 0;
	EXPECT_LT(0, atomic_load(&shared->connected));
	EXPECT_LT(0, atomic_load(&shared->nexts));
	EXPECT_LT(waited, number_get(COUNTERS "connect_waits"));
	pids_kill(self->pids, ATTACKERS);
	pids_kill(&self->mortal, 1);
	memset(self->pids, 0, sizeof(self->pids));
	self->mortal = 0;
	ASSERT_TRUE(waits_are(0));
	EXPECT_EQ(0, slots_missing());
}

TEST_HARNESS_MAIN
