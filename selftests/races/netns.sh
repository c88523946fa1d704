#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RAI-07, OPS-04: a network namespace is deleted while processes in it have
# outstanding requests, and while a process that has left it has a file that was
# opened there. The namespace ends with its last user, and no object is left.
. "${0%/*}/functions"

rounds=8
! kernel_slow || rounds=4

# Its interface is a pair with one outside: both are removed together.
space_add() {
	ip netns add race &&
		ip link add race0 type veth peer name race1 netns race &&
		ip -n race addr add 10.99.0.1/24 dev race1 &&
		ip -n race link set lo up && ip -n race link set race1 up
}

space_gone() {
	[ ! -e /sys/class/net/race0 ]
}

deleted() {
	local i pid

	for ((i = 1; i <= rounds; i++)); do
		space_add || return
		ip netns exec race cmx resolve \
			"n$i.silent.test" >/dev/null 2>&1 &
		pid=$!
		moment 300
		ip netns del race
		# The process still uses the namespace.
		if [ $((i % 2)) = 0 ]; then
			kill -KILL $pid
		fi
		wait $pid 2>/dev/null
		wait_for 30 space_gone || { echo "round $i: still there"; return 1; }
	done
}

ok "RAI-07: deleted with a name outstanding, $rounds rounds" deleted
ok "RAI-07: no object is left" wait_for 40 live_none

# A process keeps a file that was opened in a deleted namespace.
space_add
ip netns exec race bash -c 'exec 7<>/dev/infiniband/rdma_cmx; echo $$ >pid
	exec sleep 1000' &
wait_for 40 test -s pid
ip netns del race
ok "the namespace lives as long as the process" test -e /sys/class/net/race0
kill "$(cat pid)"
wait 2>/dev/null
ok "OPS-04: the namespace ends with the process" wait_for 40 space_gone

# The fabric's tests have private devices in exclusive mode. Here is load on the
# shared device, from inside and outside.
space_add
load_start 2 10.55.0.1 2
ip netns exec race "$load" 10.55.0.1 2 numbers >inside.log 2>&1 &
inside=$!
moment 500
ip netns del race
kill -KILL $inside
wait $inside 2>/dev/null
ok "OPS-04: the namespace is destroyed under load" wait_for 30 space_gone
ok "the processes outside still run" load_alive
load_stop
is "the processes outside exit with 0" $? 0
ok "OPS-04: no object is left" wait_for 40 live_none
finish
