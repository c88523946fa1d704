// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Helpers of the tests of processes, see process.h. The thread of a server uses
 * it until server_end().
 */
#define CMX_SELFTEST_NO_HARNESS
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "process.h"

#define USER_END	0x656e64	/* rdma_write_cm_event() to a server */

int size_of(const char *variable, int usual)
{
	const char *text = getenv(variable);
	int n = text ? atoi(text) : 0;

	return n > 0 && n < usual ? n : usual;
}

int rounds_of(int usual)
{
	return size_of("CMX_ROUNDS", usual);
}

int threads_of(int usual)
{
	return size_of("CMX_THREADS", usual);
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "# %s: %m\n", what);
	abort();
}

struct rdma_cm_id *id_make(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	must(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "create_id");
	return id;
}

struct rdma_cm_id *id_listening(struct rdma_event_channel *channel,
				unsigned int port)
{
	struct rdma_cm_id *id = id_make(channel);

	must(!id_bind(id, OWN4, port), "bind");
	must(!rdma_listen(id, 128), "listen");
	return id;
}

/* The program may read events of other ids on the same channel. */
static int take(struct rdma_cm_id *id, int type)
{
	return event_take(id->channel, NULL) == type ? 0 : -1;
}

struct rdma_cm_id *id_ready(struct rdma_event_channel *channel,
			    unsigned int port)
{
	struct rdma_cm_id *id = id_make(channel);
	int status;

	if (id_resolve_addr(id, NULL, OWN4, port, &status) ==
	    RDMA_CM_EVENT_ADDR_RESOLVED &&
	    !rdma_resolve_route(id, 30000) &&
	    !take(id, RDMA_CM_EVENT_ROUTE_RESOLVED) && !qp_make(id, IBV_QPT_RC))
		return id;
	fprintf(stderr, "# id_ready: %m\n");
	rdma_destroy_ep(id);
	return NULL;
}

int id_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 7,
					 .rnr_retry_count = 7 };

	if (rdma_connect(id, &param))
		return __LINE__;
	if (take(id, RDMA_CM_EVENT_ESTABLISHED))
		return __LINE__;
	return 0;
}

int id_hang_up(struct rdma_cm_id *id, bool wait)
{
	if (rdma_disconnect(id))
		return __LINE__;
	if (wait && take(id, RDMA_CM_EVENT_DISCONNECTED))
		return __LINE__;
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		return __LINE__;
	return 0;
}

/* Returns an id to destroy after the ack, or NULL. */
static struct rdma_cm_id *server_event(struct server *server,
				       struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		server->accepted++;
		server->last = event->id;
		/* Of a peer that has left already, REJECTED follows. */
		if ((qp_make(event->id, IBV_QPT_RC) ||
		     rdma_accept(event->id, &param)) && !server->silent)
			server->wrong = __LINE__;
		return NULL;
	case RDMA_CM_EVENT_ESTABLISHED:
		server->established++;
		event->id->context = server;
		return NULL;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (event->id->context != server)
			server->overtaken++;
		rdma_disconnect(event->id);
		return event->id;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		if (!server->leaves || event->event != RDMA_CM_EVENT_REJECTED)
			server->wrong = __LINE__;
		return event->id;
	default:
		return NULL;
	}
}

static void *server_run(void *arg)
{
	struct server *server = arg;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	unsigned int gone = 0;
	bool end = false;

	/* After USER_END the server waits until its connections are closed. */
	while (!end || gone < server->accepted) {
		if (event_wait(server->channel, &event,
			       end && server->silent ? 2000 : WAIT_MS)) {
			if (!end || !server->silent)
				server->wrong = __LINE__;
			break;
		}
		if (event->event == RDMA_CM_EVENT_USER)
			end = true;
		id = server_event(server, event);
		rdma_ack_cm_event(event);
		if (id) {
			if (id == server->last)
				server->last = NULL;
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
			gone++;
		}
	}
	if (server->silent && server->last) {
		rdma_destroy_qp(server->last);
		rdma_destroy_id(server->last);
	}
	return NULL;
}

void server_start(struct server *server, unsigned int port)
{
	memset(server, 0, sizeof(*server));
	server->channel = rdma_create_event_channel();
	must(server->channel, "channel");
	server->listener = id_listening(server->channel, port);
	must(!pthread_create(&server->thread, NULL, server_run, server),
	     "thread");
}

int server_end(struct server *server)
{
	if (rdma_write_cm_event(server->listener, RDMA_CM_EVENT_USER, 0,
				USER_END))
		return __LINE__;
	pthread_join(server->thread, NULL);
	if (rdma_destroy_id(server->listener))
		return __LINE__;
	rdma_destroy_event_channel(server->channel);
	if (server->overtaken)
		fprintf(stderr, "# %u of %u ended before ESTABLISHED\n",
			server->overtaken, server->accepted);
	return server->wrong;
}

