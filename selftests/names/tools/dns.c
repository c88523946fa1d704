// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A DNS server with errors by request: the first label of the query selects the
 * response. dnsmasq cannot select SERVFAIL, FORMERR, NOTIMP or a truncated
 * response. One thread, no locks.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define TYPE_A		1
#define TYPE_CNAME	5
#define TYPE_TXT	16
#define TYPE_AAAA	28

#define RCODE_FORMERR	1
#define RCODE_SERVFAIL	2
#define RCODE_NXDOMAIN	3
#define RCODE_NOTIMP	4
#define RCODE_REFUSED	5

#define HEADER_LEN	12
#define REPLY_MAX	16384

/*
 * The meaning of each first label. A negative rcode sends nothing. The A and
 * AAAA counts are those of different addresses; dup repeats each.
 */
static const struct behaviour {
	const char *label;
	int rcode_a, rcode_aaaa;
	unsigned int a, aaaa, dup;
	int cname;
} behaviours[] = {
	{ "a",		0, 0, 1, 0, 1, 0 },
	{ "aaaa",	0, 0, 0, 1, 1, 0 },
	{ "both",	0, 0, 2, 2, 1, 0 },
	{ "dup",	0, 0, 2, 1, 3, 0 },
	{ "many",	0, 0, 300, 0, 1, 0 },
	{ "alias",	0, 0, 1, 0, 1, 1 },
	{ "txt",	0, 0, 0, 0, 1, 0 },
	{ "nx",		RCODE_NXDOMAIN, RCODE_NXDOMAIN, 0, 0, 1, 0 },
	{ "formerr",	RCODE_FORMERR, RCODE_FORMERR, 0, 0, 1, 0 },
	{ "servfail",	RCODE_SERVFAIL, RCODE_SERVFAIL, 0, 0, 1, 0 },
	{ "notimp",	RCODE_NOTIMP, RCODE_NOTIMP, 0, 0, 1, 0 },
	{ "refused",	RCODE_REFUSED, RCODE_REFUSED, 0, 0, 1, 0 },
	{ "silent",	-1, -1, 0, 0, 1, 0 },
	{ "half-servfail", 0, RCODE_SERVFAIL, 1, 0, 1, 0 },
	{ "half-refused", 0, RCODE_REFUSED, 1, 0, 1, 0 },
	{ "half-silent", 0, -1, 1, 0, 1, 0 },
	{ "nodata-servfail", 0, RCODE_SERVFAIL, 0, 0, 1, 0 },
};

static unsigned char *put16(unsigned char *p, unsigned int v)
{
	*p++ = v >> 8;
	*p++ = v;
	return p;
}

static const struct behaviour *behaviour_find(const char *label)
{
	size_t i;

	for (i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
		if (!strcasecmp(label, behaviours[i].label))
			return &behaviours[i];
	return NULL;
}

/* Length of the question with type and class, text in @text; 0: malformed */
static size_t question_parse(const unsigned char *query, size_t len,
			     char *text, size_t size)
{
	size_t at = HEADER_LEN, out = 0;
	unsigned int i, n;

	if (len < HEADER_LEN + 5)
		return 0;
	while ((n = query[at++])) {
		if (n > 63 || at + n + 5 > len || out + n + 2 > size)
			return 0;
		for (i = 0; i < n; i++)
			text[out++] = tolower(query[at++]);
		text[out++] = '.';
	}
	text[out ? out - 1 : 0] = 0;
	return at + 4 - HEADER_LEN;
}

static unsigned char *record_put(unsigned char *p, unsigned int owner,
				 unsigned int type, const void *data,
				 unsigned int len)
{
	p = put16(p, 0xc000 | owner);
	p = put16(p, type);
	p = put16(p, 1);
	p = put16(p, 0);
	p = put16(p, 60);
	p = put16(p, len);
	memcpy(p, data, len);
	return p + len;
}

/* Writes the records for one question; @count is their number. */
static unsigned char *answer_put(const struct behaviour *b, unsigned int type,
				 unsigned char *p, const unsigned char *reply,
				 unsigned int *count)
{
	unsigned char addr[16] = { 0x20, 0x01, 0x0d, 0xb8 };
	unsigned int owner = HEADER_LEN, i, j, n;

	*count = 0;
	if (b->cname && (type == TYPE_A || type == TYPE_AAAA)) {
		/* "real" before the rest of the name after the first label */
		unsigned char target[7] = "\4real";

		put16(target + 5, 0xc000 | (HEADER_LEN + 1 + reply[HEADER_LEN]));
		p = record_put(p, HEADER_LEN, TYPE_CNAME, target, sizeof(target));
		owner = p - sizeof(target) - reply;
		++*count;
	}
	n = type == TYPE_A ? b->a : type == TYPE_AAAA ? b->aaaa : 0;
	for (j = 0; j < b->dup; j++) {
		for (i = 0; i < n; i++) {
			if (type == TYPE_A) {
				unsigned char v4[4] = { 192, 0, 2 + i / 250,
							1 + i % 250 };

				p = record_put(p, owner, type, v4, 4);
			} else {
				addr[15] = 1 + i;
				p = record_put(p, owner, type, addr, 16);
			}
			++*count;
		}
	}
	if (type == TYPE_TXT && !strcmp(b->label, "txt")) {
		p = record_put(p, owner, type, "\2hi", 3);
		++*count;
	}
	return p;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: dns [-a ADDRESS] [-p PORT] [-m BEHAVIOUR] [-l LOG]\n"
		"The first label of a question selects the response; -m does it for all.\n"
		"READY is printed once queries are taken. Behaviours:");
	for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++)
		fprintf(stderr, " %s", behaviours[i].label);
	fprintf(stderr, "\n");
	exit(2);
}

