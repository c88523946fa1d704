#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Multicast joins of an in-kernel consumer: MC-01, MC-03, MC-05
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"

joined="event=multicast join status=0 qp_num=0xffffff context=ours"
is "MC-01: full member" "$(do_ join 10.55.0.1 239.55.7.1 0)" "$joined"
ok "MC-03: IGMP has the group" igmp_joined eth0 239.55.7.1
do_ leave >/dev/null
ok "MC-03: IGMP drops the group after the leave" wait_for 90 eval '! igmp_joined eth0 239.55.7.1'
is "MC-01: send-only" "$(do_ join 10.55.0.1 239.55.7.2 1)" "$joined"
ok "MC-03: IGMP does not have the group" eval '! igmp_joined eth0 239.55.7.2'
do_ leave >/dev/null

refused() {
	local id=$1 errno=$2

	shift 2
	is "$id: '$*' is error $errno" "$(do_ join "$@")" \
		"at once: error=-$errno"
}

refused "MC-05: not a multicast address:" 22 10.55.0.1 10.55.0.2 0
refused "MC-05: not a multicast address of IPv6:" 22 fd55::1 fd55::2 0
refused "MC-05: unknown flag:" 22 10.55.0.1 239.55.7.1 2
refused "MC-05: unknown flag:" 22 10.55.0.1 239.55.7.1 0x80000000
refused "MC-05: not bound:" 22 - 239.55.7.1 0

# IPv6 groups, which rdma_cm does not support
is "MC-07: an IPv6 group" "$(do_ join fd55::1 ff15::55:71 0)" "$joined"
mld() {
	mld_joined eth0 ff150000000000000000000000550071
}
ok "MC-07: MLD has the group" mld
do_ leave >/dev/null
ok "MC-07: MLD drops the group after the leave" wait_for 90 eval '! mld'
is "MC-07: send-only" "$(do_ join fd55::1 ff15::55:71 1)" "$joined"
ok "MC-07: MLD does not have the group" eval '! mld'
refused "MC-07: the source is of the other family:" 97 10.55.0.1 ff15::55:71 0

sent() {
	peer "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"
}

# Nothing arrives while beta sends 20 messages.
nothing_comes() {
	local before

	do_ receive 0 >/dev/null
	before=$(sent)
	wait_for 30 eval '[ "$(sent)" -gt $((before + 20)) ]' &&
		[ "$(do_ receive 0)" = received=none ]
}

# quiet NAME: earlier messages may arrive at first.
quiet() {
	ok "$1" wait_for 90 nothing_comes
}

# A kernel queue pair, for which rdma_cm fails with a warning
is "MC-11: with a queue pair" "$(do_ join 10.55.0.1 239.55.7.3 0 qp)" "$joined"
ok "MC-11: IGMP has the group" igmp_joined eth0 239.55.7.3
job=$(peer_bg "$tests/api/tools/mc send 10.55.0.2 239.55.7.3 300")
ok "MC-11: it is attached: data arrives" wait_for 90 received
is "MC-11: a second group" "$(do_ more 239.55.7.4 0)" "$joined"
echo part 239.55.7.3 >$dir/command
ok "MC-11: IGMP drops the left group" wait_for 90 eval '! igmp_joined eth0 239.55.7.3'
ok "MC-11: IGMP keeps the other group" igmp_joined eth0 239.55.7.4
do_ receive 0 >/dev/null	# earlier messages
job2=$(peer_bg "$tests/api/tools/mc send 10.55.0.2 239.55.7.4 300")
ok "MC-11: the other receives" wait_for 90 received
peer_stop "$job2"
quiet "MC-11: detached from the first"
peer_stop "$job"
do_ leave >/dev/null
ok "MC-11: the end of the id leaves all groups" wait_for 90 eval '! igmp_joined eth0 239.55.7.4'

# Two addresses, one group on the wire. rdma_create_qp() makes the queue pair, so
# rdma_cm owns it.
queue_pairs() {
	rdma resource show qp link rxe0 | grep -c '\[rdma_cm\]'
}

