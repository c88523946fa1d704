#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Removal of what waiting connects need: their process by SIGKILL, their network
# namespace, their device. None of them waits afterwards, others still wait, the
# namespace ends, and all slots are free.
#
# connect_window is 64: of 30 connects of a user to a listener that does not
# reply, 9 are outstanding.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

connects=30 waits=21 pid=
second=$(fab_dev 2)
third=$(fab_dev 3)

waiting() {
	[ "$(counter live_connect_waits)" = "$1" ]
}

# connects_start LOG PREFIX... ADDRESS: sets pid to that of the program
connects_start() {
	local log=$1.log

	shift
	"${@:1:$#-1}" "${0%/*}/tools/waits" "${!#}" 22010 $connects \
		>"$log" 2>&1 &
	pid=$!
	wait_for 60 grep -q waiting "$log" || diag "$(<"$log")"
}

pid_kill() {
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
}

device_leaves() {
	ip netns attach first 1 && on a rdma dev set "$second" netns first
}

param connect_window 64
param connect_reply_ms 3600000
param connect_wait_ms 3600000

ok "a host" host_add a 2
ok "another one" host_add b 3
connects_start a ip netns exec a 10.66.0.2
connects_start b ip netns exec b 10.66.0.3
is "connects of both wait" "$(counter live_connect_waits)" $((2 * waits))

ok "the first one's processes are killed, and its namespace ends" host_del a
ok "its connects do not wait any more" wait_for 60 waiting $waits

ok "the second one's namespace is deleted" ip netns del b
is "it lives as long as the process, whose connects wait" \
	"$(counter live_connect_waits)" $waits
ok "the device is still there" test ! -e "/sys/class/infiniband/$third"
pid_kill
ok "the process is killed: none waits" wait_for 60 waiting 0
rm -f "$fab_state/$third.host"
ok "the namespace ends: its device is back" wait_for 60 devices_back "$third"
addresses_add "$third"
ok "its port is ACTIVE" port_active_wait "$third"

connects_start again env 10.66.0.3
is "all slots of its port and destination were free" \
	"$(counter live_connect_waits)" $waits
pid_kill
ok "none waits" wait_for 60 waiting 0

ok "a host" host_add a 2
connects_start a ip netns exec a 10.66.0.2
is "its connects wait" "$(counter live_connect_waits)" $waits
ok "the device leaves the namespace" device_leaves
ok "none waits" wait_for 60 waiting 0
ok "the process is there" kill -0 "$pid"
pid_kill
ip netns del first
ok "the host goes" host_del a

connects_start a env 10.66.0.2
is "connects wait" "$(counter live_connect_waits)" $waits
ok "the device is unplugged" knob_set "$second" plugged 0
ok "none waits" wait_for 60 waiting 0
ok "the process is there" kill -0 "$pid"
pid_kill
ok "no object is left" wait_for 60 live_none
finish
