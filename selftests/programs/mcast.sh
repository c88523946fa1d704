#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, MC-12: mckey, unmodified, over the shim: one side receives what the
# other one sends to a multicast group.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
group=239.66.5.1
group6=ff15::66:5
mgid=ff15::66:6

# mckey_pair NAME "RECEIVER SENDER" COMMAND COMMAND: ids of a run of each, and
# ten messages of thirty. A sender starts anew as long as the receiver waits, as
# the network may need its time to lead the group there.
mckey_pair() {
	local name=$1 want=$2 sends=0

	serve "$3" true
	while ! job_ended && [ $((sends += 1)) -lt 12 ]; do
		c_out=$(at "$cl" "$4" 2>&1) || break
	done
	served "$name"
	like "$name: all messages came" "$s_out" '^data transfers complete'
	like "$name: the receiver's status" "$s_out" '^return status 0'
	like "$name: all were sent" "$c_out" '^data transfers complete'
	like "$name: the sender's status" "$c_out" '^return status 0'
	if [ "$sv" = "$cl" ]; then
		like "$name: ids at rdma_cmx" "$(ids_since)" "\<$((1 + sends))\>"
	else
		ids "$name" "${want% *} $((${want#* } * sends))"
	fi
	none_left "$name"
}

mckey_pair "mckey" "1 1" "$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -C 30"
mckey_pair "mckey, the sender is a send-only member" "1 1" \
	"$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -o -C 30"
mckey_pair "mckey, stock sender" "1 0" "$run mckey -m $group -b $sa -C 10" \
	"mckey -m $group -b $ca -s -C 30"
mckey_pair "mckey, stock receiver" "0 1" "mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -C 30"
mckey_pair "mckey, IPv6" "1 1" "$run mckey -m $group6 -b $sa6 -C 10" \
	"$run mckey -m $group6 -b $ca6 -s -C 30"

# On one side: what is sent comes back to it. Both count in the same place.
other=$cl cl=$sv
mckey_pair "mckey, loopback" "" "$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $sa -s -C 30"
cl=$other

if [ $bed = InfiniBand ]; then
	mckey_pair "mckey -p, the port space of IPoIB" "1 1" \
		"$run mckey -p 2 -m $group -b $sa -C 10" \
		"$run mckey -p 2 -m $group -b $ca -s -C 30"
else
	# A group by its MGID, which no RoCE device can join
	alike "mckey -M" "mckey -M $mgid -b $sa -C 10" \
		"mckey -M $mgid -b $ca -s -C 10" true
fi
bed_end
finish
