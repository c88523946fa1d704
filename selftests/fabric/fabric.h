/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A software InfiniBand HCA on rdmavt and its switch, for tests.
 *
 * Each slot is one port of the switch with a cable, and at the cable's other
 * end a device of one port, which may be unplugged while the slot stays.
 *
 * Locks, outermost first:
 *   fab_plug_mutex   plugging and unplugging of devices
 *   fab_qp.mad_lock  the only sender of QP0 or QP1; ib_mad posts with locks held
 *   qp->r_lock, qp->s_hlock, qp->s_lock   rdmavt's, of one QP, in this order
 *   fab_lock         state of subnet management: the switch's tables, the
 *                    state, LID and partitions of every port, the cables
 *   fab_slot.lock    the slot's fault rules, its counters of MADs
 *   fab_dev.rx_lock  received packets before their delivery
 * Never two QPs' locks at a time.  All but the mutex are taken with interrupts
 * off.  Packets travel without any of them: the sender passes its packet on,
 * and the receiving device's work item delivers it.
 *
 * A device is found through its slot under rcu_read_lock().
 */
#ifndef CMX_FABRIC_H
#define CMX_FABRIC_H

#include <linux/list.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_qp.h>

#define FAB_SLOTS_MAX	16
#define FAB_PKEYS	16
#define FAB_MTU		IB_MTU_4096
#define FAB_MTU_BYTES	4096
#define FAB_LID_PERMISSIVE	0xffff
#define FAB_LID_MCAST	0xc000
#define FAB_LIDS	3072
#define FAB_MLIDS	1024
#define FAB_NO_PORT	0xff
#define FAB_STATUS(x)	cpu_to_be16(IB_MGMT_MAD_STATUS_##x)
#define FAB_NODE_GUID	0x02fab00000000000ULL

struct seq_file;

/**
 * struct fab_port - one end of a link, as subnet management sees it
 * @lid:	base LID, 0 before a subnet manager has assigned one
 * @lmc:	number of low bits of a DLID that are ignored
 * @state:	IB_PORT_DOWN, INIT, ARMED or ACTIVE
 * @disabled:	physically, by a subnet manager
 * @pkeys:	host order, as rdmavt requires
 * The others are as in PortInfo.  Under fab_lock.
 */
struct fab_port {
	__be64 mkey;
	__be64 gid_prefix;
	u16 lid;
	u16 sm_lid;
	u32 cap_mask;
	u16 mkey_lease;
	u8 lmc;
	u8 state;
	bool disabled;
	u8 mkey_prot;
	u8 sm_sl;
	u8 mtu;
	u8 width_enabled;
	u8 speed_enabled;
	u8 down_default;
	u8 vl_high_limit;
	u8 enforcement;
	u8 hoq_life;
	u8 error_thresholds;
	u8 subnet_timeout;
	u16 pkeys[FAB_PKEYS];
	u8 sl2vl[8];
};

/* Counters of the PMA */
struct fab_traffic {
	atomic64_t tx_packets, tx_words, rx_packets, rx_words;
	atomic64_t mcast_tx, mcast_rx;
	atomic64_t vl15_dropped, discards;
};

/**
 * struct fab_dev - one HCA with its one port
 * @rdi:	rdmavt's part, first
 * @ibp:	rdmavt's port
 * @port:	the port's state, under fab_lock
 * @dying:	no more events
 * @answering:	responses to MADs; from ib_mad's start until its end
 * @delayed:	thread in ib_mad with a delayed response; only compared
 * @wq:		runs the QPs' send work and the port's receive work
 */
struct fab_dev {
	struct rvt_dev_info rdi;
	struct rvt_ibport ibp;
	struct fab_slot *slot;
	struct fab_port port;
	struct fab_traffic traffic;
	__be64 port_guid;
	bool dying;
	bool answering;
	struct task_struct *delayed;
	struct workqueue_struct *wq;

	spinlock_t rx_lock; /* the fields below */
	struct list_head rx;
	unsigned int rx_count;
	struct work_struct rx_work;
	struct list_head held;
	struct delayed_work held_work;
};

/**
 * struct fab_slot - a port of the switch, its cable and its device
 * @number:	the switch's port number, from 1
 * @dev:	under RCU; NULL when nothing is plugged in
 * @cable:	the cable is intact; under fab_lock
 * @up:		the link is up physically; under fab_lock
 * @port:	the switch's end; under fab_lock
 * @answer_ms:	milliseconds until the device responds to a MAD
 * @first:	for the subnet manager the device is the second port of the HCA
 *	at this port of the switch; 0: a separate HCA
 */
