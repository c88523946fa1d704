#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# An ordinary user's route queries to a silent SA have the longest timeout, of
# this module and of rdma_cm, whose queries continue when those of this module
# have failed. Everything that ends them ends them at once: close, destroy,
# SIGKILL, the end of namespaces, the removal of the device, also while the
# verbs wait for the process or another user has a system call that does not
# sleep, and if rdma_cmx has no memory for the device (OPS-04).
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
fourth=$(fab_dev 4)
addr=10.66.0.4
call=

# start MODE IDS [FILE]: starts tools/routes
start() {
	local before

	: >log
	before=$(counter routes_by_cm)
	/usr/lib/rdma-cmx/selftests/attack/tools/routes "$1" $addr "${@:2}" \
		>log 2>&1 &
	pid=$!
	ok "a user has route queries of $querier: ${*:1:2}" \
		wait_for 50 grep -q ready log
	case $querier,$1 in
	rdma_cm,hold | rdma_cm,events) wait_for 50 by_cm $((before + $2)) ;;
	esac
}

# by_cm N: does rdma_cm have N queries?
by_cm() {
	[ "$(counter routes_by_cm)" -ge "$1" ]
}

# ended: has the program ended without a failure?
ended() {
	wait_for 50 no kill -0 "$pid" && grep -q ended log
}

unplug() {
	knob_set "$fourth" plugged 0 &
	removal=$!
}

removal_ended() {
	wait_for 50 no kill -0 "$removal"
}

back() {
	knob_set "$fourth" plugged 1
	wait_for 90 devices_back "$fourth" && addresses_add "$fourth" &&
		port_active_wait "$fourth"
}

# verbs: sets verbs to the name of the verbs device of the fourth device
verbs() {
	local file

	for file in /sys/class/infiniband_verbs/uverbs*/ibdev; do
		[ "$(<"$file")" = "$fourth" ] || continue
		verbs=${file%/*}
		verbs=${verbs##*/}
	done
}

# fail_add 1: rdma_cmx cannot add a device; 0: it can
fail_add() {
	echo "fail-add $1" >/sys/kernel/debug/cmx_consumer/command
}

cleanup() {
	[ ! -d /sys/module/cmx_consumer ] || { fail_add 0; rmmod cmx_consumer; }
	[ -z "$call" ] || kill -KILL "$call"
} 2>/dev/null
trap cleanup EXIT

# sleepless: starts an ordinary user's system call that takes long
sleepless() {
	: >call
	/usr/lib/rdma-cmx/selftests/attack/tools/sleepless >call 2>&1 &
	call=$!
	ok "a user has a call that does not sleep" wait_for 50 grep -q ready call
}

many=200 rounds=2
! kernel_slow || many=40 rounds=1
knob_set "$(fab_dev 1)" faults 'drop class=3 attr=0x35 rmpp=0'
for querier in module rdma_cm; do
	# The queries of the module last for the test, or end at once. Queries
	# without a waiter end at their next retry.
	if [ $querier = module ]; then
		param sa_timeout_ms 5000
	else
		param sa_timeout_ms 10
		param sa_retries 0
	fi
	for mode in close destroy namespaces; do
		start $mode "$many"
		ok "OPS-04: $mode does not wait for the SA" ended
	done
	start hold "$many"
	kill -KILL $pid
	ok "OPS-04: nor does SIGKILL" wait_for 50 no kill -0 $pid
	ok "OPS-04: no object is left" wait_for 50 live_none

	start events "$many"
	sleepless
	unplug
	ok "OPS-04: the removal of the device ends" removal_ended
	ok "OPS-04: each id gets the event" ended
	ok "OPS-04: the other call still has not slept" kill -KILL $call
	ok "the device is back" back

	start threads 4
	for ((round = 1; round <= rounds; round++)); do
		unplug
		ok "OPS-04: the removal ends under threads, $round" removal_ended
		ok "the device is back" back
	done
	kill -TERM $pid
	ok "OPS-04: the threads end" ended
	diag "$(cat log)"
done

# On the debug kernel ib_core removes the verbs' client before that of rdma_cm,
# which reports the removal.
verbs
start hold 20 "/dev/infiniband/$verbs"
unplug
ok "the removal has begun" wait_for 50 test ! -e "/sys/class/infiniband_verbs/$verbs"
kill -KILL $pid
ok "OPS-04: SIGKILL ends the process that the verbs wait for" \
	wait_for 50 no kill -0 $pid
ok "OPS-04: the removal ends then" removal_ended
ok "the device is back" back

# rdma_cmx does not know a device that it could not add.
ok "the consumer" modprobe cmx_consumer
ok "there is no memory for a device" fail_add 1
unplug
ok "the removal of the device ends" removal_ended
ok "the device is back" back
ok "there is memory" fail_add 0
start hold 20
kill -KILL $pid
ok "OPS-04: SIGKILL ends the process without rdma_cmx's device" \
	wait_for 50 no kill -0 $pid
unplug
ok "OPS-04: the removal ends without rdma_cmx's device" removal_ended
ok "the device is back" back
ok "the consumer is unloaded" rmmod cmx_consumer
knob_set "$(fab_dev 1)" faults clear
ok "OPS-04: no object is left" wait_for 50 live_none
finish
