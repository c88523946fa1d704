// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx nvme connect --follow: SIGINT and SIGTERM end it, SIGHUP ends its pause.
 * They are blocked and looked for, so none is lost before a wait. No locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "nvme.h"

static bool blocked, ended;

void signals_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	blocked = true;
}

bool signals_ended(void)
{
	sigset_t set;

	if (blocked && !ended) {
		sigpending(&set);
		ended = sigismember(&set, SIGINT) || sigismember(&set, SIGTERM);
	}
	return ended;
}

bool signals_pause(unsigned long seconds)
{
	const struct timespec pause = { .tv_sec = seconds };
	sigset_t set;
	int sig;

	if (signals_ended())
		return false;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sig = sigtimedwait(&set, NULL, &pause);
	ended = sig == SIGINT || sig == SIGTERM;
	return !ended;
}

/* Waits for the end of a child, or for a signal that ends the command. */
static void child_sleep(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (!ended) {
		sigaddset(&set, SIGINT);
		sigaddset(&set, SIGTERM);
	}
	sig = sigwaitinfo(&set, NULL);
	if (sig == SIGINT || sig == SIGTERM)
		ended = true;
}

bool child_wait(pid_t pid, int *status)
{
	bool killed = false;
	pid_t ret;

	for (;;) {
		ret = waitpid(pid, status, blocked ? WNOHANG : 0);
		if (ret > 0)
			return true;
		if (ret < 0 && errno != EINTR)
			return false;
		if (ret < 0)
			continue;
		if (signals_ended() && !killed) {
			kill(pid, SIGTERM);
			killed = true;
		}
		child_sleep();
	}
}
