#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-04: the modules are unloaded under load. The kernel refuses while there is
# a user. After SIGKILL of the last one, with outstanding requests, the modules
# are unloaded and loaded again.
. "${0%/*}/functions"

rounds=12 attempts=20
! kernel_slow || rounds=5 attempts=5

refused() {
	local i

	for ((i = 0; i < attempts; i++)); do
		! rmmod rdma_ucmx 2>/dev/null && load_alive || return
	done
}

# The file of a killed process may still be open for a moment.
unloaded() {
	[ ! -d /sys/module/rdma_ucmx ] || rmmod rdma_ucmx || return
	rmmod rdma_cmx
}

unload_rounds() {
	local i

	for ((i = 1; i <= rounds; i++)); do
		load_start 2 10.55.0.1 2 || { echo "round $i: no load"; return 1; }
		moment 200
		load_kill
		wait_for 40 unloaded || { echo "round $i: not unloaded"; return 1; }
		modprobe rdma_ucmx && wait_for 40 test -c /dev/infiniband/rdma_cmx ||
			{ echo "round $i: not loaded again"; return 1; }
	done
}

load_start 3 10.55.0.1 2
is "three processes of two threads are at work" $? 0
ok "OPS-04: the unload is refused $attempts times" refused
load_stop
is "they exit with 0" $? 0
like "they have completed rounds" "$(cat load0.log)" 'good [1-9]'
ok "OPS-04: unloaded as soon as they are killed, $rounds rounds" unload_rounds
ok "a name resolves" timeout 100 cmx resolve storage.cmx.test
finish
