#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A device is removed, or changes its namespace, while it prepares a response to
# a MAD: ib_mad must not use freed memory.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

first=$(fab_dev 1)
second=$(fab_dev 2)
lid=$(dev_lid "$second")

# query [OPTIONS...]: the second device's NodeInfo, by its LID
query() {
	smpquery -C "$first" "$@" nodeinfo "$lid"
}

# queries: number of these queries that the device has received
queries() {
	knob_get "$second" mads |
		awk '$1 == "0x01" && $2 == "0x01" && $3 == "0x0011" { n += $5 }
			END { print n + 0 }'
}

more_queries() {
	[ "$(queries)" -gt "$1" ]
}

# The device receives a query, and delays its response by 3 s. Sets query_pid.
response_begin() {
	local before

	before=$(queries)
	knob_set "$second" answer_ms 3000
	query -t 5000 >/dev/null 2>&1 &
	query_pid=$!
	wait_for 90 more_queries "$before"
}

response_end() {
	knob_set "$second" answer_ms 0
	kill $query_pid 2>/dev/null
	wait $query_pid 2>/dev/null
}

second_responds() {
	dev_is "$second" ACTIVE && query -t 1000
}

ok "the device responds" wait_for 90 query

response_begin
is "the device has received a query" $? 0
ok "the device is unplugged" knob_set "$second" plugged 0
response_end
ok "the device is plugged in" knob_set "$second" plugged 1
ok "the device responds again" wait_for 120 second_responds

response_begin
is "the device has received a query" $? 0
ip netns add one
ok "the device changes its namespace" rdma dev set "$second" netns one
response_end
ok "the device responds there" wait_for 90 query -t 1000
ip netns del one
ok "the device responds here again" wait_for 120 second_responds

ok "a delay above 10 s is refused" no knob_set "$second" answer_ms 10001
finish