is "MC-11: a group" "$(do_ join 10.55.0.1 239.55.7.3 0 qp)" "$joined"
is "MC-11: again, with a port" "$(do_ more 239.55.7.3 0 port=2)" "$joined"
echo part 239.55.7.3 >$dir/command
do_ receive 0 >/dev/null
job=$(peer_bg "$tests/api/tools/mc send 10.55.0.2 239.55.7.3 300")
ok "MC-11: the newer is left: the older receives" wait_for 90 received
is "MC-11: the newer again" "$(do_ more 239.55.7.3 0 port=2)" "$joined"
echo part 239.55.7.3 >$dir/command
peer_stop "$job"
ok "MC-11: there is the queue pair" test "$(queue_pairs)" -gt 0
do_ leave >/dev/null
is "MC-11: the end of the id destroys it" "$(queue_pairs)" 0

is "MC-11: an IPv6 group with a queue pair" \
	"$(do_ join fd55::1 ff15::55:72 0 qp qkey=0x777)" "$joined"
do_ leave >/dev/null
is "MC-11: send-only with a queue pair" \
	"$(do_ join 10.55.0.1 239.55.7.5 1 qp)" "$joined"
ok "MC-11: IGMP does not have the group" eval '! igmp_joined eth0 239.55.7.5'
job=$(peer_bg "$tests/api/tools/mc send 10.55.0.2 239.55.7.5 300")
is "MC-11: a full member beside it receives" \
	"$(do_ more 239.55.7.6 0)" "$joined"
job2=$(peer_bg "$tests/api/tools/mc send 10.55.0.2 239.55.7.6 300")
ok "MC-11: data of the full membership" wait_for 90 received
peer_stop "$job2"
quiet "MC-11: none of the send-only one"
peer_stop "$job"
is "MC-11: persistent on RoCE is joined once" \
	"$(do_ join 10.55.0.1 239.55.7.7 0 qp persistent)" "$joined"
do_ leave >/dev/null
# Memberships of a group share it: MC-06
joins=$(counter joins)
is "MC-06: a group" "$(do_ join 10.55.0.1 239.55.7.8 0)" "$joined"
is "MC-06: the same request again has its event" \
	"$(do_ more 239.55.7.8 0)" "$joined"
is "MC-06: once more" "$(do_ more 239.55.7.8 0)" "$joined"
is "MC-06: each has had one event" "$(do_ events)" "1 1 1 of 3"
is "MC-06: joined once" "$(($(counter joins) - joins))" 1
refused2() {
	is "MC-06: $1 is EADDRINUSE" "$(do_ more 239.55.7.8 "${@:2}")" \
		"at once: error=-98"
}
refused2 "another join flag" 1
refused2 "another Q_Key" 0 qkey=0x777
refused2 "another kind" 0 persistent
echo part 239.55.7.8 >$dir/command
echo part 239.55.7.8 >$dir/command
ok "MC-06: two have left, one stays" igmp_joined eth0 239.55.7.8
echo part 239.55.7.8 >$dir/command
ok "MC-06: the last one leaves" wait_for 90 eval '! igmp_joined eth0 239.55.7.8'
is "MC-06: a new one joins anew, with another request" \
	"$(do_ more 239.55.7.8 0 qkey=0x777)" "$joined"
is "MC-06: joined twice" "$(($(counter joins) - joins))" 2
is "MC-06: threads share a group" "$(do_ share 8 239.55.7.9)" \
	"joins=320 wrong=0"
ok "MC-06: none of them is left" wait_for 90 eval '! igmp_joined eth0 239.55.7.9'
is "MC-06: a group that the id has joined, too" "$(do_ share 8 239.55.7.8)" \
	"joins=0 wrong=320"
do_ leave >/dev/null

# Many with one completion: KA-07
do_ join 10.55.0.1 239.55.7.20 0 >/dev/null
is "KA-07: many; one is invalid, one is joined already" \
	"$(do_ many 239.55.7.21 10.55.0.2 239.55.7.20 239.55.7.22)" \
	"error=0 done=1 0 -22- 0 0"
ok "KA-07: IGMP has the first" igmp_joined eth0 239.55.7.21
ok "KA-07: IGMP has the last" igmp_joined eth0 239.55.7.22
like "KA-07: left at once" "$(do_ many-leave 239.55.7.23 239.55.7.24)" \
	'^error=0 done=1 (0|-125) (0|-125)$'
ok "KA-07: IGMP has none" wait_for 90 eval '! igmp_joined eth0 239.55.7.21'
do_ leave >/dev/null

live() {
	counter live_members
}
is "no membership is left" "$(live)" 0
rmmod cmx_consumer
is "no id is left" "$(rdma resource show cm_id 2>/dev/null | grep -c cmx_consumer)" 0
finish
