// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Three name servers for tests, on UDP ports of 127.0.0.1: 5301 never
 * answers, 5302 answers SERVFAIL to everything, 5305 REFUSED. One thread,
 * no state.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define PORT_BASE 5300

static const int rcodes[] = { 1 /* silent */, 2 /* SERVFAIL */,
			      5 /* REFUSED */ };

static void query_answer(int fd, int rcode)
{
	unsigned char msg[1500];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	n = recvfrom(fd, msg, sizeof(msg), 0, (struct sockaddr *)&from, &len);
	if (n < 12 || rcode == 1)
		return;
	msg[2] |= 0x80;				/* a response */
	msg[3] = 0x80 | rcode;			/* recursion available */
	sendto(fd, msg, n, 0, (struct sockaddr *)&from, len);
}

int main(void)
{
	struct pollfd fds[3];
	int i;

	for (i = 0; i < 3; i++) {
		struct sockaddr_in addr = {
			.sin_family = AF_INET,
			.sin_port = htons(PORT_BASE + rcodes[i]),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};

		fds[i].fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		fds[i].events = POLLIN;
		if (fds[i].fd < 0 ||
		    bind(fds[i].fd, (struct sockaddr *)&addr, sizeof(addr))) {
			perror("dns-answer");
			return 1;
		}
	}
	for (;;) {
		if (poll(fds, 3, -1) < 0)
			continue;
		for (i = 0; i < 3; i++)
			if (fds[i].revents)
				query_answer(fds[i].fd, rcodes[i]);
	}
}
