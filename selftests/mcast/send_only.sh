#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-04: a send-only full member needs an SA that supports such members, as its
# ClassPortInfo states. A fake SA on the first device, whose ClassPortInfo has
# no capabilities, replaces OpenSM for the second device.
. "${0%/*}/functions"
timeouts_long

events_on() {
	[ "$(counter sa_events)" -gt "$1" ]
}

# An event that IPoIB ignores
port_event() {
	local before

	before=$(counter sa_events)
	knob_set "$dev2" event device_fatal
	ok "MC-04: $1" wait_for 40 events_on "$before"
}

in_bg member timeout 300 cmx join -j --send-only --dev "$dev2" 239.66.2.1
ok "MC-04: OpenSM has send-only full members" log_wait member joined
like "MC-04: the group as the SA made it" "$(cat member.log)" '"pkey": 65535'
end member
is "MC-04: left" $? 0

queries() {
	counter sa_queries
}
# An event of any port causes a query: then again.
for _ in 1 2 3 4 5; do
	events=$(counter sa_events)
	in_bg first timeout 300 cmx join --send-only --dev "$dev2" 239.66.2.2
	log_wait first joined
	before=$(queries)
	in_bg second timeout 300 cmx join --send-only --dev "$dev2" 239.66.2.3
	log_wait second joined
	sent=$(($(queries) - before))
	end first
	end second
	if [ $sent = 0 ] || [ "$(counter sa_events)" = "$events" ]; then
		break
	fi
done
is "MC-04: ClassPortInfo is queried once and cached" $sent 0

sm_stop
in_bg fake $tests/sa/tools/fake -C "$dev1" -V "$dev2" good
wait_for 40 has fake .
# The LID is that of OpenSM, so only an event shows that the SA has changed.
port_event "an event: the SA may be another one"
out=$(timeout 300 cmx join --send-only --dev "$dev2" 239.66.2.4 2>&1)
is "MC-04: without them the join fails" $? 1
like "MC-04: the error names the cause" "$out" 'subnet manager.*cannot join'
kill "$fake_pid"
wait "$fake_pid"

# No SA responds.
params_back
port_event "an event: the SA may be another one again"
out=$(timeout 300 cmx join --send-only --dev "$dev2" 239.66.2.5 2>&1)
is "MC-04: without a response the join fails" $? 1
sm_start
is "OpenSM is back" $? 0
# IPoIB has to rejoin its groups first.
ok "MC-04: the join works again" wait_for 120 \
	timeout 60 cmx join --send-only --once --dev "$dev2" 239.66.2.6
finish
