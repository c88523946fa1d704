#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Memberships of an in-kernel consumer: a loss is reported, many joins have one
# completion, a handler destroys its id. KA-07
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

own=$(fab_dev 1)
joined="event=multicast join status=0 qp_num=0xffffff context=ours"

# joins GROUP WORDS: IPoIB may have to rejoin its groups first
joins() {
	[ "$(do_ join 10.66.0.1 "$@")" = "$joined" ]
}

# came EVENTS: the events since the last success
history=''
came() {
	history+=$(do_ history)
	[[ $history == "$1"* ]] && history=''
}

none_left() {
	[ "$(counter live_members)" = 0 ]
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"

# --- lost ---

ok "KA-07: a persistent membership" wait_for 90 joins 239.66.8.1 0 persistent lost
ok "one join" wait_for 90 came J
knob_set "$own" event client_reregister
ok "KA-07: it is lost and then joined again" wait_for 90 came LJ
is "KA-07: another one of the group that has not requested it" \
	"$(do_ more 239.66.8.1 0 persistent)" "$joined"
ok "one join" wait_for 90 came J
sm_pause
knob_set "$own" event client_reregister
ok "KA-07: one of both reports the loss" wait_for 90 came L
is "KA-07: a third one has the last join" \
	"$(do_ more 239.66.8.1 0 persistent lost)" "$joined"
ok "KA-07: and learns that it is lost" wait_for 90 came JL
is "KA-07: a fourth one that has not requested that fails (EADDRNOTAVAIL)" \
	"$(do_ more 239.66.8.1 0 persistent)" "at once: error=-99"
sm_resume
ok "KA-07: all are joined again" wait_for 90 came JJJ

# --- many ---

# The earlier members rejoin with known parameters of the group. A new group
# needs the broadcast group of IPoIB, which may be joined later; then its join
# succeeds at once.
many() {
	[ "$(do_ many 239.66.8.11 239.66.8.12 10.66.0.2 239.66.8.13)" = \
		"error=0 done=1 0 0 -22- 0" ]
}
ok "KA-07: many, one of them invalid" wait_for 90 many
is "KA-07: all of them invalid" "$(do_ many 10.66.0.2 10.66.0.3)" \
	"error=0 done=1 -22- -22-"
sm_pause
is "KA-07: left before they are joined" \
	"$(do_ many-leave 239.66.8.14 239.66.8.15)" "error=0 done=1 -125 -125"
sm_resume
do_ leave >/dev/null
ok "no membership is left" wait_for 90 none_left

# --- a handler that destroys its id ---

# ends NAME: with a group of rdma_cm, which reports an event, and two of
# rdma_cmx
ends() {
	ok "$1" wait_for 90 joins 239.66.8.3 0
	do_ more 239.66.8.4 0 persistent >/dev/null
	do_ more 239.66.8.5 0 persistent lost >/dev/null
	do_ end-next >/dev/null
	[ "$2" = paused ] && sm_pause
	knob_set "$own" event client_reregister
	is "KA-07: $1: the handler ends it" "$(do_ end)" "ended"
	ok "KA-07: $1: no membership is left" \
		wait_for 90 none_left
	[ "$2" = paused ] && sm_resume
}

ends "an id" working
ends "an id while the SM is silent" paused
rmmod cmx_consumer
ok "KA-07: no id is left" wait_for 90 \
	eval '! rdma resource show cm_id 2>/dev/null | grep -q cmx_consumer'
finish
