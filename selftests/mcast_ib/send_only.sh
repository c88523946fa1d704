#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-04: a send-only full member needs an SA that has such members, as its
# ClassPortInfo says. A fake SA on the first device, whose ClassPortInfo says
# nothing, takes OpenSM's place for the second one.
. "${0%/*}/functions"

in_bg member timeout 60 cmx join -j --send-only --dev "$dev2" 239.66.2.1
ok "MC-04: OpenSM has send-only full members" log_wait member joined
like "MC-04: the group as the SA made it" "$(cat member.log)" '"pkey": 65535'
end member
is "MC-04: left" $? 0

asked() {
	counter sa_queries
}
in_bg first timeout 60 cmx join --send-only --dev "$dev2" 239.66.2.2
log_wait first joined
before=$(asked)
in_bg second timeout 60 cmx join --send-only --dev "$dev2" 239.66.2.3
log_wait second joined
is "MC-04: that is asked once for a while" "$(asked)" "$before"
end first
end second

# The fake has OpenSM's LID, so nothing tells that the answer is out of date.
echo 0 >/sys/module/rdma_cmx/parameters/sa_cache_ms
sm_stop
in_bg fake $tests/sa/fake.helper -C "$dev1" -V "$dev2" good
wait_for 40 has fake .
out=$(timeout 60 cmx join --send-only --dev "$dev2" 239.66.2.4 2>&1)
is "MC-04: without them the join fails" $? 1
like "MC-04: with a clear error" "$out" 'subnet manager.*cannot join'
kill "$fake_pid"
wait "$fake_pid"

# Nobody answers at all
out=$(timeout 60 cmx join --send-only --dev "$dev2" 239.66.2.5 2>&1)
is "MC-04: nor without an answer" $? 1
echo 15000 >/sys/module/rdma_cmx/parameters/sa_cache_ms
sm_start
is "OpenSM is back" $? 0
# IPoIB has to be back in its own groups first
ok "MC-04: and the join works again" wait_for 60 \
	timeout 20 cmx join --send-only --once --dev "$dev2" 239.66.2.6
finish
