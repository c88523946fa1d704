/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * cmx_consumer.ko from C: one command, and the text of its result. Also the
 * number of live objects.
 */
#ifndef FAULTS_CONSUMER_H
#define FAULTS_CONSUMER_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONSUMER	"/sys/kernel/debug/cmx_consumer/"
#define LIVE		"/sys/module/rdma_cmx/counters/live_*"
#define SA_EVENTS	"/sys/module/rdma_cmx/counters/sa_events"

/* The result, and the error of a resolution or join */
struct consumer_answer {
	char text[2048];
	int error;
};

/* Opened before a fault is armed */
static inline int consumer_open(void)
{
	return open(CONSUMER "command", O_WRONLY | O_CLOEXEC);
}

/* 0 or a negative errno of the command itself */
static inline int consumer_do(int fd, const char *command)
{
	return write(fd, command, strlen(command)) < 0 ? -errno : 0;
}

static inline void consumer_read(struct consumer_answer *a)
{
	static const char * const names[] = {
		"error=", "status=", "forgot=", "known=",
	};
	int fd = open(CONSUMER "result", O_RDONLY | O_CLOEXEC), len = 0;
	const char *error;
	unsigned int i;

	if (fd >= 0) {
		len = read(fd, a->text, sizeof(a->text) - 1);
		close(fd);
	}
	a->text[len < 0 ? 0 : len] = 0;
	a->error = 0;
	for (i = 0; !a->error && i < sizeof(names) / sizeof(names[0]); i++) {
		error = strstr(a->text, names[i]);
		if (error)
			sscanf(strchr(error, '=') + 1, "%d", &a->error);
	}
}

/*
 * Repeats @command until the result contains @part, for a minute: 0, or ETIME.
 */
static inline int consumer_wait(int fd, const char *command, const char *part,
				struct consumer_answer *a)
{
	double end = now_ms() + 60000;
	int ret;

	do {
		ret = consumer_do(fd, command);
		if (ret)
			return ret;
		consumer_read(a);
		if (strstr(a->text, part))
			return 0;
		poll(NULL, 0, 10);
	} while (now_ms() < end);
	return -ETIME;
}

/*
 * Waits until the advertised service is set on all four ports: true if each
 * port has reported that once. A port whose generation changes meanwhile is set
 * again, and reports that, too: @before is the counter sa_events at first.
 */
static inline bool advertised_once(int fd, long before,
				   struct consumer_answer *a)
{
	static const char all[] = "set=4 waiting=0 error=0 events=";
	double end = now_ms() + 60000;
	const char *found;
	int set = 0;

	do {
		if (consumer_do(fd, "advertised 0"))
			return false;
		consumer_read(a);
		found = strstr(a->text, all);
		if (found)
			set = atoi(found + strlen(all));
		if (set >= 4)
			break;
		poll(NULL, 0, 10);
	} while (now_ms() < end);
	return set >= 4 && strstr(found, ",0,") &&
	       set - 4 <= number_get(SA_EVENTS) - before;
}

/* In gamma: the GIDs of the second and third device */
static inline bool fabric_gids(char *here, char *there)
{
	FILE *f = popen("bash -c '. /usr/lib/rdma-cmx/selftests/lib.sh; "
			". /usr/lib/rdma-cmx/selftests/fabric.sh; "
			"dev_gid $(fab_dev 2); dev_gid $(fab_dev 3)'", "r");
	int n;

	if (!f)
		return false;
	n = fscanf(f, "%63s %63s", here, there);
	return !pclose(f) && n == 2;
}

/* Number of live objects of rdma_cmx */
static inline long live_objects(void)
{
	long sum = 0;
	glob_t files;
	size_t i;

	if (glob(LIVE, 0, NULL, &files))
		return -1;
	for (i = 0; i < files.gl_pathc; i++)
		sum += number_get(files.gl_pathv[i]);
	globfree(&files);
	return sum;
}

/*
 * Waits until at most @want objects are live. Work items may end later, also
 * those whose objects are included in @want.
 */
static inline bool live_are(long want)
{
	double end = now_ms() + 60000;
	long now;

	do {
		now = live_objects();
		if (now >= 0 && now <= want)
			return true;
		poll(NULL, 0, 10);
	} while (now_ms() < end);
	system("grep -v '^0' " LIVE " | sed 's/^/# /'");
	return false;
}

#endif /* FAULTS_CONSUMER_H */
