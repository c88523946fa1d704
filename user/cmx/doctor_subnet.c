// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor: the subnet of an InfiniBand port. P_Keys, the subnet manager
 * (SM), and a response of the subnet administrator (SA).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"
#include "doctor.h"

#define PORT	"/sys/class/infiniband/%s/ports/%u"
/* No service has this name, and the SA's response is that there is none. */
#define SERVICE	"cmx-doctor-query"

static bool pkey_has(const struct port *port, unsigned long pkey)
{
	char text[32];
	unsigned int i;

	for (i = 0; file_line(text, sizeof(text), PORT "/pkeys/%u",
			      port->device, port->number, i); i++)
		if ((strtoul(text, NULL, 0) & 0x7fff) == (pkey & 0x7fff))
			return true;
	return false;
}

/* An IPoIB interface of the port, in use, whose partition the port is not in */
static bool interface_find(const struct port *port, char netdev[IF_NAMESIZE],
			   char pkey[32])
{
	struct if_nameindex *list = if_nameindex(), *at;
	bool found = false;

	for (at = list; at && at->if_name && !found; at++) {
		if (!port_has_netdev(port, at->if_name) ||
		    (strcmp(at->if_name, port->netdev) &&
		     !netdev_has_address(at->if_name)))
			continue;
		found = file_line(pkey, 32, "/sys/class/net/%s/pkey",
				  at->if_name) &&
			!pkey_has(port, strtoul(pkey, NULL, 0));
		if (found)
			snprintf(netdev, IF_NAMESIZE, "%.15s", at->if_name);
	}
	if (list)
		if_freenameindex(list);
	return found;
}

static void pkey_check(struct doctor *doctor, const struct port *port)
{
	unsigned int i, count = 0, full = 0;
	char netdev[IF_NAMESIZE], text[32], name[QUOTED_MAX];
	unsigned long pkey;

	for (i = 0; file_line(text, sizeof(text), PORT "/pkeys/%u",
			      port->device, port->number, i); i++) {
		pkey = strtoul(text, NULL, 0);
		count += !!(pkey & 0x7fff);
		full += (pkey & 0x7fff) && (pkey & 0x8000);
	}
	if (!count) {
		check_add(doctor, CHECK_WRONG, "pkey-missing",
			  "%s/%u: it is in no partition", port->device,
			  port->number);
		check_mend(doctor, "smpquery -C %s -P %u pkeys -D 0    # then partitions.conf of the subnet manager",
			   quoted(port->device, name), port->number);
		return;
	}
	if (interface_find(port, netdev, text)) {
		check_add(doctor, CHECK_WRONG, "pkey-interface",
			  "%s/%u: the P_Key %s of %s is not in its table",
			  port->device, port->number, text, netdev);
		check_mend(doctor, "smpquery -C %s -P %u pkeys -D 0    # then partitions.conf of the subnet manager",
			   quoted(port->device, name), port->number);
		return;
	}
	if (!full) {
		check_add(doctor, CHECK_WARNING, "pkey-limited",
			  "%s/%u: a limited member of each partition, which limited members do not reach",
			  port->device, port->number);
		check_mend(doctor, "smpquery -C %s -P %u pkeys -D 0    # then partitions.conf of the subnet manager",
			   quoted(port->device, name), port->number);
		return;
	}
	check_add(doctor, CHECK_OK, "pkey", "%s/%u: in %u partition%s, in %u as a full member",
		  port->device, port->number, count, count == 1 ? "" : "s",
		  full);
}

/* False: no response, or an error */
static bool sa_check(struct doctor *doctor, const struct port *port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA,
				       .ai_qp_type = IBV_QPT_RC,
				       .ai_port_space = RDMA_PS_IB };
	struct rdma_addrinfo *list;
	char text[80], name[QUOTED_MAX];
	int ret;

	snprintf(text, sizeof(text), "%s/%u", port->device, port->number);
	/* The argument replaces the device of the environment. */
	ret = rdmacmx_getaddrinfo(text, NULL, SERVICE, &hints, &list);
	if (!ret)
		rdma_freeaddrinfo(list);
	/* Without a path, which is another check, it has responded as well. */
	if (!ret || ret == EAI_NONAME ||
	    (ret == EAI_SYSTEM && errno == ENETUNREACH)) {
		check_add(doctor, CHECK_OK, "sa",
			  "%s: the subnet administrator responds", text);
		return true;
	}
	check_add(doctor, CHECK_WRONG, ret == EAI_FAIL ? "sa-refuses" : "sa",
		  "%s: the subnet administrator %s", text,
		  ret == EAI_AGAIN ? "does not respond" :
		  ret == EAI_FAIL ? "refuses the query" :
		  ret == EAI_SYSTEM || ret == -1 ? strerror(errno) :
		  gai_strerror(ret));
	check_mend(doctor, "sminfo -C %s -P %u    # then restart the subnet manager that it names",
		   quoted(port->device, name), port->number);
	return false;
}

static bool port_check(struct doctor *doctor, const struct port *port,
		       bool query)
{
	char text[32];

	if (!file_line(text, sizeof(text), PORT "/sm_lid", port->device,
		       port->number) || !strtoul(text, NULL, 0)) {
		check_add(doctor, CHECK_WRONG, "sm-missing",
			  "%s/%u: it knows no subnet manager", port->device,
			  port->number);
		sm_mend(doctor, port);
		return true;
	}
	check_add(doctor, CHECK_OK, "sm", "%s/%u: the subnet manager has LID %lu",
		  port->device, port->number, strtoul(text, NULL, 0));
	pkey_check(doctor, port);
	return !query || sa_check(doctor, port);
}

void doctor_subnet(struct doctor *doctor)
{
	unsigned int failed = 0;
	size_t i;

	/* Each port without a response takes ten seconds. */
	for (i = 0; i < doctor->port_count; i++)
		if (doctor->ports[i].infiniband && doctor->ports[i].active)
			failed += !port_check(doctor, &doctor->ports[i],
					      doctor->device >= 0 && failed < 2);
}
