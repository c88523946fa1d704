// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * glibc's DNS client drops SERVFAIL, NOTIMP and REFUSED alike and returns "try
 * again", as for a server that does not run. The kernel's ABI distinguishes a
 * refusal. So after such a failure this file sends a query to the same servers,
 * in plain UDP, and checks their return codes. The state is that of the calling
 * thread: no locks.
 */
#include <arpa/nameser.h>
#include <ctype.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

bool cmx_probe_setup(long seconds)
{
	int waits, retrans;

	if (res_init())
		return false;
	/*
	 * A server that responds for one family only costs glibc three waits, a
	 * dead first server one; both must fit before the alarm.
	 */
	waits = 4 * (_res.nscount > 0 ? _res.nscount : 1);
	retrans = seconds / waits;
	if (retrans < 1)
		retrans = 1;
	if (_res.retrans > retrans)
		_res.retrans = retrans;
	return true;
}

/* Compares without the case of letters; lengths and numbers are no letters. */
static bool question_same(const unsigned char *a, const unsigned char *b,
			  size_t len)
{
	while (len--)
		if (tolower(*a++) != tolower(*b++))
			return false;
	return true;
}

enum cmx_probe cmx_probe_reply(const unsigned char *query, size_t query_len,
			       const unsigned char *reply, size_t reply_len)
{
	enum cmx_probe meaning;
	bool question;

	if (query_len < NS_HFIXEDSZ || reply_len < NS_HFIXEDSZ ||
	    memcmp(query, reply, 2) || !(reply[2] & 0x80))
		return CMX_PROBE_SILENT;

	switch (reply[3] & 0xf) {
	case ns_r_noerror:
	case ns_r_nxdomain:
		meaning = CMX_PROBE_ANSWERED;
		break;
	case ns_r_formerr:
	case ns_r_notimpl:
	case ns_r_refused:
		meaning = CMX_PROBE_REFUSED;
		break;
	default:
		meaning = CMX_PROBE_FAILING;
		break;
	}
	/* Only a server that refuses may omit the question section. */
	question = reply[4] || reply[5];
	if (!question)
		return meaning == CMX_PROBE_REFUSED ? meaning :
						      CMX_PROBE_SILENT;
	if (reply_len < query_len ||
	    !question_same(query + NS_HFIXEDSZ, reply + NS_HFIXEDSZ,
			   query_len - NS_HFIXEDSZ))
		return CMX_PROBE_SILENT;
	return meaning;
}

/* The first name that the DNS client queries, as in res_search(3) */
static bool qname_first(const char *name, char *qname, size_t size)
{
	unsigned int dots = 0;
	const char *p;
	int len;

	for (p = name; *p; p++)
		dots += *p == '.';
	if (dots >= _res.ndots || p[-1] == '.' ||
	    !(_res.options & RES_DNSRCH) || !_res.dnsrch[0] ||
	    !*_res.dnsrch[0])
		len = snprintf(qname, size, "%s", name);
	else
		len = snprintf(qname, size, "%s.%s", name, _res.dnsrch[0]);
	return len > 0 && (size_t)len < size;
}

/* A socket that receives from one server only, with its ICMP errors */
static int server_connect(int i)
{
	const struct sockaddr *addr = (const void *)&_res.nsaddr_list[i];
	socklen_t len = sizeof(struct sockaddr_in);
	int fd;

	if (!_res.nsaddr_list[i].sin_family) {
		addr = (const void *)_res._u._ext.nsaddrs[i];
		len = sizeof(struct sockaddr_in6);
		if (!addr)
			return -1;
	}
	fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd >= 0 && connect(fd, addr, len)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static enum cmx_probe server_receive(int fd, const unsigned char *query,
				     size_t query_len)
{
	unsigned char reply[NS_PACKETSZ];
	ssize_t len = recv(fd, reply, sizeof(reply), 0);

	if (len < 0)
		return CMX_PROBE_FAILING;
	return cmx_probe_reply(query, query_len, reply, len);
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* False after the time; @end < 0: no limit */
static bool servers_wait(struct pollfd *fds, int count, long long end)
{
	long long left = -1;

	if (end >= 0) {
		left = end - now_ms();
		if (left <= 0)
			return false;
	}
	if (poll(fds, count, left) < 0)
		for (int s = 0; s < count; s++)
			fds[s].revents = 0;
	return true;
}

enum cmx_probe cmx_probe_query(const char *name, int timeout_ms)
{
	long long end = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
	unsigned char query[NS_PACKETSZ];
	enum cmx_probe best = CMX_PROBE_SILENT;
	char qname[NS_MAXDNAME];
	struct pollfd fds[MAXNS];
	int waiting = 0, len, i;

	/* A host that queries by TCP only may require it: no UDP then. */
	if (_res.options & RES_USEVC)
		return CMX_PROBE_FAILING;
	if (!qname_first(name, qname, sizeof(qname)))
		return CMX_PROBE_FAILING;
	len = res_mkquery(ns_o_query, qname, ns_c_in, ns_t_a, NULL, 0, NULL,
			  query, sizeof(query));
	if (len < 0)
		return CMX_PROBE_FAILING;

	for (i = 0; i < MAXNS && i < _res.nscount; i++) {
		fds[i].fd = server_connect(i);
		fds[i].events = POLLIN;
		if (fds[i].fd < 0 || send(fds[i].fd, query, len, 0) < 0)
			best = CMX_PROBE_FAILING;
		else
			waiting++;
	}
	/* Without a wait for the rest once a better result is certain */
	while (waiting && best <= CMX_PROBE_REFUSED) {
		if (!servers_wait(fds, i, end)) {
			/* A silent server may still respond better. */
			best = CMX_PROBE_FAILING;
			break;
		}
		for (int s = 0; s < i; s++) {
			enum cmx_probe now;

			if (fds[s].fd < 0 || !fds[s].revents)
				continue;
			now = server_receive(fds[s].fd, query, len);
			if (now == CMX_PROBE_SILENT)
				continue;
			if (now > best)
				best = now;
			close(fds[s].fd);
			fds[s].fd = -1;
			waiting--;
		}
	}
	for (int s = 0; s < i; s++)
		if (fds[s].fd >= 0)
			close(fds[s].fd);
	return best == CMX_PROBE_SILENT ? CMX_PROBE_FAILING : best;
}
