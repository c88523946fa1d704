/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* cmx_consumer.ko, used from C: one command, and the text of its result. */
#ifndef FAULTS_CONSUMER_H
#define FAULTS_CONSUMER_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONSUMER	"/sys/kernel/debug/cmx_consumer/"

/* The result; the error that a resolution or join ended with. */
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
	int fd = open(CONSUMER "result", O_RDONLY | O_CLOEXEC), len = 0;
	const char *error;

	if (fd >= 0) {
		len = read(fd, a->text, sizeof(a->text) - 1);
		close(fd);
	}
	a->text[len < 0 ? 0 : len] = 0;
	error = strstr(a->text, "error=");
	a->error = 0;
	if (error)
		sscanf(error + 6, "%d", &a->error);
	error = strstr(a->text, "status=");
	if (!a->error && error)
		sscanf(error + 7, "%d", &a->error);
}

#endif /* FAULTS_CONSUMER_H */