int main(int argc, char **argv)
{
	struct sockaddr_in local = { .sin_family = AF_INET };
	const char *address = "127.0.0.1", *mode = NULL;
	static unsigned char query[512], reply[REPLY_MAX];
	int port = 53, opt, fd;
	FILE *log = NULL;

	while ((opt = getopt(argc, argv, "a:p:m:l:")) != -1) {
		switch (opt) {
		case 'a':
			address = optarg;
			break;
		case 'p':
			port = atoi(optarg);
			break;
		case 'm':
			mode = optarg;
			break;
		case 'l':
			log = fopen(optarg, "a");
			if (!log) {
				perror(optarg);
				return 1;
			}
			break;
		default:
			usage();
		}
	}
	if (optind != argc || (mode && !behaviour_find(mode)))
		usage();
	local.sin_port = htons(port);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (inet_pton(AF_INET, address, &local.sin_addr) != 1 || fd < 0 ||
	    bind(fd, (void *)&local, sizeof(local))) {
		fprintf(stderr, "dns: %s port %d: %s\n", address, port,
			strerror(errno));
		return 1;
	}
	printf("READY\n");
	fflush(stdout);

	for (;;) {
		struct sockaddr_storage peer;
		socklen_t peer_len = sizeof(peer);
		const struct behaviour *b;
		unsigned int type, count = 0;
		char name[256], label[64];
		unsigned char *p;
		ssize_t len;
		size_t qlen;
		int rcode;

		len = recvfrom(fd, query, sizeof(query), 0, (void *)&peer,
			       &peer_len);
		if (len < 0)
			continue;
		qlen = question_parse(query, len, name, sizeof(name));
		if (!qlen)
			continue;
		type = query[HEADER_LEN + qlen - 4] << 8 |
		       query[HEADER_LEN + qlen - 3];
		if (log) {
			fprintf(log, "%s %u\n", name, type);
			fflush(log);
		}
		snprintf(label, sizeof(label), "%.*s",
			 (int)strcspn(name, "."), name);
		b = behaviour_find(mode ? mode : label);
		if (!b)
			b = behaviour_find("nx");
		rcode = type == TYPE_AAAA ? b->rcode_aaaa : b->rcode_a;
		if (rcode < 0)
			continue;

		memset(reply, 0, HEADER_LEN);
		memcpy(reply, query, 2);
		put16(reply + 2, 0x8580 | rcode);
		put16(reply + 4, 1);
		memcpy(reply + HEADER_LEN, query + HEADER_LEN, qlen);
		p = reply + HEADER_LEN + qlen;
		if (!rcode)
			p = answer_put(b, type, p, reply, &count);
		put16(reply + 6, count);
		sendto(fd, reply, p - reply, 0, (void *)&peer, peer_len);
	}
}
