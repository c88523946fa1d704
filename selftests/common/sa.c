// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Helpers of the tests of resolution by the SA, see sa.h. One thread. */
#define CMX_SELFTEST_NO_HARNESS
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "sa.h"

#define SCRIPT_MAX	2048
#define FUNCTIONS	". " SELFTESTS "/lib.sh; . " SELFTESTS "/fabric.sh; "

/* Reads the output of a bash command, without its last line feed. */
static int bash_text(char *buf, size_t len, const char *cmd)
{
	FILE *pipe;
	size_t n;
	int rc;

	setenv("CMX_BASH_CMD", cmd, 1);
	pipe = popen("exec bash -c '" FUNCTIONS "eval \"$CMX_BASH_CMD\"'", "re");
	if (!pipe)
		return -1;
	n = fread(buf, 1, len - 1, pipe);
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	rc = pclose(pipe);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

int bash(const char *fmt, ...)
{
	char cmd[SCRIPT_MAX], text[SCRIPT_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	rc = bash_text(text, sizeof(text), cmd);
	if (rc)
		fprintf(stderr, "# %s: exit code %d: %s\n", cmd, rc, text);
	return rc;
}

long long bash_number(const char *fmt, ...)
{
	char cmd[SCRIPT_MAX], text[SCRIPT_MAX], *end;
	long long value;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	if (bash_text(text, sizeof(text), cmd))
		return -1;
	value = strtoll(text, &end, 0);
	return end != text && !*end ? value : -1;
}

const char *device(unsigned int n)
{
	static char names[DEVICES + 1][64];
	char cmd[32];

	if (!names[n][0]) {
		snprintf(cmd, sizeof(cmd), "fab_dev %u", n);
		if (bash_text(names[n], sizeof(names[n]), cmd)) {
			fprintf(stderr, "# there is no device %u\n", n);
			abort();
		}
	}
	return names[n];
}

const char *gid_text(unsigned int n)
{
	static char texts[DEVICES + 1][INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid(n), texts[n], sizeof(texts[n]));
	return texts[n];
}

const struct ib_addr *gid(unsigned int n)
{
	static struct ib_addr gids[DEVICES + 1];
	char path[128], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/0",
		 device(n));
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file)) {
		fprintf(stderr, "# %s cannot be read\n", path);
		abort();
	}
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	inet_pton(AF_INET6, text, &gids[n]);
	return &gids[n];
}

