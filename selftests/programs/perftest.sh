#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: benchmarks, unmodified, over the shim: perftest's and qperf, connected
# by rdma_cm
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
port=18600

# perftest's client sends its second request while its server starts to listen
# for it, and fails if it arrives first (on the stock library, too). qperf's
# server sends its port before it listens there, so its client may be rejected
# (reason 8). So requests to the server are delayed by two seconds.
slow_on() {
	if [ $bed = InfiniBand ]; then
		knob_set "$(fab_dev 2)" faults 'delay class=7 attr=0x10 ms=2000'
		return
	fi
	# Matches MADs of that class and attribute behind the headers of RoCE
	tc qdisc add dev eth0 root handle 1: prio bands 4 &&
		tc qdisc add dev eth0 parent 1:4 netem delay 2000ms &&
		tc filter add dev eth0 parent 1: protocol ip u32 \
			match ip protocol 17 0xff match ip dport 4791 0xffff \
			match u32 1 0xffffff at 32 \
			match u32 0x00070000 0x00ff0000 at 48 \
			match u32 0x00100000 0xffff0000 at 64 flowid 1:4
}

slow_off() {
	if [ $bed = InfiniBand ]; then
		knob_set "$(fab_dev 2)" faults clear
	else
		tc qdisc del dev eth0 root
	fi
}

# Number of delayed requests since slow_on
slowed() {
	if [ $bed = InfiniBand ]; then
		knob_get "$(fab_dev 2)" faults | sed -n 's/.* hits=//p'
	else
		tc -s qdisc show dev eth0 | awk '
			/^qdisc/ { netem = $2 == "netem" }
			netem && $1 == "Sent" { print $4 }'
	fi
}

# perf NAME PROGRAM BYTES [SERVER'S PREFIX [CLIENT'S PREFIX]]: 100 messages
perf() {
	local what="$2 -n 100 -F -R"

	: $((port += 1))
	serve "${4-$run} $what -p $port" listens_on $port
	client "$1" "${5-$run} $what -p $port $sa"
	served "$1"
	# On a busy host its clock may be uncalibrated: then all times are inf.
	like "$1: the client has its line" "$c_out" "^ +$3 +100 +([0-9.]+|inf)"
	ids_both "$1" "${4-$run}" "${5-$run}"
	none_left "$1"
}

# ids_both NAME SERVER CLIENT: a side with a prefix created ids, a side without
# one did not
ids_both() {
	local want

	if [ $bed = InfiniBand ]; then
		want='^[1-9]'
	else
		want="^$([ -n "$2" ] && echo '[1-9][0-9]*' || echo 0) "
		want+="$([ -n "$3" ] && echo '[1-9]' || echo '0$')"
	fi
	like "$1: ids at rdma_cmx" "$(ids_since)" "$want"
}

ok "requests are slow" slow_on
perf "ib_send_bw -R" "ib_send_bw -s 8192" 8192
perf "ib_send_lat -R, stock server" "ib_send_lat -s 64" 64 ""
perf "ib_write_bw -R, stock client" "ib_write_bw -s 8192" 8192 "$run" ""
perf "ib_write_lat -R" "ib_write_lat -s 64" 64
perf "ib_read_bw -R" "ib_read_bw -s 8192" 8192
perf "ib_read_lat -R" "ib_read_lat -s 64" 64
perf "ib_atomic_lat -R" ib_atomic_lat 8

# qperf's server serves one test after another and ends by a command (-to: time
# that it and its client wait for each other, 5 s by default).
qperf_serves() {
	tcp_listens 19765
}
serve "$run qperf" qperf_serves
client "qperf -cm 1" "$run qperf $sa -cm 1 -t 1 -to 60 rc_lat rc_bw rc_rdma_write_lat \
	rc_rdma_read_bw"
is "qperf -cm 1: latencies" "$(lines "$c_out" '^ +latency += +[1-9]')" 2
is "qperf -cm 1: bandwidths" "$(lines "$c_out" '^ +(send_)?bw += +[1-9]')" 2
diag "$c_out"
client "qperf, quit" "$run qperf $sa -to 60 quit"
served "qperf"
ids_both "qperf" "$run" "$run"
# One may be a retry.
ok "two requests of each of perftest's and one of qperf's tests were slow" \
	test "$(slowed)" -ge 18
ok "requests are fast" slow_off
none_left "qperf"
bed_end
finish
