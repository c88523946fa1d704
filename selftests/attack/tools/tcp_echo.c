// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * tcp_echo client
 * server ADDRESS PORT: a socket program, to run with librspreload. The server
 * ends with success after it has sent a text back.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEXT	"a text that comes back"

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static int read_text(int fd, char *text)
{
	ssize_t len, all = 0;

	while (all < (ssize_t)sizeof(TEXT)) {
		len = recv(fd, text + all, sizeof(TEXT) - all, 0);
		if (len <= 0)
			return -1;
		all += len;
	}
	return memcmp(text, TEXT, sizeof(TEXT)) ? -1 : 0;
}

static int client(int fd, const struct sockaddr_in *addr)
{
	char text[sizeof(TEXT)];

	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return failed("connect");
	if (send(fd, TEXT, sizeof(TEXT), 0) != sizeof(TEXT))
		return failed("send");
	if (read_text(fd, text))
		return failed("recv");
	close(fd);
	return 0;
}

static int server(int fd, const struct sockaddr_in *addr)
{
	char text[sizeof(TEXT)];
	int conn;

	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return failed("bind");
	if (listen(fd, 8))
		return failed("listen");
	for (;;) {
		conn = accept(fd, NULL, NULL);
		if (conn < 0) {
			perror("accept");
			continue;
		}
		if (!read_text(conn, text))
			break;
		close(conn);
	}
	if (send(conn, text, sizeof(text), 0) != sizeof(text))
		return failed("send");
	/* The client has received it before the connection ends. */
	shutdown(conn, SHUT_WR);
	recv(conn, text, sizeof(text), 0);
	close(conn);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd;

	if (argc != 4 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		return 2;
	addr.sin_port = htons(atoi(argv[3]));
	alarm(300);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return failed("socket");
	return strcmp(argv[1], "server") ? client(fd, &addr) :
					   server(fd, &addr);
}
