#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A user without a device has hundreds of threads with idle priority that
# advertise, beside threads that keep their processor busy
# (tools/idle_services). A lock that such a thread took itself would stay locked
# for seconds, and many threads would queue for it. Meanwhile another user's
# service is set and withdrawn, and a device is removed (OPS-04).
#
# A guest may have one processor. So the test lets the kernel preempt itself:
# then a thread can lose the processor at any point of a call.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
fourth=$(fab_dev 4)
preempt=/sys/kernel/debug/sched/preempt
attackers='' service='' removal=''

# The mode in parentheses is the present one.
preempt_mode() {
	local modes

	modes=$(<$preempt)
	modes=${modes#*(}
	echo "${modes%)*}"
}

preempt_full() {
	echo full >$preempt && [ "$(preempt_mode)" = full ]
}

ended() {
	wait_for 40 no kill -0 "$1"
}

prints() {
	[ "$(grep -cE -e "$2" "$1")" -ge "$3" ]
}

prints_wait() {
	ok "$1" wait_for 40 prints log "$2" "$3" || diag "$(<log)"
}

no_records() {
	[ "$(counter live_service_records)" = 0 ]
}

back() {
	knob_set "$fourth" plugged 1
	wait_for 90 devices_back "$fourth" && addresses_add "$fourth" &&
		port_active_wait "$fourth"
}

cleanup() {
	[ -z "$attackers" ] || kill -KILL "$attackers"
	[ -z "$service" ] || kill -KILL "$service"
	echo "$usual" >$preempt
	params_back
} 2>/dev/null

[ -w $preempt ] || plan_skip "the kernel cannot change its preemption"
usual=$(preempt_mode)
timeouts_long
trap cleanup EXIT
ok "the kernel preempts itself" preempt_full

"${0%/*}/tools/idle_services" >attack 2>&1 &
attackers=$!
ok "a user's threads have begun" wait_for 40 grep -q ready attack ||
	diag "$(<attack)"

cmx advertise --id 0x1061b01 other >log 2>&1 &
service=$!
prints_wait "SV-01: another user's service is set at all ports" '^set ' 4

knob_set "$fourth" plugged 0 &
removal=$!
ok "OPS-04: the removal of the device ends" ended $removal
prints_wait "SV-01: the user of the service gets the event" \
	"^gone +$fourth/1 " 1

kill -TERM $service
ok "SV-01: the service is withdrawn" ended $service
ok "SV-01: its records end" wait_for 40 no_records

# Otherwise the results above prove nothing.
ok "the threads still call" kill -0 $attackers || diag "$(<attack)"
kill -KILL $attackers
ok "they end" ended $attackers
# Without them also what has waited for them ends.
wait $removal $service
attackers='' service=''
ok "the device is back" back
ok "OPS-04: no object is left" wait_for 50 live_none
finish
