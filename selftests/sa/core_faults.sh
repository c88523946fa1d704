#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SA queries from the kernel while something fails: each query ends in time and
# once, and no object is left. KA-01, RAI-03, OPS-04
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

consumer=/sys/kernel/debug/cmx_consumer
client=$(fab_dev 2)
server=$(fab_dev 3)
gid=$(dev_gid "$client")

# query N KINDS NAME: starts queries with a timeout of four minutes; result:
# waits, and prints how they ended
query() {
	echo "services $1 $2 $3 240000 gid:$gid" >$consumer/command
}

result() {
	echo services-wait >$consumer/command && cat $consumer/result
}

counts_on() {
	[ "$(counter "$1")" -gt "$2" ]
}

ports_are() {
	[ "$(counter sa_ports)" = "$1" ]
}

# A busy SA on a busy host may be silent for longer than the default timeout of
# a query (8 s).
timeouts_max() {
	param sa_timeout_ms 3000
	param sa_retries 20
	param query_timeout_max_ms 240000
}

# works NAME: a query by the port succeeds
works() {
	query 1 1 svc
	is "$1" "$(result)" "answered=1 entries=1..1"
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
/usr/lib/rdma-cmx/selftests/sa/tools/service -C "$server" -n svc0 -i 1 set ||
	fail "no service"
param query_timeout_max_ms 240000
param sa_timeout_ms 1000
works "a query succeeds at first"

# --- lost, late, silent ---

for dev in "$client" "$(fab_dev 1)"; do
	knob_set "$dev" faults "drop class=3 chance=30"
done
query 60 60 none-
text=$(result)
diag "$text"
ok "KA-01: 30 % of the MADs are lost in both directions" \
	test "$(sed -n 's/.*error-2=\([0-9]*\).*/\1/p' <<<"$text")" -ge 57
for dev in "$client" "$(fab_dev 1)"; do
	knob_set "$dev" faults clear
done
knob_set "$client" faults "delay class=3 method=0x92 ms=1500"
query 3 3 none-
is "KA-01: responses come after the first retries" "$(result)" \
	"answered=0 error-2=3"
knob_set "$client" faults clear

param query_timeout_max_ms 60000
sm_pause
before=$(counter sa_queries)
query 300 300 none-
is "RAI-03: the SM is silent" "$(result)" "answered=0 error-110=300"
ok "most of them end in the queue, unsent" \
	test $(($(counter sa_queries) - before)) -lt 200
param sa_timeout_ms 10000
query 300 300 none-
echo services-cancel >$consumer/command
is "KA-01: queries are cancelled while the SM is silent" "$(result)" \
	"answered=0 cancelled=300"
ok "no query stays outstanding" wait_for 90 live_none
timeouts_max
knob_set "$client" event client_reregister
before=$(counter sa_retries)
query 5 1 svc
ok "the query has a retry" wait_for 90 counts_on sa_retries "$before"
sm_resume
is "KA-01: the SM resumes and answers it" "$(result)" \
	"answered=5 entries=1..1"

# --- removal of ports and devices ---

sm_pause
query 300 300 none-
ok "the link goes down" link_down "$client"
is "RAI-03: the port goes down with queries outstanding" "$(result)" \
	"answered=0 error-19=300"
query 1 1 none-
is "RAI-03: a port that is down refuses a query" "$(result)" "answered=0 refused-19=1"
sm_resume
link_up "$client"
ok "the port is active again" port_active_wait "$client"
works "a query succeeds after the port was down"

sm_pause
query 300 300 none-
knob_set "$client" plugged 0
is "RAI-03: the device is removed with queries outstanding" "$(result)" \
	"answered=0 error-19=300"
# The work item of a query has a reference for a moment after its end, and not
# until the SA would have timed out.
ok "OPS-03: the counter of ports decreases" wait_for 8 ports_are 3
sm_resume
knob_set "$client" plugged 1
ok "the device returns" wait_for 120 dev_is "$client" ACTIVE
works "a query succeeds after the device has returned"

# --- events and another SM with many queries outstanding ---

before=$(counter sa_events)
query 500 500 none-
for event in client_reregister lid_change sm_change pkey_change port_active \
	client_reregister; do
	knob_set "$client" event $event
done
is "KA-01: six events occur with 500 queries outstanding" "$(result)" \
	"answered=0 error-2=500"
ok "OPS-03: a counter has the events" test "$(counter sa_events)" -ge $((before + 6))
works "a query fills the cache"
master=$(sm_master)
query 1500 1500 none-
ok "a second SM with a higher priority starts" sm_start "$(fab_dev 4)" -p 14
is "KA-01: a handover of the SM occurs with 1500 queries outstanding" "$(result)" \
	"answered=0 error-2=1500"
# The old SM may have been too busy with the queries.
sm_is_new() {
	[ "$(sm_master "$client")" != "$master" ]
}
ok "the master SM has changed" wait_for 120 sm_is_new
query 1 1 svc
is "the cached response is dropped: the new SM has no such service" "$(result)" \
	"answered=0 error-2=1"
sm_stop
ok "one SM starts" sm_start
ok "it activates the port" wait_for 120 dev_is "$client" ACTIVE

# --- the modules are unloaded with queries outstanding ---

sm_pause
query 300 300 none-
is "OPS-04: rdma_cmx cannot be unloaded while it is used" \
	"$(rmmod rdma_cmx 2>&1 | grep -c 'in use')" 1
ok "OPS-04: the consumer is unloaded" rmmod cmx_consumer
ok "OPS-04: rdma_ucmx is unloaded" rmmod rdma_ucmx
ok "OPS-04: rdma_cmx is unloaded with MADs outstanding" timeout 100 rmmod rdma_cmx
sm_resume
ok "the modules are loaded again" modprobe -a rdma_ucmx cmx_consumer
timeouts_max
query 1 1 none-
is "KA-01: a query is sent and answered" "$(result)" "answered=0 error-2=1"
ok "no object is left in the end" wait_for 90 live_none
rmmod cmx_consumer
finish
