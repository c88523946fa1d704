#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The simulation of a job start: its unit tests, its command line, and a
# large job. Runs on the host, prints TAP.
set -u
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=selftests/host/tap
. "$here/tap"

simulate=build/selftests/simulate/simulate units=build/selftests/simulate/units

# refused WHAT ARGUMENT...: fails with status 2 and a message with these words
refused() {
	local what=$1 status

	details=$("$simulate" "${@:2}" 2>&1)
	status=$?
	[ $status = 2 ] && [[ $details == *"$what"* ]]
	result "refused: ${*:2}" $? "status $status: $details"
}

# value NAME: its value in details
value() {
	sed -n "s/.*\\b$1=\\([^ ]*\\).*/\\1/p" <<<"$details"
}

echo "TAP version 13"
echo "1..11"

cd "$top" || exit
details=$(make -s "$simulate" "$units" 2>&1)
result "it builds" $? "$details"

details=$("$units" 2>&1)
status=$?
number=$(grep -c '^ok' <<<"$details")
[ $status = 0 ] && [ "$number" -ge 70 ] && grep -qx "1..$number" <<<"$details"
result "its unit tests pass" $? "$(grep -v '^ok' <<<"$details")"

refused "neither job nor storm" nothing
refused "not NAME=VALUE" job nodes
refused "no such parameter or value" job variant=other
refused "no such parameter or value" job nodes=-1
refused "no such parameter or value" storm pattern=all
refused "out of range" job nodes=0
refused "out of range" storm clients=0

# Each pair of the nodes is one query: 3,000 * 2,999 / 2
details=$("$simulate" job variant=ibacm pattern=all nodes=3000 ranks=64 \
	sample=1000000 max_events=200000000)
[ "$(value queries)" = 4498500 ] && [ "$(value extrapolated)" = 0 ]
result "3,000 nodes of 64 ranks, whole" $? "$details"

first=$("$simulate" job variant=stock pattern=all nodes=10000 ranks=64)
[ -n "$first" ] && [ "$first" = \
	"$("$simulate" job variant=stock pattern=all nodes=10000 ranks=64)" ]
result "the same seed gives the same" $? "$first"
results_end
