// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The switch's management agents.  The subnet management agent answers packets
 * that come by LID or by directed route, and passes the latter on.  What it
 * reads and writes is under fab_lock.
 */

#include "fabric.h"

#define FAB_LFT_BLOCK	64
#define FAB_MFT_BLOCK	32
#define FAB_MFT_PORTS	16
#define FAB_TRAP_LINK_STATE	cpu_to_be16(128)

struct fab_switch_info {
	__be16 lft_cap;
	__be16 random_cap;
	__be16 mft_cap;
	__be16 lft_top;
	u8 default_port;
	u8 default_mcast[2];
	u8 life_change;		/* 5 bits life time, 1 bit state change */
	__be16 lids_per_port;
	__be16 enforcement_cap;
	u8 flags;
} __packed;

#define FAB_STATE_CHANGE	4

static void fab_sw_node_desc(struct ib_smp *smp)
{
	static const char name[] = "cmx_fabric switch";

	memset(smp->data, 0, sizeof(smp->data));
	memcpy(smp->data, name, sizeof(name) - 1);
}

static void fab_sw_node_info(struct ib_smp *smp, unsigned int in)
{
	struct ib_node_info *info = (void *)smp->data;

	memset(smp->data, 0, sizeof(smp->data));
	info->base_version = 1;
	info->class_version = 1;
	info->node_type = 2;
	info->num_ports = fab_n_slots;
	info->sys_guid = fab_switch.guid;
	info->node_guid = fab_switch.guid;
	info->port_guid = fab_switch.guid;
	info->partition_cap = cpu_to_be16(FAB_PKEYS);
	info->local_port_num = in;
}

static void fab_sw_switch_info(struct ib_smp *smp, bool set)
{
	struct fab_switch_info *info = (void *)smp->data;
	struct fab_switch *sw = &fab_switch;

	lockdep_assert_held(&fab_lock);
	if (set) {
		if (be16_to_cpu(info->lft_top) >= FAB_LIDS)
			smp->status |= FAB_STATUS(INVALID_ATTRIB_VALUE);
		else
			sw->lft_top = be16_to_cpu(info->lft_top);
		sw->default_port = info->default_port;
		sw->default_mcast[0] = info->default_mcast[0];
		sw->default_mcast[1] = info->default_mcast[1];
		sw->life_time = info->life_change >> 3;
		if (info->life_change & FAB_STATE_CHANGE)
			sw->changed = false;
	}
	memset(smp->data, 0, sizeof(smp->data));
	info->lft_cap = cpu_to_be16(FAB_LIDS);
	info->mft_cap = cpu_to_be16(FAB_MLIDS);
	info->lft_top = cpu_to_be16(sw->lft_top);
	info->default_port = sw->default_port;
	info->default_mcast[0] = sw->default_mcast[0];
	info->default_mcast[1] = sw->default_mcast[1];
	info->life_change = sw->life_time << 3;
	if (sw->changed)
		info->life_change |= FAB_STATE_CHANGE;
}

static struct fab_port *fab_sw_port(unsigned int number)
{
	if (number > fab_n_slots)
		return NULL;
	return number ? &fab_slots[number - 1].port : &fab_switch.port0;
}

static void fab_sw_port_info(struct ib_smp *smp, bool set, unsigned int in,
			     struct fab_slot **bounce)
{
	struct ib_port_info *info = (void *)smp->data;
	unsigned int number = be32_to_cpu(smp->attr_mod) & 0xff;
	struct fab_port *port = fab_sw_port(number);
	u8 reregister = info->clientrereg_resv_subnetto & 0x80;
	unsigned long events = 0;
	bool down = false;

	lockdep_assert_held(&fab_lock);
	if (!port) {
		smp->status |= FAB_STATUS(INVALID_ATTRIB_VALUE);
		return;
	}
	if (set) {
		smp->status |= fab_portinfo_set(port, number ? FAB_PORT_SWITCH :
								FAB_PORT_BASE,
						info, &events, &down);
		if (down)
			*bounce = &fab_slots[number - 1];
	}
	fab_portinfo_get(port, info);
	info->local_port_num = in;
	if (set)
		info->clientrereg_resv_subnetto |= reregister;
}

static void fab_sw_pkeys(struct ib_smp *smp, bool set)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	struct fab_port *port = fab_sw_port(mod >> 16);
	__be16 *pkeys = (void *)smp->data;

	lockdep_assert_held(&fab_lock);
	if (!port || (mod & 0xffff)) {
		smp->status |= FAB_STATUS(INVALID_ATTRIB_VALUE);
		return;
	}
	if (set)
		fab_pkeys_set(port, pkeys);
	memset(smp->data, 0, sizeof(smp->data));
	fab_pkeys_get(port, pkeys);
}

