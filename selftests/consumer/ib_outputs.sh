#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Results of the kernel API on InfiniBand, as a driver reads them: KA-06
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

own=$(fab_dev 1)
netdev=$(dev_netdev "$own")

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
ok "a namespace with device 2" host_add far 2
param sa_cache_ms 0
# A retry of a query would count as another query.
timeouts_long 20000

# IPoIB waits only a second for its path.
wait_for 60 eval 'do_ resolve 10.66.0.2 1 qp=2 why | grep -q "error=0$"'
why "an address with a path" 0 10.66.0.2 1
why "its GID" 0 "$(dev_gid "$(fab_dev 2)")" 1 family=27 flags=8
why "no neighbour" -113 10.66.0.99 1
why "no path is wanted" 0 10.66.0.99 1 noroute
why "the SA does not know the GID" -2 fe80::dead 1 family=27 flags=8
why "a GID in no subnet of ours" -101 2001:db8::1 1 family=27 flags=8
ip route add 10.77.0.0/24 via 10.66.0.2 dev "$netdev"
why "behind a router" -95 10.77.0.1 1
ip route del 10.77.0.0/24

# Path records in the format of rdma_cm
do_ resolve 10.66.0.2 1 qp=2 >/dev/null
path="$(gid_short "$own") $(($(dev_lid "$own")))"
path+=" -> $(gid_short "$(fab_dev 2)") $(($(dev_lid "$(fab_dev 2)")))"
is "KA-06: the path record" "$(do_ path 0 0)" "$path pkey=0xffff reversible=1"
is "KA-06: there is no other" "$(do_ path 0 1)" "error=-2"
is "KA-06: rdma_cm connects by it" "$(do_ path-use 0)" "used=0"
is "KA-06: the device" "$(do_ device 0)" "device=$own"
on far sh -c 'echo device 0 own-net >&3' 3>$dir/command
is "KA-06: another namespace has not the device" "$(cat $dir/result)" \
	"device=-"

# Interfaces of IPoIB, of any partition
is "KA-06: an interface of IPoIB has its device" "$(do_ netdev "$netdev")" \
	"device=$own"
ok "one of another partition" ip link add link "$netdev" name part1 \
	type ipoib pkey 0x8005
is "KA-06: has the same" "$(do_ netdev part1)" "device=$own"
is "KA-06: that of another device" \
	"$(do_ netdev "$(dev_netdev "$(fab_dev 3)")")" "device=$(fab_dev 3)"
ip link del part1

# from QUERY...: the sources of the entries, or the error
from() {
	do_ resolve "$@" qp=2 | grep -oE '^error=.*| src=[^ ]+'
}

# The netdevice of a query: of IPoIB, all entries are by its port.
third=$(fab_dev 3)
is "KA-06: by its own netdevice" "$(from 10.66.0.2 1 iface="$netdev")" \
	" src=10.66.0.1:0"
is "KA-06: by another one" \
	"$(from 10.66.0.2 1 iface="$(dev_netdev "$third")")" " src=10.66.0.3:0"
like "KA-06: a GID by another one" \
	"$(from "$(dev_gid "$(fab_dev 2)")" 1 family=27 flags=8 \
	   iface="$(dev_netdev "$third")")" "^ src=$(gid_short "$third"),"

sm_pause
why "the SA does not reply" -110 10.66.0.2 1
sm_resume

# The type of service selects the QoS class of a path. Without QoS of the SA the
# path is the same.
param sa_cache_ms 3600000

# path TOS: sets $sent to the number of path queries for it at the SA
path() {
	local before

	before=$(sa_requests 0x12 0x0035)
	do_ resolve 10.66.0.2 7900 qp=2 tos="$1" >path.log
	sent=$(($(sa_requests 0x12 0x0035) - before))
	grep -q ' paths=1' path.log
}

sends() {
	path "$1" && [ "$sent" = "$2" ]
}

cd "$(mktemp -d)" || exit
ok "a path without a type of service" wait_for 90 path 0
ok "KA-06: without QoS it is the path of another type, too" \
	wait_for 90 sends 8 0
is "KA-06: an id with a type of service takes it" \
	"$(do_ path-known 0 24)" "known=0"
sm_stop
sm_start "$own" -Q
ok "OpenSM -Q starts" port_active_wait
# RC and UD have different service ids.
param sa_cache_ms 0
qos() {
	local before

	before=$(sa_requests 0x12 0x0035)
	do_ resolve 10.66.0.2 7900 >/dev/null
	[ $(($(sa_requests 0x12 0x0035) - before)) = 2 ]
}
ok "the module knows that it has QoS" wait_for 90 qos
param sa_cache_ms 3600000
# An event may empty the cache meanwhile. Each round has a new type.
tos=4
own_query() {
	tos=$((tos + 4))
	path 0 && path $tos && [ "$sent" = 1 ] &&
		path $tos && [ "$sent" = 0 ] && path 0 && [ "$sent" = 0 ]
}
for _ in {1..30}; do
	wait_for 90 own_query
	found=$?
	events=$(counter sa_events)
	known=("$(do_ path-known 0 $tos)" "$(do_ path-known 0 0 drop)"
	       "$(do_ path-known 0 0)" "$(do_ path-known 0 $tos)"
	       "$(do_ path-known 0 $((tos + 1)))")
	[ "$(counter sa_events)" != "$events" ] || break
done
is "KA-06: with QoS a type of service has its own query, cached beside the other" \
	$found 0
is "KA-06: an id of the type takes it" "${known[0]}" "known=0"
is "KA-06: one of none takes the other" "${known[1]}" "known=0"
is "KA-06: which is dropped" "${known[2]}" "known=-2"
is "KA-06: alone" "${known[3]}" "known=0"
is "KA-06: one of another type takes none" "${known[4]}" "known=-2"
sm_stop
sm_start
ok "OpenSM starts without -Q" port_active_wait

rmmod cmx_consumer
finish
