#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, MC-12: each program once, unmodified, over the shim: a short test for
# where the other scripts of this directory run in `make check-all` only.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
. /usr/lib/rdma-cmx/selftests/programs/each_functions

pair "rping" "2 1" "$run rping -s -V -v -C 10 -a $sa" \
	"$run rping -c -V -v -C 10 -a $sa"
is "rping: the client has all ten back" "$(lines "$c_out" '^ping data: ')" 10
pair "rping, IPv6" "2 1" "$run rping -s -V -v -C 10 -a $sa6" \
	"$run rping -c -V -v -C 10 -a $sa6"
is "rping, IPv6: all ten" "$(lines "$c_out" '^ping data: ')" 10

rdmacm_each
cmtime_pair
ok "requests are slow" slow_on
perf "ib_write_lat -R" "ib_write_lat -s 64" 64
qperf_serve
client "qperf -cm 1" "$run qperf $sa -cm 1 -t 1 -to 60 rc_lat"
is "qperf -cm 1: a latency" "$(lines "$c_out" '^ +latency += +[1-9]')" 1
qperf_end
ok "requests are fast" slow_off

fi_pair "fi_pingpong, messages" msg 64
stream "rstream" rstream -S 5000 -C 5 -I 10 -T v
bed_end
finish
