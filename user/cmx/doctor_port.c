// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor: the RDMA devices and their ports. Namespace mode, state, network
 * interfaces, GIDs.
 *
 * An unconfigured port may be down. A port with an address must be up, and one
 * port must be usable.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "cmx.h"
#include "doctor.h"

#define SYS	"/sys/class/infiniband/%s"
#define PORT	SYS "/ports/%u"
#define GIDS	256	/* limit for each port */

bool port_gid(const struct port *port, unsigned int index,
	      struct in6_addr *gid, char type[32])
{
	static const struct in6_addr none;
	char text[64];

	if (!file_line(text, sizeof(text), PORT "/gids/%u", port->device,
		       port->number, index) ||
	    inet_pton(AF_INET6, text, gid) != 1 ||
	    !memcmp(gid, &none, sizeof(none)))
		return false;
	/* For InfiniBand and iWARP the file contains "IB/RoCE v1". */
	if (port->iwarp)
		strcpy(type, "iWARP");
	else if (port->infiniband ||
		 !file_line(type, 32, PORT "/gid_attrs/types/%u", port->device,
			    port->number, index))
		strcpy(type, "InfiniBand");
	/* A GID of the subnet prefix alone is empty. */
	return memcmp(gid->s6_addr + 8, none.s6_addr, 8) || !port->infiniband;
}

static bool port_netdev(const struct port *port, unsigned int index,
			char name[IF_NAMESIZE])
{
	return file_line(name, IF_NAMESIZE, PORT "/gid_attrs/ndevs/%u",
			 port->device, port->number, index);
}

static bool port_roce(const struct port *port)
{
	return !port->infiniband && !port->iwarp;
}

/*
 * Reads the GIDs of a port once for all interfaces: a host may have thousands
 * of interfaces, and another user may have created most of them.
 */
static void gids_read(struct doctor *doctor, struct port *port)
{
	struct port_gid *entry;
	char type[32];
	unsigned int i;

	if (port->infiniband)
		return;
	port->gids = calloc(GIDS, sizeof(*port->gids));
	if (!port->gids) {
		doctor->memory = true;
		return;
	}
	for (i = 0; i < GIDS; i++) {
		/*
		 * The table has no files after the last GID; empty GIDs may
		 * precede it.
		 */
		if (!file_exists(PORT "/gids/%u", port->device, port->number,
				 i))
			break;
		entry = &port->gids[i];
		if (!port_gid(port, i, &entry->gid, type))
			memset(&entry->gid, 0, sizeof(entry->gid));
		if (!port_netdev(port, i, entry->netdev))
			entry->netdev[0] = '\0';
	}
	port->gid_count = i;
}

bool port_has_netdev(const struct port *port, const char *netdev)
{
	static const struct in6_addr none;
	struct in6_addr gid;
	char type[32];
	unsigned int i;

	if (port->infiniband)
		return port_gid(port, 0, &gid, type) && ipoib_of(netdev, &gid);
	for (i = 0; i < port->gid_count; i++) {
		/* Linux before 6.5 has no interface names for iWARP. */
		if (*port->gids[i].netdev ?
		    strcmp(port->gids[i].netdev, netdev) : !port->iwarp)
			continue;
		if (memcmp(&port->gids[i].gid, &none, sizeof(none)) &&
		    netdev_has_gid(netdev, &port->gids[i].gid))
			return true;
	}
	return false;
}

const struct port *port_of_netdev(const struct doctor *doctor,
				  const char *netdev)
{
	size_t i;

	for (i = 0; i < doctor->port_count; i++)
		if (port_has_netdev(&doctor->ports[i], netdev))
			return &doctor->ports[i];
	return NULL;
}

/* Finds the first network interface of the port, preferably with an address. */
static void netdev_find(struct port *port)
{
	struct if_nameindex *list = if_nameindex(), *at;

	port->netdev[0] = '\0';
	for (at = list; at && at->if_name; at++) {
		if (!port_has_netdev(port, at->if_name))
			continue;
		if (!port->netdev[0] || netdev_has_address(at->if_name))
			strcpy(port->netdev, at->if_name);
		if (netdev_has_address(at->if_name))
			break;
	}
	if (list)
		if_freenameindex(list);
}

static bool netdev_is_up(const char *netdev)
{
	unsigned int flags;
	char text[32];

	return !file_line(text, sizeof(text), "/sys/class/net/%s/flags",
			  netdev) ||
	       sscanf(text, "%x", &flags) != 1 || (flags & IFF_UP);
}

/* Reads the number of "4: ACTIVE"; 0: the file cannot be read. */
static int number_read(const struct port *port, const char *name,
		       char text[64])
{
	if (!file_line(text, 64, PORT "/%s", port->device, port->number, name))
		return 0;
	return strtol(text, NULL, 0);
}

