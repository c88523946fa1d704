#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: names of interfaces, devices and files that others have chosen. None
# reaches a terminal as more than text, or a shell as more than a word.
. /usr/lib/rdma-cmx/selftests/cmx/functions

json=/usr/lib/rdma-cmx/selftests/cmx/tools/json
esc=$'d0\e[31m'

cleanup() {
	ip link del "$esc"
} 2>/dev/null
trap cleanup EXIT

# Terminal
mkdir -p /tmp/test
ip link add "$esc" type dummy
ip addr add fe80::56:1/64 dev "$esc" nodad
ip link set "$esc" up
run cmx resolve -n "fe80::56:2%$esc"
is "an interface with an escape sequence: exit code" "$status" 0
like "an interface with an escape sequence: its address is there" "$out" \
	'fe80::56:2%d0\?\[31m'
unlike "an interface with an escape sequence: not for the terminal" "$out" $'\e'
run cmx resolve -n -j "fe80::56:2%$esc"
ok "an interface with an escape sequence: JSON" "$json" <<<"$out"
unlike "an interface with an escape sequence: escaped there" "$out" $'\e'
like "an interface with an escape sequence: by its number" "$out" '\\u001b\[31m'
ip link del "$esc"
# A new line would begin another message; U+202E turns what follows around.
for text in $'a\e]0;b' $'a\ncmx: b' $'a\rb' $'a\x7fb' $'a\x9bb' $'a\u009bb' \
	$'a\u202eb' $'a\u2028b'; do
	for command in "run" "resolve --env" "resolve a b" "stat"; do
		# shellcheck disable=SC2086 # words
		run cmx $command "$text"
		is "$command $(printf %q "$text"): nothing but text" \
			"$(LC_ALL=C tr -d ' -~\n' <<<"$err")" ""
		is "$command $(printf %q "$text"): one message" \
			"$(grep -c '^cmx: ' <<<"$err")$(grep -c '^b' <<<"$err")" 10
		like "$command $(printf %q "$text"): with the rest of it" \
			"$err" 'a\?.*b'
	done
done
run cmx stat --json $'\u00e9\u20ac'
like "other text stays" "$err" $'\u00e9\u20ac'

finish
