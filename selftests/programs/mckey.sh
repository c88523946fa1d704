#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, MC-12: mckey, unmodified, over the shim: a short test for the kernels
# without programs/mcast.sh.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

# mckey leaves and ends without waiting for its sends. Soft-RoCE of 6.12 and
# later sends from a work item, which drops the messages that it finds after the
# leave. The number of messages is larger than its delay.
group=239.66.5.1
group6=ff15::66:5

mckey_pair "mckey" "1 1" "cmx run mckey -m $group -b $sa -C 10" \
	"cmx run mckey -m $group -b $ca -s -C 1000"
mckey_pair "mckey, the sender is a send-only member" "1 1" \
	"cmx run mckey -m $group -b $sa -C 10" \
	"cmx run mckey -m $group -b $ca -s -o -C 1000"
mckey_pair "mckey, IPv6" "1 1" "cmx run mckey -m $group6 -b $sa6 -C 10" \
	"cmx run mckey -m $group6 -b $ca6 -s -C 1000"
bed_end
finish
