#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: programs that use rsockets keep working with the shim preloaded: their
# rsockets stay inside the stock library, also in a program that uses ids of
# rdma_cmx at the same time.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"

# The server has loaded the library, though it creates no id of rdma_cmx.
preloaded() {
	job_at "for pid in \$(pidof $1); do
		grep -q librdmacmx /proc/\$pid/maps && exit
	done
	exit 1"
}

# stream NAME PROGRAM OPTIONS: both print the line for the size
stream() {
	local name=$1 program=$2

	shift 2
	serve "$run $program -b $sa $*"
	ok "$name: the library is in the server" preloaded "$program"
	client "$name" "$run $program -s $sa $*"
	served "$name"
	both_say "$name: its line" '^(custom|[0-9]+[km]?_lat|[0-9]+[km]?_bw) +[0-9]'
	ids "$name" "0 0"
}

stream "rstream" rstream -S 5000 -C 5 -I 10 -T v
stream "riostream, long messages" riostream -S 1000000 -C 5 -I 10 -T v
stream "rstream, nonblocking" rstream -S 5000 -C 5 -I 10 -T n
stream "rstream, rdma_getaddrinfo" rstream -S 5000 -C 5 -I 10 -f ip -T r
bed_end
finish
