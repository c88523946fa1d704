// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx-names: completes the kernel's query for the addresses of a host name.
 * request-key(8) starts it with the number of a key under construction and the
 * name. It instantiates that key with a result, or rejects it with an errno, in
 * bounded time.
 *
 * Two processes. The parent stays root, so that no user can stop or end it: it
 * has the key and the deadline, and reads only lengths and the numbers of a
 * network namespace, which are the kernel's. The child has neither rights nor
 * the key; it resolves the name and writes to a pipe (resolve.c). The alarm's
 * handler only makes system calls.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <keyutils.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "names.h"
#include "resolve.h"

/*
 * The kernel counts the lifetime of a key in whole seconds and checks it again
 * when the helper has ended. A key of one second may have expired by then.
 * rdma_cmx finds it nevertheless, at a cost.
 */
#define TTL_MIN		2
#define TTL_MAX		86400
#define TIMEOUT_MAX	60
#define ID_MAX		0x7ffffffeL
#define NOBODY		65534
#define USER		"rdma-cmx"

static struct {
	key_serial_t key;	/* 0: print the result, there is no key */
	char *name;
	struct cmx_netns netns;
	long ttl, negative_ttl, timeout;
	long uid, gid;
	pid_t child;		/* 0: none yet */
} job = {
	.ttl = 5,
	.negative_ttl = TTL_MIN,
	.timeout = 4,
};

/* To syslog, and to standard error, /dev/null when the kernel starts it */
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
	      "       cmx-names [OPTIONS] --print [--netns NETNS] [--] NAME\n"
	      "Look NAME up for the kernel. request-key(8) starts the first form;\n"
	      "the second one prints the answer and leaves the kernel alone.\n\n"
	      "  --ttl SECONDS           lifetime of an answer, 2 to 86400 (5)\n"
	      "  --negative-ttl SECONDS  lifetime of a failure, 2 to 86400 (2)\n"
	      "  --timeout SECONDS       give up after, 1 to 60 (4)\n"
	      "  --user UID:GID          look up as this user, not root (rdma-cmx)\n"
	      "  --print                 print the answer, no key is touched\n"
	      "  --netns NETNS           that of a network namespace, see ip-netns(8)\n"
	      "  --default-netns NETNS   its files are those of namespaces without any\n"
	      "  --help                  print this\n", stdout);
}

/* Rejects the key with an error; false if this process may not do that. */
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
	if (job.child > 0)
		kill(job.child, SIGKILL);
	/*
	 * Both are plain system calls, bound at start by -z now. A key that is
	 * already instantiated is unchanged.
	 */
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
	signal(SIGCHLD, SIG_DFL);
	return !sigaction(SIGALRM, &action, NULL) &&
	       !sigprocmask(SIG_UNBLOCK, &set, NULL) &&
	       !setitimer(ITIMER_REAL, &timer, NULL);
}

/* Prints the result that the kernel would get, from its binary form. */
static void answer_print(const struct rdma_cmx_names *names)
{
	const char *canon = (const char *)&names->addrs[names->addr_count];
	char text[INET6_ADDRSTRLEN];
	unsigned int i;

	for (i = 0; i < names->addr_count; i++) {
		const struct rdma_cmx_names_addr *addr = &names->addrs[i];

		inet_ntop(addr->family, addr->addr, text, sizeof(text));
		printf("address %s", text);
		if (addr->scope_id)
			printf("%%%u", addr->scope_id);
		if (addr->port)
			printf(" port %u", addr->port);
		putchar('\n');
	}
	if (names->canon_len)
		printf("canonical %.*s\n", names->canon_len, canon);
}

static bool answer_give(const void *answer, size_t len)
{
	const char *what;
	int error;

	if (!job.key) {
		if (!cmx_names_check(answer, len))
			return job_reject(EIO) && false;
		answer_print(answer);
		return true;
	}
	/*
	 * The lifetime first: if it failed after the instantiation, the kernel
	 * would never drop the result. The time until then is short.
	 */
	if (keyctl_set_timeout(job.key, job.ttl))
		what = "limit the life of";
	else if (keyctl_instantiate(job.key, answer, len, 0))
		what = "instantiate";
	else
		return true;
	error = errno;
	job_reject(EIO);
	complain("cannot %s key %d: %s", what, job.key, strerror(error));
	return false;
}

