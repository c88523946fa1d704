#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The cache follows the fabric: each port subscribes to the SA's reports of GIDs
# in and out of service, and of changed paths. A report drops the paths to its
# GIDs and no others. A forged or malformed report has no effect. The paths of a
# subscribed port have a long lifetime, those of others sa_cache_ms. OPS-03
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

tools=/usr/lib/rdma-cmx/selftests/sa/tools
manager=$(fab_dev 1) client=$(fab_dev 2) third=$(fab_dev 3) fourth=$(fab_dev 4)
consumer=/sys/kernel/debug/cmx_consumer

queries() {
	sa_requests 0x12 0x0035
}

# path DEV: resolves a path from the client to it; counts the queries at the SA
path() {
	local before

	before=$(queries)
	echo "resolve $(dev_gid "$1") 7471 flags=8 family=27 src=gid:$(dev_gid "$client")" \
		>$consumer/command
	grep -q ' paths=1' $consumer/result || { echo "no path"; return; }
	echo $(($(queries) - before))
}

# report FROM ARGUMENTS...: sends reports to the client; number of confirmed
# ones
report() {
	"$tools/report" -C "$1" "${@:2}"
}

# confirmed ARGUMENTS...: of the SM's port; a guest may stop for some seconds
confirmed() {
	report "$manager" -w 60000 "$@"
}

lid() {
	dev_lid "$client"
}

# records: number of subscriptions at the SA
records() {
	sa_query IIR | grep -c '^InformInfoRecord'
}

records_are() {
	[ "$(records)" = "$1" ]
}

# informs N: has the fake SA received N InformInfo or more? A query that was
# outstanding at an event of the port is sent again, to the new SA.
informs() {
	[ "$(grep -c '^0x02 0x0003' fake.log)" -ge "$1" ]
}

# sent N: has the SA received more than N queries?
sent() {
	[ "$(queries)" -gt "$1" ]
}

counter_is() {
	[ "$(counter "$1")" = "$2" ]
}

subscribed() {
	counter_is sa_subscribed "$1"
}

more() {
	[ "$(counter "$1")" -gt "$2" ]
}

# Has no report come for two seconds? The SM sends one to each port, and again
# if its confirmation is late.
reports_over() {
	local before

	before=$(counter sa_reports)
	nap 2
	[ "$(counter sa_reports)" = "$before" ]
}

# again DEV...: an event, after which a port subscribes again
again() {
	local dev

	for dev; do
		knob_set "$dev" event client_reregister
	done
}

# long: is the lifetime of a path longer than sa_cache_ms, which is short here?
long() {
	path "$third" >/dev/null
	[ "$(path "$third")" = 0 ]
}

no_lookups() {
	[ "$(counter live_sa_lookups)" = 0 ]
}

trace=/sys/kernel/tracing
points=$trace/events/rdma_cmx

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
# A retry would count as another query.
timeouts_long 20000

# --- subscribed ---

ok "each port subscribes" wait_for 90 subscribed 4
ok "the SA has four subscriptions of each" wait_for 90 records_are 16
ok "those to changed paths are counted" \
	wait_for 90 counter_is sa_subscribed_paths 4
param sa_cache_ms 1
ok "a path lives longer than other responses" wait_for 60 long
expired=$(counter paths_expired)
param sa_path_cache_ms 1
ok "unless that is off" wait_for 60 no long
ok "its end is counted" wait_for 60 more paths_expired "$expired"
param sa_path_cache_ms 600000
ok "paths to two peers" wait_for 60 long
path "$fourth" >/dev/null
is "both are cached" "$(path "$third") $(path "$fourth")" "0 0"

# --- reports of OpenSM ---

reports=$(counter sa_reports)
link_down "$third"
ok "a peer's link goes down: the SA reports it" \
	wait_for 90 more sa_reports "$reports"
wait_for 60 reports_over
reports=$(counter sa_reports)
link_up "$third"
ok "it comes up: likewise" wait_for 90 more sa_reports "$reports"
port_active_wait
wait_for 60 reports_over
is "the path to the other peer has stayed" "$(path "$fourth")" 0
is "the path to this one is queried again" "$(path "$third")" 1

# --- forged, malformed ---

ignored=$(counter sa_reports_ignored) reports=$(counter sa_reports)
is "a report of another port is not confirmed" \
	"$(report "$fourth" -g "$(dev_gid "$third")" "$(lid)")" 0
is "it is counted" "$(($(counter sa_reports_ignored) - ignored))" 1
for kind in vendor rmpp attribute; do
	report "$manager" -g "$(dev_gid "$third")" "$(lid)" $kind >/dev/null
done
report "$manager" -g "$(dev_gid "$third")" -t 128 "$(lid)" >/dev/null
is "malformed ones of the SM's port, too" \
	"$(($(counter sa_reports_ignored) - ignored))" 5
for trap in 68 69; do
	is "trap $trap of another port is not confirmed" \
		"$(report "$fourth" -t $trap -g "$(dev_gid "$third")" "$(lid)")" 0
	report "$fourth" -t $trap "$(lid)" >/dev/null
	report "$manager" -t $trap "$(lid)" vendor >/dev/null
