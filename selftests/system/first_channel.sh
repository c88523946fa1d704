#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-04: the first event channel of a process scans no devices. strace records
# each open(); a trace of the stock library proves that a scan would show.
. /usr/lib/rdma-cmx/selftests/lib.sh
loop=/usr/lib/rdma-cmx/selftests/api/tools/loop

command -v strace >/dev/null || plan_skip "strace is not installed"

trace() {
	strace -f -o "$1" -e trace=%file,socket,ioctl,getdents64 "${@:2}"
}

ok "a channel opens and closes" trace mine $loop channel
like "RA-04: it opens the device" "$(cat mine)" \
	'/dev/infiniband/rdma_cmx".*= [0-9]'
unlike "RA-04: it opens nothing below /sys" "$(cat mine)" '"/sys'
unlike "RA-04: no verbs device" "$(cat mine)" 'uverbs'
unlike "RA-04: no netlink" "$(cat mine)" 'AF_NETLINK'
unlike "RA-04: no verbs provider is loaded" "$(cat mine)" 'libibverbs.d|-rdmav'

# The trace of this program shows a scan, which the first bound id starts.
trace stock timeout 90 rping -c -a 10.55.0.2 -p 1 -C 1 >/dev/null 2>&1
like "a scan is visible to this test" "$(cat stock)" '"/sys/class/infiniband|AF_NETLINK|uverbs'
finish
