/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The device index (device_index.c), which device.c fills and validates. */
#ifndef CMX_DEVICE_INDEX_H
#define CMX_DEVICE_INDEX_H

#include <rdma/ib_verbs.h>

struct net_device;

/**
 * struct cmx_index_key - an address of a netdevice
 * @gid: the address in the form of a GID table
 * @cookie: of the network namespace, never reused
 * @ndev: the netdevice; compared, never dereferenced
 * @type: its ARPHRD_* type: another netdevice may get its memory
 */
struct cmx_index_key {
	union ib_gid gid;
	u64 cookie;
	const struct net_device *ndev;
	u64 type;
};

/**
 * struct cmx_owner - the port that has an address
 * @ibdev: its device, or NULL if there is none
 * @port_num: its number
 * @gid_index: of the address in its GID table, -1 on iWARP
 * @gid_type: type of that GID
 * @iwarp: no owner, but iWARP devices, whose netdevices change without an event
 */
struct cmx_owner {
	struct ib_device *ibdev;
	u32 port_num;
	int gid_index;
	enum ib_gid_type gid_type;
	bool iwarp;
};

bool cmx_index_find(const struct cmx_index_key *key, struct cmx_owner *owner);
s64 cmx_index_generation(void);
void cmx_index_set(const struct cmx_index_key *key,
		   const struct cmx_owner *owner, s64 generation);
void cmx_index_drop(void);
void cmx_index_init(void);

#endif /* CMX_DEVICE_INDEX_H */
