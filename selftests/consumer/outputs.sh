#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Results of the kernel API on RoCE, as a driver reads them: KA-06
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

rules_end() {
	ip rule del from 10.55.5.1 lookup 101
	ip -6 rule del from fd55:5::1 lookup 101
}

cleanup() {
	rules_end
	ip route del 203.0.113.0/24
	rdma link del rxe1
	for netdev in bd0 tm0 br0 br1 d0 d1 v0 v1 mv0 mv1; do
		ip link del $netdev
	done
	ip netns del n1
	peer "ip link del v0"
	wait_for 90 rdma system set netns shared
	params_back
} 2>/dev/null

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
names_wait 20
param query_timeout_ms 60000
trap cleanup EXIT

why "an address that is reached" 0 10.55.0.2 1
why "one of our own" 0 10.55.0.1 1
why "no RDMA device on the way" -19 192.168.77.2 1
why "no route" -101 203.0.113.9 1
ip route add prohibit 203.0.113.0/24
why "a route that is forbidden" -13 203.0.113.9 1
ip route replace unreachable 203.0.113.0/24
why "a route to nowhere" -113 203.0.113.9 1
ip route replace blackhole 203.0.113.0/24
why "a black hole" -101 203.0.113.9 1
why "a black hole, not the source" -101 203.0.113.9 1 src=10.55.0.1
ip route del 203.0.113.0/24
why "a source that is not local" -99 10.55.0.2 1 src=10.99.0.1
why "an IPv6 source that is not local" -99 fd55::2 1 src=fd99::1
why "to listen on a wildcard" 0 0.0.0.0 1 passive
why "to listen on an RDMA device" 0 10.55.0.1 1 passive
why "to listen beside RDMA" -19 192.168.77.1 1 passive
why "to listen on an address of another" -99 10.55.0.2 1 passive
why "a GID in no subnet of ours" -101 2001:db8::1 1 family=27 flags=8

# --- the device of an entry, with a reference ---

device() {
	do_ resolve "$1" 1 qp=2 >/dev/null && do_ device 0
}

is "KA-06: the device of an entry" "$(device 10.55.0.2)" "device=rxe0"
is "KA-06: an entry without a device" "$(device 192.168.77.2)" "device=-"
is "KA-06: no path records on RoCE" \
	"$(do_ resolve 10.55.0.2 1 >/dev/null; do_ path 0 0)" "error=-2"
ip link add d0 type dummy && ip link set d0 up &&
	ip addr add 10.59.0.1/24 dev d0 && rdma link add rxe1 type rxe netdev d0
second() {
	[ "$(device 10.59.0.2)" = device=rxe1 ]
}
ok "a second device" wait_for 90 second
ip addr flush dev d0
rdma link del rxe1
is "KA-06: it has been removed" "$(do_ device 0)" "device=-"
rdma link add rxe1 type rxe netdev d0

# --- the device of a netdevice ---

# netdev NAME DEVICE WHAT
netdev() {
	is "KA-06: $3" "$(do_ netdev "$1")" "device=$2"
}

# made WHAT COMMAND...: skips if the kernel cannot create it
made() {
	"${@:2}" 2>/dev/null || {
		skip "KA-06: $1" "this kernel has none"
		return 1
	}
}

netdev eth0 rxe0 "the port's own"
is "KA-06: with the RTNL" "$(do_ netdev eth0 rtnl)" "device=rxe0"
netdev mgmt0 - "a netdevice without RDMA"
netdev lo - "the loopback device"
ip link add link eth0 name v0 type vlan id 5
netdev v0 rxe0 "a VLAN"
ip link add link v0 name v1 type vlan id 6
netdev v1 rxe0 "a VLAN on a VLAN"
is "KA-06: the same with the RTNL" "$(do_ netdev v1 rtnl)" "device=rxe0"
ip link add link v1 name mv0 type macvlan
netdev mv0 rxe0 "a macvlan on that"
ip link del v0
ip link add link mgmt0 name v0 type vlan id 5
netdev v0 - "a VLAN without RDMA"
ip link add d1 type dummy
ip link add br0 type bridge
ip link set d1 master br0
netdev br0 - "a bridge without RDMA"
ip link set d0 master br0
netdev br0 rxe1 "a bridge"
netdev d1 - "its other port"
ip link add link br0 name v1 type vlan id 7
netdev v1 rxe1 "a VLAN on the bridge"
ip link set d0 nomaster
netdev br0 - "the bridge has lost its port"
ip link set d0 down
if made bond ip link add bd0 type bond; then
	netdev bd0 - "an empty bond"
	ip link set d0 master bd0
	netdev bd0 rxe1 "a bond"
	ip link add br1 type bridge
	ip link set bd0 master br1
	netdev br1 rxe1 "a bridge on the bond"
	ip link del br1
	ip link del bd0
fi
if made team ip link add tm0 type team; then
	ip link set d0 master tm0
	netdev tm0 rxe1 "a team"
	ip link del tm0
fi

# --- the netdevice of a query: a VLAN beside its parent ---

