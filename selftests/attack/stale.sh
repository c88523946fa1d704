#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SEC-01: no bytes of freed memory determine the type of an object. A program
# that passes destroyed ids, events and channels gets EINVAL, whatever the
# memory contains.
. /usr/lib/rdma-cmx/selftests/lib.sh
tools=/usr/lib/rdma-cmx/selftests/attack/tools

out=$(timeout 200 cmx run $tools/stale 10.55.0.1 2>&1)
is "SEC-01: destroyed objects are refused" "$? $out" "0 0 wrong"
ok "SEC-01: no object is left" wait_for 90 live_none
finish
