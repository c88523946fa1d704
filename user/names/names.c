// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names, results and errors of the name helper, as rdma_cmx_names.h specifies
 * them. No state, so no locks.
 */
#define _GNU_SOURCE	/* EAI_NODATA */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "names.h"

#define LABEL_MAX 63

static bool name_char(char c)
{
	/* not isalnum(), which depends on the locale */
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool name_syntax(const char *name, size_t len)
{
	size_t label = 0, i;

	for (i = 0; i < len; i++) {
		if (name[i] == '.') {
			if (!label)
				return false;
			label = 0;
		} else if (!name_char(name[i]) || ++label > LABEL_MAX) {
			return false;
		}
	}
	/* One dot at the end is valid: it marks an absolute name. */
	return len > 0;
}

bool cmx_names_valid(const char *name)
{
	size_t len = strnlen(name, RDMA_CMX_NAMES_MAX_NAME + 1);
	struct in_addr addr;

	if (len > RDMA_CMX_NAMES_MAX_NAME || !name_syntax(name, len))
		return false;
	/* getaddrinfo would read 127.1 or 0x7f000001 as an address. */
	return !inet_aton(name, &addr);
}

/* False for a family that the kernel does not support */
static bool addr_fill(struct rdma_cmx_names_addr *to, const struct addrinfo *ai)
{
	memset(to, 0, sizeof(*to));
	to->family = ai->ai_family;
	if (ai->ai_family == AF_INET &&
	    ai->ai_addrlen >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *sin = (const void *)ai->ai_addr;

		memcpy(to->addr, &sin->sin_addr, sizeof(sin->sin_addr));
		return true;
	}
	if (ai->ai_family == AF_INET6 &&
	    ai->ai_addrlen >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *sin6 = (const void *)ai->ai_addr;

		memcpy(to->addr, &sin6->sin6_addr, sizeof(sin6->sin6_addr));
		if (IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr) ||
		    IN6_IS_ADDR_MC_LINKLOCAL(&sin6->sin6_addr))
			to->scope_id = sin6->sin6_scope_id;
		return true;
	}
	return false;
}

static bool addr_listed(const struct rdma_cmx_names *names,
			const struct rdma_cmx_names_addr *addr)
{
	unsigned int i;

	for (i = 0; i < names->addr_count; i++)
		if (!memcmp(&names->addrs[i], addr, sizeof(*addr)))
			return true;
	return false;
}

void cmx_names_begin(void *buf, unsigned int version)
{
	struct rdma_cmx_names *names = buf;

	memset(names, 0, sizeof(*names));
	names->version = version;
}

/*
 * Replaces the highest address of the full list if @addr is lower. The order of
 * the others remains.
 */
static void addr_replace(struct rdma_cmx_names_addr *list, unsigned int count,
			 const struct rdma_cmx_names_addr *addr)
{
	unsigned int last = 0, i;

	for (i = 1; i < count; i++)
		if (memcmp(&list[i], &list[last], sizeof(*list)) > 0)
			last = i;
	if (memcmp(addr, &list[last], sizeof(*list)) > 0)
		return;
	memmove(&list[last], &list[last + 1],
		(count - last - 1) * sizeof(*list));
	list[count - 1] = *addr;
}

void cmx_names_add(void *buf, const struct addrinfo *list, unsigned int port,
		   unsigned int max)
{
	struct rdma_cmx_names *names = buf;
	const unsigned int first = names->addr_count;
	struct rdma_cmx_names_addr addr;
	const struct addrinfo *ai;

	if (max + first > RDMA_CMX_NAMES_MAX_ADDRS)
		max = RDMA_CMX_NAMES_MAX_ADDRS - first;
	for (ai = list; ai && max; ai = ai->ai_next) {
		if (!addr_fill(&addr, ai))
			continue;
		addr.port = port;
		if (addr_listed(names, &addr))
			continue;
		if (names->addr_count - first < max)
			names->addrs[names->addr_count++] = addr;
		else
			addr_replace(&names->addrs[first], max, &addr);
	}
}

size_t cmx_names_end(void *buf, const char *canon)
{
	struct rdma_cmx_names *names = buf;
	size_t len;

	if (!names->addr_count)
		return 0;
	/*
	 * Any server may provide the canonical name: an invalid host name is
	 * left out.
	 */
	if (canon) {
		len = strnlen(canon, RDMA_CMX_NAMES_MAX_NAME + 1);
		if (len <= RDMA_CMX_NAMES_MAX_NAME && name_syntax(canon, len)) {
			memcpy(&names->addrs[names->addr_count], canon, len);
			names->canon_len = len;
		}
	}
	return sizeof(*names) +
	       names->addr_count * sizeof(names->addrs[0]) + names->canon_len;
}

size_t cmx_names_pack(const struct addrinfo *list, void *buf)
{
	cmx_names_begin(buf, RDMA_CMX_NAMES_VERSION);
	cmx_names_add(buf, list, 0, RDMA_CMX_NAMES_MAX_ADDRS);
	return cmx_names_end(buf, list ? list->ai_canonname : NULL);
}

/*
 * EAI_NONAME only means that the last service in nsswitch.conf did not know the
 * name. With one behind dns, such as "dns files" or "dns myhostname", it hides
 * a failure of the name server, and glibc returns it for a FORMERR too.
 */
static int noname_errno(int dns)
{
	switch (dns) {
	case TRY_AGAIN:
		return EAGAIN;
	case NO_RECOVERY:
		return ECONNREFUSED;
	case NO_DATA:
		return ENODATA;
	default:
		return ENOENT;
	}
}

int cmx_names_errno(int gai, int dns, int sys)
{
	switch (gai) {
	case 0:
		return 0;
	case EAI_NONAME:
		return noname_errno(dns);
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return ENODATA;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_FAIL:
		return ECONNREFUSED;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_SYSTEM:
		/*
		 * ECONNREFUSED here is from a local service, not from a name
		 * server.
		 */
		if (sys == ENOMEM || sys == EAGAIN || sys == ETIMEDOUT)
			return sys;
		return EIO;
	default:
		return EIO;
	}
}

bool cmx_names_known(int error)
{
	static const int known[] = {
		ENOENT, ENODATA, EAGAIN, ETIMEDOUT, ECONNREFUSED, ENOMEM, EIO,
		EOPNOTSUPP,
	};
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (error == known[i])
			return true;
	return false;
}

bool cmx_names_check(const void *answer, size_t len)
{
	const struct rdma_cmx_names *names = answer;
	unsigned int i;

	if (len < sizeof(*names) ||
	    (names->version != RDMA_CMX_NAMES_VERSION &&
	     names->version != RDMA_CMX_NAMES_VERSION_PORTS) ||
	    !names->addr_count ||
	    names->addr_count > RDMA_CMX_NAMES_MAX_ADDRS ||
	    names->canon_len > RDMA_CMX_NAMES_MAX_NAME ||
	    len != sizeof(*names) + names->canon_len +
		   names->addr_count * sizeof(names->addrs[0]))
		return false;
	for (i = 0; i < names->addr_count; i++)
		if (names->addrs[i].family != AF_INET &&
		    names->addrs[i].family != AF_INET6)
			return false;
	return !names->canon_len ||
	       name_syntax((const char *)&names->addrs[names->addr_count],
			   names->canon_len);
}

bool cmx_names_number(const char *text, long min, long max, long *value)
{
	const char *p;
	char *end;
	long v;

	if (!*text)
		return false;
	for (p = text; *p; p++)
		if (*p < '0' || *p > '9')
			return false;
	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*value = v;
	return true;
}