static void fab_sw_lft(struct ib_smp *smp, bool set)
{
	u32 block = be32_to_cpu(smp->attr_mod);
	u8 *entries;

	lockdep_assert_held(&fab_lock);
	if (block >= FAB_LIDS / FAB_LFT_BLOCK) {
		smp->status |= FAB_STATUS(INVALID_ATTRIB_VALUE);
		return;
	}
	entries = fab_switch.lft + block * FAB_LFT_BLOCK;
	if (set)
		memcpy(entries, smp->data, FAB_LFT_BLOCK);
	else
		memcpy(smp->data, entries, FAB_LFT_BLOCK);
}

static void fab_sw_mft(struct ib_smp *smp, bool set)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	u32 block = mod & 0x1ff, position = mod >> 28;
	__be16 *masks = (void *)smp->data;
	u32 shift = position * FAB_MFT_PORTS;
	u32 *entries;
	int i;

	lockdep_assert_held(&fab_lock);
	if (block >= FAB_MLIDS / FAB_MFT_BLOCK || shift >= 32) {
		smp->status |= FAB_STATUS(INVALID_ATTRIB_VALUE);
		return;
	}
	entries = fab_switch.mft + block * FAB_MFT_BLOCK;
	for (i = 0; i < FAB_MFT_BLOCK; i++) {
		if (set) {
			entries[i] &= ~(0xffffU << shift);
			entries[i] |= (u32)be16_to_cpu(masks[i]) << shift;
		}
		masks[i] = cpu_to_be16(entries[i] >> shift);
	}
}

/* The packet becomes its answer; *bounce: a link to take down and up */
static void fab_sw_attribute(struct ib_smp *smp, unsigned int in,
			     struct fab_slot **bounce)
{
	bool set = smp->method == IB_MGMT_METHOD_SET;

	smp->status = 0;
	if (smp->class_version != 1) {
		smp->status = FAB_STATUS(BAD_VERSION);
		return;
	}
	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		fab_sw_node_desc(smp);
		break;
	case IB_SMP_ATTR_NODE_INFO:
		fab_sw_node_info(smp, in);
		break;
	case IB_SMP_ATTR_SWITCH_INFO:
		fab_sw_switch_info(smp, set);
		break;
	case IB_SMP_ATTR_GUID_INFO:
		memset(smp->data, 0, sizeof(smp->data));
		if (!smp->attr_mod)
			memcpy(smp->data, &fab_switch.guid,
			       sizeof(fab_switch.guid));
		break;
	case IB_SMP_ATTR_PORT_INFO:
		fab_sw_port_info(smp, set, in, bounce);
		break;
	case IB_SMP_ATTR_PKEY_TABLE:
		fab_sw_pkeys(smp, set);
		break;
	case IB_SMP_ATTR_LINEAR_FORWARD_TABLE:
		fab_sw_lft(smp, set);
		break;
	case IB_SMP_ATTR_MCAST_FORWARD_TABLE:
		fab_sw_mft(smp, set);
		break;
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
	case IB_SMP_ATTR_VL_ARB_TABLE:
		/* One VL: nothing to map, nothing to arbitrate */
		memset(smp->data, 0, sizeof(smp->data));
		break;
	default:
		smp->status = FAB_STATUS(UNSUPPORTED_METHOD_ATTRIB);
	}
}

static void fab_sw_reply(struct fab_packet *packet)
{
	u16 lid = packet->slid;
	u32 qp = packet->src_qp;

	packet->slid = packet->dlid;
	packet->dlid = lid;
	packet->src_qp = packet->dst_qp;
	packet->dst_qp = qp;
	packet->has_grh = false;
	packet->solicited = false;
	packet->has_imm = false;
}

/* Answer a packet that has come from @in, and send the answer back */
static void fab_sw_answer(struct fab_slot *in, struct fab_packet *packet)
{
	struct ib_smp *smp = (struct ib_smp *)packet->data;
	struct fab_slot *bounce = NULL;
	unsigned long flags;

	if (smp->method != IB_MGMT_METHOD_GET &&
	    smp->method != IB_MGMT_METHOD_SET) {
		fab_packet_free(packet);
		return;
	}
	spin_lock_irqsave(&fab_lock, flags);
	fab_sw_attribute(smp, in->number, &bounce);
	spin_unlock_irqrestore(&fab_lock, flags);

	smp->method = IB_MGMT_METHOD_GET_RESP;
	fab_sw_reply(packet);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) {
		smp->status |= IB_SMP_DIRECTION;
		smp->hop_ptr--;
		fab_switch_output(in, packet);
	} else {
		fab_switch_route(packet);
	}
	if (bounce)
		fab_link_update(bounce, true);
}

