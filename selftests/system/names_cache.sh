#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Lookups of names are coalesced and cached: the name server's log has the
# number of queries. GAI-05: api/gai_names tests that a number, or a name with
# RAI_NUMERICHOST, causes no lookup.
. /usr/lib/rdma-cmx/selftests/lib.sh

# Results stay cached for longer than any two steps on a busy host. The helper
# repeats a query after a quarter of its time.
conf=/etc/request-key.d/rdma-cmx.conf
saved=$(<$conf)
trap 'echo "$saved" >$conf' EXIT
sed -i 's/ttl [0-9]*/ttl 600/g; s/--timeout [0-9]*/--timeout 20/' $conf

resolve() {
	timeout 60 cmx resolve "$1" 7471
}

# Waits until the log has a new query, and so all earlier ones.
log_barrier() {
	getent ahosts "$1.any.cmx.test" >/dev/null
	wait_for 40 query_received "$1.any.cmx.test"
}

query_received() {
	[ "$(dns_queries "$1")" -gt 0 ]
}

resolve cache0.any.cmx.test >/dev/null
is "a name resolves" $? 0
resolve cache1.any.cmx.test >/dev/null
resolve cache1.any.cmx.test >/dev/null
resolve cache1.any.cmx.test >/dev/null
log_barrier b1
first=$(dns_queries cache0.any.cmx.test)
ok "the name server receives a query" test "$first" -gt 0
is "GAI-13: three calls within its time cause the queries of one" \
	"$(dns_queries cache1.any.cmx.test)" "$first"

before=$(counter name_lookups)
for _ in $(seq 12); do
	resolve cache2.any.cmx.test >/dev/null &
done
wait
log_barrier b2
ok "GAI-13: 12 processes resolve one name: one or two lookups" \
	test $(($(counter name_lookups) - before)) -le 2
ok "GAI-13: the server receives their queries only" \
	test "$(dns_queries cache2.any.cmx.test)" -le $((2 * first))

sed 's/ttl [0-9]*/ttl 600/g' <<<"$saved" >$conf
# A silent server does not block other names, and one lookup waits for it.
before=$(counter name_lookups)
for _ in $(seq 8); do
	resolve quiet1.silent.test >/dev/null 2>&1 &
done
ok "RAI-01: other names resolve meanwhile" resolve cache3.any.cmx.test
wait
ok "8 waiters for a silent server: few lookups" \
	test $(($(counter name_lookups) - before)) -le 3
finish
