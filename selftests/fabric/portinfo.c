// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * PortInfo and the partition table, for the ports of HCAs and of the switch
 * alike.  The caller holds fab_lock.
 */

#include "fabric.h"

#define FAB_WIDTHS	3	/* 1x, 4x */
#define FAB_WIDTH_4X	2
#define FAB_SPEEDS	7	/* 2.5, 5 and 10 Gbit/s a lane */
#define FAB_SPEED_QDR	4
#define FAB_VLS		1	/* VL0 only */
#define FAB_RESPONSE	16	/* 4.096 us * 2^16 */

enum { FAB_PHYS_POLLING = 2, FAB_PHYS_DISABLED = 3, FAB_PHYS_UP = 5 };

void fab_port_init(struct fab_port *port, u8 state)
{
	*port = (struct fab_port) {
		.gid_prefix = cpu_to_be64(0xfe80000000000000ULL),
		.state = state,
		.mtu = FAB_MTU,
		.width_enabled = FAB_WIDTHS,
		.speed_enabled = FAB_SPEEDS,
		.down_default = FAB_PHYS_POLLING,
		.pkeys = { IB_DEFAULT_PKEY_FULL },
	};
}

static u8 fab_port_phys(const struct fab_port *port)
{
	if (port->state != IB_PORT_DOWN)
		return FAB_PHYS_UP;
	return port->disabled ? FAB_PHYS_DISABLED : FAB_PHYS_POLLING;
}

void fab_portinfo_get(const struct fab_port *port, struct ib_port_info *info)
{
	memset(info, 0, sizeof(*info));
	info->mkey = port->mkey;
	info->gid_prefix = port->gid_prefix;
	info->lid = cpu_to_be16(port->lid);
	info->sm_lid = cpu_to_be16(port->sm_lid);
	info->cap_mask = cpu_to_be32(port->cap_mask);
	info->mkey_lease_period = cpu_to_be16(port->mkey_lease);
	info->link_width_enabled = port->width_enabled;
	info->link_width_supported = FAB_WIDTHS;
	info->link_width_active = FAB_WIDTH_4X;
	info->linkspeed_portstate = FAB_SPEEDS << 4 | port->state;
	info->portphysstate_linkdown = fab_port_phys(port) << 4 |
				       port->down_default;
	info->mkeyprot_resv_lmc = port->mkey_prot << 6 | port->lmc;
	info->linkspeedactive_enabled = FAB_SPEED_QDR << 4 |
					port->speed_enabled;
	info->neighbormtu_mastersmsl = port->mtu << 4 | port->sm_sl;
	info->vlcap_inittype = FAB_VLS << 4;
	info->vl_high_limit = port->vl_high_limit;
	info->inittypereply_mtucap = FAB_MTU;
	info->vlstallcnt_hoqlife = port->hoq_life;
	info->operationalvl_pei_peo_fpi_fpo = FAB_VLS << 4 | port->enforcement;
	info->guid_cap = 1;
	info->clientrereg_resv_subnetto = port->subnet_timeout;
	info->resv_resptimevalue = FAB_RESPONSE;
	info->localphyerrors_overrunerrors = port->error_thresholds;
}

static bool fab_lid_is_unicast(u16 lid)
{
	return lid && lid < FAB_LID_MCAST;
}

/* Addresses, which a switch's outer ports have but do not use */
static __be16 fab_portinfo_addresses(struct fab_port *port,
				     enum fab_port_kind kind,
				     const struct ib_port_info *info,
				     unsigned long *events)
{
	u16 lid = be16_to_cpu(info->lid), sm_lid = be16_to_cpu(info->sm_lid);
	u8 lmc = info->mkeyprot_resv_lmc & 7;
	u8 sm_sl = info->neighbormtu_mastersmsl & 0xf;

	if (kind == FAB_PORT_SWITCH) {
		port->lid = lid;
		port->sm_lid = sm_lid;
		return 0;
	}
	if (!fab_lid_is_unicast(lid) || !fab_lid_is_unicast(sm_lid) ||
	    (kind == FAB_PORT_BASE && lmc))
		return FAB_STATUS(INVALID_ATTRIB_VALUE);
	if (port->lid != lid || port->lmc != lmc)
		*events |= BIT(IB_EVENT_LID_CHANGE);
	if (port->sm_lid != sm_lid || port->sm_sl != sm_sl)
		*events |= BIT(IB_EVENT_SM_CHANGE);
	if (port->gid_prefix != info->gid_prefix)
		*events |= BIT(IB_EVENT_GID_CHANGE);
	port->lid = lid;
	port->lmc = lmc;
	port->sm_lid = sm_lid;
	port->sm_sl = sm_sl;
	port->gid_prefix = info->gid_prefix;
	return 0;
}

