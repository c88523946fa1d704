#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: ucmatose and udaddy, unmodified, over the shim.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"

# --- ucmatose, udaddy --------------------------------------------------------

# matose_pair NAME IDS SERVER CLIENT
matose_pair() {
	pair "$@"
	both_say "$1: all messages came" '^data transfers complete'
	both_say "$1: complete" '^test complete'
	both_say "$1: status" '^return status 0'
}
matose_pair "ucmatose" "2 1" "$run ucmatose -b $sa" "$run ucmatose -s $sa"
matose_pair "ucmatose, 50 connections" "51 50" \
	"$run ucmatose -b $sa -c 50 -C 4 -S 2000" \
	"$run ucmatose -s $sa -c 50 -C 4 -S 2000"
matose_pair "ucmatose, migrated ids" "9 8" "$run ucmatose -b $sa -c 8 -m" \
	"$run ucmatose -s $sa -c 8 -m"
matose_pair "ucmatose, IPv6, type of service, port" "2 1" \
	"$run ucmatose -b $sa6 -p 7600" "$run ucmatose -s $sa6 -t 32 -p 7600"
matose_pair "ucmatose, stock server" "0 4" "ucmatose -b $sa -c 4" \
	"$run ucmatose -s $sa -c 4"
matose_pair "ucmatose, stock client" "5 0" "$run ucmatose -b $sa -c 4" \
	"ucmatose -s $sa -c 4"
swap
matose_pair "ucmatose, the other way" "9 8" "$run ucmatose -b $sa -c 8" \
	"$run ucmatose -s $sa -c 8"
swap
matose_pair "udaddy" "5 4" "$run udaddy -b $sa -c 4 -C 5" \
	"$run udaddy -s $sa -c 4 -C 5"
matose_pair "udaddy, stock server" "0 1" "udaddy -b $sa" "$run udaddy -s $sa"
matose_pair "udaddy, stock client" "2 0" "$run udaddy -b $sa" "udaddy -s $sa"

bed_end
finish