struct fab_slot {
	unsigned int number;
	struct fab_dev __rcu *dev;
	bool cable;
	bool up;
	struct fab_port port;
	unsigned int answer_ms;
	unsigned int first;
	struct fab_traffic traffic;

	spinlock_t lock; /* the fields below */
	struct list_head faults;
	struct list_head mads;
	unsigned int n_mads;
};

/**
 * struct fab_switch - the switch; all under fab_lock
 * @port0:	its port for management
 * @traffic:	of port 0, which carries MADs only
 * @lft_top:	highest LID for which @lft is valid
 * @changed:	PortStateChange: a port's state has changed since the last check
 * @lft:	the port for each LID; FAB_NO_PORT when there is none
 * @mft:	the ports of each multicast LID, one bit each
 */
struct fab_switch {
	struct fab_port port0;
	struct fab_traffic traffic;
	__be64 guid;
	u64 trap_tid;
	u16 lft_top;
	u8 default_port;
	u8 default_mcast[2];
	u8 life_time;
	bool changed;
	u8 lft[FAB_LIDS];
	u32 mft[FAB_MLIDS];
};

/**
 * struct fab_packet - a packet on the wire: an unreliable datagram or a MAD
 * @due:	time of its delivery, if a fault delays it
 * @swap:	deliver it after the next MAD
 * The headers' fields are in host order, but for @grh and @imm_data.
 */
struct fab_packet {
	struct list_head node;
	unsigned long due;
	bool swap;
	u16 slid;
	u16 dlid;
	u16 pkey;
	u8 sl;
	bool solicited;
	bool has_imm;
	bool has_grh;
	u32 src_qp;
	u32 dst_qp;
	u32 qkey;
	__be32 imm_data;
	struct ib_grh grh;
	u32 length;
	u8 data[] __aligned(8);
};

/**
 * struct fab_qp - rdmavt's qp->priv, zeroed at creation
 * @qp:		the QP
 * @send:	its send work
 * @mad_lock:	QP0 and QP1: one sender at a time
 * @rx_from:	RC and UC: the peer whose message is being received; r_lock
 * @rx_kept:	UC: r_sge is a buffer for the next message; r_lock
 */
struct fab_qp {
	struct rvt_qp *qp;
	struct work_struct send;
	spinlock_t mad_lock;	/* QP0 and QP1: one sender */
	struct rvt_qp *rx_from;
	bool rx_kept;
};

extern spinlock_t fab_lock;
extern struct mutex fab_plug_mutex;
extern struct fab_slot fab_slots[];
extern unsigned int fab_n_slots;
extern struct fab_switch fab_switch;
extern struct ib_client fab_client;

static inline struct fab_dev *fab_dev_of(struct ib_device *ibdev)
{
	return container_of(ibdev, struct fab_dev, rdi.ibdev);
}

static inline struct fab_qp *fab_qp_of(struct rvt_qp *qp)
{
	return qp->priv;
}

static inline bool fab_qp_is_mad(const struct rvt_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_SMI ||
	       qp->ibqp.qp_type == IB_QPT_GSI;
}

static inline bool fab_lid_is_mcast(u16 lid)
{
	return lid >= FAB_LID_MCAST && lid != FAB_LID_PERMISSIVE;
}

static inline bool fab_port_owns(const struct fab_port *port, u16 lid)
{
	return port->lid && lid >= port->lid &&
	       lid < port->lid + (1U << port->lmc);
}

static inline bool fab_packet_is_mad(const struct fab_packet *packet)
{
	return packet->dst_qp <= 1 && packet->length == IB_MGMT_MAD_SIZE;
}

/* device.c */
int fab_dev_plug(struct fab_slot *slot, struct platform_device *parent);
void fab_dev_unplug(struct fab_slot *slot);
void fab_dev_events(struct fab_dev *dev, unsigned long events);

/* portinfo.c: PortInfo and the tables that all kinds of port have */
enum fab_port_kind { FAB_PORT_HCA, FAB_PORT_SWITCH, FAB_PORT_BASE };
void fab_port_init(struct fab_port *port, u8 state);
void fab_portinfo_get(const struct fab_port *port, struct ib_port_info *info);
__be16 fab_portinfo_set(struct fab_port *port, enum fab_port_kind kind,
			const struct ib_port_info *info, unsigned long *events,
			bool *bounce);
void fab_pkeys_get(const struct fab_port *port, __be16 *pkeys);
bool fab_pkeys_set(struct fab_port *port, const __be16 *pkeys);

/* link.c: the cable between a slot and its device */
void fab_link_update(struct fab_slot *slot, bool bounce);
void fab_link_cable(struct fab_slot *slot, bool whole);

