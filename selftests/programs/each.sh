#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, MC-12: each program once, unmodified, over the shim: a short test for
# the kernels that the other scripts of this directory do not run on.
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

pair "ucmatose" "9 8" "$run ucmatose -b $sa -c 8 -m" "$run ucmatose -s $sa -c 8 -m"
both_say "ucmatose: complete" '^data transfers complete'
pair "udaddy" "5 4" "$run udaddy -b $sa -c 4 -C 5" "$run udaddy -s $sa -c 4 -C 5"
both_say "udaddy: complete" '^data transfers complete'

# mckey leaves and ends without waiting for its sends. Soft-RoCE of 6.12 and
# later sends from a work item, which drops the messages that it finds after the
# leave. The number of messages is larger than its delay.
group=239.66.5.1
group6=ff15::66:5
mckey_pair "mckey" "1 1" "$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -C 1000"
mckey_pair "mckey, the sender is a send-only member" "1 1" \
	"$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -o -C 1000"
mckey_pair "mckey, IPv6" "1 1" "$run mckey -m $group6 -b $sa6 -C 10" \
	"$run mckey -m $group6 -b $ca6 -s -C 1000"

# Its server never ends.
serve "$run cmtime -b $sa -c 100"
client "cmtime" "$run cmtime -s $sa -c 100"
like "cmtime: its line" "$c_out" '^(cm )?connect *:? +[0-9]'
serve_end
none_left "cmtime"

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
