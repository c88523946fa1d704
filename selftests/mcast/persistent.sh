#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-09: a persistent membership rejoins after each event of the fabric, and
# reports it again; another membership ends with an error. Data arrives
# afterwards.
. "${0%/*}/functions"

group=239.66.5.1
host_add one 2 && host_add two 3
is "two hosts" $? 0

# sent N: host one sends until the member has received N messages in all
sent() {
	on one timeout 60 cmx join -j --send-only --dev "$dev2" --count 3 \
		$group >sender.log 2>&1
	has member received "$1"
}

# data NAME: messages of host one reach host two, maybe not while a new subnet
# manager configures the switch
data() {
	local before

	before=$(grep -c received member.log)
	ok "MC-09: $1: data arrives" wait_for 60 sent $((before + 1)) ||
		diag "$(cat sender.log)"
}

in_bg member on two timeout 2900 cmx join -j --persistent --dev "$dev3" \
	--count 100000 $group
log_wait member joined
data "at first"
rejoined=0

# again NAME: the member has rejoined since, and receives data
again() {
	rejoined=$((rejoined + 1))
	ok "MC-09: $1: joined again" log_wait member '"rejoined"' $rejoined
	rejoined=$(grep -c rejoined member.log)
	data "$1"
}

in_bg plain on two timeout 2900 cmx join -j --dev "$dev3" 239.66.5.2
log_wait plain joined
knob_set "$dev3" event client_reregister
again "client reregistration"
wait "$plain_pid"
is "MC-09: another membership is lost" $? 1
like "MC-09: the program reports it" "$(cat plain.log)" 'membership is lost'

link_down "$dev3"
link_up "$dev3"
port_active_wait "$dev3"
again "the link down and up"

sm_stop
sm_start
port_active_wait
again "the subnet manager started anew"

# Handover: a subnet manager of higher priority takes over on the fourth device.
sm_start "$(fab_dev 4)" -p 14
wait_for 40 eval '[ "$(sm_master)" = "$(dev_guid "$(fab_dev 4)")" ]'
is "the second subnet manager is the master" $? 0
again "another subnet manager"

ok "MC-09: counted" [ "$(counter rejoins)" -ge 4 ]
end member
is "MC-09: ended before its count, it leaves" $? 1
is "MC-09: no membership is left" "$(counter live_members)" 0

# The membership is lost during its leave: the leave returns. IPoIB has to
# rejoin its groups first.
ok "MC-09: the new subnet manager takes members" wait_for 120 \
	on two timeout 60 cmx join --once --dev "$dev3" 239.66.5.3
in_bg member on two timeout 300 cmx join -j --persistent --dev "$dev3" $group
log_wait member joined
link_down "$dev3"
end member
is "MC-09: left while the port is down" $? 0
link_up "$dev3"
finish
