// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx-names: answers the kernel's question for the addresses of a host name.
 * request-key(8) starts it with the number of a key under construction and
 * the name; it ends that key with an answer or an errno, in bounded time.
 * One thread; the alarm's handler makes system calls only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <keyutils.h>
#include <resolv.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#include "confine.h"
#include "names.h"
#include "probe.h"

/*
 * The kernel counts a key's life in whole seconds and looks once more whether
 * it lives when the helper has ended. One that was given a single second can
 * be over by then, and the kernel would take the helper for missing.
 */
#define TTL_MIN		2
#define TTL_MAX		86400
#define TIMEOUT_MAX	60
#define ID_MAX		0x7ffffffeL
#define NOBODY		65534

static struct {
	key_serial_t key;	/* 0: print instead, there is no key */
	const char *name;
	long ttl, negative_ttl, timeout;
	long uid, gid;
} job = {
	.ttl = 5,
	.negative_ttl = TTL_MIN,
	.timeout = 4,
	.uid = NOBODY,
	.gid = NOBODY,
};

/* Syslog, and standard error, which is nowhere when the kernel asks. */
static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsyslog(LOG_ERR, fmt, args);
	va_end(args);
}

static void usage(void)
{
	fputs("usage: cmx-names [OPTIONS] [--] KEY NAME\n"
	      "       cmx-names [OPTIONS] --print [--] NAME\n"
	      "Look NAME up for the kernel. request-key(8) starts the first form;\n"
	      "the second one shows what the kernel would be told.\n\n"
	      "  --ttl SECONDS           keep an answer so long, 2 to 86400 (5)\n"
	      "  --negative-ttl SECONDS  keep a failure so long, 2 to 86400 (2)\n"
	      "  --timeout SECONDS       give up after, 1 to 60 (4)\n"
	      "  --user UID:GID          look up as this user, not root (65534:65534)\n"
	      "  --print                 print the answer, no key is touched\n"
	      "  --help                  print this\n", stdout);
}

/* Ends the key with an error; false when it was not ours to end. */
static bool job_reject(int error)
{
	if (!job.key) {
		printf("error %s\n", strerrorname_np(error));
		return true;
	}
	if (!keyctl_reject(job.key, job.negative_ttl, error, 0))
		return true;
	complain("cannot reject key %d: %m", job.key);
	return false;
}

static void alarm_handler(int sig)
{
	static const char text[] = "error ETIMEDOUT\n";
	ssize_t ignored;

	(void)sig;
	/* Both are bare system calls, bound at start by -z now. */
	if (job.key)
		_exit(keyctl_reject(job.key, job.negative_ttl, ETIMEDOUT, 0) !=
		      0);
	ignored = write(STDOUT_FILENO, text, sizeof(text) - 1);
	(void)ignored;
	_exit(1);
}

static bool alarm_start(void)
{
	struct itimerval timer = { .it_value.tv_sec = job.timeout };
	struct sigaction action = { .sa_handler = alarm_handler };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	return !sigaction(SIGALRM, &action, NULL) &&
	       !sigprocmask(SIG_UNBLOCK, &set, NULL) &&
	       !setitimer(ITIMER_REAL, &timer, NULL);
}

/* From here the answer stands: the alarm must not come between. */
static void alarm_stop(void)
{
	signal(SIGALRM, SIG_IGN);
}

static int name_ask(struct addrinfo **list)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_CANONNAME,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	int gai;

	_res.res_h_errno = 0;
	errno = 0;
	gai = getaddrinfo(job.name, NULL, &hints, list);
	return cmx_names_errno(gai, _res.res_h_errno, errno);
}

static int name_resolve(struct addrinfo **list)
{
	int error;

	if (!cmx_names_valid(job.name))
		return ENOENT;
	if (!cmx_probe_setup(job.timeout))
		return ENOMEM;
	error = name_ask(list);
	/* Only when it was the DNS client of this process that failed. */
	if (error != EAGAIN || _res.res_h_errno != TRY_AGAIN)
		return error;

	switch (cmx_probe_ask(job.name)) {
	case CMX_PROBE_REFUSED:
		return ECONNREFUSED;
	case CMX_PROBE_ANSWERED:
		/* a slow server that has the answer by now */
		return name_ask(list);
	default:
		return EAGAIN;
	}
}

/* What the kernel would be told, read back from what it would be given. */
static void answer_print(const struct rdma_cmx_names *names)
{
	const char *canon = (const char *)&names->addrs[names->addr_count];
	char text[INET6_ADDRSTRLEN];
	unsigned int i;

	for (i = 0; i < names->addr_count; i++) {
		const struct rdma_cmx_names_addr *addr = &names->addrs[i];

		inet_ntop(addr->family, addr->addr, text, sizeof(text));
		if (addr->scope_id)
			printf("address %s%%%u\n", text, addr->scope_id);
		else
			printf("address %s\n", text);
	}
	if (names->canon_len)
		printf("canonical %.*s\n", names->canon_len, canon);
}