int service(unsigned int n, const char *fmt, ...)
{
	char args[SCRIPT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	return bash(SELFTESTS "/sa/tools/service -C %s %s 2>&1", device(n),
		    args);
}

static unsigned int service_number(void)
{
	static unsigned int count;

	return count++;
}

const char *service_name(char name[64])
{
	snprintf(name, 64, "svc-%d-%u", getpid(), service_number());
	return name;
}

unsigned long long service_id(void)
{
	return 0x1000000000000000ULL | (unsigned long long)getpid() << 28 |
	       (unsigned long long)service_number() << 16;
}

long long sa_queries(unsigned int attr)
{
	return bash_number("sa_requests 0x12 0x%04x", attr);
}

int paths_lost(bool lost)
{
	return bash("knob_set %s faults '%s'", device(DEV_SM),
		    lost ? "drop class=3 attr=0x35" : "clear");
}

bool cache_renew(void)
{
	/*
	 * Sends an event that IPoIB ignores. Each port then queries
	 * ClassPortInfo.
	 */
	return !bash("idle() { [ $(counter live_sa_lookups) = 0 ]; }\n"
		     "wait_for 60 idle || exit\n"
		     "before=$(counter sa_queries) ports=$(counter sa_ports)\n"
		     "for dev in $(cat $fab_state/devices); do"
		     " knob_set $dev event device_fatal; done\n"
		     "known() {"
		     " [ $(counter sa_queries) -ge $((before + ports)) ] &&"
		     " idle; }\n"
		     "wait_for 60 known");
}

long long counter(const char *name)
{
	char path[128];
	long long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/rdma_cmx/counters/%s", name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%lld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

bool parameter_set(const char *name, const char *value, char old[32])
{
	char path[128];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/sys/module/rdma_cmx/parameters/%s",
		 name);
	file = fopen(path, "r+e");
	if (!file)
		return false;
	ok = !old || fscanf(file, "%31s", old) == 1;
	rewind(file);
	ok = ok && fprintf(file, "%s\n", value) > 0;
	return !fclose(file) && ok;
}

#define FAKE_LOG	"/tmp/test/fake.log"

/* Counts lines of the fake SA's output with this word; starts no program. */
static int fake_said(const char *word)
{
	char line[256];
	int count = 0;
	FILE *file;

	file = fopen(FAKE_LOG, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		count += !!strstr(line, word);
	fclose(file);
	return count;
}

pid_t fake_start(const char *fmt, ...)
{
	char args[SCRIPT_MAX], cmd[SCRIPT_MAX + 256];
	long long end;
	va_list ap;
	pid_t pid;

	va_start(ap, fmt);
	vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	snprintf(cmd, sizeof(cmd),
		 "exec " SELFTESTS "/sa/tools/fake -C %s -V %s %s >" FAKE_LOG " 2>&1",
		 device(DEV_FAKE), device(DEV_OWN), args);
	unlink(FAKE_LOG);
	pid = fork();
	if (!pid) {
		execl("/bin/bash", "bash", "-c", cmd, NULL);
		_exit(127);
	}
	for (end = now_ms() + WAIT_MS; !fake_said("ready") && now_ms() < end;)
		usleep(10000);
	if (!fake_said("ready")) {
		fprintf(stderr, "# the fake SA does not start:\n");
		run("sed 's/^/# /' " FAKE_LOG " >&2");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	return pid;
}

int fake_stop(pid_t pid)
{
	long long end = now_ms() + WAIT_MS;
	int status;

	if (pid <= 0)
		return -1;
	/* The query may have ended before the fake SA reads it. */
	while (!fake_said("0x0031") && now_ms() < end)
		usleep(10000);
	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "# the fake SA ended with 0x%x:\n", status);
		run("sed 's/^/# /' " FAKE_LOG " >&2");
		return -1;
	}
	return fake_said("0x0031");
}

struct rdma_cm_id *id_on(struct rdma_event_channel *channel, unsigned int n)
{
	struct sockaddr_ib addr = { .sib_family = AF_IB, .sib_addr = *gid(n) };
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		return NULL;
	if (!rdma_bind_addr(id, (struct sockaddr *)&addr) &&
	    id->verbs && !strcmp(ibv_get_device_name(id->verbs->device),
				 device(n)))
		return id;
	fprintf(stderr, "# cannot bind to %s: %s\n", gid_text(n),
		strerror(errno));
	rdma_destroy_id(id);
	return NULL;
}

int sa_get(struct rdma_cm_id *id, const char *service, int flags,
	   struct rdma_addrinfo **res)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA | flags };
	int status = 0;

	*res = NULL;
	if (rdma_resolve_addrinfo(id, NULL, service, &hints))
		return -errno;
	switch (event_take(id->channel, &status)) {
	case RDMA_CM_EVENT_ADDRINFO_RESOLVED:
		if (status)
			return -EPROTO;
		return rdma_query_addrinfo(id, res) ? -errno : 0;
	case RDMA_CM_EVENT_ADDRINFO_ERROR:
		return status < 0 ? status : -EPROTO;
	default:
		return -EPROTO;
	}
}

int sa_count(struct rdma_cm_id *id, const char *service)
{
	struct rdma_addrinfo *res;
	int ret;

	ret = sa_get(id, service, RAI_NOROUTE, &res);
	if (ret)
		return ret;
	ret = ai_count(res);
	rdma_freeaddrinfo(res);
	return ret;
}

const struct sockaddr_ib *ib(const struct sockaddr *addr)
{
	return addr && addr->sa_family == AF_IB ? (const void *)addr : NULL;
}
