#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-04: the module cannot be unloaded while it is in use, and can afterwards.
. /usr/lib/rdma-cmx/selftests/lib.sh

dev=/dev/infiniband/rdma_cmx

plan 6
exec 3<>"$dev"
if rmmod rdma_ucmx 2>/dev/null; then
	fail "OPS-04 rmmod is refused while the device is open"
else
	pass "OPS-04 rmmod is refused while the device is open"
fi
exec 3>&-
ok "OPS-04 rmmod when nothing is open" wait_for 40 rmmod rdma_ucmx
ok "the device node is removed" test ! -e "$dev"
ok "the module loads again" modprobe rdma_ucmx
wait_for 40 test -c "$dev"
ok "the device node is back, for everybody" \
	test "$(stat -c %a "$dev")" = 666
ok "all counters of live objects are zero" \
	sh -c '! grep -v "^0$" /sys/module/rdma_ucmx/counters/live_*'
finish