static void netdev_down(struct doctor *doctor, const struct port *port)
{
	char name[QUOTED_MAX];

	check_add(doctor, CHECK_WRONG, "netdev-down",
		  "%s/%u: %s has an address and is down", port->device,
		  port->number, port->netdev);
	check_mend(doctor, "ip link set dev %s up",
		   quoted(port->netdev, name));
}

/*
 * Does not start OpenSM: on a managed fabric it could become the master, and
 * replace the partitions and routes.
 */
void sm_mend(struct doctor *doctor, const struct port *port)
{
	char name[QUOTED_MAX];

	check_mend(doctor, "ibstat %s %u    # then start the subnet manager of this fabric",
		   quoted(port->device, name), port->number);
}

/* The configured interface of a port that is not active */
static void port_down(struct doctor *doctor, struct port *port,
		      const char *state, int phys)
{
	bool wanted = *port->netdev && netdev_has_address(port->netdev);
	char name[QUOTED_MAX];

	if (port->infiniband && phys == 5) {
		check_add(doctor, CHECK_WRONG, "sm-missing",
			  "%s/%u: the cable is there, the state is %s: no subnet manager brings it up",
			  port->device, port->number, state);
		sm_mend(doctor, port);
		port->spare = wanted ? 0 : doctor->count;
		return;
	}
	if (wanted && !netdev_is_up(port->netdev)) {
		netdev_down(doctor, port);
		return;
	}
	check_add(doctor, wanted ? CHECK_WRONG : CHECK_OK, "port-state",
		  "%s/%u: %s, %s", port->device, port->number, state,
		  wanted ? "though its interface has an address" : "not in use");
	if (wanted)
		check_mend(doctor, "rdma link show %s/%u    # then the cable, and the port of the switch",
			   quoted(port->device, name), port->number);
}

static void gids_check(struct doctor *doctor, struct port *port)
{
	char type[32], text[INET6_ADDRSTRLEN], name[QUOTED_MAX];
	unsigned int i, count = 0, v2 = 0, first = 0;
	struct in6_addr gid;

	for (i = 0; i < GIDS; i++) {
		if (!file_exists(PORT "/gids/%u", port->device, port->number,
				 i))
			break;
		if (!port_gid(port, i, &gid, type))
			continue;
		if (!strcmp(type, "RoCE v2"))
			v2++;
		/*
		 * The first RoCE v2 GID, otherwise the first GID, as a program
		 * uses it
		 */
		if (!count || (v2 == 1 && !strcmp(type, "RoCE v2"))) {
			first = i;
			inet_ntop(AF_INET6, &gid, text, sizeof(text));
		}
		count++;
	}
	if (!count) {
		check_add(doctor, CHECK_WRONG, "gid-missing",
			  "%s/%u: its GID table is empty", port->device,
			  port->number);
		if (*port->netdev)
			check_mend(doctor, "ip addr show dev %s    # then take it down and up, if the host can do without it",
				   quoted(port->netdev, name));
		else
			check_mend(doctor, "rdma link show %s/%u",
				   quoted(port->device, name), port->number);
		return;
	}
	if (port_roce(port) && !v2) {
		check_add(doctor, CHECK_WARNING, "gid-type",
			  "%s/%u: all GIDs are of type RoCE v1, which no router passes",
			  port->device, port->number);
		check_mend(doctor, "ibv_devinfo -v -d %s -i %u    # then RoCE v2 in the firmware or the driver",
			   quoted(port->device, name), port->number);
		return;
	}
	check_add(doctor, CHECK_OK, "gid",
		  "%s/%u: %u GID%s, index %u is %s%s", port->device,
		  port->number, count, count == 1 ? "" : "s", first, text,
		  port_roce(port) ? ", RoCE v2" : "");
}

bool netdev_passed(const struct port *port, const char *netdev,
		   struct passed *passed)
{
	static const struct {
		const char *kind, *id;
		bool adapters;	/* other than soft-RoCE, too */
	} kinds[] = {
		{ "bridge", "netdev-bridge", true },
		{ "bond", "netdev-bond", false },
		{ "macvlan", "netdev-macvlan", false },
	};
	char parent[IF_NAMESIZE];
	size_t i;

