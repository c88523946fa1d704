#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The fabric's rules for packets that a port receives, and its counts of MADs:
# which packets match, how many, and in which order they arrive.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

first=$(fab_dev 1) second=$(fab_dev 2)
lid=$(dev_lid "$second")

# NodeRecord, by GetTable: one query of class 3, method 0x12, attribute 0x11
node_records() {
	sa_query NR
}

hits_are() {
	[ "$(knob_get "$1" faults | sed -n 's/.*hits=//p')" = "$2" ]
}

# The first MAD of this call is ClassPortInfo of class 4.
counters_get() {
	perfquery -C "$first" -t "$1" "$lid" 1 >/dev/null
}

# Counts
knob_set "$first" mads 0
is "counts start again" "$(sa_requests 0x12 0x0011)" 0
node_records >/dev/null
is "the counter has a query" "$(sa_requests 0x12 0x0011)" 1
is "the counter of another attribute has none" "$(sa_requests 0x12 0x0031)" 0
like "its response is counted as sent" "$(knob_get "$first" mads)" \
	'^0x03 0x92 0x0011 1 [0-9]+ [1-9]'

# Matches and counts
knob_set "$first" faults 'drop class=3 method=0x12 attr=0x11 rmpp=0 skip=1 count=1'
ok "skip: the first one passes" node_records
ok "count: the second is lost" no sa_query --timeout 1000 NR
ok "count: the third passes" node_records
ok "one hit" hits_are "$first" 1
is "a lost one is counted as received" "$(sa_requests 0x12 0x0011)" 4
knob_set "$first" faults clear
knob_set "$first" faults 'drop class=3 method=0x12 attr=0x31'
ok "another attribute is left alone" node_records
ok "no hit" hits_are "$first" 0
knob_set "$first" faults clear
knob_set "$first" faults 'drop class=3 chance=0'
ok "chance of 0: none" node_records
knob_set "$first" faults clear

# The first matching rule applies.
knob_set "$first" faults 'delay class=3 ms=1'
knob_set "$first" faults 'drop class=3'
ok "an earlier rule applies first" node_records
knob_set "$first" faults clear

# Order
knob_set "$second" faults 'reorder class=4 count=1 ms=60000'
counters_get 30000 &
held=$!
ok "reorder: one is held back" wait_for 90 hits_are "$second" 1
ok "another overtakes it" counters_get 10000
# Not within ok(), whose subshell does not have this child
wait $held
is "the held one arrives afterwards" $? 0
knob_set "$second" faults clear

# Datagrams that are not MADs
ok "a host" host_add two 2
ok "the host responds" wait_for 60 ping -c 1 -W 5 10.66.0.2
knob_set "$second" faults 'drop data'
ok "data lost: it does not" no ping -c 2 -W 1 10.66.0.2
ok "MADs are not" counters_get 10000
knob_set "$second" faults clear
ok "it does again" wait_for 60 ping -c 1 -W 5 10.66.0.2
ok "the host ends" host_del two
finish