/* mad.c: MADs to a device, and traps from anyone */
int fab_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);
int fab_check_ah(struct ib_device *ibdev, struct rdma_ah_attr *attr);
struct fab_packet *fab_trap_make(u16 lid, u16 sm_lid, u8 sm_sl,
				 const struct ib_mad_notice_attr *notice);
void fab_cap_mask_changed(struct rvt_dev_info *rdi, u32 port_num);

/* sma.c, pma.c */
int fab_sma_process(struct fab_dev *dev, struct ib_smp *smp);
bool fab_pma_process(struct fab_traffic *traffic, u8 port_num,
		     struct ib_mad *mad);

/* switch.c: forwarding */
struct fab_dev *fab_peer(struct fab_dev *from, u16 dlid);
void fab_switch_init(void);
void fab_switch_input(struct fab_slot *slot, struct fab_packet *packet);
void fab_switch_output(struct fab_slot *slot, struct fab_packet *packet);
void fab_switch_route(struct fab_packet *packet);

/* switch_sma.c: the switch's agents */
void fab_switch_smp(struct fab_slot *in, struct fab_packet *packet);
void fab_switch_gmp(struct fab_packet *packet);
void fab_switch_trap(void);

/* wire.c: packets between a device and its slot */
struct fab_packet *fab_packet_new(u32 length, gfp_t gfp);
void fab_packet_free(struct fab_packet *packet);
void fab_wire_send(struct fab_dev *dev, struct fab_packet *packet);
void fab_wire_receive(struct fab_dev *dev, struct fab_packet *packet);
void fab_wire_init(struct fab_dev *dev);
void fab_wire_stop(struct fab_dev *dev);

/* fault.c: rules that harm MADs on their way in */
enum fab_verdict { FAB_PASS, FAB_DROP, FAB_DELAY, FAB_DUPLICATE, FAB_REORDER };
enum fab_verdict fab_fault_judge(struct fab_slot *slot,
				 const struct fab_packet *packet, u32 *ms);
int fab_fault_command(struct fab_slot *slot, char *text);
void fab_fault_show(struct fab_slot *slot, struct seq_file *file);
void fab_fault_clear(struct fab_slot *slot);

/* count.c: MADs by class, method and attribute */
u8 fab_rmpp_type(const struct fab_packet *packet);
void fab_count(struct fab_slot *slot, const struct fab_packet *packet,
	       bool received);
void fab_count_show(struct fab_slot *slot, struct seq_file *file);
void fab_count_clear(struct fab_slot *slot);

/* knobs.c: debugfs */
void fab_knobs_add(struct platform_device *parent);
void fab_knobs_remove(void);

/* ud.c: datagrams */
void fab_ud_send(struct rvt_qp *qp);
void fab_mad_send(struct rvt_qp *qp, bool posted);
void fab_ud_receive(struct fab_dev *dev, struct fab_packet *packet);

/* send.c: what all transports share */
extern const struct rvt_operation_params fab_post_parms[];
extern const enum ib_wc_opcode fab_wc_opcode[];
void fab_send_ops(struct rvt_driver_provided *ops);
bool fab_send_schedule(struct rvt_qp *qp);
void fab_recv_complete(struct rvt_qp *qp, struct ib_wc *wc, bool solicited);
void fab_send_complete(struct rvt_qp *qp, struct rvt_swqe *wqe,
		       enum ib_wc_status status);

/*
 * rc.c: RC and UC.
 *
 * fab_rc_send(): the send queue, from the QP's work item (never twice at a
 *   time for one QP), process context, no lock.  Sends what it can and
 *   returns; a later cause to send (a timer, a peer with a new receive buffer)
 *   calls fab_send_schedule().  Flushes in the error state.
 * fab_rc_restart(): rdmavt's notify_restart_rc: the retry timer has expired.
 *   r_lock and s_lock held.  rdmavt then schedules the send work.
 * fab_rc_reset(): rdmavt's notify_qp_reset; all three locks held, the work item
 *   has ended.
 * fab_rc_error(): rdmavt's notify_error_qp; r_lock and s_lock held.
 * fab_rc_modify(): rdmavt's modify_qp; all three locks held.
 * All but the first may run concurrently with the work item.
 */
void fab_rc_send(struct rvt_qp *qp);
void fab_rc_restart(struct rvt_qp *qp, u32 psn, int wait);
void fab_rc_reset(struct rvt_qp *qp);
void fab_rc_error(struct rvt_qp *qp);
void fab_rc_modify(struct rvt_qp *qp, struct ib_qp_attr *attr, int attr_mask,
		   struct ib_udata *udata);

#endif
