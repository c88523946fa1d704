/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that the parts of cmx doctor share: the list of checks, and the
 * results of the port checks for the checks of a destination. One thread, no
 * locks.
 */
#ifndef CMX_DOCTOR_H
#define CMX_DOCTOR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_state {
	CHECK_OK,
	CHECK_WARNING,
	CHECK_WRONG,
};

struct check {
	const char *id;		/* stable, see cmx(1) */
	enum check_state state;
	char *text;
	char *mend;		/* a command; NULL: none */
};

/* Maximum ports to check; others are only listed. */
#define DOCTOR_PORTS	64

/* An entry of a port's table */
struct port_gid {
	struct in6_addr gid;	/* all zeros: empty */
	char netdev[IF_NAMESIZE];	/* "": it has no name */
};

struct port {
	char device[64];
	unsigned int number;
	bool infiniband;
	bool iwarp;
	bool active;
	bool usable;		/* active, with an address */
	/* Number of its check that is no fault if another port works; or 0 */
	size_t spare;
	char netdev[IF_NAMESIZE];	/* the first, or "" */
	struct port_gid *gids;	/* as read once, or NULL */
	unsigned int gid_count;
};

struct doctor {
	struct check *checks;
	size_t count;
	bool memory;		/* out of memory */
	bool container;		/* in a container, as far as it shows */
	bool elsewhere;		/* in other namespaces than the host's */
	bool busy;		/* the user has too many lookups */
	int device;		/* the open device, or -1 */
	uint64_t features;	/* of GET_INFO */
	const char *node;
	const char *service;
	struct port ports[DOCTOR_PORTS];
	size_t port_count;
};

/* Adds a line to the report. A terminal gets no control characters. */
void check_add(struct doctor *doctor, enum check_state state, const char *id,
	       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Sets the command that repairs the last added failure. */
void check_mend(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Quotes one word for a shell, for a repair command. It may begin with a '-'.
 * NAME if it is too long.
 */
#define QUOTED_MAX 600
const char *quoted(const char *text, char out[QUOTED_MAX]);

/* First line of the file at @format, without its end */
bool file_line(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool file_exists(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The steps, in their order */
void doctor_modules(struct doctor *doctor);
void doctor_device(struct doctor *doctor);
void doctor_names(struct doctor *doctor);
void doctor_limits(struct doctor *doctor);
void doctor_ports(struct doctor *doctor);
void doctor_subnet(struct doctor *doctor);
void doctor_target(struct doctor *doctor);

/* The file for verbs of a device */
void doctor_verbs(struct doctor *doctor, const char *device);
/* The repair command of a port that has no subnet manager */
void sm_mend(struct doctor *doctor, const struct port *port);
/* GID @index of a port, and "RoCE v2" or the like; false: empty */
bool port_gid(const struct port *port, unsigned int index,
	      struct in6_addr *gid, char type[32]);
/* True if the port uses this network interface */
bool port_has_netdev(const struct port *port, const char *netdev);
const struct port *port_of_netdev(const struct doctor *doctor,
				  const char *netdev);
/* An address that is not link-local */
bool netdev_has_address(const char *netdev);
bool netdev_owns_address(const char *netdev, const struct sockaddr *addr);
/*
 * True if @gid derives from an address of @netdev, or from its MAC address. An
 * interface of the same name in another network namespace has another one:
 * sysfs shows the names of all.
 */
bool netdev_has_gid(const char *netdev, const struct in6_addr *gid);

/* The kind of a network interface: "bridge", "bond", "vlan", "vrf", ... */
void netdev_kind(const char *netdev, char kind[32]);
/* The interface below VLANs; @netdev itself if it is no VLAN */
void netdev_below_vlans(const char *netdev, char lower[IF_NAMESIZE]);
/* True if there is an interface below it */
bool netdev_is_upper(const char *netdev);
/* The check to report for an interface that RDMA packets bypass */
struct passed {
	const char *id;
	enum check_state state;
	bool soft;			/* soft-RoCE */
	char kind[32];
	char netdev[IF_NAMESIZE];	/* itself, or the one below its VLANs */
};

/*
 * The port has GIDs of upper interfaces. RDMA packets bypass these: soft-RoCE
 * works only by a VLAN, and a bridge does not see the packets of an adapter.
 * False: @netdev is none of those.
 */
bool netdev_passed(const struct port *port, const char *netdev,
		   struct passed *passed);
void passed_mend(struct doctor *doctor, const struct port *port,
		 const struct passed *passed);
/* The bridge, bond or VRF of which it is a part; false: none */
bool netdev_master(const char *netdev, char master[IF_NAMESIZE]);
/* Of the interfaces below @netdev, one that a port uses */
const struct port *netdev_port_below(const struct doctor *doctor,
				     const char *netdev,
				     char lower[IF_NAMESIZE]);

/* The route to @addr, in @vrf if it is not NULL: 0, or an errno */
struct route {
	char netdev[IF_NAMESIZE];
	bool local;
	bool group;			/* a broadcast or multicast address */
	struct sockaddr_storage next;	/* the gateway, or the destination */
	struct sockaddr_storage source;	/* AF_UNSPEC: it names none */
};

int route_find(const struct sockaddr *addr, const char *vrf,
	       struct route *route);
/*
 * That route in the syntax of ip, by @dev, a quoted word, with all attributes
 * but its source address. False: there is none, or ip would lose an attribute:
 * several next hops, an encapsulation, an expiry, locked metrics; or ip may
 * change that of another interface, as @addr has a zone.
 */
bool route_unsourced(const struct sockaddr *addr, const char *dev, char *text,
		     size_t size);
/* The prefix length of the route to @addr; 0: none, or the default */
unsigned int route_length(const struct sockaddr *addr);
/*
 * An interface that would be the route to @addr and is down: @addr is in the
 * network of its address, and there is no longer route, which would be
 * preferred even if the interface was up. False: none.
 */
bool netdev_down_to(const struct sockaddr *addr, char netdev[IF_NAMESIZE]);
/* "REACHABLE", "FAILED", ... from the neighbour cache; NULL: absent */
const char *neighbour_state(const struct route *route);

#endif /* CMX_DOCTOR_H */