done
is "these are counted, too" "$(($(counter sa_reports_ignored) - ignored))" 11
is "none of them counts as a report" "$(counter sa_reports)" "$reports"
is "nor drops a path" "$(path "$third") $(path "$fourth")" "0 0"

# --- of the SM's port ---

dropped=$(counter paths_dropped)
: >$trace/trace
echo 1 >$points/cmx_sa_report/enable
is "a report of the SM's port is confirmed" \
	"$(confirmed -g "$(dev_gid "$third")" "$(lid)")" 1
echo 0 >$points/cmx_sa_report/enable
is "it drops a path" "$(($(counter paths_dropped) - dropped))" 1
like "it is traced" "$(<$trace/trace)" "cmx_sa_report: dev=$client port=1 \
slid=$(dev_lid "$manager") qp=1 trap=65 gid=$(dev_gid "$third") dropped=1"
is "and no other" "$(path "$fourth")" 0
is "it is queried again" "$(path "$third")" 1
report "$manager" -t 64 -g "$(dev_gid "$third")" "$(lid)" >/dev/null
is "a report of a GID in service drops its path, too" "$(path "$third")" 1
is "the report of an unknown GID is confirmed" \
	"$(confirmed -g fe80::1234 "$(lid)")" 1
is "and drops nothing" "$(path "$third") $(path "$fourth")" "0 0"

# --- changed paths ---

paths=$(counter sa_reports_paths)
for trap in 68 69; do
	is "trap $trap of the SM's port is confirmed" \
		"$(confirmed -t $trap -g "$(dev_gid "$third")" "$(lid)")" 1
	is "trap $trap drops the path to its destination only" \
		"$(path "$fourth") $(path "$third")" "0 1"
	report "$manager" -t $trap -s "$(dev_gid "$third")" "$(lid)" >/dev/null
	is "or to its source, if that is another port" \
		"$(path "$fourth") $(path "$third")" "0 1"
	report "$manager" -t $trap -s "$(dev_gid "$client")" \
		-g "$(dev_gid "$third")" "$(lid)" >/dev/null
	is "from this port: to the destination only" \
		"$(path "$fourth") $(path "$third")" "0 1"
done
report "$manager" -t 68 -s fe80::1234 -g fe80::1235 "$(lid)" >/dev/null
is "unknown GIDs drop nothing" "$(path "$third") $(path "$fourth")" "0 0"
is "the reports of paths are counted" \
	"$(($(counter sa_reports_paths) - paths))" 7
events=$(counter sa_events) subscribes=$(counter sa_subscribes)
report "$manager" -t 68 "$(lid)" >/dev/null
ok "one without a GID is an event of the port" \
	wait_for 90 more sa_events "$events"
# The port is subscribed until its work item runs, up to a second later.
ok "the port subscribes to the four traps again" \
	wait_for 90 more sa_subscribes $((subscribes + 3))
ok "the port has its subscriptions again" \
	wait_for 90 counter_is sa_subscribed_paths 4
ok "and its paths" wait_for 60 long
is "the other path is queried again" "$(path "$fourth")" 1

# --- a GID of the port ---

events=$(counter sa_events) subscribes=$(counter sa_subscribes)
report "$manager" -g "$(dev_gid "$client")" "$(lid)" >/dev/null
ok "one of the port's GID is an event of the port, once a minute" \
	wait_for 120 more sa_events "$events"
ok "the port subscribes again" \
	wait_for 90 more sa_subscribes $((subscribes + 3))
ok "and has its subscriptions" wait_for 90 subscribed 4
ok "and has its paths again" wait_for 60 long

many=3000
! kernel_slow || many=300
reports=$(counter sa_reports)
report "$fourth" -c 300 -g "$(dev_gid "$third")" "$(lid)" >/dev/null &
confirmed -c $many -g "$(dev_gid "$fourth")" "$(lid)" >count
wait
ok "thousands of reports are received" \
	test $(($(counter sa_reports) - reports)) -ge $many
ok "and confirmed" test "$(<count)" -ge $((many * 9 / 10))
is "the other path has stayed" "$(path "$third")" 0

# --- a response that was outstanding ---

# reported_before SECONDS: a report comes while the response to a query is delayed
# by so much. Fails if the host was too slow for that.
reported_before() {
	local before begin took query

	confirmed "${arguments[@]}" >/dev/null
	knob_set "$client" faults clear
	knob_set "$client" faults \
		"delay class=3 method=0x92 ms=$(($1 * 1000)) count=1"
	before=$(queries) begin=$SECONDS
	path "$third" >answer &
	query=$!
	wait_for 60 sent "$before"
	confirmed "${arguments[@]}" >/dev/null
	took=$((SECONDS - begin))
	wait $query
	[ $took -lt $(($1 - 1)) ]
}

param sa_timeout_ms 60000
param route_timeout_ms 60000
arguments=(-g "$(dev_gid "$third")" "$(lid)")
for seconds in 10 20 30 40; do
	reported_before $seconds && break