	/* iWARP uses TCP, which works over each of these interfaces. */
	if (!port_roce(port))
		return false;
	netdev_below_vlans(netdev, passed->netdev);
	/*
	 * The parent of soft-RoCE is the interface of its creation, never a
	 * VLAN.
	 */
	passed->soft = file_line(parent, sizeof(parent), SYS "/parent",
				 port->device);
	if (passed->soft && !strcmp(parent, passed->netdev))
		return false;
	netdev_kind(passed->netdev, passed->kind);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(passed->kind, kinds[i].kind) ||
		    (!passed->soft && !kinds[i].adapters))
			continue;
		passed->id = kinds[i].id;
		passed->state = passed->soft ? CHECK_WRONG : CHECK_WARNING;
		return true;
	}
	/* A VRF has addresses only; packets leave by its lower interfaces. */
	passed->id = "netdev-upper";
	passed->state = CHECK_WRONG;
	return passed->soft && strcmp(passed->kind, "vrf") &&
	       netdev_is_upper(passed->netdev);
}

void passed_mend(struct doctor *doctor, const struct port *port,
		 const struct passed *passed)
{
	char netdev[QUOTED_MAX], device[QUOTED_MAX];
	const char *upper = quoted(passed->netdev, netdev);
	const char *name = quoted(port->device, device);

	/* The proposed command does not change the network. */
	if (passed->soft)
		check_mend(doctor, "rdma link del %s && rdma link add %s type rxe netdev %s    # if nothing uses it: rdma resource show qp",
			   name, name, upper);
	else
		check_mend(doctor, "ip -d link show dev %s    # then give its address to the interface below, from the console",
			   upper);
}

/* The master of the interface of a port that has no address */
static void netdev_taken(struct doctor *doctor, struct port *port)
{
	char master[IF_NAMESIZE], kind[32], name[QUOTED_MAX];

	if (!*port->netdev) {
		check_add(doctor, CHECK_OK, "netdev-address",
			  "%s/%u: no network interface here, not in use by IP",
			  port->device, port->number);
		return;
	}
	if (netdev_master(port->netdev, master)) {
		netdev_kind(master, kind);
		if (!strcmp(kind, "bridge") || !strcmp(kind, "bond")) {
			check_add(doctor, CHECK_WRONG, *kind == 'b' &&
				  kind[1] == 'r' ? "netdev-bridge" :
				  "netdev-bond",
				  "%s/%u: %s is a part of the %s %s, whose addresses RDMA does not have",
				  port->device, port->number, port->netdev,
				  kind, master);
			check_mend(doctor, "ip -d link show dev %s    # then take it out, if the host can do without it there",
				   quoted(port->netdev, name));
			return;
		}
	}
	check_add(doctor, CHECK_WRONG, "netdev-address",
		  "%s/%u: %s has no address", port->device, port->number,
		  port->netdev);
	check_mend(doctor, "ip addr add ADDRESS/LENGTH dev %s",
		   quoted(port->netdev, name));
}

static void netdev_check(struct doctor *doctor, struct port *port)
{
	struct passed passed;

	if (!*port->netdev || !netdev_has_address(port->netdev)) {
		netdev_taken(doctor, port);
		return;
	}
	if (!netdev_is_up(port->netdev)) {
		netdev_down(doctor, port);
		return;
	}
	if (netdev_passed(port, port->netdev, &passed)) {
		port->usable = passed.state != CHECK_WRONG;
		check_add(doctor, passed.state, passed.id,
			  "%s/%u: its address is that of %s; RDMA packets do not pass the %s %s",
			  port->device, port->number, port->netdev, passed.kind,
			  passed.netdev);
		passed_mend(doctor, port, &passed);
		return;
	}
	port->usable = true;
	check_add(doctor, CHECK_OK, "netdev", "%s/%u: %s is up, with an address",
		  port->device, port->number, port->netdev);
}

static void port_check(struct doctor *doctor, struct port *port)
{
	/* The device may be removed meanwhile. */
	char state[64] = "unknown", phys[64] = "unknown", layer[64];
	char node[64];

	port->infiniband = file_line(layer, sizeof(layer), PORT "/link_layer",
				     port->device, port->number) &&
			   !strcmp(layer, "InfiniBand");
	/* "4: RNIC" */
	port->iwarp = file_line(node, sizeof(node), SYS "/node_type",
				port->device) && strtol(node, NULL, 0) == 4;
	port->active = number_read(port, "state", state) == 4;
	gids_read(doctor, port);
	netdev_find(port);
	if (!port->active) {
		port_down(doctor, port, state,
			  number_read(port, "phys_state", phys));
		return;
	}
	check_add(doctor, CHECK_OK, "port-state", "%s/%u: ACTIVE, %s",
		  port->device, port->number, port->infiniband ? "InfiniBand" :
		  port->iwarp ? "iWARP" : "Ethernet");
	gids_check(doctor, port);
	netdev_check(doctor, port);
}

/*
 * An interface without an address is no fault if another port works, or on
 * InfiniBand, where connections by GID need no address.
 */
