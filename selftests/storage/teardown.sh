#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A storage target, the private data and the number of its peers, and its end:
# KA-04. The peers are the initiator and a consumer that sends any private data.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/storage/functions
. /usr/lib/rdma-cmx/selftests/consumer/functions
magic=00000000434d5853

# request DIGITS: connects with this private data; prints the outcome
request() {
	do_ connect hex="$1" -- - - sa service=storage src=gid:"$own" |
		sed -n 's/^dst=[^ ]* step=\([^ ]*\) .*reason=\([0-9]*\) .*data=/\1 \2 /p'
}

# refused NAME WHY DIGITS: the consumer gets a reject with the reason
refused() {
	is "KA-04: $1 is rejected" "$(request "$3")" "request 28 $2"
	do_ connect-end >/dev/null
}

peers() {
	[ "$(cat /sys/module/cmx_target/parameters/peers)" = "$1" ]
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
timeouts_long
first=$(fab_dev 1) third=$(fab_dev 3) own=$(gid_short "$(fab_dev 1)")
good=${magic}0000000000000010

# --- private data of a peer ---

# The target of an earlier test had another address.
ok "no service is left" wait_for 120 no service_is_set
param sa_cache_ms 0
ok "a target for one connection" \
	modprobe cmx_target name=storage dev="$third" connections=1
ok "the target's service is at the SA" wait_for 120 service_is_set
refused "no private data" magic ''
refused "a request of another protocol" magic 00000000000000000000000000000010
refused "a part of one" magic 00000000434d58
refused "no block" range ${magic}0000000000000000
refused "a block behind the last" range ${magic}0000001000000001
refused "one block too many" range ${magic}0000000000000011
refused "the same from the second block on" range ${magic}0000000100000010
refused "a sum that overflows" range ${magic}0000000fffffffff
refused "a block number of all ones" range ${magic}ffffffff00000002
is "none of them is left" "$(cat /sys/module/cmx_target/parameters/peers)" 0
like "KA-04: the last block alone is accepted" \
	"$(request ${magic}0000000f00000001)" '^up '
ok "KA-04: it is a peer" wait_for 120 peers 1
do_ connect-end >/dev/null
ok "KA-04: its end is noticed" wait_for 120 peers 0

# --- number of peers ---

ok "an initiator" modprobe cmx_initiator service=storage dev="$first"
works "below the limit" 1 "$(gid_short "$third")"
refused "a connection beyond the limit" full $good
ok "KA-04: the initiator ends" rmmod cmx_initiator
ok "KA-04: its place is free" wait_for 120 peers 0
again() {
	local i

	for i in {1..20}; do
		[[ $(request $good) = up* ]] || { echo "connection $i"; return 1; }
		do_ connect-end >/dev/null
		wait_for 120 peers 0 || { echo "end $i"; return 1; }
	done
}
ok "KA-04: 20 others have it, one after the other" again

# --- the target ends ---

# With a connection, and with one that is being ended
ends() {
	local i

	for i in {1..6}; do
		[[ $(request $good) = up* ]] || { echo "connection $i"; return 1; }
		[ $((i % 2)) = 0 ] || do_ connect-end >/dev/null
		echo "end $i"
		rmmod cmx_target && do_ connect-end >/dev/null &&
			wait_for 120 no service_is_set &&
			modprobe cmx_target name=storage dev="$third" &&
			wait_for 120 service_is_set || return
	done
}
ok "KA-04: the target is unloaded with a connection, or as one ends" ends

# --- the initiator ends ---

ok "an initiator" modprobe cmx_initiator service=storage dev="$first"
works "before the end" 1 "$(gid_short "$third")"
ok "the target's cable is pulled" link_down "$third"
ok "KA-04: the initiator is unloaded while a block waits" rmmod cmx_initiator
ok "the cable is back" link_up "$third"
ok "its port is active" port_active_wait "$third"
ok "the target is unloaded" rmmod cmx_target
ok "its service is withdrawn" wait_for 120 no service_is_set
ok "an initiator" modprobe cmx_initiator service=storage dev="$first"
gap
initiator_end "the initiator is unloaded between two attempts"

# --- a target of another protocol ---

ok "a target that says something else" \
	do_ listen gid:"$(gid_short "$third")" $((0x13f7701)) accept
"$tests/sa/tools/service" -C "$third" -n storage -i $((0x13f7701)) set
ok "an initiator" modprobe cmx_initiator service=storage dev="$first"
ok "KA-04: it connects, and does not take it" \
	wait_for 120 more_than connects 1
is "KA-04: it writes nothing there" "$(field blocks) $(field error)" "0 -71"
initiator_end "the initiator is unloaded"
do_ unlisten >/dev/null
"$tests/sa/tools/service" -C "$third" -n storage -i $((0x13f7701)) delete
ok "the consumer is unloaded" rmmod cmx_consumer
ok "no object is left" wait_for 120 live_none
finish
