// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See uapi.h. */
#include "uapi.h"

#include <grp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DEADLINE_MS	90000

int name_query(int fd, uint32_t id, const char *name, uint32_t timeout_ms)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.node = (uintptr_t)name,
		.query.node_len = strlen(name),
		.query.port_space = RDMA_PS_TCP,
		.query.timeout_ms = timeout_ms,
	};

	return call(fd, RESOLVE_ADDRINFO, &arg);
}

int service_query(int fd, const char *src, const char *service,
		  uint32_t timeout_ms)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.query.ai_flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
		.query.timeout_ms = timeout_ms,
		.query.service = (uintptr_t)service,
		.query.service_len = strlen(service),
	};

	return id_create(fd, RDMA_PS_TCP, 1, &arg.id) ?:
	       id_bind(fd, arg.id, src, 0) ?:
	       call(fd, RESOLVE_ADDRINFO, &arg);
}

int route_query(const char *src, const char *dst, uint32_t timeout_ms)
{
	char buf[4096] __attribute__((aligned(8)));
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)dst,
		.query.node_len = strlen(dst),
		.query.port_space = RDMA_PS_TCP,
		.query.timeout_ms = timeout_ms,
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
	};
	const struct rdma_cmx_ai_entry *entry = (const void *)buf;
	int fd = dev_open(0);
	int ret;

	addr_set(&arg.query.src, src, 0);
	ret = fd < 0 ? fd : call(fd, GETADDRINFO, &arg);
	if (fd >= 0)
		close(fd);
	return ret ?: entry->route_len / sizeof(struct ib_path_rec_data);
}

int query_result(int fd)
{
	union event_buf buf;
	int ret, tries;

	for (tries = 0; tries < 9; tries++) {
		ret = event_next(fd, &buf);
		if (ret != -ETIME)
			break;
	}
	if (ret)
		return ret;
	return buf.ev.event == RDMA_CMX_EV_ADDRINFO_RESOLVED ? 0 :
	       buf.ev.status;
}

bool number_gone(const char *path)
{
	double end = now_ms() + DEADLINE_MS;
	long value;

	while ((value = number_get(path)) && now_ms() < end)
		poll(NULL, 0, 20);
	if (value)
		fprintf(stderr, "# %s: %ld, not 0\n", path, value);
	return !value;
}

bool waits_are(long n)
{
	double end = now_ms() + 60000;

	while (number_get(WAITS) != n && now_ms() < end)
		poll(NULL, 0, 10);
	return number_get(WAITS) == n;
}

int other_user_open(void)
{
	int fd = -1;

	if (!setreuid(65534, 0)) {
		fd = dev_open(O_NONBLOCK);
		setreuid(0, 0);
	}
	return fd;
}

int user_become(uid_t uid)
{
	return setgroups(0, NULL) || setresgid(uid, uid, uid) ||
	       setresuid(uid, uid, uid);
}

/*
 * System calls, which change one thread: the functions of libc would wait for a
 * thread that is stopped in a page fault.
 */
int user_enter(uid_t uid)
{
	return syscall(SYS_setgroups, 0, NULL) ||
	       syscall(SYS_setresgid, uid, uid, 0) ||
	       syscall(SYS_setresuid, uid, uid, 0) ? -1 : 0;
}

int user_leave(void)
{
	return syscall(SYS_setresuid, 0, 0, 0) ||
	       syscall(SYS_setresgid, 0, 0, 0) ? -1 : 0;
}

pid_t user_start(uid_t uid, int (*run)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(user_become(uid) ? 254 : run(arg));
	return pid;
}

int user_end(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int getaddrinfo_run(void *arg)
{
	int fd = dev_open(0);

	return fd < 0 ? 253 :
	       -call(fd, GETADDRINFO, (struct rdma_cmx_getaddrinfo *)arg);
}

int user_resolve(uid_t uid, const char *name, uint32_t timeout_ms)
{
	char buf[2048];
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)name,
		.query.node_len = strlen(name),
		.query.port_space = RDMA_PS_TCP,
		.query.timeout_ms = timeout_ms,
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
	};

	return user_end(user_start(uid, getaddrinfo_run, &arg));
}

int helper_timeout(int seconds)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "sed -i 's/--timeout [0-9]*/--timeout %d/' "
		 "/etc/request-key.d/rdma-cmx.conf", seconds);
	return system(line);
}

int id_map_write(pid_t pid, const char *file, uid_t root, uid_t first,
		 unsigned int count)
{
	char path[64];
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "w");
	if (!f)
		return -1;
	ret = fprintf(f, "0 %u 1\n1 %u %u\n", root, first, count) > 0 ? 0 : -1;
	return fclose(f) ? -1 : ret;
}

void pids_kill(const pid_t *pids, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		if (pids[i] <= 0)
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

int fabric_bash(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "bash -c '. /usr/lib/rdma-cmx/selftests/lib.sh; "
		 ". /usr/lib/rdma-cmx/selftests/fabric.sh; %s'", command);
	return system(line);
}

bool nothing_left(void)
{
	static const char * const names[] = {
		"live_mcs", "live_events", "live_queries", "live_advertised",
	};
	bool none = counter_wait("live_files", 0);
	unsigned int i;

	/* The work item of a connect that waited may still have its id. */
	none &= counter_wait("live_ids", 0);
	/* The close of the files frees all others at once. */
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!counter(names[i]))
			continue;
		fprintf(stderr, "# %s is %ld, not 0\n", names[i],
			counter(names[i]));
		none = false;
	}
	return none;
}
