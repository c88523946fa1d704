#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: benchmarks, unmodified, over the shim: perftest's and qperf, connected
# by rdma_cm
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
. /usr/lib/rdma-cmx/selftests/programs/each_functions

ok "requests are slow" slow_on
perf "ib_send_bw -R" "ib_send_bw -s 8192" 8192
perf "ib_send_lat -R, stock server" "ib_send_lat -s 64" 64 ""
perf "ib_write_bw -R, stock client" "ib_write_bw -s 8192" 8192 "$run" ""
perf "ib_write_lat -R" "ib_write_lat -s 64" 64
perf "ib_read_bw -R" "ib_read_bw -s 8192" 8192
perf "ib_read_lat -R" "ib_read_lat -s 64" 64
perf "ib_atomic_lat -R" ib_atomic_lat 8

qperf_serve
client "qperf -cm 1" "$run qperf $sa -cm 1 -t 1 -to 60 rc_lat rc_bw rc_rdma_write_lat \
	rc_rdma_read_bw"
is "qperf -cm 1: latencies" "$(lines "$c_out" '^ +latency += +[1-9]')" 2
is "qperf -cm 1: bandwidths" "$(lines "$c_out" '^ +(send_)?bw += +[1-9]')" 2
diag "$c_out"
qperf_end
# One may be a retry.
ok "two requests of each of perftest's and one of qperf's tests were slow" \
	test "$(slowed)" -ge 18
ok "requests are fast" slow_off
none_left "qperf"
bed_end
finish
