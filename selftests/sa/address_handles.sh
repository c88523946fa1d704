#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-04: an address handle ends before its protection domain. A device is
# removed while queries are outstanding, whose MADs use address handles of the
# SM, and after events that make the module replace its address handle. Probes
# on the kernel's calls of the driver count the address handles of a protection
# domain at its end.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
fourth=$(fab_dev 4)
addr=10.66.0.4
tracing=/sys/kernel/tracing
rounds=3

# shellcheck disable=SC2016 # the kernel expands these
probes_add() {
	{
		echo 'p:cmx_ah_new rdmavt:rvt_create_ah pd=+8($arg1):x64' &&
		echo 'r:cmx_ah_made rdmavt:rvt_create_ah ret=$retval:s32' &&
		echo 'p:cmx_ah_end rdmavt:rvt_destroy_ah pd=+8($arg1):x64' &&
		echo 'p:cmx_pd_new rdmavt:rvt_alloc_pd pd=$arg1:x64' &&
		echo 'p:cmx_pd_end rdmavt:rvt_dealloc_pd pd=$arg1:x64'
	} >>$tracing/kprobe_events && echo 16384 >$tracing/buffer_size_kb &&
		echo >$tracing/trace && echo 1 >$tracing/events/kprobes/enable
}

cleanup() {
	echo 0 >$tracing/events/kprobes/enable
	echo >$tracing/kprobe_events
	echo 1408 >$tracing/buffer_size_kb
	echo >$tracing/trace
	params_back
} 2>/dev/null

# handles: for each protection domain that began and ended since the probes
# exist, the number of its address handles in all, and at its end
handles() {
	awk '
	/cmx_(ah|pd)_/ {
		match($0, /-[0-9]+ +\[/)
		task = substr($0, RSTART, RLENGTH)
		value = $NF
		sub(/.*=/, "", value)
	}
	/cmx_pd_new:/ { known[value] = 1; has[value] = 0; had[value] = 0 }
	/cmx_ah_new:/ { making[task] = value }
	/cmx_ah_made:/ && value == "0" { has[making[task]]++; had[making[task]]++ }
	/cmx_ah_end:/ { has[value]--; if (value in ended) late++ }
	/cmx_pd_new:/ { delete ended[value] }
	/cmx_pd_end:/ && (value in known) {
		print had[value], has[value]
		ended[value] = 1
	}
	END { print "late", late + 0 }' $tracing/trace
}

unplugged() {
	knob_set "$fourth" plugged 0 &&
		wait_for 90 test ! -e "/sys/class/infiniband/$fourth"
}

plugged() {
	knob_set "$fourth" plugged 1
	wait_for 90 devices_back "$fourth" && addresses_add "$fourth" &&
		port_active_wait "$fourth"
}

# sent N: does ib_mad have N MADs of the module?
sent() {
	[ "$(counter live_sa_mads)" -ge "$1" ]
}

none_sent() {
	[ "$(counter live_sa_mads)" = 0 ]
}

trap cleanup EXIT
if ! probes_add 2>/dev/null; then
	plan_skip "no events of kprobes for rdmavt"
fi
# The protection domains of a new device begin after the probes.
ok "a device comes after the probes" eval 'unplugged && plugged'
param sa_timeout_ms 60000
trap cleanup EXIT
for ((round = 1; round <= rounds; round++)); do
	knob_set "$(fab_dev 1)" faults 'drop class=3 attr=0x35 rmpp=0'
	/usr/lib/rdma-cmx/selftests/attack/tools/routes hold $addr 20 \
		>log 2>&1 &
	pid=$!
	ok "OPS-04: queries are outstanding, round $round" wait_for 50 sent 1
	for _ in 1 2 3 4 5; do
		knob_set "$fourth" event sm_change
	done
	ok "OPS-04: the device is removed" unplugged
	kill -KILL $pid
	wait $pid 2>/dev/null
	knob_set "$(fab_dev 1)" faults clear
	ok "the device is back" plugged
done
echo 0 >$tracing/events/kprobes/enable
handles >ends
ok "OPS-04: the removal has ended domains with address handles" \
	test "$(awk '$1 != "late" && $1 > 1' ends | wc -l)" -ge $rounds
is "OPS-04: no domain ends before its address handles" \
	"$(awk '$1 != "late" && $2 != 0' ends)" ""
is "OPS-04: no address handle ends after its domain" \
	"$(awk '$1 == "late" { print $2 }' ends)" 0
ok "OPS-04: no MAD is left" wait_for 50 none_sent
finish
