// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * probe WHAT: a program of the stock librdmacm that prints its behaviour; with
 * librdmacmx preloaded it prints that of librdmacmx.
 *
 * open	the results of the calls that open the device
 * loop	the same whenever a line is read, until the end of stdin
 * event	a signal while it waits in rdma_get_cm_event()
 * sync	signals while it waits in a synchronous rdma_resolve_addr()
 * close	a child closes its copy of a channel, the parent continues
 * destroy	a child destroys its copy of an id before
 * read	a child reads the parent's event
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static const char *result(int failed)
{
	return failed ? strerrorname_np(errno) ?: "?" : "ok";
}

static void open_all(void)
{
	struct rdma_event_channel *ch;
	struct rdma_addrinfo *res;
	struct rdma_cm_id *sync;
	int ret;

	errno = 0;
	ch = rdma_create_event_channel();
	printf("rdma_create_event_channel %s\n", result(!ch));
	if (ch)
		rdma_destroy_event_channel(ch);
	errno = 0;
	ret = rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP);
	printf("rdma_create_id %s\n", result(ret));
	if (!ret)
		rdma_destroy_id(sync);
	errno = 0;
	ret = rdma_getaddrinfo("10.55.0.2", "7471", NULL, &res);
	if (ret == EAI_SYSTEM)
		printf("rdma_getaddrinfo EAI_SYSTEM %s\n", result(1));
	else
		printf("rdma_getaddrinfo %s\n",
		       ret ? gai_strerror(ret) : "ok");
	if (!ret)
		rdma_freeaddrinfo(res);
	fflush(stdout);
}

static void loop(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		open_all();
		printf("end\n");
		fflush(stdout);
	}
}

static void setup(struct rdma_event_channel *ch)
{
	if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)) {
		perror("rdma_create_id");
		exit(1);
	}
}

static void on_alarm(int sig)
{
}

static void alarms(int usec)
{
	struct itimerval it = {
		.it_interval = { .tv_usec = usec },
		.it_value = { .tv_usec = usec },
	};
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static int resolve(const char *host)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(7471),
	};

	inet_pton(AF_INET, host, &to.sin_addr);
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 3000);
}

static void event(void)
{
	struct rdma_cm_event *ev;

	setup(channel);
	alarms(100000);
	printf("rdma_get_cm_event %s\n",
	       result(rdma_get_cm_event(channel, &ev)));
}

static void sync_call(void)
{
	setup(NULL);
	alarms(100000);
	/* No host has this address: the call ends at its timeout. */
	printf("rdma_resolve_addr %s\n", result(resolve("10.55.0.77")));
}

static void take(const char *who)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(channel, &ev)) {
		printf("%s %s\n", who, result(1));
		return;
	}
	printf("%s %s\n", who, rdma_event_str(ev->event));
	rdma_ack_cm_event(ev);
}

static void fork_close(int destroy)
{
	int status;

	setup(channel);
	if (!fork()) {
		if (destroy)
			printf("child: rdma_destroy_id %s\n",
			       result(rdma_destroy_id(id)));
		rdma_destroy_event_channel(channel);
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	printf("rdma_resolve_addr %s\n", result(resolve("10.55.0.1")));
	take("parent");
	printf("rdma_destroy_id %s\n", result(rdma_destroy_id(id)));
}

static void fork_read(void)
{
	int status;

	setup(channel);
	printf("rdma_resolve_addr %s\n", result(resolve("10.55.0.1")));
	fflush(stdout);
	if (!fork()) {
		take("child");
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	printf("rdma_resolve_route %s\n",
	       result(rdma_resolve_route(id, 3000)));
	take("parent");
	printf("rdma_destroy_id %s\n", result(rdma_destroy_id(id)));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "open")) {
		open_all();
		return 0;
	}
	if (!strcmp(what, "loop")) {
		loop();
		return 0;
	}
	channel = rdma_create_event_channel();
	if (!channel) {
		perror("rdma_create_event_channel");
		return 1;
	}
	if (!strcmp(what, "event"))
		event();
	else if (!strcmp(what, "sync"))
		sync_call();
	else if (!strcmp(what, "close") || !strcmp(what, "destroy"))
		fork_close(!strcmp(what, "destroy"));
	else if (!strcmp(what, "read"))
		fork_read();
	else
		return 2;
	return 0;
}
