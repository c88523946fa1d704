#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A storage target that moves to another partition, and an initiator that
# follows it. An initiator outside of the partition does not. No path is cached
# from one partition for another. KA-04, SV-01.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/storage/functions

first=$(fab_dev 1) second=$(fab_dev 2) third=$(fab_dev 3)

# is_member DEV
is_member() {
	grep -qi 0x8007 /sys/class/infiniband/"$1"/ports/1/pkeys/*
}

# in_partition NAME PKEY: checks the P_Key of the connection
in_partition() {
	is "KA-04: $1" "$(field pkey)" "$2"
}

no_member() {
	! is_member "$first" && ! is_member "$third"
}

# route PKEY: resolves the route from device 1 to 3 in that partition. Prints
# the P_Key of the path, and the number of paths that were in the cache. Queries
# are no measure: a port also queries the ClassPortInfo.
route() {
	local before pkey

	before=$(counter paths_hits)
	pkey=$(/usr/lib/rdma-cmx/selftests/sa/tools/paths pkey "$1" \
		"$(dev_gid "$first")" "$(dev_gid "$third")" 2>&1)
	echo "$pkey $(($(counter paths_hits) - before))"
}

# apart: an attempt with an empty cache. True if each path is queried once.
apart() {
	cmx paths drop --all >/dev/null
	own=$(route 0xffff) cached=$(route 0xffff)
	other=$(route 0x8007) again=$(route 0x8007)
	first_again=$(route 0xffff)
	[ "$own,$cached,$other,$again,$first_again" = \
		"ffff 0,ffff 1,8007 0,8007 1,ffff 1" ]
}

# Devices 1 and 3 are in both partitions.
timeouts_long
echo "Default=0x7fff, ipoib: ALL=full;
cmx=0x0007: 0x$(dev_guid "$first")=full, 0x$(dev_guid "$third")=full;" \
	>/run/partitions
sm_stop
sm_start "$first" -P /run/partitions
ok "device 1 is in a second partition" wait_for 120 is_member "$first"
ok "device 3 is, too" wait_for 120 is_member "$third"
is "device 2 is not" "$(is_member "$second" && echo yes)" ''
ok "the ports are active" port_active_wait
ok "no service is left" wait_for 120 no service_is_set

# Retries are other queries, and the paths stay for the test.
timeouts_long 20000
param sa_cache_ms 600000
# The new subnet manager may still change or report a port, which drops paths. Its
# ClassPortInfo, when it is known, changes the queries.
wait_for 40 apart
is "the default partition has a path" "$own" "ffff 0"
is "it is cached" "$cached" "ffff 1"
is "SEC-01: the other partition has another path" "$other" "8007 0"
is "it is cached, too" "$again" "8007 1"
is "the first one has stayed" "$first_again" "ffff 1"
param sa_cache_ms 15000
timeouts_long

ok "a target in the default partition" \
	modprobe cmx_target name=storage dev="$third"
ok "an initiator" modprobe cmx_initiator service=storage dev="$first"
works "in the default partition" 1 "$(gid_short "$third")"
in_partition "it is in that one" 0xffff

ok "the target ends" rmmod cmx_target
ok "its service is withdrawn" wait_for 120 no service_is_set
gap
ok "and starts in the other partition" \
	modprobe cmx_target name=storage dev="$third" pkey=0x8007
works "after the move to a partition" 2 "$(gid_short "$third")"
waited "after the move to a partition"
in_partition "it has followed" 0x8007
ok "the initiator is unloaded" rmmod cmx_initiator

ok "an initiator that is not in the partition" \
	modprobe cmx_initiator service=storage dev="$second"
ok "KA-04: it tries" wait_for 120 more_than attempts 4
# The SA returns the record to members only.
is "KA-04: and is not connected" "$(field connects) $(field error)" "0 -2"
ok "it is unloaded" rmmod cmx_initiator

# The subnet manager removes the partition.
ok "an initiator" modprobe cmx_initiator service=storage dev="$first"
works "in the partition again" 1 "$(gid_short "$third")"
in_partition "it is in that one" 0x8007
sm_stop
sm_start
ok "the partition is gone" wait_for 120 no_member
ok "the target moves back" rmmod cmx_target
connects=$(field connects)
ok "it starts" modprobe cmx_target name=storage dev="$third"
works "after the loss of the partition" $((connects + 1)) "$(gid_short "$third")"
in_partition "it is in the default one" 0xffff
ok "the target is unloaded" rmmod cmx_target
initiator_end "the initiator is unloaded"
ok "its service is withdrawn" wait_for 120 no service_is_set
finish