/* Pass a directed route packet on to its next hop */
static void fab_sw_hop(struct fab_packet *packet, u8 number)
{
	if (number && number <= fab_n_slots)
		fab_switch_output(&fab_slots[number - 1], packet);
	else
		fab_packet_free(packet);
}

/**
 * fab_switch_smp - take a subnet management packet to the switch or through it
 * @in: the port that it has come in by
 * @packet: the packet, which is given away
 *
 * A directed route that begins or ends with a part by LIDs is not known.
 */
void fab_switch_smp(struct fab_slot *in, struct fab_packet *packet)
{
	struct ib_smp *smp = (struct ib_smp *)packet->data;

	if (smp->mgmt_class != IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) {
		if (packet->dlid == FAB_LID_PERMISSIVE)
			fab_packet_free(packet);
		else
			fab_sw_answer(in, packet);
		return;
	}
	if (smp->hop_cnt >= IB_SMP_MAX_PATH_HOPS || !smp->hop_ptr ||
	    smp->hop_ptr > smp->hop_cnt || smp->dr_slid != IB_LID_PERMISSIVE ||
	    smp->dr_dlid != IB_LID_PERMISSIVE) {
		fab_packet_free(packet);
	} else if (ib_get_smp_direction(smp)) {
		/* On its way back; hop 1 would be an answer to the switch */
		smp->hop_ptr--;
		fab_sw_hop(packet, smp->return_path[smp->hop_ptr]);
	} else {
		smp->return_path[smp->hop_ptr] = in->number;
		smp->hop_ptr++;
		if (smp->hop_ptr > smp->hop_cnt)
			fab_sw_answer(in, packet);
		else
			fab_sw_hop(packet, smp->initial_path[smp->hop_ptr]);
	}
}

/**
 * fab_switch_gmp - take a general management packet to the switch itself
 * @packet: the packet, which is given away
 */
void fab_switch_gmp(struct fab_packet *packet)
{
	struct ib_mad *mad = (struct ib_mad *)packet->data;
	struct fab_traffic *traffic = &fab_switch.traffic;
	u8 number;

	if (packet->dst_qp != 1 || !fab_packet_is_mad(packet) ||
	    mad->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT) {
		fab_packet_free(packet);
		return;
	}
	/* PortSelect is the second byte after the reserved ones */
	number = packet->data[IB_MGMT_DEVICE_HDR + 1];
	if (number && number <= fab_n_slots)
		traffic = &fab_slots[number - 1].traffic;
	if (!fab_pma_process(traffic, number, mad)) {
		fab_packet_free(packet);
		return;
	}
	fab_sw_reply(packet);
	fab_switch_route(packet);
}

/**
 * fab_switch_trap - report a change of a port's state to the subnet manager
 *
 * Sent once: a subnet manager that does not get it sees the change at its next
 * sweep.
 *
 * Context: any.
 */
void fab_switch_trap(void)
{
	struct ib_mad_notice_attr notice = {
		.generic_type = IB_NOTICE_TYPE_URGENT,
		.prod_type_lsb = IB_NOTICE_PROD_SWITCH,
		.trap_num = FAB_TRAP_LINK_STATE,
	};
	struct fab_packet *packet;
	u16 lid, sm_lid;
	unsigned long flags;
	u8 sm_sl;

	spin_lock_irqsave(&fab_lock, flags);
	lid = fab_switch.port0.lid;
	sm_lid = fab_switch.port0.sm_lid;
	sm_sl = fab_switch.port0.sm_sl;
	spin_unlock_irqrestore(&fab_lock, flags);
	if (!lid || !sm_lid)
		return;
	notice.issuer_lid = cpu_to_be16(lid);
	/* the LID comes first here, not after a reserved field as in others */
	memcpy(notice.details.raw_data.details, &notice.issuer_lid,
	       sizeof(notice.issuer_lid));
	packet = fab_trap_make(lid, sm_lid, sm_sl, &notice);
	if (packet)
		fab_switch_route(packet);
}
