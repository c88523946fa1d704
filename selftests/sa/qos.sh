#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-09: an SA without QoS gets one path query for all services of a node, and
# so one for both entries of an address. If the SA supports QoS, or this is not
# known, each service has a separate query. The SA's ClassPortInfo determines
# it; no path query waits for it.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

tests=/usr/lib/rdma-cmx/selftests
consumer=/sys/kernel/debug/cmx_consumer
client=$(fab_dev 2)
source=$(dev_gid "$client")
target=$(dev_gid "$(fab_dev 3)")
port=7000
fake_pid=''

# Path queries of the module that have reached the SA. Get queries are of
# rdma_cm, and of IPoIB at any time.
queries() {
	if [ -n "$fake_pid" ]; then
		grep -c '^0x12 0x0035' fake.log
	else
		sa_requests 0x12 0x0035
	fi
}

# used NODE PORT: an id gets the path and the route of a result while Get is
# dropped
used() {
	local out

	knob_set "$(fab_dev 1)" faults 'drop class=3 method=0x01 attr=0x35'
	out=$("$tests/sa/tools/paths" use "$@")
	knob_set "$(fab_dev 1)" faults clear
	[[ $out == *" used" ]]
}

# Each port has all its subscriptions: between two of them it has no query.
settled() {
	[ "$(counter sa_subscribed_paths)" = 4 ] && no_lookups
}

# resolve: with a new port; sets $found, entries with a path, and $sent, queries
# for them
resolve() {
	local before

	before=$(queries)
	port=$((port + 1))
	echo "resolve $target $port flags=8 family=27 src=gid:$source" \
		>$consumer/command || return
	found=$(grep -c ' paths=1' $consumer/result)
	sent=$(($(queries) - before))
}

sends() {
	resolve && [ "$sent" = "$1" ]
}

# Does the cache have the path, for another port?
route_is_cached() {
	local before

	port=$((port + 2))
	"$tests/sa/tools/paths" 10.66.0.3 $port >/dev/null || return
	before=$(queries)
	used 10.66.0.3 $((port + 1)) && [ "$(queries)" = "$before" ]
}

# One query for a name with a separate port, and none for the route
srv_route_is_cached() {
	local before

	before=$(queries)
	used _qos._tcp.cmx.test - && [ "$(queries)" = $((before + 1)) ]
}

# Queries that are new, and those that are sent again: an outstanding query goes
# to another SA. Both also count for the end of the previous fake SA, which the
# port may detect late, so the new one has to have received it, too.
sends_more() {
	[ $(($(counter sa_queries) + $(counter sa_retries))) -gt "$1" ] &&
		grep -q '^0x01 0x0001$' fake.log
}

no_lookups() {
	[ "$(counter live_sa_lookups)" = 0 ]
}

# fake_responds NAME QUERIES ARGUMENTS...: a fake SA for the querying port
fake_responds() {
	local name=$1 want=$2 before

	shift 2
	before=$(($(counter sa_queries) + $(counter sa_retries)))
	: >fake.log
	"$tests/sa/tools/fake" -C "$(fab_dev 4)" -V "$client" "$@" >fake.log 2>&1 &
	fake_pid=$!
	ok "$name: the fake SA starts" wait_for 90 grep -q ready fake.log
	ok "$name: its ClassPortInfo is queried" \
		wait_for 90 sends_more "$before"
	case $* in
	*silent | *busy) ;;
	*) ok "$name: the query ends" wait_for 90 no_lookups ;;
	esac
	resolve
	is "$name: two entries with a path" "$found" 2
	is "$name: the number of queries" "$sent" "$want"
	kill "$fake_pid"
	wait "$fake_pid"
	fake_pid=''
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
# Without cached responses of earlier resolutions, and without retries, which
# would count as queries
param sa_cache_ms 0
timeouts_long 20000
# The usual 4 s of the name helper may be too short.
sed -i 's/--timeout [0-9]*/--timeout 20/' /etc/request-key.d/rdma-cmx.conf
# No port is to renew its subscription while OpenSM is paused.
param sa_subscribe_ms 86400000

ok "OpenSM does not support QoS" wait_for 90 sends 1
resolve
is "GAI-09: one query for RC and UD" "$found" 2
param sa_cache_ms 3600000
# An event of the port empties the cache: then again.
for _ in {1..30}; do
	events=$(counter sa_events)
	resolve
	resolve
	if [ "$sent" = 0 ] || [ "$(counter sa_events)" = "$events" ]; then
		break
	fi
done
is "GAI-09: another service has both entries" "$found" 2
is "no query is sent for it" "$sent" 0
ok "RA-01: no query is sent for its route" wait_for 90 route_is_cached
param sa_cache_ms 0

sm_stop
sm_start "$(fab_dev 1)" -Q
ok "OpenSM -Q starts" port_active_wait
ok "OpenSM -Q supports QoS" wait_for 90 sends 2
resolve
is "GAI-09: a query for each entry" "$found" 2
param sa_cache_ms 3600000
resolve
resolve
is "GAI-09: a query for each service" "$sent" 2
ok "SV-02: the port of an SRV record has its path for the route" \
	srv_route_is_cached
param sa_cache_ms 0
sm_stop
sm_start
ok "OpenSM starts without -Q" port_active_wait
ok "OpenSM without -Q does not support QoS" wait_for 90 sends 1

# Each sweep of OpenSM would set the LID of the SA again. While it is paused, a
# query of another port would not end.
ok "no query is outstanding" wait_for 90 settled
sm_pause
fake_responds "QoS" 2 -c 2 good
fake_responds "no QoS" 1 -c 0x7fffffd good
for mode in silent busy status=0x0400 redirect attribute; do
	fake_responds "ClassPortInfo $mode" 2 -a 0x0001 $mode
done
sm_resume

ok "OpenSM again" wait_for 90 sends 1
# The module keeps its last result.
rmmod cmx_consumer
# A query without a response ends after 380 s with this timeout.
ok "no object is left" wait_for 180 live_none
finish
