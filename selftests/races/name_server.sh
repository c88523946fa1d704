#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RAI-03, GAI-02: the name server stops and starts during lookups of names. Each
# query ends before its deadline, with a right result or a documented error.
# After its return all queries succeed.
. "${0%/*}/functions"

rounds=10
queries=12
! kernel_slow || rounds=5 queries=4

flap() {
	local i

	for ((i = 0; i < rounds; i++)); do
		dns_down
		moment 400
		dns_up
		# Some get a response, on a slow host, too.
		if [ $i = 0 ]; then
			: >up
			wait_for 90 grep -qs 'status 0' answers{1..4}
		fi
		dns_silent
		moment 400
		dns_up
		moment 400
	done
}

# Names that are not cached, all the time; the results are in answers. The last
# one comes after the first start of the server.
callers() {
	local i

	for ((i = 0; i < queries; i++)); do
		[ $i != $((queries - 1)) ] || wait_for 60 test -e up
		timeout 60 cmx resolve "f$1x$i.any.cmx.test" 7471 2>&1 |
			tail -n 1
		echo "status ${PIPESTATUS[0]}"
	done >"answers$1"
}

dns_up
flap &
flapping=$!
workers=()
for i in 1 2 3 4; do
	callers $i &
	workers+=($!)
done
wait "${workers[@]}"
wait $flapping
dns_up
is "GAI-02: $((4 * queries)) queries, each with a result or error, in time" \
	"$(cat answers? | grep '^status' | grep -cvE ' (0|1)$')" 0
diag "$(cat answers? | grep -v '^status' | sed 's/f[0-9]x[0-9]*/NAME/; s/in [0-9.]* ms/in .../' | sort | uniq -c)"
like "GAI-02: some of them right" "$(cat answers?)" 'status 0'
ok "RAI-03: no object is left" wait_for 30 live_none
ok "GAI-01: names resolve again" wait_for 40 \
	timeout 120 cmx resolve after-all.any.cmx.test
finish
