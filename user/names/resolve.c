// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The child of the name helper: it handles a name that any user chose and
 * responses that any name server wrote, without rights, and without the
 * authority over the key. One thread, no locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <keyutils.h>
#include <nss.h>
#include <resolv.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#include "confine.h"
#include "lookup.h"
#include "probe.h"
#include "resolve.h"

static int name_resolve(const char *name, long timeout, void *buf, size_t *len)
{
	int error;

	if (!cmx_names_valid(name))
		return ENOENT;
	if (!cmx_probe_setup(timeout))
		return ENOMEM;
	error = cmx_names_lookup(name, buf, len);
	/* Only if the DNS client of this process failed */
	if (error != EAGAIN || _res.res_h_errno != TRY_AGAIN)
		return error;

	switch (cmx_probe_query(name, -1)) {
	case CMX_PROBE_REFUSED:
		return ECONNREFUSED;
	case CMX_PROBE_ANSWERED:
		/* a slow server that has the response now */
		return cmx_names_lookup(name, buf, len);
	default:
		return EAGAIN;
	}
}

/* A session without the parent's keys, and no authority of the credentials. */
static bool authority_drop(void)
{
	return keyctl_join_session_keyring(NULL) >= 0 &&
	       !keyctl_assume_authority(0);
}

/* The parent's deadline applies; this is for the parent's death. */
static bool alarm_start(long timeout)
{
	struct itimerval timer = { .it_value.tv_sec = timeout };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	return signal(SIGALRM, SIG_DFL) != SIG_ERR &&
	       !sigprocmask(SIG_UNBLOCK, &set, NULL) &&
	       !setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * Returns 0 or an errno. Other services than these two may query a daemon of
 * the host by a socket: nscd, systemd-resolved.
 */
static int netns_enter(const struct cmx_netns *ns, const char **what)
{
	if (!cmx_netns_other(ns))
		return 0;
	*what = "select the services files and dns";
	if (__nss_configure_lookup("hosts", "files dns"))
		return EIO;
	return cmx_netns_enter(ns, what);
}

/* False if the reply already has an error, or there will be none */
static bool child_prepare(const struct cmx_netns *ns, uid_t uid, gid_t gid,
			  long timeout, bool key, pid_t parent, int *error)
{
	const char *what = "set the alarm";

	if (alarm_start(timeout)) {
		what = "drop the authority over the key";
		if (key && !authority_drop())
			goto failed;
		*error = netns_enter(ns, &what);
		if (*error == EOPNOTSUPP)
			return false;
		if (!*error && cmx_confine(uid, gid, &what)) {
			/* After the change of user, which clears it */
			if (!prctl(PR_SET_PDEATHSIG, SIGKILL) &&
			    getppid() == parent)
				return true;
			what = "end with the parent";
		}
	}
failed:
	syslog(LOG_ERR, "cannot %s: %m", what);
	return false;
}

static void reply_write(int fd, const struct cmx_reply *reply)
{
	size_t len = offsetof(struct cmx_reply, answer) + reply->len;
	const char *p = (const void *)reply;
	ssize_t put;

	for (; len; len -= put, p += put) {
		put = write(fd, p, len);
		if (put <= 0)
			return;
	}
}

static void child_run(int fd, const char *name, long timeout)
{
	static struct cmx_reply reply;
	size_t len = 0;

	reply.error = name_resolve(name, timeout, &reply.answer, &len);
	reply.len = reply.error ? 0 : len;
	reply_write(fd, &reply);
}

pid_t cmx_child_start(const char *name, const struct cmx_netns *ns, uid_t uid,
		      gid_t gid, long timeout, bool key, int *fd)
{
	struct cmx_reply failed = {};
	pid_t parent = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(fds[0]);
		if (child_prepare(ns, uid, gid, timeout, key, parent,
				  &failed.error))
			child_run(fds[1], name, timeout);
		else if (failed.error)
			reply_write(fds[1], &failed);
		_exit(0);
	}
	close(fds[1]);
	*fd = fds[0];
	return pid;
}
