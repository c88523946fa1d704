#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: the output of `cmx resolve --env ucx` configures UCX: its transport
# for connected queue pairs uses that device, port and GID. Its transport for
# UD, which connections of its upper layer need, drops packets of soft-RoCE.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

# perftest ADDRESS [ASSIGNMENT]: command of one side, with the settings for an
# address; the device of the transport layer is an option
perftest() {
	echo "set -a; eval \"\$(cmx resolve --env ucx $1)\"; ${2:-}
		exec timeout 60 ucx_perftest -d \$UCX_NET_DEVICES -x rc_verbs"
}

# ucx_pair NAME SERVER CLIENT: addresses of one family
ucx_pair() {
	serve "$(perftest "$3")" tcp_listens 13337
	client "$1" "$(perftest "$2") -t am_lat -n 100 -w 10 -s 64 $sa"
	served "$1"
	like "$1: a hundred messages" "$c_out" '^Final: +100 '
}

ucx_pair "ucx_perftest" "$sa" "$ca"
ucx_pair "ucx_perftest, GIDs of IPv6" "$sa6" "$ca6"

serve "$(perftest "$ca")" tcp_listens 13337
c_out=$(at "$cl" "$(perftest "$sa" UCX_IB_GID_INDEX=99) -t am_lat -n 1 $sa" 2>&1)
unlike "ucx_perftest, another GID index: no messages" "$c_out" '^Final: '
diag "$c_out"
serve_end
bed_end
finish
