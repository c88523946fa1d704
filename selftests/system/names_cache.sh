#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Names are looked up once for many (issue: coalescing and caching): the name
# server's log says how often it was asked. GAI-05: no look-up at all for a
# number or with RAI_NUMERICHOST is in api/gai_names.
. /usr/lib/rdma-cmx/selftests/lib.sh

resolve() {
	timeout 60 cmx resolve "$1" 7471
}

# Ends the wait for the log: a question of its own, seen in it
log_barrier() {
	getent ahosts "$1.any.cmx.test" >/dev/null
	wait_for 40 asked_for "$1.any.cmx.test"
}

asked_for() {
	[ "$(dns_queries "$1")" -gt 0 ]
}

resolve cache0.any.cmx.test >/dev/null
is "a name resolves" $? 0
resolve cache1.any.cmx.test >/dev/null
resolve cache1.any.cmx.test >/dev/null
resolve cache1.any.cmx.test >/dev/null
log_barrier b1
first=$(dns_queries cache0.any.cmx.test)
ok "the name server was asked" test "$first" -gt 0
is "GAI-13: three times within its time is asked like once" \
	"$(dns_queries cache1.any.cmx.test)" "$first"

before=$(counter name_lookups)
for _ in $(seq 12); do
	resolve cache2.any.cmx.test >/dev/null &
done
wait
log_barrier b2
ok "GAI-13: 12 processes ask for one name: one or two look-ups" \
	test $(($(counter name_lookups) - before)) -le 2
ok "GAI-13: and the server hears of it as often" \
	test "$(dns_queries cache2.any.cmx.test)" -le $((2 * first))

# A silent server does not stop the others, and is itself waited for once.
before=$(counter name_lookups)
for _ in $(seq 8); do
	resolve quiet1.silent.test >/dev/null 2>&1 &
done
ok "RAI-01: other names resolve meanwhile" resolve cache3.any.cmx.test
wait
ok "8 waiters for a silent server: few look-ups" \
	test $(($(counter name_lookups) - before)) -le 3
finish
