#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The demonstration (`make demo`): each of its checks is a result here.
. /usr/lib/rdma-cmx/selftests/lib.sh

case $(hostname) in
gamma) demo=fabric.sh ;;
*) demo=demo.sh ;;
esac

timeout -k 5 800 /usr/lib/rdma-cmx/selftests/demo/$demo >shown 2>&1
status=$?
while read -r line; do
	case $line in
	'[ok] '*) pass "${line#* }" ;;
	'[FAILED] '*) fail "${line#* }" ;;
	esac
done <shown
is "the demonstration succeeds" $status 0
[ "$status" = 0 ] || sed 's/^/# /' shown
like "its last line has the counts" "$(tail -n 1 shown)" \
	'^demo: [0-9]+ steps, all [0-9]+ checks passed$'
finish
