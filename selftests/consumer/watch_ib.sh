#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-08: a watch of a service at the SA: set, moved, deleted, the end of its
# lease; the cache, an event of the port, a refresh; a namespace that ends in a
# query; another SM; SAs that do not respond.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions
day=86400000

# service DEV set|delete [OPTION...]
service() {
	"$tests/sa/tools/service" -C "$1" -n watched -i 0x1062f01 "${@:3}" "$2"
}

seen() {
	do_ watched "$1" | sed 's/ partial.*dst=/ /'
}

seen_is() {
	[ "$(seen "$1")" = "$2" ]
}

# event NAME N TEXT: waits for it
event() {
	wait_for 90 seen_is "$2" "$3"
	is "$1" "$(seen "$2")" "$3"
}

# last NAME N TEXT: checks the last event; others may have come before
last_is() {
	[ "$(seen "$1" | cut -d' ' -f2-)" = "$2" ]
}

last() {
	wait_for 90 last_is "$2" "$3"
	is "$1" "$(seen "$2" | cut -d' ' -f2-)" "$3"
}

partial_is() {
	do_ watched "$1" | grep -q '^events=2 error=0 partial=1'
}

grown() {
	[ $(($(counter "$1") - $2)) -ge "$3" ]
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
timeouts_long
param watch_gap_ms 100
param sa_cache_ms $day
third=$(fab_dev 3) fourth=$(fab_dev 4)
three=$(gid_short "$third") four=$(gid_short "$fourth")
query="- - sa noroute service=watched"

# --- set, moved ---

# A response is cached for a day, and no longer than its lease.
w=$(do_ watch interval=300 -- "$query")
event "KA-08: no such service" "$w" "events=1 error=-2 -"
# A slow host may miss a short lease.
leased() {
	local seconds

	for seconds in 4 20 60; do
		service "$third" set -l $seconds
		wait_for $((seconds / 3)) last_is "$w" "error=0 $three" &&
			return
	done
	return 1
}
ok "KA-08: a service with a lease" leased
last "KA-08: which ends" "$w" "error=-2 -"
ok "a service of device 3" service "$third" set
last "KA-08: it appears" "$w" "error=0 $three"
do_ unwatch "$w" >/dev/null

w=$(do_ watch interval=$day -- "$query")
event "KA-08: once a day" "$w" "events=1 error=0 $three"
ok "it moves to device 4" service "$fourth" set
service "$third" delete
# Each device's event empties the cache of its port.
for device in 1 2 3 4; do
	knob_set "$(fab_dev $device)" event client_reregister
done
last "KA-08: an event of the ports brings a query" "$w" "error=0 $four"
service "$third" set
service "$fourth" delete
do_ watch-refresh "$w"
last "KA-08: a refresh passes the cache" "$w" "error=0 $three"
service "$third" delete
do_ watch-refresh "$w"
last "KA-08: the service is gone" "$w" "error=-2 -"
do_ unwatch "$w" >/dev/null

# --- a network namespace ends while a query is outstanding ---

timeouts_long 5000
ok "a host" host_add watch1 4
knob_set "$(fab_dev 1)" faults 'drop class=3 method=0x12 attr=0x31'
before=$(sa_requests 0x12 0x0031)
sent() {
	[ "$(sa_requests 0x12 0x0031)" -gt "$before" ]
}
w=$(nsenter --net=/run/netns/watch1 bash -c "
	echo 'watch interval=$day -- $query own-net' >$dir/command
	cat $dir/result")
ok "KA-08: a query in its namespace is outstanding" wait_for 60 sent
ip netns del watch1
rm -f "$fab_state/$fourth.host"
like "KA-08: the namespace is deleted, the query goes on" \
	"$(do_ watched "$w")" '^events=0 .* wrong=0 '
knob_set "$(fab_dev 1)" faults clear
last "KA-08: the end of the namespace is the last event" "$w" "error=-100 -"
like "KA-08: no callback was where none may be" "$(do_ watched "$w")" ' wrong=0 '
do_ unwatch "$w" >/dev/null
ok "then the device leaves the namespace" wait_for 120 devices_back "$fourth"
addresses_add "$fourth"
ok "its port is active" port_active_wait "$fourth"
timeouts_long

# --- another SM takes over while a query is outstanding ---

sm_is() {
	[ "$(sm_master "$third")" = "$(dev_guid "$1")" ]
}

service "$third" set
w=$(do_ watch interval=$day -- "$query")
event "KA-08: a service" "$w" "events=1 error=0 $three"
# The first SA does not respond any more. The new one has no such service.
knob_set "$(fab_dev 1)" faults 'drop class=3 method=0x12 attr=0x31'
before=$(sa_requests 0x12 0x0031)
do_ watch-refresh "$w"
ok "KA-08: a query is outstanding" wait_for 60 sent
ok "a subnet manager of higher priority starts" sm_start "$fourth" -p 14
ok "KA-08: it takes over" wait_for 120 sm_is "$fourth"
last "KA-08: the new SA responds to the query" "$w" "error=-2 -"
service "$third" set
do_ watch-refresh "$w"
last "KA-08: and then has the service" "$w" "error=0 $three"
like "KA-08: no callback was where none may be" "$(do_ watched "$w")" ' wrong=0 '
do_ unwatch "$w" >/dev/null
knob_set "$(fab_dev 1)" faults clear
sm_stop
sm_start
ok "the usual subnet manager" port_active_wait

# --- SAs that do not respond ---

param sa_cache_ms 0
param sa_retries 0
service "$third" set
w=$(do_ watch interval=300 -- "$query")
event "KA-08: with all SAs" "$w" "events=1 error=0 $three"
for device in 1 2; do
	knob_set "$(fab_dev $device)" faults 'drop class=3 method=0x92 attr=0x31'
done
before=$(counter sa_timeouts)
ok "two ports have no response" wait_for 120 grown sa_timeouts "$before" 6
is "KA-08: what the others have is no other answer" "$(seen "$w")" \
	"events=1 error=0 $three"
service "$fourth" set
wait_for 90 partial_is "$w"
like "KA-08: a partial answer with a new entry is one" "$(do_ watched "$w")" \
	"^events=2 error=0 partial=1 .*$four"
for device in 3 4; do
	knob_set "$(fab_dev $device)" faults 'drop class=3 method=0x92 attr=0x31'
done
before=$(counter sa_timeouts)
ok "no SA responds" wait_for 120 grown sa_timeouts "$before" 8
like "KA-08: which is no event" "$(do_ watched "$w")" '^events=2 .* wrong=0 '
for device in 1 2 3 4; do
	knob_set "$(fab_dev $device)" faults clear
done
service "$third" delete
event "KA-08: they respond again" "$w" "events=3 error=0 $four"
ok "KA-08 OPS-04: the consumer is unloaded with a running watch" \
	wait_for 60 rmmod cmx_consumer
ok "no object is left in the end" wait_for 90 live_none
finish