bool server_served(const struct server *server, unsigned int connections)
{
	/* The processors determine how many; of few, as under helgrind, all. */
	unsigned int most = connections < 4 ? connections :
					      (connections + 1) / 2;

	return server->accepted == connections &&
	       server->established + server->overtaken == connections &&
	       server->overtaken <= most;
}

pid_t child_start(int (*fn)(void *arg), void *arg)
{
	pid_t pid;
	int ret;

	fflush(NULL);
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		/* Without the deadline of the parent */
		signal(SIGALRM, SIG_DFL);
		alarm(0);
		ret = fn(arg);
		/* An exit status has eight bits. */
		_exit(ret & 0xff ? ret : !!ret);
	}
	return pid;
}

int child_wait(pid_t pid)
{
	/* Under valgrind a child is slow. */
	long long end = now_ms() + WAIT_MS * (getenv("CMX_ROUNDS") ? 4 : 1);
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (now_ms() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1000;
		}
		usleep(1000);
	}
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int heritage_destroy(void *heritage)
{
	struct heritage *h = heritage;

	if (rdma_destroy_id(h->id))
		return 1;
	rdma_destroy_event_channel(h->channel);
	return 0;
}

int connect_out(unsigned int port)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	int wrong;

	if (!channel || rdma_getaddrinfo(OWN4, PORT, NULL, &res))
		return 1;
	rdma_freeaddrinfo(res);
	id = id_ready(channel, port);
	if (!id)
		return 2;
	wrong = id_connect(id);
	if (!wrong)
		wrong = id_hang_up(id, true);
	rdma_destroy_event_channel(channel);
	return wrong ? 3 : 0;
}

bool thread_in_call(pid_t tid, long nr)
{
	char path[64], text[64] = "";
	FILE *f;

	/* "running", or the number of the call that it sleeps in */
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return text[0] >= '0' && text[0] <= '9' && atol(text) == nr;
}

bool thread_sleeps(pid_t tid, long nr)
{
	long long end = now_ms() + WAIT_MS;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	for (; now_ms() < end && !access(path, F_OK); usleep(1000))
		if (thread_in_call(tid, nr))
			return true;
	return false;
}

static void *caller_run(void *arg)
{
	struct caller *c = arg;
	void *ret;

	__atomic_store_n(&c->tid, gettid(), __ATOMIC_SEQ_CST);
	ret = c->run(c->arg);
	__atomic_store_n(&c->ended, true, __ATOMIC_SEQ_CST);
	return ret;
}

void caller_start(struct caller *c, void *(*run)(void *arg), void *arg)
{
	*c = (struct caller){ .run = run, .arg = arg };
	cmx_mem_atomic(&c->tid, sizeof(c->tid));
	cmx_mem_atomic(&c->ended, sizeof(c->ended));
	must(!pthread_create(&c->thread, NULL, caller_run, c), "thread");
}

bool caller_sleeps(struct caller *c, long nr)
{
	pid_t tid;

	while (!(tid = __atomic_load_n(&c->tid, __ATOMIC_SEQ_CST)))
		usleep(1000);
	return thread_sleeps(tid, nr);
}

bool caller_ended(struct caller *c)
{
	return __atomic_load_n(&c->ended, __ATOMIC_SEQ_CST);
}

void *caller_end(struct caller *c)
{
	void *ret;

	pthread_join(c->thread, &ret);
	return ret;
}

void *request_wait(void *listener)
{
	struct rdma_cm_id *id;

	return (void *)(intptr_t)(rdma_get_request(listener, &id) ? errno : 0);
}

static int fds_count(bool only_kept, bool show)
{
	DIR *dir = opendir("/proc/self/fd");
	char link[64], to[128];
	struct dirent *entry;
	int fd, flags, n = 0;
	ssize_t len;

	must(dir, "/proc/self/fd");
	while ((entry = readdir(dir))) {
		fd = atoi(entry->d_name);
		if (entry->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		flags = fcntl(fd, F_GETFD);
		if (only_kept && (flags < 0 || (flags & FD_CLOEXEC)))
			continue;
		n++;
		if (!show)
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, to, sizeof(to) - 1);
		to[len < 0 ? 0 : len] = '\0';
		printf("# fd %d: %s\n", fd, to);
	}
	closedir(dir);
	return n;
}

int fds_open(void)
{
	return fds_count(false, false);
}

int fds_kept_by_exec(bool show)
{
	return fds_count(true, show);
}

static rlim_t fds_before;

void fds_limit(void)
{
	struct rlimit limit;
	int fd;

	/* The check of the caller fills the gaps between the open ones. */
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	must(fd >= 0, "/dev/null");
	close(fd);
	must(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	fds_before = limit.rlim_cur;
	limit.rlim_cur = fd;
	must(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

void fds_unlimit(void)
{
	struct rlimit limit;

	must(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = fds_before;
	must(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}
