#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-01, OPS-04: the interface of an RDMA device goes down and up, loses its
# address and gets it back, and is removed with the device, under load. Each
# time the load continues afterwards.
. "${0%/*}/functions"

rounds=10

# Does one process complete a round?
works() {
	local pid

	# The process may start late: an earlier one's log has to be gone.
	: >probe.log
	timeout 200 "$load" 10.98.0.1 1 >>probe.log 2>&1 &
	pid=$!
	wait_for 30 grep -q ready probe.log
	kill $pid
	wait $pid
	cat probe.log
	grep -q 'good [1-9]' probe.log
}

down_up() {
	local i

	for ((i = 0; i < rounds; i++)); do
		ip link set race0 down
		moment 100
		ip link set race0 up
		moment 200
		load_alive || return
	done
}

readdress() {
	local i

	for ((i = 0; i < rounds; i++)); do
		ip addr del 10.98.0.1/24 dev race0
		moment 100
		ip addr add 10.98.0.1/24 dev race0
		moment 200
		load_alive || return
	done
}

ok "an interface with a device" bed_add
ok "it works" wait_for 60 works
# Without requests: ids that connect while the interface goes down may wait
# without end in ib_cm of Linux 6.1, also on the stock stack (stock-bugs.rst).
load_start 2 10.98.0.1 2 storage.cmx.test route
is "load on it" $? 0
ok "OPS-04: the address is removed and added, $rounds rounds" readdress
ok "OPS-04: down and up, $rounds rounds" down_up
ok "OPS-04: the device is removed" timeout 200 rdma link del rxe_race
ok "OPS-04: the interface is removed" timeout 200 ip link del race0
ok "the processes still run" load_alive
load_stop
is "the processes exit with 0" $? 0
ok "OPS-04: no object is left" wait_for 30 live_none
# Only with a new device: after the removal of its interface soft-RoCE of Linux
# 6.1 does not work again, as rping shows on the stock stack.
ok "the interface and the device are added again" bed_add
ok "RA-01: they work" wait_for 60 works || diag "$(cat probe.log)"
bed_del
finish