done
is "a query that was outstanding at a report ends" "$(<answer)" 1
is "its response is not cached" "$(path "$third")" 1
is "that to a later one is" "$(path "$third")" 0
knob_set "$client" faults clear
timeouts_long 20000

# --- not subscribed ---

param sa_subscribe 0
mapfile -t devices <"$fab_state/devices"
again "${devices[@]}"
ok "the ports end their subscriptions" wait_for 90 subscribed 0
ok "the SA has none" wait_for 90 records_are 0
ok "a path does not live long" wait_for 60 no long
"$tools/report" -C "$client" hold >held &
holder=$!
ok "a program takes the reports of a port" wait_for 60 grep -q ready held
param sa_subscribe 1
errors=$(counter sa_subscribe_errors)
again "${devices[@]}"
ok "the other ports subscribe" wait_for 90 subscribed 3
ok "this one cannot, which is counted" \
	wait_for 60 more sa_subscribe_errors "$errors"
ok "its paths do not live long" wait_for 60 no long
kill $holder
wait $holder 2>/dev/null
ok "it can when the program has ended" wait_for 120 subscribed 4
ok "and its paths live long" wait_for 60 long

# --- lost subscriptions ---

# A shorter timeout: the port gives up, and tries again later.
param sa_timeout_ms 500
errors=$(counter sa_subscribe_errors)
knob_set "$client" faults "drop class=3 method=0x81 attr=0x0003"
: >$trace/trace
echo 1 >$points/cmx_sa_inform/enable
again "$client"
ok "no response: the port has no subscription" \
	wait_for 120 more sa_subscribe_errors "$errors"
ok "the others keep theirs" subscribed 3
knob_set "$client" faults clear
ok "it subscribes again" wait_for 120 subscribed 4
echo 0 >$points/cmx_sa_inform/enable
like "the failure is traced" "$(<$trace/trace)" \
	"cmx_sa_inform: dev=$client port=1 error=-110"
like "so is the subscription" "$(<$trace/trace)" \
	"cmx_sa_inform: dev=$client port=1 error=0"
: >$trace/trace
timeouts_long 20000

# informed N: has the SA received more than N InformInfo?
informed() {
	[ "$(sa_requests 0x02 0x0003)" -gt "$1" ]
}

param sa_subscribe_ms 5000
subscribes=$(counter sa_subscribes)
again "$client"
ok "a port subscribes after an event" \
	wait_for 90 more sa_subscribes $((subscribes + 3))
ok "to all traps" wait_for 90 counter_is sa_subscribed_paths 4
events=$(counter sa_events)
is "the SA loses a subscription" \
	"$("$tools/report" -C "$client" -t 65 end)" ended
before=$(sa_requests 0x02 0x0003)
ok "the port renews those to the four traps" wait_for 30 informed $((before + 3))
ok "the SA has all again" wait_for 90 records_are 16
is "without an event of the port" "$(counter sa_events)" "$events"
ok "or an end of the subscription" subscribed 4
param sa_subscribe_ms 300000

# --- an SA that rejects, a new SM ---

sm_stop
errors=$(counter sa_subscribe_errors)
"$tools/fake" -C "$fourth" -V "$client" good >fake.log 2>&1 &
fake=$!
ok "an SA that refuses subscriptions" wait_for 90 grep -q ready fake.log
ok "the port has none" wait_for 90 more sa_subscribe_errors "$errors"
kill $fake
wait $fake
"$tools/fake" -a 3 -C "$fourth" -V "$client" subscribe=65 >fake.log 2>&1 &
fake=$!
ok "an SA without reports of paths" wait_for 90 grep -q ready fake.log
ok "accepts two subscriptions and refuses the third" \
	wait_for 90 informs 3
ok "the port has those to GIDs" wait_for 90 subscribed 4
ok "and none to paths" wait_for 90 counter_is sa_subscribed_paths 3
path "$third" >/dev/null
before=$(grep -c '^0x12 0x0035' fake.log)
ok "it has received a query for a path" test "$before" -gt 0
nap 1
path "$third" >/dev/null
is "its paths live longer than other responses" \
	"$(grep -c '^0x12 0x0035' fake.log)" "$before"
kill $fake
wait $fake
sm_start
port_active_wait
ok "a new SM: each port subscribes" wait_for 90 subscribed 4
ok "the new SA has the subscriptions" wait_for 90 records_are 16

# --- many reports of a port's GID, as any node can have the SM send ---

events=$(counter sa_events)
confirmed -c 100 -g "$(dev_gid "$third")" "$(dev_lid "$third")" >count
ok "100 reports of a port's GID are confirmed" test "$(<count)" -ge 90
ok "they are an event" wait_for 60 more sa_events "$events"
ok "or a few" test $(($(counter sa_events) - events)) -le 3

# --- removal ---

knob_set "$third" plugged 0
ok "a device goes" wait_for 90 subscribed 3
knob_set "$third" plugged 1
ok "it comes back" wait_for 90 subscribed 4
wait_for 90 devices_back "$third" && addresses_add "$third"
port_active_wait
params_back
ok "no query is left" wait_for 90 no_lookups
rmmod cmx_consumer
finish