static bool answer_give(const void *answer, size_t len)
{
	if (!job.key) {
		answer_print(answer);
		return true;
	}
	/*
	 * The life first: were it set afterwards and failed, the kernel would
	 * keep the answer for ever. It is short enough to start now.
	 */
	if (keyctl_set_timeout(job.key, job.ttl))
		complain("cannot limit the life of key %d: %m", job.key);
	else if (keyctl_instantiate(job.key, answer, len, 0))
		complain("cannot instantiate key %d: %m", job.key);
	else
		return true;
	job_reject(EIO);
	return false;
}

static bool job_run(void)
{
	static union {
		struct rdma_cmx_names names;
		unsigned char bytes[CMX_NAMES_ANSWER_MAX];
	} answer;
	struct addrinfo *list = NULL;
	const char *what;
	size_t len;
	int error;

	if (!alarm_start()) {
		complain("cannot set the alarm: %m");
		job_reject(EIO);
		return false;
	}
	if (!cmx_confine(job.uid, job.gid, !job.key, &what)) {
		complain("cannot %s: %m", what);
		job_reject(EIO);
		return false;
	}
	error = name_resolve(&list);
	alarm_stop();

	len = error ? 0 : cmx_names_pack(list, &answer);
	if (len)
		return answer_give(&answer, len);
	/* An answer without an address of use is one without an address. */
	return job_reject(error ? error : ENODATA) && job.key;
}

static bool user_parse(char *text)
{
	char *gid = strchr(text, ':');
	bool good;

	if (!gid)
		return false;
	*gid = 0;
	/* root is no user to look names up as */
	good = cmx_names_number(text, 1, ID_MAX, &job.uid) &&
	       cmx_names_number(gid + 1, 1, ID_MAX, &job.gid);
	*gid = ':';
	return good;
}

static bool key_parse(const char *text, key_serial_t *key)
{
	long number;

	if (!cmx_names_number(text, 1, 0x7fffffff, &number))
		return false;
	*key = number;
	return true;
}

/* False after a complaint about each thing that is wrong. */
static bool options_parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ttl", required_argument, NULL, 't' },
		{ "negative-ttl", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 'T' },
		{ "user", required_argument, NULL, 'u' },
		{ "print", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool good = true, print = false;
	int opt, at;

	opterr = 0;
	while (at = optind,
	       (opt = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		bool taken = true;

		switch (opt) {
		case 't':
			taken = cmx_names_number(optarg, TTL_MIN, TTL_MAX,
						 &job.ttl);
			break;
		case 'n':
			taken = cmx_names_number(optarg, TTL_MIN, TTL_MAX,
						 &job.negative_ttl);
			break;
		case 'T':
			taken = cmx_names_number(optarg, 1, TIMEOUT_MAX,
						 &job.timeout);
			break;
		case 'u':
			taken = user_parse(optarg);
			break;
		case 'p':
			print = true;
			break;
		case 'h':
			usage();
			exit(0);
		case ':':
			complain("option %s needs a value", argv[at]);
			good = false;
			break;
		default:
			complain("unknown option %s", argv[at]);
			good = false;
			break;
		}
		if (!taken) {
			complain("%s: bad value '%s' (see cmx-names --help)",
				 argv[at], optarg);
			good = false;
		}
	}

	if (argc - optind != (print ? 1 : 2)) {
		complain("%s expected, got %d arguments",
			 print ? "one name" : "a key and a name",
			 argc - optind);
		good = false;
	}
	if (good && !print && !key_parse(argv[optind], &job.key)) {
		complain("bad key number '%s'", argv[optind]);
		good = false;
	}
	job.name = argv[argc - 1];
	return good;
}

/*
 * What stands in the configuration is wrong, and where the key stands is no
 * longer sure: it is the one number that there is authority for.
 */
static void job_abandon(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (key_parse(argv[i], &job.key) &&
		    keyctl_assume_authority(job.key) >= 0) {
			job_reject(EIO);
			return;
		}
	}
}

/* The kernel starts it without any: what is opened next must not become 1. */
static void descriptors_setup(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0);
}

int main(int argc, char **argv)
{
	descriptors_setup();
	openlog("cmx-names", LOG_PID | LOG_PERROR, LOG_DAEMON);
	if (!options_parse(argc, argv)) {
		job_abandon(argc, argv);
		return 1;
	}
	if (job.key && keyctl_assume_authority(job.key) < 0) {
		complain("no authority over key %d: %m (only request-key(8) has it; try --print)",
			 job.key);
		return 1;
	}
	return !job_run();
}
