#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, MC-12: mckey, unmodified, over the shim: one side receives the messages
# of the other side to a multicast group.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
group=239.66.5.1
group6=ff15::66:5
mgid=ff15::66:6

# More messages than mckey, which does not wait for its sends, can leave unsent
mckey_pair "mckey" "1 1" "$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -C 1000"
mckey_pair "mckey, the sender is a send-only member" "1 1" \
	"$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -o -C 1000"
mckey_pair "mckey, stock sender" "1 0" "$run mckey -m $group -b $sa -C 10" \
	"mckey -m $group -b $ca -s -C 1000"
mckey_pair "mckey, stock receiver" "0 1" "mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $ca -s -C 1000"
mckey_pair "mckey, IPv6" "1 1" "$run mckey -m $group6 -b $sa6 -C 10" \
	"$run mckey -m $group6 -b $ca6 -s -C 1000"

# On one side: the messages loop back. Both sides count in one kernel.
other=$cl cl=$sv
mckey_pair "mckey, loopback" "" "$run mckey -m $group -b $sa -C 10" \
	"$run mckey -m $group -b $sa -s -C 1000"
cl=$other

if [ $bed = InfiniBand ]; then
	mckey_pair "mckey -p, the port space of IPoIB" "1 1" \
		"$run mckey -p 2 -m $group -b $sa -C 10" \
		"$run mckey -p 2 -m $group -b $ca -s -C 1000"
	# A group by its MGID. A join with another Q_Key, like that of another
	# port space, fails.
	mckey_pair "mckey -M" "1 1" "$run mckey -M $mgid -b $sa -C 10" \
		"$run mckey -M $mgid -b $ca -s -C 1000"
	group_known() {
		sa_query MCMR | grep -q "ff15:.*66:$1\$"
	}
	group_there() {
		wait_for 40 group_known "$1"
	}
	# refused MGID_END [PREFIX]
	refused() {
		outcome "${2:-} mckey -p 2 -M ff15::66:$1 -b $sa -C 10" \
			"${2:-} mckey -M ff15::66:$1 -b $ca -s -C 1000" \
			"group_there $1" 4
	}
	stock=$(refused 7)
	both=$(refused 8 "$run")
	is "mckey -M, another Q_Key: as on the stock library" "$both" "$stock"
	like "mckey -M, another Q_Key: refused" "$both" \
		'MULTICAST_ERROR, error: -22'
	none_left "mckey -M, another Q_Key"
else
	# No RoCE device can join it.
	alike "mckey -M" "mckey -M $mgid -b $sa -C 10" \
		"mckey -M $mgid -b $ca -s -C 10" true
fi
bed_end
finish
