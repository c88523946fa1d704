// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Performance management: the traffic counters of a port.  They are atomic, so
 * that no lock is taken.
 */

#include <rdma/ib_pma.h>

#include "fabric.h"

static u32 fab_pma_low(atomic64_t *counter)
{
	return min_t(u64, atomic64_read(counter), U32_MAX);
}

static u16 fab_pma_short(atomic64_t *counter)
{
	return min_t(u64, atomic64_read(counter), U16_MAX);
}

static void fab_pma_counters(struct fab_traffic *t,
			     struct ib_pma_portcounters *c)
{
	c->port_xmit_data = cpu_to_be32(fab_pma_low(&t->tx_words));
	c->port_rcv_data = cpu_to_be32(fab_pma_low(&t->rx_words));
	c->port_xmit_packets = cpu_to_be32(fab_pma_low(&t->tx_packets));
	c->port_rcv_packets = cpu_to_be32(fab_pma_low(&t->rx_packets));
	c->port_xmit_discards = cpu_to_be16(fab_pma_short(&t->discards));
	c->vl15_dropped = cpu_to_be16(fab_pma_short(&t->vl15_dropped));
}

static void fab_pma_counters_clear(struct fab_traffic *t, __be16 select)
{
	if (select & IB_PMA_SEL_PORT_XMIT_DATA)
		atomic64_set(&t->tx_words, 0);
	if (select & IB_PMA_SEL_PORT_RCV_DATA)
		atomic64_set(&t->rx_words, 0);
	if (select & IB_PMA_SEL_PORT_XMIT_PACKETS)
		atomic64_set(&t->tx_packets, 0);
	if (select & IB_PMA_SEL_PORT_RCV_PACKETS)
		atomic64_set(&t->rx_packets, 0);
	if (select & IB_PMA_SEL_PORT_XMIT_DISCARDS)
		atomic64_set(&t->discards, 0);
	if (select & IB_PMA_SEL_PORT_VL15_DROPPED)
		atomic64_set(&t->vl15_dropped, 0);
}

static void fab_pma_extended(struct fab_traffic *t,
			     struct ib_pma_portcounters_ext *c)
{
	u64 tx = atomic64_read(&t->tx_packets);
	u64 rx = atomic64_read(&t->rx_packets);
	u64 mcast_tx = atomic64_read(&t->mcast_tx);
	u64 mcast_rx = atomic64_read(&t->mcast_rx);

	c->port_xmit_data = cpu_to_be64(atomic64_read(&t->tx_words));
	c->port_rcv_data = cpu_to_be64(atomic64_read(&t->rx_words));
	c->port_xmit_packets = cpu_to_be64(tx);
	c->port_rcv_packets = cpu_to_be64(rx);
	c->port_unicast_xmit_packets = cpu_to_be64(tx - mcast_tx);
	c->port_unicast_rcv_packets = cpu_to_be64(rx - mcast_rx);
	c->port_multicast_xmit_packets = cpu_to_be64(mcast_tx);
	c->port_multicast_rcv_packets = cpu_to_be64(mcast_rx);
}

static void fab_pma_extended_clear(struct fab_traffic *t, __be16 select)
{
	if (select & IB_PMA_SELX_PORT_XMIT_DATA)
		atomic64_set(&t->tx_words, 0);
	if (select & IB_PMA_SELX_PORT_RCV_DATA)
		atomic64_set(&t->rx_words, 0);
	if (select & IB_PMA_SELX_PORT_XMIT_PACKETS)
		atomic64_set(&t->tx_packets, 0);
	if (select & IB_PMA_SELX_PORT_RCV_PACKETS)
		atomic64_set(&t->rx_packets, 0);
	if (select & IB_PMA_SELX_PORT_MULTI_XMIT_PACKETS)
		atomic64_set(&t->mcast_tx, 0);
	if (select & IB_PMA_SELX_PORT_MULTI_RCV_PACKETS)
		atomic64_set(&t->mcast_rx, 0);
}

/**
 * fab_pma_process - answer a performance management MAD
 * @traffic: the port's counters
 * @port_num: the port
 * @mad: the MAD, which becomes its answer
 *
 * Return: whether there is an answer
 */
bool fab_pma_process(struct fab_traffic *traffic, u8 port_num,
		     struct ib_mad *mad)
{
	struct ib_pma_mad *pma = (struct ib_pma_mad *)mad;
	struct ib_pma_portcounters *counters = (void *)pma->data;
	struct ib_pma_portcounters_ext *extended = (void *)pma->data;
	struct ib_class_port_info *class = (void *)pma->data;
	bool set = mad->mad_hdr.method == IB_MGMT_METHOD_SET;
	__be16 select = counters->counter_select;

	if (!set && mad->mad_hdr.method != IB_MGMT_METHOD_GET)
		return false;
	mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	mad->mad_hdr.status = 0;

	switch (mad->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		memset(pma->data, 0, sizeof(pma->data));
		class->base_version = 1;
		class->class_version = 1;
		class->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
		class->cap_mask2_resp_time = cpu_to_be32(18);
		return true;
	case IB_PMA_PORT_COUNTERS:
		if (set)
			fab_pma_counters_clear(traffic, select);
		memset(pma->data, 0, sizeof(pma->data));
		counters->port_select = port_num;
		counters->counter_select = select;
		fab_pma_counters(traffic, counters);
		return true;
	case IB_PMA_PORT_COUNTERS_EXT:
		if (set)
			fab_pma_extended_clear(traffic, select);
		memset(pma->data, 0, sizeof(pma->data));
		extended->port_select = port_num;
		extended->counter_select = select;
		fab_pma_extended(traffic, extended);
		return true;
	}
	mad->mad_hdr.status = FAB_STATUS(UNSUPPORTED_METHOD_ATTRIB);
	return true;
}
