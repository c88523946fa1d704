#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Many processes of ucmatose connect to one server at the same time. All of them
# connect, with the usual limit of outstanding requests and with a small one
# that the stopped server uses up. The stock library runs for comparison.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

processes=20 connections=16
counters=/sys/module/rdma_cmx/counters
window=/sys/module/rdma_cmx/parameters/connect_window

have_waited() {
	[ "$(<$counters/connect_waits)" -gt "$waited" ]
}

server_signal() {
	job_at "kill -$1 -- -\$(cat /run/jobs/$job.pid)"
}

# storm PREFIX [stopped]: sets $failed, the number of clients that failed. A
# stopped server continues when connects wait.
storm() {
	local i pids=()

	serve "$1 ucmatose -b $sa -c $((processes * connections)) -C 0"
	[ $# = 1 ] || server_signal STOP
	for ((i = 0; i < processes; i++)); do
		# shellcheck disable=SC2086 # two words, or none
		timeout 150 $1 ucmatose -s "$sa" -c $connections -C 0 \
			>client$i.log 2>&1 </dev/null &
		pids+=($!)
	done
	if [ $# != 1 ]; then
		ok "connects wait" wait_for 90 have_waited
		server_signal CONT
	fi
	failed=0
	for ((i = 0; i < processes; i++)); do
		wait "${pids[i]}" && grep -q '^return status 0' client$i.log &&
			continue
		failed=$((failed + 1))
		diag "client $i: $(tail -n 3 client$i.log)"
	done
}

# storm_served NAME
storm_served() {
	is "$1: clients that fail" $failed 0
	served "$1"
	like "$1: the server's status" "$s_out" '^return status 0'
	none_left "$1"
}

before=$(<$counters/connect_waits)
timeouts=$(<$counters/connect_timeouts)
storm "cmx run"
storm_served "$((processes * connections)) connections"
waited=$(<$counters/connect_waits)
wait_ms=$(<$counters/connect_wait_ms)
diag "$((waited - before)) connects have waited"

limit=$(<$window)
trace=/sys/kernel/tracing
events=$trace/events/rdma_cmx
echo 64 >$window
: >$trace/trace
echo 1 | tee $events/cmx_connect_{wait,granted,window}/enable >/dev/null
storm "cmx run" stopped
echo 0 | tee $events/cmx_connect_{wait,granted,window}/enable >/dev/null
storm_served "$((processes * connections)) connections, 64 outstanding"
is "none has waited for too long" "$(<$counters/connect_timeouts)" "$timeouts"
waited=$(($(<$counters/connect_waits) - waited))
wait_ms=$(($(<$counters/connect_wait_ms) - wait_ms))
diag "$waited connects have waited, $wait_ms ms in all"
ok "the time is counted" test $wait_ms -gt 0
cat $trace/trace >storm.trace
is "each wait is traced" "$(grep -c 'cmx_connect_wait: window=' storm.trace)" \
	"$waited"
is "so is its end" \
	"$(grep -cE 'cmx_connect_granted: .* error=0$' storm.trace)" "$waited"
ok "so is a limit that changes" \
	grep -qE 'cmx_connect_window: .* limit=[0-9]+->[0-9]+' storm.trace
: >$trace/trace
echo "$limit" >$window
is "none waits" "$(<$counters/live_connect_waits)" 0

storm ""
diag "stock library: $failed of $processes clients fail"
serve_end

bed_end
finish