static __be16 fab_portinfo_state(struct fab_port *port,
				 const struct ib_port_info *info,
				 unsigned long *events, bool *bounce)
{
	u8 state = info->linkspeed_portstate & 0xf;
	u8 phys = info->portphysstate_linkdown >> 4;

	if (phys && state != IB_PORT_NOP && state != IB_PORT_DOWN)
		return FAB_STATUS(INVALID_ATTRIB_VALUE);

	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		if (state == IB_PORT_NOP && !phys)
			return 0;
		port->disabled = phys == FAB_PHYS_DISABLED;
		*bounce = true;
		return 0;
	case IB_PORT_ARMED:
		if (port->state < IB_PORT_INIT)
			break;
		if (port->state == IB_PORT_INIT)
			port->state = IB_PORT_ARMED;
		return 0;
	case IB_PORT_ACTIVE:
		if (port->state < IB_PORT_ARMED)
			break;
		if (port->state == IB_PORT_ARMED)
			*events |= BIT(IB_EVENT_PORT_ACTIVE);
		port->state = IB_PORT_ACTIVE;
		return 0;
	}
	return FAB_STATUS(INVALID_ATTRIB_VALUE);
}

/**
 * fab_portinfo_set - carry out a Set(PortInfo)
 * @port: the port
 * @kind: what kind of port it is
 * @info: what the subnet manager wants
 * @events: set: events that a device has from it
 * @bounce: set: have the link follow, by fab_link_update()
 *
 * Return: the MAD's status
 */
__be16 fab_portinfo_set(struct fab_port *port, enum fab_port_kind kind,
			const struct ib_port_info *info, unsigned long *events,
			bool *bounce)
{
	u8 mtu = info->neighbormtu_mastersmsl >> 4;
	u8 width = info->link_width_enabled;
	u8 speed = info->linkspeedactive_enabled & 0xf;
	u8 vls = info->operationalvl_pei_peo_fpi_fpo >> 4;
	__be16 status;

	lockdep_assert_held(&fab_lock);
	status = fab_portinfo_addresses(port, kind, info, events);
	port->mkey = info->mkey;
	port->mkey_prot = info->mkeyprot_resv_lmc >> 6;
	port->mkey_lease = be16_to_cpu(info->mkey_lease_period);
	port->vl_high_limit = info->vl_high_limit;
	port->hoq_life = info->vlstallcnt_hoqlife;
	port->enforcement = info->operationalvl_pei_peo_fpi_fpo & 0xf;
	port->error_thresholds = info->localphyerrors_overrunerrors;
	port->subnet_timeout = info->clientrereg_resv_subnetto & 0x1f;

	if (width == 0xff)
		port->width_enabled = FAB_WIDTHS;
	else if (width & ~FAB_WIDTHS)
		status = FAB_STATUS(INVALID_ATTRIB_VALUE);
	else if (width)
		port->width_enabled = width;
	if (speed == 0xf)
		port->speed_enabled = FAB_SPEEDS;
	else if (speed & ~FAB_SPEEDS)
		status = FAB_STATUS(INVALID_ATTRIB_VALUE);
	else if (speed)
		port->speed_enabled = speed;
	if (mtu < IB_MTU_256 || mtu > FAB_MTU)
		status = FAB_STATUS(INVALID_ATTRIB_VALUE);
	else
		port->mtu = mtu;
	if (vls > FAB_VLS)
		status = FAB_STATUS(INVALID_ATTRIB_VALUE);
	if (info->portphysstate_linkdown & 0xf)
		port->down_default = info->portphysstate_linkdown & 0xf;

	if (info->clientrereg_resv_subnetto & 0x80)
		*events |= BIT(IB_EVENT_CLIENT_REREGISTER);
	if (kind != FAB_PORT_BASE)
		status |= fab_portinfo_state(port, info, events, bounce);
	return status;
}

void fab_pkeys_get(const struct fab_port *port, __be16 *pkeys)
{
	int i;

	for (i = 0; i < FAB_PKEYS; i++)
		pkeys[i] = cpu_to_be16(port->pkeys[i]);
}

/* true if the table has changed */
bool fab_pkeys_set(struct fab_port *port, const __be16 *pkeys)
{
	bool changed = false;
	int i;

	lockdep_assert_held(&fab_lock);
	for (i = 0; i < FAB_PKEYS; i++) {
		if (port->pkeys[i] == be16_to_cpu(pkeys[i]))
			continue;
		port->pkeys[i] = be16_to_cpu(pkeys[i]);
		changed = true;
	}
	return changed;
}
