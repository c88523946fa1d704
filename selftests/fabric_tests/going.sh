#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A device goes, or changes its namespace, while it makes an answer for the
# subnet: ib_mad must not find its own end of it freed.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

first=$(fab_dev 1)
second=$(fab_dev 2)
lid=$(dev_lid "$second")

# ask [OPTIONS...]: the second device's NodeInfo, by its LID
ask() {
	smpquery -C "$first" "$@" nodeinfo "$lid"
}

# How often that has reached it
asked() {
	knob_get "$second" mads |
		awk '$1 == "0x01" && $2 == "0x01" && $3 == "0x0011" { n += $5 }
			END { print n + 0 }'
}

asked_more() {
	[ "$(asked)" -gt "$1" ]
}

# The device gets a question, and takes 3 s for the answer. Sets asking.
answer_begin() {
	local before

	before=$(asked)
	knob_set "$second" answer_ms 3000
	ask -t 5000 >/dev/null 2>&1 &
	asking=$!
	wait_for 40 asked_more "$before"
}

answer_end() {
	knob_set "$second" answer_ms 0
	kill $asking 2>/dev/null
	wait $asking 2>/dev/null
}

second_answers() {
	dev_is "$second" ACTIVE && ask -t 1000
}

ok "it answers" ask

answer_begin
is "asked: it thinks" $? 0
ok "it is unplugged" knob_set "$second" plugged 0
answer_end
ok "plugged in" knob_set "$second" plugged 1
ok "it answers again" wait_for 120 second_answers

answer_begin
is "asked: it thinks" $? 0
ip netns add one
ok "it changes its namespace" rdma dev set "$second" netns one
answer_end
ok "it answers there" wait_for 40 ask -t 1000
ip netns del one
ok "it answers here again" wait_for 120 second_answers

ok "an answer takes 10 s at most" no knob_set "$second" answer_ms 10001
finish
