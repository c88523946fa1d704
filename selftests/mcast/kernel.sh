#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-11 on InfiniBand: the in-kernel consumer, on the first device, joins with
# a queue pair of the kernel; a program in another namespace sends.
. "${0%/*}/functions"
. /usr/lib/rdma-cmx/selftests/consumer/functions

host_add one 2
is "a host" $? 0
modprobe cmx_consumer
joined="event=multicast join status=0 qp_num=0xffffff context=ours"

# receives NAME GROUP: data that host one sends to the group arrives
receives() {
	in_bg sender on one timeout 300 "$mc" send 10.66.0.2 "$2" 50
	ok "$1" wait_for 90 received
	kill "$sender_pid"
	wait "$sender_pid" 2>/dev/null
}

is "MC-11: full member" "$(do_ join 10.66.0.1 239.66.6.1 0 qp)" "$joined"
receives "MC-11: attached: data arrives" 239.66.6.1
is "MC-11: a second group" "$(do_ more 239.66.6.2 0)" "$joined"
echo part 239.66.6.1 >$dir/command
receives "MC-11: the second one receives" 239.66.6.2
is "MC-11: send-only, with the SA's leave" "$(do_ more 239.66.6.3 1)" "$joined"
do_ leave >/dev/null
is "MC-11: no membership is left" "$(counter live_members)" 0

# The memberships of an id share a group: a plain one, which rdma_cm joins, and
# one of rdma_cmx.
shared() {
	local group=$1 words=$2 joins

	joins=$(counter joins)
	do_ more "$group" $words >/dev/null
	do_ more "$group" $words >/dev/null
	is "MC-06: $group $words: another membership has its event" \
		"$(do_ more "$group" $words)" "$joined"
	is "MC-06: joined once" "$(($(counter joins) - joins))" 1
	echo part "$group" >$dir/command
	is "MC-06: one left, another request is refused" \
		"$(do_ more "$group" 0 qkey=0x777)" "at once: error=-98"
	is "MC-06: threads share it, too" "$(do_ share 4 239.66.6.9)" \
		"joins=160 wrong=0"
}
is "MC-06: an id" "$(do_ join 10.66.0.1 239.66.6.6 0)" "$joined"
shared 239.66.6.7 "0"
shared 239.66.6.8 "0 persistent"
# Lost: each membership reports an event, and a join of the group succeeds
# again.
knob_set "$dev1" event client_reregister
lost() {
	[[ $(do_ events) == "2 2 2 2 2 of 5" ]]
}
ok "MC-06: each has its second event" wait_for 90 lost
rejoin() {
	[ "$(do_ more 239.66.6.7 0)" = "$joined" ]
}
ok "MC-06: after an error a new membership joins again" wait_for 90 rejoin
do_ leave >/dev/null
is "MC-06: no membership is left" "$(counter live_members)" 0

is "MC-09: a persistent one" \
	"$(do_ join 10.66.0.1 239.66.6.4 0 qp persistent)" "$joined"
receives "MC-09: data arrives" 239.66.6.4
do_ again >/dev/null &
knob_set "$dev1" event client_reregister
wait $!
is "MC-09: joined again" "$(cat $dir/result)" "$joined"
receives "MC-09: data arrives again" 239.66.6.4
do_ leave >/dev/null

# IPoIB has to rejoin its groups first.
joins() {
	[ "$(do_ join 10.66.0.1 239.66.6.5 0 qp)" = "$joined" ]
}
ok "MC-11: another one, not persistent" wait_for 90 joins
do_ again >/dev/null &
knob_set "$dev1" event client_reregister
wait $!
like "MC-11: an event reports it" "$(cat $dir/result)" \
	'^event=multicast error status=-102'
do_ leave >/dev/null
rmmod cmx_consumer
is "no membership is left" "$(counter live_members)" 0
finish
