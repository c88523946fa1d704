/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Records of the InfiniBand SA in wire format, where ib_core has no struct for
 * them. Only the layout. Numbers are big endian.
 */
#ifndef CMX_SA_WIRE_H
#define CMX_SA_WIRE_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

/* InfiniBand Architecture Specification 1, 15.2.5.14 ServiceRecord */
struct cmx_sa_service_rec {
	__be64 id;
	u8 gid[16];
	__be16 pkey;
	__be16 reserved;
	__be32 lease;		/* seconds, CMX_SA_LEASE_FOREVER */
	u8 key[16];
	u8 name[64];		/* UTF-8, ends with a zero byte */
	u8 data8[16];
	__be16 data16[8];
	__be32 data32[4];
	__be64 data64[2];
} __packed __aligned(4);

static_assert(sizeof(struct cmx_sa_service_rec) == 176);

#define CMX_SA_LEASE_FOREVER	0xffffffff

/* Bits of the component mask, in the order of the fields; see 15.2.5.14 */
#define CMX_SA_SERVICE_ID	BIT_ULL(0)
#define CMX_SA_SERVICE_GID	BIT_ULL(1)
#define CMX_SA_SERVICE_PKEY	BIT_ULL(2)
#define CMX_SA_SERVICE_LEASE	BIT_ULL(4)
#define CMX_SA_SERVICE_KEY	BIT_ULL(5)
#define CMX_SA_SERVICE_NAME	BIT_ULL(6)
#define CMX_SA_SERVICE_DATA	GENMASK_ULL(36, 7)

/* 15.2.5.2 NodeRecord: a LID and the NodeInfo of its port */
struct cmx_sa_node_rec {
	__be16 lid;
	__be16 reserved;
	u8 base_version;
	u8 class_version;
	u8 type;
	u8 ports;
	__be64 system_guid;
	__be64 node_guid;
	__be64 port_guid;
	__be16 pkeys;
	__be16 device_id;
	__be32 revision;
	u8 local_port;
	u8 vendor_id[3];
	u8 description[64];
} __packed __aligned(4);

static_assert(sizeof(struct cmx_sa_node_rec) == 108);

#define CMX_SA_NODE_LID		BIT_ULL(0)
#define CMX_SA_NODE_GUID	BIT_ULL(7)

/* Bytes of a PathRecord, 15.2.5.16; for its fields see ib_sa_pack_path(). */
#define CMX_SA_PATH_REC_SIZE	64
#define CMX_SA_PATH_DGID	8
#define CMX_SA_PATH_SGID	24

/* 13.4.8.3 InformInfo, for generic traps */
struct cmx_sa_inform_info {
	u8 gid[16];		/* of the trap's source, 0: by LID */
	__be16 lid_begin;	/* CMX_SA_INFORM_ALL */
	__be16 lid_end;
	__be16 reserved;
	u8 is_generic;
	u8 subscribe;		/* 1, or 0: end it */
	__be16 type;		/* CMX_SA_INFORM_ALL */
	__be16 trap;
	__be32 qpn;		/* 24 bits, then 5 of the response time */
	__be32 producer;	/* 24 bits, CMX_SA_INFORM_ALL_PRODUCERS */
} __packed __aligned(4);

static_assert(sizeof(struct cmx_sa_inform_info) == 36);

#define CMX_SA_INFORM_ALL		0xffff
#define CMX_SA_INFORM_ALL_PRODUCERS	0xffffff

/* 13.4.8.2 Notice, for traps 64 and 65 */
struct cmx_sa_notice {
	u8 type;		/* CMX_SA_NOTICE_GENERIC, and 7 bits */
	u8 producer[3];
	__be16 trap;
	__be16 lid;		/* of the issuer */
	__be16 toggle_count;
	u8 reserved[6];
	u8 gid[16];
	u8 padding[32];
	u8 issuer[16];
} __packed __aligned(2);

static_assert(sizeof(struct cmx_sa_notice) == 80);

/* For traps 68 and 69: the changed paths are those of a path record */
struct cmx_sa_path_notice {
	u8 type;
	u8 producer[3];
	__be16 trap;
	__be16 lid;
	__be16 toggle_count;
	__be64 mask;		/* valid components of the path record */
	u8 wait;		/* 1 bit: trap 69 follows */
	u8 padding[45];
	u8 issuer[16];
	u8 path[CMX_SA_PATH_REC_SIZE];
} __packed __aligned(2);

static_assert(sizeof(struct cmx_sa_path_notice) == 144);

#define CMX_SA_NOTICE_GENERIC		0x80

#define CMX_SA_TRAP_GID_IN		64
#define CMX_SA_TRAP_GID_OUT		65
#define CMX_SA_TRAP_UNPATH		68	/* paths are no longer valid */
#define CMX_SA_TRAP_REPATH		69	/* paths were computed again */

/* IsQoSSupported in ClassPortInfo:CapabilityMask2 of the SA */
#define CMX_SA_CAP2_QOS		BIT(1)

/*
 * Status of a response: bits of all management classes (13.4.7) in the low
 * byte, the SA's code (15.2.3) in the high one.
 */
#define CMX_SA_STATUS_BUSY		0x0001
#define CMX_SA_STATUS_REDIRECT		0x0002
#define CMX_SA_STATUS_COMMON		0x001c
#define CMX_SA_STATUS_CLASS		0xff00

#define CMX_SA_STATUS_NO_RESOURCES	0x0100
#define CMX_SA_STATUS_NO_RECORDS	0x0300
#define CMX_SA_STATUS_INVALID_GID	0x0500

#endif /* CMX_SA_WIRE_H */