/* Reads up to @size bytes or the end; less after an error. */
static size_t pipe_read(int fd, void *buf, size_t size)
{
	size_t len = 0;
	ssize_t got;

	while (len < size) {
		got = read(fd, (char *)buf + len, size - len);
		if (got <= 0)
			break;
		len += got;
	}
	return len;
}

/* The error without a complete result: the child's alarm, or another one */
static int child_error(void)
{
	siginfo_t info = {};

	/* It stays a zombie, so that its process number is not reused. */
	if (!waitid(P_PID, job.child, &info, WEXITED | WNOWAIT) &&
	    info.si_code == CLD_KILLED && info.si_status == SIGALRM)
		return ETIMEDOUT;
	return EIO;
}

/* The child's reply has a header, and exactly the length in it. */
static bool child_receive(int fd)
{
	static struct cmx_reply reply;
	size_t len = pipe_read(fd, &reply, sizeof(reply));
	size_t head = offsetof(struct cmx_reply, answer);

	if (len < head || reply.len != len - head ||
	    (reply.error ? reply.len || !cmx_names_known(reply.error) :
			   reply.len < sizeof(reply.answer.names))) {
		int error = child_error();

		job_reject(error);
		if (error == EIO)
			complain("key %d: the child ended without an answer",
				 job.key);
		return error != EIO && job.key;
	}
	if (reply.error)
		return job_reject(reply.error) && job.key;
	return answer_give(&reply.answer, reply.len);
}

/*
 * The user that the installation has created for this program only. It is read
 * from the file, as root queries no other service. Without it, the user nobody.
 */
static void user_default(void)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *user;

	job.uid = NOBODY;
	job.gid = NOBODY;
	if (!f)
		return;
	while ((user = fgetpwent(f))) {
		if (strcmp(user->pw_name, USER))
			continue;
		if (user->pw_uid && user->pw_gid) {
			job.uid = user->pw_uid;
			job.gid = user->pw_gid;
		}
		break;
	}
	fclose(f);
}

static bool job_run(void)
{
	pid_t child;
	bool good;
	int fd;

	if (!alarm_start()) {
		job_reject(EIO);
		complain("cannot set the alarm: %m");
		return false;
	}
	if (!job.uid)
		user_default();
	child = cmx_child_start(job.name, &job.netns, job.uid, job.gid,
				job.timeout, job.key, &fd);
	if (child < 0) {
		int error = errno;

		/* Another attempt may find a free process or descriptor. */
		job_reject(error == ENOMEM ? ENOMEM : EAGAIN);
		complain("cannot start a process: %s", strerror(error));
		return false;
	}
	job.child = child;
	good = child_receive(fd);
	kill(child, SIGKILL);
	return good;
}

static bool user_parse(char *text)
{
	char *gid = strchr(text, ':');
	bool good;

	if (!gid)
		return false;
	*gid = 0;
	/* root must not look up names */
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

/* False after a message for each invalid option */
static bool options_parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ttl", required_argument, NULL, 't' },
		{ "negative-ttl", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 'T' },
		{ "user", required_argument, NULL, 'u' },
		{ "print", no_argument, NULL, 'p' },
		{ "netns", required_argument, NULL, 'N' },
		{ "default-netns", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool good = true, print = false;
	const char *netns = NULL, *etc = NULL;
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
		case 'N':
			netns = optarg;
			break;
		case 'd':
			etc = optarg;
			taken = *etc && !strchr(etc, '/');
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
	if (netns && !print) {
		complain("--netns needs --print: the kernel names the namespace itself");
		good = false;
	}
	job.name = argv[argc - 1];
	if (good && !print && !cmx_netns_parse(job.name, &job.netns)) {
		complain("bad network namespace in '%s'", job.name);
		good = false;
	}
	job.netns.name = netns;
	job.netns.etc = etc;
	return good;
}

/*
 * The configuration is wrong, and the position of the key is uncertain: the key
 * is the only number with authority.
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

/* The kernel starts it without descriptors: no later file may become 1. */
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
	/* Until the configured time applies: a full log may block a message. */
	alarm(TIMEOUT_MAX);
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
