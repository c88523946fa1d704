#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RAI-03, GAI-02: the name server goes and comes while names are looked up.
# Each question has an answer before its deadline, right or a documented
# error, and with the server back all is well.
. "${0%/*}/functions"

rounds=10
asked=12

flap() {
	local i

	for ((i = 0; i < rounds; i++)); do
		dns_down
		moment 400
		dns_silent
		moment 400
		dns_up
		moment 400
	done
}

# Names that no cache knows, at all times; what each said is in answers
askers() {
	local i

	for ((i = 0; i < asked; i++)); do
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
	askers $i &
	workers+=($!)
done
wait "${workers[@]}"
wait $flapping
dns_up
is "GAI-02: $((4 * asked)) questions, each answered" \
	"$(cat answers? | grep -c '^status')" $((4 * asked))
is "GAI-02: with an address or an error, in time" \
	"$(cat answers? | grep '^status' | grep -cvE ' (0|1)$')" 0
diag "$(cat answers? | grep -v '^status' | sed 's/f[0-9]x[0-9]*/NAME/; s/in [0-9.]* ms/in .../' | sort | uniq -c)"
like "GAI-02: some of them right" "$(cat answers?)" 'status 0'
ok "RAI-03: nothing is left" wait_for 30 live_none
ok "GAI-01: all is well again" wait_for 40 \
	timeout 60 cmx resolve after-all.any.cmx.test
finish
