#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-04, MC-09: the device is removed with memberships of each kind, during a
# join, and while a process does not react. Each member reports an event, no
# membership is left, and the device works again after its return.
. "${0%/*}/functions"
timeouts_long

lost='membership is lost: RDMA_CM_EVENT_DEVICE_REMOVAL'
kinds=(plain persistent sendonly many own)

# member NAME OPTIONS...: starts a member that stays
member() {
	in_bg "$1" cmx join -j --dev "$dev3" "${@:2}"
}

members_start() {
	member plain 239.66.7.1
	member persistent --persistent 239.66.7.2
	member sendonly --send-only 239.66.7.3
	member many --persistent 239.66.7.{11,12,13,14,15,16}
	member own --qkey 0x80004321 239.66.7.4
}

# unplug: in the background, since it may have to wait; its process in
# unplug_pid
unplug() {
	knob_set "$dev3" plugged 0 &
	unplug_pid=$!
}

# plug: the device returns, with its addresses
plug() {
	knob_set "$dev3" plugged 1
	wait_for 90 devices_back "$dev3" || return
	addresses_add "$dev3"
	port_active_wait "$dev3"
}

gone() {
	[ ! -e "/sys/class/infiniband/$dev3" ]
}

members_start
for kind in "${kinds[@]}"; do
	ok "$kind: joined" log_wait "$kind" '"joined"'
done
ok "many: all six" log_wait many '"joined"' 6
ok "memberships of the core" [ "$(counter live_members)" -ge 8 ]
# The request of one more join is dropped before the subnet manager.
knob_set "$dev1" faults "drop class=3 method=0x02 attr=0x38"
before=$(knob_get "$dev1" faults)
member joining --persistent 239.66.7.5
dropped() {
	[ "$(knob_get "$dev1" faults)" != "$before" ]
}
ok "one more join is outstanding" wait_for 90 dropped
unplug
wait $unplug_pid
is "OPS-04: the removal of the device ends" $? 0
ok "OPS-04: the device is removed" wait_for 90 gone
for kind in "${kinds[@]}" joining; do
	pid=${kind}_pid
	wait "${!pid}"
	is "OPS-04: $kind ends as failed" $? 1
done
for kind in "${kinds[@]}"; do
	ok "OPS-04: $kind gets the event of the removal" has "$kind" "$lost"
done
unlike "MC-09: the outstanding join did not succeed" "$(cat joining.log)" '"joined"'
ok "MC-09: no object is left" wait_for 90 live_none

knob_set "$dev1" faults clear
ok "the device is back" plug
members_start
for kind in "${kinds[@]}"; do
	ok "MC-09: $kind: joined on the device that came back" \
		log_wait "$kind" '"joined"'
done

# No process reads its events: the kernel releases the device without it.
for kind in "${kinds[@]}"; do
	pid=${kind}_pid
	kill -STOP "${!pid}"
done
unplug
ok "OPS-04: the device is removed though no process reacts" wait_for 90 gone
wait $unplug_pid
is "OPS-04: its removal ends" $? 0
is "MC-09: no membership is left" "$(counter live_members)" 0
for kind in "${kinds[@]}"; do
	pid=${kind}_pid
	kill -CONT "${!pid}"
	wait "${!pid}"
	is "OPS-04: $kind, woken up, ends as failed" $? 1
done
knob_set "$dev3" plugged 1
finish