static void ports_judge(struct doctor *doctor, size_t first)
{
	bool usable = false;
	size_t i;

	for (i = 0; i < doctor->port_count; i++)
		usable |= doctor->ports[i].usable ||
			  (doctor->ports[i].infiniband &&
			   doctor->ports[i].active);
	for (i = 0; usable && i < doctor->port_count; i++)
		if (doctor->ports[i].spare)
			doctor->checks[doctor->ports[i].spare - 1].state =
				CHECK_OK;
	for (i = first; usable && i < doctor->count; i++) {
		struct check *check = &doctor->checks[i];

		if (check->state == CHECK_WRONG &&
		    (!strcmp(check->id, "netdev-address") ||
		     !strcmp(check->id, "netdev-bridge") ||
		     !strcmp(check->id, "netdev-macvlan") ||
		     !strcmp(check->id, "netdev-upper") ||
		     !strcmp(check->id, "netdev-bond")))
			check->state = CHECK_OK;
	}
	for (i = first; i < doctor->count; i++)
		usable |= doctor->checks[i].state == CHECK_WRONG;
	if (usable)
		return;
	for (i = 0; i < doctor->port_count; i++)
		if (doctor->elsewhere && doctor->ports[i].active &&
		    !*doctor->ports[i].netdev)
			break;
	if (i < doctor->port_count) {
		check_add(doctor, CHECK_WRONG, "rdma-namespace",
			  "no RDMA device has a network interface in this network namespace");
		check_mend(doctor, "ip link set dev INTERFACE netns NAMESPACE    # on the host, if that can do without it");
		return;
	}
	check_add(doctor, CHECK_WRONG, "port-state",
		  "no port is active, with a network interface that is up");
	check_mend(doctor, "rdma link");
}

/* The RDMA part of a driver whose network part is loaded */
static const char *driver_missing(void)
{
	static const char *const drivers[][2] = {
		{ "mlx5_core", "mlx5_ib" }, { "mlx4_core", "mlx4_ib" },
		{ "bnxt_en", "bnxt_re" }, { "ice", "irdma" },
		{ "i40e", "irdma" }, { "qede", "qedr" },
		{ "cxgb4", "iw_cxgb4" }, { "hns3", "hns_roce_hw_v2" },
	};
	size_t i;

	for (i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (file_exists("/sys/module/%s", drivers[i][0]) &&
		    !file_exists("/sys/module/%s", drivers[i][1]))
			return drivers[i][1];
	return NULL;
}

static void device_missing(struct doctor *doctor, bool exclusive)
{
	const char *driver = driver_missing();

	/* The initial namespace has all devices that were not moved. */
	if (exclusive && doctor->elsewhere) {
		check_add(doctor, CHECK_WRONG, "rdma-namespace",
			  "RDMA devices belong to one network namespace each, and this one has none");
		check_mend(doctor, "rdma dev set DEVICE netns NAMESPACE    # on the host");
		return;
	}
	check_add(doctor, CHECK_WRONG, "rdma-device", "there is no RDMA device");
	if (driver)
		check_mend(doctor, "modprobe %s", driver);
	else
		check_mend(doctor, "rdma link add rxe0 type rxe netdev INTERFACE    # soft-RoCE");
}

static void device_add(struct doctor *doctor, const char *device)
{
	unsigned int number;

	if (doctor->port_count == DOCTOR_PORTS)
		return;
	doctor_verbs(doctor, device);
	/* Ports are numbered from 1 without a gap. */
	for (number = 1; file_exists(PORT, device, number); number++) {
		struct port *port = &doctor->ports[doctor->port_count];

		if (doctor->port_count == DOCTOR_PORTS)
			return;
		doctor->port_count++;
		snprintf(port->device, sizeof(port->device), "%s", device);
		port->number = number;
		port_check(doctor, port);
	}
}

void doctor_ports(struct doctor *doctor)
{
	bool exclusive;
	char text[8];
	glob_t files;
	size_t i, first;

	exclusive = file_line(text, sizeof(text),
			      "/sys/module/ib_core/parameters/netns_mode") &&
		    *text == 'N';
	if (glob("/sys/class/infiniband/*", 0, NULL, &files) ||
	    !files.gl_pathc) {
		device_missing(doctor, exclusive);
		return;
	}
	check_add(doctor, CHECK_OK, "rdma-namespace",
		  "%zu RDMA device%s, in %s", files.gl_pathc,
		  files.gl_pathc == 1 ? "" : "s", exclusive ?
		  "this network namespace only" : "all network namespaces");
	first = doctor->count;
	for (i = 0; i < files.gl_pathc; i++)
		device_add(doctor, strrchr(files.gl_pathv[i], '/') + 1);
	globfree(&files);
	if (doctor->port_count == DOCTOR_PORTS)
		check_add(doctor, CHECK_OK, "rdma-device",
			  "only the first %u ports are checked", DOCTOR_PORTS);
	ports_judge(doctor, first);
}
