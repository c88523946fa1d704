#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Questions to the SA from the kernel while something breaks: each is answered,
# in time and once, and nothing stays. KA-01, RAI-03, OPS-04
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

consumer=/sys/kernel/debug/cmx_consumer
asker=$(fab_dev 2)
offerer=$(fab_dev 3)
gid=$(dev_gid "$asker")

# ask N KINDS NAME: start, with four minutes at most; told: how it ended
ask() {
	echo "services $1 $2 $3 240000 gid:$gid" >$consumer/command
}

told() {
	echo services-wait >$consumer/command && cat $consumer/result
}

counts_on() {
	[ "$(counter "$1")" -gt "$2" ]
}

# An SA that is busy, on a machine that is busy, too, may be silent for longer
# than a question waits for it by default (8 s).
patient() {
	param sa_timeout_ms 3000
	param sa_retries 20
	param query_timeout_max_ms 240000
}

# works NAME: the port answers
works() {
	ask 1 1 svc
	is "$1" "$(told)" "answered=1 entries=1..1"
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
/usr/lib/rdma-cmx/selftests/sa/service.helper -C "$offerer" -n svc0 -i 1 set ||
	fail "no service"
works "at first"

# --- lost, late, silent ---

for dev in "$asker" "$(fab_dev 1)"; do
	knob_set "$dev" faults "drop class=3 chance=30"
done
ask 60 60 none-
text=$(told)
diag "$text"
ok "KA-01: 30 % of all MADs lost, both ways" \
	test "$(sed -n 's/.*error-2=\([0-9]*\).*/\1/p' <<<"$text")" -ge 57
for dev in "$asker" "$(fab_dev 1)"; do
	knob_set "$dev" faults clear
done
knob_set "$asker" faults "delay class=3 method=0x92 ms=1500"
ask 3 3 none-
is "KA-01: answers that come after the first repetitions" "$(told)" \
	"answered=0 error-2=3"
knob_set "$asker" faults clear

sm_pause
before=$(counter sa_queries)
ask 300 300 none-
is "RAI-03: the SM is silent" "$(told)" "answered=0 error-110=300"
ok "most without a turn of their own, for which it would be silent, too" \
	test $(($(counter sa_queries) - before)) -lt 200
ask 300 300 none-
echo services-cancel >$consumer/command
is "KA-01: cancelled while it is silent" "$(told)" "answered=0 cancelled=300"
ok "nothing goes on asking" wait_for 40 live_none
patient
knob_set "$asker" event client_reregister
before=$(counter sa_retries)
ask 5 1 svc
ok "the question is repeated" wait_for 40 counts_on sa_retries "$before"
sm_resume
is "KA-01: and answered when the SM speaks again" "$(told)" \
	"answered=5 entries=1..1"

# --- ports and devices that go ---

sm_pause
ask 300 300 none-
ok "the cable is pulled" link_down "$asker"
is "RAI-03: the port goes down while the SA is asked" "$(told)" \
	"answered=0 error-19=300"
ask 1 1 none-
is "RAI-03: a port that is down" "$(told)" "answered=0 refused-19=1"
sm_resume
link_up "$asker"
ok "active again" port_active_wait "$asker"
works "after the port was down"

sm_pause
ask 300 300 none-
knob_set "$asker" plugged 0
is "RAI-03: the device goes while the SA is asked" "$(told)" \
	"answered=0 error-19=300"
is "OPS-03: its port is gone" "$(counter sa_ports)" 3
sm_resume
knob_set "$asker" plugged 1
ok "it comes back" wait_for 120 dev_is "$asker" ACTIVE
works "after the device was away"

# --- events, another SM, in the middle of many questions ---

before=$(counter sa_events)
ask 500 500 none-
for event in client_reregister lid_change sm_change pkey_change port_active \
	client_reregister; do
	knob_set "$asker" event $event
done
is "KA-01: six events while 500 questions are asked" "$(told)" \
	"answered=0 error-2=500"
ok "OPS-03: the events are counted" test "$(counter sa_events)" -ge $((before + 6))
works "to keep its answer"
master=$(sm_master)
ask 1500 1500 none-
ok "a second SM with a higher priority" sm_start "$(fab_dev 4)" -p 14
is "KA-01: the SM is handed over in the middle of 1500" "$(told)" \
	"answered=0 error-2=1500"
# The old one may have been too busy with the questions so far.
sm_is_new() {
	[ "$(sm_master "$asker")" != "$master" ]
}
ok "it is another one" wait_for 120 sm_is_new
ask 1 1 svc
is "no old answer after that: the new SM does not know the service" "$(told)" \
	"answered=0 error-2=1"
sm_stop
ok "one SM" sm_start
ok "as at first" wait_for 120 dev_is "$asker" ACTIVE

# --- the modules go in the middle ---

sm_pause
ask 300 300 none-
is "OPS-04: rdma_cmx stays while it is used" \
	"$(rmmod rdma_cmx 2>&1 | grep -c 'in use')" 1
ok "OPS-04: the consumer goes" rmmod cmx_consumer
ok "OPS-04: rdma_ucmx goes" rmmod rdma_ucmx
ok "OPS-04: rdma_cmx goes, with MADs outstanding" timeout 20 rmmod rdma_cmx
sm_resume
ok "and comes back" modprobe -a rdma_ucmx cmx_consumer
patient
ask 1 1 none-
is "KA-01: and asks" "$(told)" "answered=0 error-2=1"
ok "nothing is left in the end" wait_for 40 live_none
rmmod cmx_consumer
finish
