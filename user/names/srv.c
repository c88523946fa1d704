// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SRV records (RFC 2782). Any name server may respond, so the response is
 * validated: a record whose target is no host name is left out, and the numbers
 * of records and of hosts are limited. No locks.
 */
#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "names.h"
#include "srv.h"

/* Priority, weight and port before the target */
#define SRV_FIXED	6

bool cmx_srv_name(const char *name)
{
	const char *dot;

	if (name[0] != '_' || name[1] == '.')
		return false;
	dot = strchr(name, '.');
	if (!dot || dot[1] != '_' || dot[2] == '.')
		return false;
	dot = strchr(dot + 1, '.');
	return dot && dot[1];
}

static unsigned int get16(const unsigned char *p)
{
	return p[0] << 8 | p[1];
}

/* @data: the record's data, up to @end, in the message @msg */
static bool srv_read(const unsigned char *msg, const unsigned char *data,
		     const unsigned char *end, struct cmx_srv *srv)
{
	char host[NS_MAXDNAME];
	int len;

	if (end - data <= SRV_FIXED)
		return false;
	len = dn_expand(msg, end, data + SRV_FIXED, host, sizeof(host));
	if (len != end - data - SRV_FIXED)
		return false;
	if (*host && !cmx_names_valid(host))
		return false;
	srv->priority = get16(data);
	srv->weight = get16(data + 2);
	srv->port = get16(data + 4);
	strcpy(srv->host, host);
	return true;
}

/* Skips a name and @fixed bytes; NULL if the message ends before. */
static const unsigned char *skip(const unsigned char *p,
				 const unsigned char *end, int fixed)
{
	int len = dn_skipname(p, end);

	return len < 0 || end - p - len < fixed ? NULL : p + len + fixed;
}

/*
 * A total order of the records, for the limits: a name server rotates them, and
 * the same ones must count each time.
 */
static int srv_rank(const void *a, const void *b)
{
	const struct cmx_srv *x = a, *y = b;
	int order;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	order = strcasecmp(x->host, y->host);
	if (order)
		return order;
	return (x->port > y->port) - (x->port < y->port);
}

/* Replaces the last record of the full list if @srv comes before it. */
static void srv_replace(struct cmx_srv *list, const struct cmx_srv *srv)
{
	unsigned int last = 0, i;

	for (i = 1; i < CMX_SRV_RECORDS; i++)
		if (srv_rank(&list[i], &list[last]) > 0)
			last = i;
	if (srv_rank(srv, &list[last]) < 0)
		list[last] = *srv;
}

int cmx_srv_parse(const unsigned char *msg, size_t len, struct cmx_srv *list)
{
	const unsigned char *end = msg + len, *p = msg + NS_HFIXEDSZ, *data;
	unsigned int questions, answers;
	struct cmx_srv srv;
	int count = 0;

	if (len < NS_HFIXEDSZ)
		return -1;
	questions = get16(msg + 4);
	answers = get16(msg + 6);
	while (questions--) {
		p = skip(p, end, NS_QFIXEDSZ);
		if (!p)
			return -1;
	}
	while (answers--) {
		data = skip(p, end, NS_RRFIXEDSZ);
		if (!data || end - data < get16(data - 2))
			return -1;
		p = data + get16(data - 2);
		if (get16(data - 10) != ns_t_srv ||
		    get16(data - 8) != ns_c_in ||
		    !srv_read(msg, data, p, &srv))
			continue;
		if (count < CMX_SRV_RECORDS)
			list[count++] = srv;
		else
			srv_replace(list, &srv);
	}
	return count;
}

unsigned int cmx_srv_limit(struct cmx_srv *list, unsigned int count)
{
	qsort(list, count, sizeof(*list), srv_rank);
	return count < CMX_SRV_HOSTS ? count : CMX_SRV_HOSTS;
}

/* By priority. Weight 0 is first, so that it has a small chance. */
static int srv_compare(const void *a, const void *b)
{
	const struct cmx_srv *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return !!x->weight - !!y->weight;
}

/* Chooses the next record of @list, all of one priority. */
static unsigned int srv_choose(const struct cmx_srv *list, unsigned int count,
			       unsigned int (*random)(unsigned int max))
{
	unsigned int sum = 0, chosen, i;

	for (i = 0; i < count; i++)
		sum += list[i].weight;
	chosen = random(sum);
	sum = 0;
	for (i = 0; i < count - 1; i++) {
		sum += list[i].weight;
		if (sum >= chosen)
			break;
	}
	return i;
}

void cmx_srv_order(struct cmx_srv *list, unsigned int count,
		   unsigned int (*random)(unsigned int max))
{
	unsigned int first, same, i;
	struct cmx_srv srv;

	qsort(list, count, sizeof(*list), srv_compare);
	for (first = 0; first < count; first++) {
		for (same = 1; first + same < count; same++)
			if (list[first + same].priority != list[first].priority)
				break;
		i = first + srv_choose(list + first, same, random);
		srv = list[i];
		/* The others keep their order: weight 0 stays first. */
		memmove(&list[first + 1], &list[first],
			(i - first) * sizeof(srv));
		list[first] = srv;
	}
}

static unsigned int srv_random(unsigned int max)
{
	unsigned int value = 0;

	/* Without randomness the first one is as good as any other. */
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		return 0;
	return value % (max + 1);
}

/* Treats the name as one without records, or as an error. */
static int srv_error(int dns)
{
	switch (dns) {
	case HOST_NOT_FOUND:
	case NO_DATA:
		return 0;
	case NO_RECOVERY:
		return -ECONNREFUSED;
	default:
		return -EAGAIN;
	}
}

int cmx_srv_query(const char *name, struct cmx_srv *list)
{
	unsigned char *buf = malloc(NS_MAXMSG);
	int len, count;

	if (!buf)
		return -ENOMEM;
	len = res_search(name, ns_c_in, ns_t_srv, buf, NS_MAXMSG);
	if (len < 0) {
		count = srv_error(_res.res_h_errno);
	} else {
		count = cmx_srv_parse(buf, len, list);
		if (count < 0) {
			count = -EAGAIN;
		} else {
			count = cmx_srv_limit(list, count);
			cmx_srv_order(list, count, srv_random);
		}
	}
	free(buf);
	return count;
}
