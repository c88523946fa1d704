#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-11 on InfiniBand: the in-kernel consumer, on the first device, joins with
# a queue pair of the kernel; a program in another namespace sends.
. "${0%/*}/functions"

dir=/sys/kernel/debug/cmx_consumer
do_() {
	echo "$*" >$dir/command || return
	cat $dir/result
}

host_add one 2
is "a host" $? 0
modprobe cmx_consumer
joined="event=multicast join status=0 qp_num=0xffffff context=ours"

# heard NAME GROUP: what one sends to it arrives
heard() {
	in_bg sender on one timeout 60 "$mc" send 10.66.0.2 "$2" 50
	is "$1" "$(do_ receive 5)" "received=enough"
	kill "$sender_pid"
	wait "$sender_pid" 2>/dev/null
}

is "MC-11: full member" "$(do_ join 10.66.0.1 239.66.6.1 0 qp)" "$joined"
heard "MC-11: attached: data arrives" 239.66.6.1
is "MC-11: a second group" "$(do_ more 239.66.6.2 0)" "$joined"
echo part 239.66.6.1 >$dir/command
heard "MC-11: the second one receives" 239.66.6.2
is "MC-11: send-only, with the SA's leave" "$(do_ more 239.66.6.3 1)" "$joined"
do_ leave >/dev/null
is "MC-11: none is left" "$(counter live_members)" 0

is "MC-09: a persistent one" \
	"$(do_ join 10.66.0.1 239.66.6.4 0 qp persistent)" "$joined"
heard "MC-09: data arrives" 239.66.6.4
do_ again >/dev/null &
knob_set "$dev1" event client_reregister
wait $!
is "MC-09: joined again" "$(cat $dir/result)" "$joined"
heard "MC-09: data arrives again" 239.66.6.4
do_ leave >/dev/null

# IPoIB has to be back in its own groups first
joins() {
	[ "$(do_ join 10.66.0.1 239.66.6.5 0 qp)" = "$joined" ]
}
ok "MC-11: another one, not persistent" wait_for 30 joins
do_ again >/dev/null &
knob_set "$dev1" event client_reregister
wait $!
like "MC-11: and that is told" "$(cat $dir/result)" \
	'^event=multicast error status=-102'
do_ leave >/dev/null
rmmod cmx_consumer
is "nothing is left" "$(counter live_members)" 0
finish