# from QUERY...: the sources of the entries, or the error
from() {
	do_ resolve "$@" qp=2 | grep -oE '^error=.*| src=[^ ]+'
}

gid_there() {
	grep -qi "$1" /sys/class/infiniband/rxe0/ports/1/gids/*
}

dns_up
ip link del v0
ip link add link eth0 name v0 type vlan id 5
ip link set v0 up
# The one of eth0's own subnet is not the one of the routing table.
ip addr add 10.55.5.1/24 dev v0
ip addr add 10.55.0.21/24 dev v0 metric 1000
ip addr add fd55:5::1/64 dev v0 nodad
ok "GIDs of the VLAN" wait_for 90 eval \
	"gid_there 0a37:0501 && gid_there 0a37:0015 && gid_there fd55:0005"
is "KA-06: by the routing table" "$(from 10.55.0.2 1)" " src=10.55.0.1:0"
is "KA-06: by the parent" "$(from 10.55.0.2 1 iface=eth0)" " src=10.55.0.1:0"
is "KA-06: by the VLAN" "$(from 10.55.0.2 1 iface=v0)" " src=10.55.0.21:0"
is "KA-06: IPv6 by the VLAN" "$(from fd55:5::2 1 iface=v0)" \
	" src=[fd55:5::1]:0"
is "KA-06: not in the parent's subnets" "$(from 10.55.5.2 1 iface=eth0)" \
	"error=-101"
is "KA-06: IPv6, likewise" "$(from fd55:5::2 1 iface=eth0)" "error=-101"
is "KA-06: a source of the netdevice" \
	"$(from 10.55.0.2 1 iface=v0 src=10.55.0.21)" " src=10.55.0.21:0"
is "KA-06: a source of the parent" \
	"$(from 10.55.0.2 1 iface=v0 src=10.55.0.1)" "error=-101"
is "KA-06: multicast" "$(from 239.1.1.1 1 iface=v0)" " src=10.55.5.1:0"
is "KA-06: multicast, from a source" \
	"$(from 239.1.1.1 1 iface=v0 src=10.55.0.21)" " src=10.55.0.21:0"
is "KA-06: multicast, from one of the parent" \
	"$(from 239.1.1.1 1 iface=v0 src=10.55.0.1)" "error=-101"
is "KA-06: of two addresses the reached one" \
	"$(from storage.cmx.test 1 iface=v0)" " src=10.55.0.21:0"
is "KA-06: to listen on the VLAN" "$(from 0.0.0.0 1 passive iface=v0)" \
	" src=10.55.5.1:1"
is "KA-06: to listen on its address" "$(from 10.55.5.1 1 passive iface=v0)" \
	" src=10.55.5.1:1"
is "KA-06: to listen on another's" "$(from 10.55.0.1 1 passive iface=v0)" \
	"error=-101"
is "KA-06: an unknown netdevice" "$(from 10.55.0.2 1 iface=nosuch0)" \
	"error=-19"
is "KA-06: too long a name" "$(from 10.55.0.2 1 iface=0123456789abcdef)" \
	"error=-19"
is "KA-06: a netdevice without RDMA" "$(from 192.168.77.2 1 iface=mgmt0)" \
	"error=-6"
is "KA-06: a netdevice and a device" \
	"$(from 10.55.0.2 1 iface=v0 dev=rxe0)" "error=-22"
is "KA-06: no services by it" "$(from - - sa service=x iface=v0)" "error=-19"
ok "the peer's VLAN" peer "ip link add link eth0 name v0 type vlan id 5 &&
	ip link set v0 up && ip addr add 10.55.5.2/24 dev v0"
ok "it is reached" wait_for 60 ping -q -c 1 -W 1 10.55.5.2
is "KA-02: an id is bound to the VLAN" \
	"$(do_ connect routed -- 10.55.5.2 1 iface=v0 | head -1)" \
	"error=0 calls=1 setups=0 teardowns=0 wrong=0"
like "KA-02: its source" "$(rdma resource show cm_id)" 'src-addr 10\.55\.5\.1:'
do_ connect-end >/dev/null
is "KA-02: no id by the parent" \
	"$(do_ connect routed -- 10.55.5.2 1 iface=eth0 | head -1)" \
	"error=-101 calls=1 setups=0 teardowns=0 wrong=0"
do_ connect-end >/dev/null

# --- a device on a bond ---

if made "a device on a bond" ip link add bd0 type bond mode active-backup; then
	rdma link del rxe1
	ip link set d0 down
	ip link set d0 master bd0
	ip link set bd0 up
	ip addr add 10.58.9.1/24 dev bd0
	# Dummies have no neighbours.
	ip neigh add 10.58.9.2 lladdr 02:00:00:00:00:02 dev bd0
	ok "a device on a bond" rdma link add rxe1 type rxe netdev bd0
	ok "the GID of the bond" wait_for 90 \
		grep -qi 0a3a:0901 /sys/class/infiniband/rxe1/ports/1/gids/*
	is "KA-06: by the bond" "$(from 10.58.9.2 1 iface=bd0)" \
		" src=10.58.9.1:0"
	is "KA-06: its device" "$(do_ device 0)" "device=rxe1"
	is "KA-06: to listen on the bond" "$(from 0.0.0.0 1 passive iface=bd0)" \
		" src=10.58.9.1:1"
	is "KA-06: its slave has no device" "$(from 10.58.9.2 1 iface=d0)" \
		"error=-6"
	is "KA-06: not by another netdevice" "$(from 10.58.9.2 1 iface=eth0)" \
		"error=-101"
	is "KA-06: another peer, not by the bond" \
		"$(from 10.55.0.2 1 iface=bd0)" "error=-101"
	for own in iface=bd0 dev=rxe1; do
		is "KA-02: an id, $own" \
			"$(do_ connect routed -- 10.58.9.2 1 $own | head -1)" \
			"error=0 calls=1 setups=0 teardowns=0 wrong=0"
		like "KA-02: $own: its source" "$(rdma resource show cm_id)" \
			'link rxe1/1 .*src-addr 10\.58\.9\.1:'
		do_ connect-end >/dev/null
	done
	for own in iface=eth0 dev=rxe0; do
		is "KA-02: no id, $own" \
			"$(do_ connect routed -- 10.58.9.2 1 $own | head -1)" \
			"error=-101 calls=1 setups=0 teardowns=0 wrong=0"
		do_ connect-end >/dev/null
	done
	rdma link del rxe1
	ip link del bd0
	rdma link add rxe1 type rxe netdev d0
fi

# --- the route is the one that rdma_cm finds by the source ---

# by QUERY...: the error of a connect by the VLAN
by() {
	do_ connect routed -- "$@" iface=v0 | head -1 | cut -d" " -f1
	do_ connect-end >/dev/null
}

# Routes of a table that only a rule by the source has
is "KA-06: no route by the VLAN" "$(from 10.66.0.2 1 iface=v0)" "error=-101"
is "KA-06: IPv6, likewise" "$(from fd66::2 1 iface=v0)" "error=-101"
ip rule add from 10.55.5.1 lookup 101
ip route add 10.66.0.0/24 via 10.55.5.2 dev v0 table 101
ip -6 rule add from fd55:5::1 lookup 101
ip route add fd66::/64 via fd55:5::2 dev v0 table 101
is "KA-06: a route by a rule" "$(from 10.66.0.2 1 iface=v0)" \
	" src=10.55.5.1:0"
is "KA-06: IPv6, likewise" "$(from fd66::2 1 iface=v0)" " src=[fd55:5::1]:0"
is "KA-02: an id uses the rule" "$(by 10.66.0.2 1)" "error=0"
ok "the rules are gone" rules_end

# IPv6 prefers the lower metric, also for an id that is bound to the VLAN.
gid=fd55:0000:0000:0000:0000:0000:0000:0021
ip addr add fd55::21/64 dev v0 nodad metric 1000
ok "its GID" wait_for 90 gid_there $gid
is "KA-06: IPv6, the parent's route is better" "$(from fd55::2 1 iface=v0)" \
	"error=-101"
is "KA-02: no id, likewise" "$(by fd55::2 1)" "error=-101"
ip addr del fd55::21/64 dev v0
ok "its GID is gone" wait_for 90 eval "! gid_there $gid"
ip addr add fd55::21/64 dev v0 nodad metric 256
ok "its GID" wait_for 90 gid_there $gid
is "KA-06: IPv6, as good a route" "$(from fd55::2 1 iface=v0)" \
	" src=[fd55::21]:0"
ip link del v0

# --- and of another namespace ---

# there COMMAND...: a process of the namespace writes it
there() {
	ip netns exec n1 sh -c "echo $* >&3" 3>$dir/command && cat $dir/result
}

do_ resolve 10.55.0.2 1 qp=2 >/dev/null
ip netns add n1
ip link add link eth0 name mv1 type macvlan
ip link set mv1 netns n1
is "KA-06: a macvlan of a namespace that shares the device" \
	"$(there netdev mv1)" "device=rxe0"
is "KA-06: a netdevice of that namespace only" "$(from 10.55.0.2 1 iface=mv1)" \
	"error=-19"
do_ resolve 10.55.0.2 1 qp=2 >/dev/null
is "KA-06: an entry, there" "$(there device 0 own-net)" "device=rxe0"
ip netns del n1
wait_for 90 eval '! ip link show mv1 2>/dev/null'
ok "a device for one namespace" wait_for 90 rdma system set netns exclusive
ip netns add n1
ip link add link eth0 name mv1 type macvlan
ip link set mv1 netns n1
is "KA-06: of one that has not the device" "$(there netdev mv1)" "device=-"
do_ resolve 10.55.0.2 1 qp=2 >/dev/null
is "KA-06: an entry, there" "$(there device 0 own-net)" "device=-"
is "KA-06: here" "$(do_ device 0)" "device=rxe0"

cleanup
rmmod cmx_consumer
finish
