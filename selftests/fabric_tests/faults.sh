#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The fabric's knobs: cable, events, lost and late MADs.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

first=$(fab_dev 1) second=$(fab_dev 2) third=$(fab_dev 3)

node_known() {
	sa_query NR | grep -qi "port_guid.*$(dev_guid "$1" | sed 's/^0*//')"
}

hits() {
	knob_get "$1" faults | sed -n "s/.*hits=//p" | head -n 1
}

# joins DEV: number of joins that its port has sent to the SA
joins() {
	knob_get "$1" mads | awk '
		$1 $2 $3 == "0x030x020x0038" { n += $6 }
		END { print n + 0 }'
}

joins_more_than() {
	[ "$(joins "$1")" -gt "$2" ]
}

carrier_is() {
	[ "$(cat "/sys/class/net/$(dev_netdev "$1")/operstate")" = "$2" ]
}

# The cable
ok "the SA has the node" node_known "$second"
ok "cable out: DOWN" link_down "$second"
ok "IPoIB has no carrier" wait_for 90 carrier_is "$second" down
ok "the SM drops the node" wait_for 90 no node_known "$second"
is "the others stay ACTIVE" "$(dev_state "$third")" ACTIVE
ok "cable in" link_up "$second"
ok "the SM makes it ACTIVE, IPoIB runs" port_active_wait "$second"
ok "the SM has the node again" wait_for 90 node_known "$second"

# Events
before=$(joins "$third")
ok "an event: client reregister" knob_set "$third" event client_reregister
ok "IPoIB joins its groups again" wait_for 90 joins_more_than \
	"$third" "$before"
ok "IPoIB runs again" port_active_wait "$third"
is "an event that there is not" \
	"$(knob_set "$third" event nonsense 2>/dev/null; echo $?)" 1

# MADs on their way to the SA
knob_set "$first" faults 'drop class=3 method=0x12'
ok "lost queries: no response" no sa_query --timeout 300 NR
ok "counted" test "$(hits "$first")" -ge 1
knob_set "$first" faults clear
ok "no longer lost" sa_query NR
is "the list of faults is empty" "$(knob_get "$first" faults)" ''

knob_set "$first" faults 'delay class=3 method=0x12 ms=700'
begin=${EPOCHREALTIME/./}
ok "delayed queries: a response" sa_query --timeout 20000 NR
ok "the response comes after the delay" test $((${EPOCHREALTIME/./} - begin)) -ge 700000
knob_set "$first" faults clear

knob_set "$first" faults 'duplicate class=3 method=0x12'
out=$(sa_query NR)
is "duplicate queries: one response is taken" \
	"$(grep -c 'NodeRecord dump' <<<"$out")" 5
ok "counted" test "$(hits "$first")" -ge 1
knob_set "$first" faults clear

is "a rule that there is not" \
	"$(knob_set "$first" faults 'burn class=3' 2>/dev/null; echo $?)" 1

# A subnet that loses a third of its management packets becomes active.
knob_set "$second" faults 'drop class=0x81 chance=30'
link_down "$second"
link_up "$second"
ok "30% of SMPs lost: ACTIVE" port_active_wait "$second"
knob_set "$second" faults clear
finish
