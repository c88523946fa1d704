// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * load ADDR [THREADS [NAME [route]]]: load for tests that remove something
 * meanwhile. Each thread has a private file, on which it connects two ids over
 * ADDR, resolves numbers and NAME, joins, leaves, destroys. After a failure it
 * starts again. With "route" it resolves the route, and sends no request. Prints "ready" after a first round of each thread, and at SIGTERM the
 * number of successful rounds and of failed ones with their places.
 */
#include "ioctl.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define GROUPS	4

static const char *addr, *name = "storage.cmx.test";
static bool requests = true;
static _Atomic long good, bad_names, bad_groups, bad_connect;
static _Atomic int last_error;
static _Atomic int through;
static atomic_bool stop;

struct worker {
	pthread_t thread;
	unsigned int number;
	int fd;
};

static int resolve(int fd, uint32_t id, const char *node)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };

	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	arg.query.timeout_ms = 3000;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

static int events_drop(int fd)
{
	char buf[4096] __attribute__((aligned(8)));
	uint32_t count;

	while (!events_get(fd, buf, sizeof(buf), 0, &count))
		;
	return 0;
}

/* An event of any type completes it. */
static int answer(int fd)
{
	union event_buf buf;

	return event_next(fd, &buf) ?: buf.ev.status;
}

static int names_round(struct worker *w)
{
	uint32_t id;
	int ret;

	ret = id_create(w->fd, RDMA_PS_TCP, 9, &id) ?:
	      resolve(w->fd, id, addr) ?: answer(w->fd) ?:
	      resolve(w->fd, id, name) ?: answer(w->fd);
	id_destroy(w->fd, id);
	return ret;
}

static int groups_round(struct worker *w)
{
	char text[20];
	uint32_t id, mc;
	int ret, i;

	ret = id_create(w->fd, RDMA_PS_UDP, 8, &id) ?:
	      id_bind(w->fd, id, addr, 0);
	for (i = 0; i < GROUPS && !ret; i++) {
		snprintf(text, sizeof(text), "239.57.%u.%d", w->number, i + 1);
		ret = mc_join(w->fd, id, text, 1, &mc) ?: answer(w->fd);
		if (!ret && i & 1)
			mc_leave(w->fd, mc);
	}
	id_destroy(w->fd, id);
	return ret;
}

static int connect_round(struct worker *w)
{
	uint32_t listener = 0, active = 0, passive = 0;
	struct rdma_cmx_id_query query = {};
	union event_buf buf;
	int ret;

	ret = id_create(w->fd, RDMA_PS_TCP, 1, &listener) ?:
	      id_create(w->fd, RDMA_PS_TCP, 2, &active) ?:
	      id_bind(w->fd, listener, addr, 0) ?: id_listen(w->fd, listener);
	query.id = listener;
	ret = ret ?: call(w->fd, ID_QUERY, &query) ?:
	      id_resolve_addr(w->fd, active, NULL, addr,
			      addr_port(&query.info.src)) ?:
	      event_want(w->fd, EV_ADDR_RESOLVED, &buf) ?:
	      id_resolve_route(w->fd, active) ?:
	      event_want(w->fd, EV_ROUTE_RESOLVED, &buf);
	if (requests)
		ret = ret ?: id_connect(w->fd, active) ?:
		      event_want(w->fd, EV_CONNECT_REQUEST, &buf);
	if (!ret && requests) {
		passive = buf.ev.obj;
		ret = id_accept(w->fd, passive, 3) ?:
		      event_want(w->fd, EV_CONNECT_RESPONSE, &buf);
	}
	events_drop(w->fd);
	id_destroy(w->fd, active);
	id_destroy(w->fd, listener);
	if (passive)
		id_destroy(w->fd, passive);
	return ret;
}

static void round_run(struct worker *w)
{
	int ret;

	if ((ret = names_round(w)))
		bad_names++;
	else if ((ret = groups_round(w)))
		bad_groups++;
	else if ((ret = connect_round(w)))
		bad_connect++;
	else
		good++;
	if (ret)
		last_error = ret;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	bool first = true;

	while (!stop) {
		w->fd = dev_open(O_NONBLOCK);
		if (w->fd < 0) {
			poll(NULL, 0, 1);
			continue;
		}
		round_run(w);
		close(w->fd);
		if (first)
			through++;
		first = false;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 2, i;
	struct worker *w = calloc(threads, sizeof(*w));
	sigset_t set;

	addr = argc > 1 ? argv[1] : ADDR_RDMA;
	if (argc > 3)
		name = argv[3];
	requests = argc < 5 || strcmp(argv[4], "route");
	/* Unexpected events are not reported. */
	if (!w || !freopen("/dev/null", "w", stderr))
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < threads; i++) {
		w[i].number = i + 1;
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			return 1;
	}
	while (through < threads)
		poll(NULL, 0, 10);
	printf("ready\n");
	fflush(stdout);
	sigwait(&set, &i);
	stop = true;
	for (i = 0; i < threads; i++)
		pthread_join(w[i].thread, NULL);
	printf("good %ld bad %ld names %ld groups %ld connect (%d)\n", good,
	       bad_names, bad_groups, bad_connect, last_error);
	free(w);
	return 0;
}
