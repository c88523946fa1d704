#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Faults at random moments (RAI-07, OPS-04): processes are killed while they
# open, resolve, join and listen; the device is removed and added meanwhile.
# Random delays select the moment, and no result depends on them. No call hangs,
# and no object is left.
. /usr/lib/rdma-cmx/selftests/lib.sh
selftests=/usr/lib/rdma-cmx/selftests/api

# moment MAX: 0 to MAX milliseconds
moment() {
	local ms=$((RANDOM % $1))

	read -r -t "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))" <>moment
}
mkfifo moment

# killed_at_the_end: of its start, with all requests outstanding
killed_at_the_end() {
	local pid status

	$selftests/tools/hold 4 10.55.0.1 239.55.20.1 >held 2>&1 &
	pid=$!
	wait_for 40 grep -q ready held
	status=$?
	cat held
	kill -KILL $pid
	wait $pid 2>/dev/null
	return $status
}

killing() {
	local i pid

	for i in $(seq "$1"); do
		$selftests/tools/hold 4 10.55.0.1 239.55.20.1 >/dev/null 2>&1 &
		pid=$!
		moment "$2"
		kill -KILL $pid
		wait $pid 2>/dev/null
	done
	true
}

device_back() {
	[ -e /sys/class/infiniband/rxe0 ] ||
		timeout 120 rdma link add rxe0 type rxe netdev eth0
	wait_for 40 sh -c 'rdma link show rxe0/1 | grep -q "state ACTIVE"'
}

killing_first() {
	killed_at_the_end && killing 19 400
}
ok "RAI-07: killed at 20 moments" killing_first
ok "RAI-07: no object is left" wait_for 40 live_none
ok "MC-03: no membership is left" \
	wait_for 40 no igmp_joined eth0 239.55.20.1

# Four at a time
killing 8 300 & killing 8 300 & killing 8 300 & killing 8 300
wait
ok "RAI-07: four at a time: no object is left" wait_for 40 live_none

# The device is removed at any moment of their start. They end by themselves
# (their ids report the removal, or a call fails) or are killed.
removals() {
	local i pid

	for i in $(seq 5); do
		$selftests/tools/hold 2 10.55.0.1 239.55.20.2 >/dev/null 2>&1 &
		pid=$!
		moment 300
		timeout 200 rdma link del rxe0 &
		wait_for 40 sh -c '! kill -0 '$pid' 2>/dev/null' ||
			echo "round $i: the program still runs" >>slow
		kill -KILL $pid 2>/dev/null
		wait
		[ ! -e /sys/class/infiniband/rxe0 ] || return 1
		device_back || return 1
	done
}
: >slow
ok "OPS-04: the device is removed at 5 moments" removals
is "OPS-04: each program ended by itself" "$(cat slow)" ""
ok "OPS-04: no object is left" wait_for 40 live_none
ok "the device is back" device_back
ok "a name resolves" timeout 60 cmx resolve storage.cmx.test
finish
