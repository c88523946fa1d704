#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SA queries from the kernel: coalesced, cached for a time, limited in number.
# KA-01, and the counters of OPS-03
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

consumer=/sys/kernel/debug/cmx_consumer
client=$(fab_dev 2)
server=$(fab_dev 3)

service() {
	/usr/lib/rdma-cmx/selftests/sa/tools/service -C "$server" "$@"
}

# query N KINDS NAME [MS]: starts queries; result: waits, and prints how they
# ended
query() {
	echo "services $1 $2 $3 ${4:-60000} gid:$(dev_gid "$client")" \
		>$consumer/command
}

result() {
	echo services-wait >$consumer/command && cat $consumer/result
}

queries() {
	sa_requests 0x12 0x0031
}

cached_is() {
	[ "$(counter sa_cached)" = "$1" ]
}

events_are() {
	[ "$(counter sa_events)" -ge "$1" ]
}

# A work item handles an event, which may be late: the cache may be empty before.
cache_drop() {
	local dev events

	events=$(counter sa_events)
	for dev in $(cat "$fab_state/devices"); do
		knob_set "$dev" event client_reregister
		events=$((events + 1))
	done
	wait_for 90 events_are "$events" && wait_for 90 cached_is 0
}

more_than() {
	[ "$("$1")" -gt "$2" ]
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
# A late response on a busy host causes no retry, and stays in the cache.
param sa_timeout_ms 20000
param sa_cache_ms 3600000
ok "the cache is empty" cache_drop
service -n 'svc-%u' -i 0x100 -c 5 set || fail "no services"

# --- coalesced ---

events=$(counter sa_events)
before=$(queries) joined=$(counter sa_coalesced) hits=$(counter sa_hits)
query 1000 1 svc-
is "KA-01: 1000 queries at once for one service" "$(result)" "answered=1000 entries=1..1"
ok "KA-01: the SA receives 1 or 2 of them" test "$(queries)" -le $((before + 2))
is "OPS-03: the others are coalesced or cached" \
	"$(($(counter sa_coalesced) - joined + $(counter sa_hits) - hits))" 999
# Another event of a port may drop what was cached before it: then again.
for _ in {1..30}; do
	last=$events events=$(counter sa_events) before=$(queries)
	query 1000 1 svc-
	again=$(result)
	sent=$(($(queries) - before))
	if [ $sent = 0 ] || [ "$(counter sa_events)" = "$last" ]; then
		break
	fi
done
is "the same 1000 queries again end" "$again" "answered=1000 entries=1..1"
is "the cache answers them" $sent 0
before=$(queries)
param sa_cache_ms 0
query 1 1 svc-
is "a query without the cache ends" "$(result)" "answered=1 entries=1..1"
is "the SA receives it" "$(queries)" $((before + 1))
param sa_cache_ms 3600000

# --- limits ---

ok "the cache is empty again" cache_drop
param sa_cache_entries 2
query 5 5 svc-
is "five queries end with a cache for two entries" "$(result)" \
	"answered=5 entries=1..1"
is "the cache keeps two" "$(counter sa_cached)" 2
param sa_cache_entries 4096
service -n many0 -i 0x1000 -c 30 set || fail "no services"
ok "the cache is empty again" cache_drop
param sa_cache_kb 4
query 1 1 many
is "a response larger than the cache arrives" "$(result)" "answered=1 entries=30..30"
is "the cache does not keep it" "$(counter sa_cached)" 0
param sa_cache_kb 4096
query 1 1 many
result >/dev/null
is "a cache of sufficient size keeps it" "$(counter sa_cached)" 1
query 5 5 none-
is "five services do not exist" "$(result)" "answered=0 error-2=5"
is "the cache keeps no empty response" "$(counter sa_cached)" 1

# --- changes while a query is outstanding ---

# Responses to queries that have reached the client's port, also delayed ones
responses() {
	knob_get "$client" mads |
		awk '$1 == "0x03" && $2 == "0x92" { n += $5 } END { print n + 0 }'
}

# changed_before SECONDS: queries a service that is deleted while the response is
# delayed by so much; the result is $text. Fails if the host was too slow for
# that.
changed_before() {
	local before events begin took

	knob_set "$client" faults clear
	service -n svc-0 -i 0x100 set && cache_drop || return
	knob_set "$client" faults \
		"delay class=3 method=0x92 ms=$(($1 * 1000)) count=1"
	before=$(responses) events=$(counter sa_events) begin=$SECONDS
	query 1 1 svc- 240000
	wait_for 90 more_than responses "$before" || return
	# The next response arrives after this one: its query is sent later.
	knob_set "$client" faults \
		"delay class=3 method=0x92 ms=$((($1 + 3) * 1000))"
	service -i 0x100 delete || return
	knob_set "$client" event client_reregister
	wait_for 90 events_are $((events + 1)) || return
	took=$((SECONDS - begin))
	text=$(result)
	[ $took -lt $(($1 - 1)) ]
}

# No retry before the next response
param sa_timeout_ms 60000
param query_timeout_max_ms 240000
text='the service was not deleted'
for seconds in 12 25 40 55; do
	changed_before $seconds && break
done
is "the old response is invalid after an event" "$text" \
	"answered=0 error-2=1"
is "the cache does not keep the old response" "$(counter sa_cached)" 0
knob_set "$client" faults clear
param sa_timeout_ms 5000

# --- many queries ---

param sa_waiting_per_user 10
# Otherwise the window of earlier tests applies.
param sa_parallel 8
sm_pause
query 100 100 none- 2000
like "KA-01: queries above the limit fail at once" "$(result)" \
	'^answered=0 .*-11=[789]'
ok "OPS-03: a counter has them" test "$(counter sa_refused)" -gt 0
sm_resume
param sa_waiting_per_user 16384
param sa_parallel 64
ok "no object is left" wait_for 90 live_none
before=$(counter sa_queries)
many=10000
! kernel_slow || many=1000
query $many $many none- 240000
is "KA-01: $many different queries outstanding" "$(result)" \
	"answered=0 error-2=$many"
ok "OPS-03: each is sent" test "$(($(counter sa_queries) - before))" -ge $many

ok "no object is left in the end" wait_for 90 live_none
rmmod cmx_consumer
finish
