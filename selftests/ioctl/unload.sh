#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-04: the module cannot be unloaded while it is in use, and can afterwards.
# It does not load beside another build of rdma_cmx.
. /usr/lib/rdma-cmx/selftests/lib.sh

dev=/dev/infiniband/rdma_cmx

plan 7
exec 3<>"$dev"
if rmmod rdma_ucmx 2>/dev/null; then
	fail "OPS-04 rmmod is refused while the device is open"
else
	pass "OPS-04 rmmod is refused while the device is open"
fi
exec 3>&-
ok "OPS-04 rmmod when nothing is open" wait_for 40 rmmod rdma_ucmx
ok "the device node is removed" test ! -e "$dev"
# Of other headers
module=$(modinfo -n rdma_ucmx)
if grep -q rdma_cmx_headers_ "$module"; then
	LC_ALL=C sed 's/rdma_cmx_headers_/rdma_cmx_hEaders_/g' "$module" \
		>/tmp/other.ko
	ok "a module of another build is refused" \
		eval '! insmod /tmp/other.ko 2>/dev/null'
	rm -f /tmp/other.ko
else
	skip "a module of another build is refused" \
		"this kernel has versions of symbols"
fi
ok "the module loads again" modprobe rdma_ucmx
wait_for 40 test -c "$dev"
ok "the device node is back, for everybody" \
	test "$(stat -c %a "$dev")" = 666
ok "all counters of live objects are zero" \
	sh -c '! grep -v "^0$" /sys/module/rdma_ucmx/counters/live_*'
finish
