#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A connect by name on InfiniBand whose SA responds late, never or wrongly, or
# changes, at each of its steps; and peers that send private data of any length.
# KA-02, RAI-06.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/connect_functions
sid=0x13f7600

counter_is() {
	[ "$(counter "$1")" = "$2" ]
}

seen_more() {
	[ "$(sa_requests "$1" "$2")" -gt "$seen" ]
}

cd "$(mktemp -d)" || exit
modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
timeouts_long
param sa_cache_ms 0
first=$(fab_dev 1) second=$(fab_dev 2) third=$(fab_dev 3)
own=$(gid_short "$first") three=$(gid_short "$third")
query="- - sa service=$sid src=gid:$own"
up="$(call 0 1 1 0; one "$three" up 0 0 welcome)"

# --- a peer's private data ---

"$tests/sa/tools/service" -C "$third" -n kcsa -i $sid set
for length in 0 1 7 8 31 92 195 196; do
	do_ listen gid:"$three" $sid accept $length >/dev/null
	like "KA-02: a reply with $length bytes" "$(connect whole -- "$query")" \
		"step=up error=0 .*whole=$length data="
	do_ unlisten >/dev/null
done
do_ listen gid:"$three" $sid accept 197 >/dev/null
like "KA-02: one that has no room for its reply is a reject" \
	"$(connect whole -- "$query")" "step=request error=-111 "
do_ unlisten >/dev/null
for length in 0 1 147 148; do
	do_ listen gid:"$three" $sid reject $length >/dev/null
	like "KA-02: a reject with $length bytes" "$(connect whole -- "$query")" \
		"step=request error=-111 reason=28 .*whole=$length data="
	do_ unlisten >/dev/null
done
do_ listen gid:"$three" $sid accept >/dev/null
for length in 0 1 2 8 31 32 63 64 91 92; do
	is "KA-02: a request with $length bytes" \
		"$(connect data=$length -- "$query")" "$up"
done
is "KA-02: a byte more" "$(connect data=93 -- "$query")" \
	"$(call -90 1 1 1; one "$three" setup -90)"

# --- one name twice at a node, and a short lease ---

twin=$((sid + 1))
"$tests/sa/tools/service" -C "$third" -n kctwin -i $twin set
"$tests/sa/tools/service" -C "$third" -n kctwin -i $sid set
result=$(connect -- - - sa service=kctwin src=gid:"$own")
like "KA-02: of two services with one name that of the target is found" \
	"$(echo "$result" | head -n 1)" '^error=0 calls=1 .* wrong=0$'
is "KA-02: both are candidates" "$(echo "$result" | grep -c "^dst=$three ")" 2
for id in $twin $sid; do
	"$tests/sa/tools/service" -C "$third" -n kctwin -i $id delete
done
lease_over() {
	[ "$(connect -- - - sa service=kclease src=gid:"$own" | head -n 1)" = \
		"$(call -2 1 0 0)" ]
}
param sa_cache_ms 86400000
"$tests/sa/tools/service" -C "$third" -n kclease -i $sid -l 1 set
ok "KA-02: a lease of 1 s is over, in the cache, too" wait_for 90 lease_over
param sa_cache_ms 0
"$tests/sa/tools/service" -C "$third" -n kcsa -i $sid set

# --- the SA responds late, to the lookup and to the path query ---

sm_pause
do_ connect-start deadline=120000 -- "$query" >/dev/null
ok "KA-02: the lookup waits" wait_for 60 no counter_is live_sa_lookups 0
ok "KA-02: there is no result" state calls=0
sm_resume
is "KA-02: the SA is late: it connects" "$(do_ connect-wait)" "$up"
do_ connect-end >/dev/null
knob_set "$first" faults 'drop class=3 attr=0x35'
seen=$(sa_requests 0x12 0x0035)
do_ connect-start deadline=120000 -- "$query noroute" >/dev/null
ok "KA-02: the route waits" wait_for 60 seen_more 0x12 0x0035
knob_set "$first" faults clear
like "KA-02: late for the route: the connect ends once" \
	"$(do_ connect-wait | head -n 1)" '^error=(0|-[0-9]+) calls=1 .*wrong=0$'
do_ connect-end >/dev/null
is "KA-02: and the next one connects" "$(connect -- "$query")" "$up"

# --- the SA never responds ---

sm_pause
is "KA-02: never: the lookup ends at the deadline" \
	"$(connect deadline=3000 -- "$query")" "$(call -110 1 0 0)"
sm_resume
knob_set "$first" faults 'drop class=3 attr=0x35'
is "KA-02: never: the route ends at the deadline" \
	"$(connect deadline=4000 -- "$query noroute" | head -n 1)" \
	"$(call -110 1 0 0)"
knob_set "$first" faults clear

# --- it responds wrongly ---

fake_sa() {
	sm_pause
	"$tests/sa/tools/fake" -C "$third" -V "$first" -V "$second" -V "$third" \
		-V "$(fab_dev 4)" -n 1 "$@" >fake.log 2>&1 &
	fake=$!
	wait_for 60 grep -q ready fake.log
}

fake_end() {
	kill "$fake"
	wait "$fake"
	sm_resume
	port_active_wait
}

# wrong NAME RESULT ARGUMENTS...: with these arguments of the fake SA
wrong() {
	local name=$1 result=$2

	shift 2
	fake_sa "$@"
	like "KA-02: $name" "$(connect deadline=80000 -- "$query" | tr '\n' ' ')" \
		"^$result"
	fake_end
}

wrong "an SA as it should be" 'error=0 calls=1 setups=1 ' good
wrong "the service: a malformed response" 'error=-74 calls=1 setups=0 ' \
	truncated=100
wrong "the service: refused" 'error=-111 calls=1 setups=0 ' status=0x0200
wrong "the service: none" 'error=-2 calls=1 setups=0 ' empty
wrong "the service: another one than that of the query" \
	'error=-74 calls=1 setups=0 ' foreign
wrong "the service: an SA elsewhere" 'error=-111 calls=1 setups=0 ' redirect
# rdma_cm's query gets a valid response of fixed size.
wrong "the path: a malformed response, and a good one to rdma_cm" \
	'error=0 calls=1 setups=1 ' -a 0x35 truncated=30
for mode in status=0x0200 empty foreign; do
	wrong "the path: $mode, to rdma_cm, too" \
		'error=-[0-9]+ calls=1 setups=([01]) teardowns=\1 wrong=0' \
		-a 0x35 $mode
done
is "KA-02: after all that it connects" "$(connect -- "$query")" "$up"

# --- another SA takes over: at each step ---

sm_master_is() {
	[ "$(sm_master "$third")" = "$(dev_guid "$1")" ]
}

cat >conf <<-'END'
	sminfo_polling_timeout 500
	polling_retry_number 2
END
# The first one is the standby while the second one runs.
other_sm() {
	if sm_master_is "$first"; then
		sm_start "$second" -p 14 -F "$PWD/conf" &&
			wait_for 120 sm_master_is "$second"
	else
		sm_stop "$second"
		wait_for 120 sm_master_is "$first"
	fi
}

# Each new SA gets the target's service again.
"$tests/sa/tools/service" -C "$third" -n kcsa -i $sid delete
sm_stop
sm_start "$first" -F "$PWD/conf"
ok "a subnet manager that looks after others" wait_for 120 sm_master_is "$first"
do_ advertise kcsa $sid dev="$third" >/dev/null
found() {
	[ "$(connect -- "$query")" = "$up" ]
}
ok "KA-02: the target is found" wait_for 120 found

# handover STEP RESULT WORDS...: while a connect waits in the step
handover() {
	local step=$1 result=$2

	shift 2
	do_ connect-start deadline=120000 "$@" >/dev/null
	case $step in
	lookup) ok "KA-02: a lookup" wait_for 90 seen_more 0x12 0x0031 ;;
	route) ok "KA-02: a route" wait_for 90 seen_more 0x12 0x0035 ;;
	setup) ok "KA-02: the setup runs" wait_for 90 state setups=1 ;;
	esac
	ok "KA-02: the SM hands over" other_sm
	like "KA-02: $step: the connect ends once" \
		"$(do_ connect-wait | head -n 1)" "$result"
	knob_set "$first" faults clear
	do_ connect-end >/dev/null
	ok "KA-02: with the new SA it connects" wait_for 120 found
}

ends='^error=(0|-[0-9]+) calls=1 setups=[01] teardowns=[01] wrong=0$'
seen=$(sa_requests 0x12 0x0031)
knob_set "$first" faults 'drop class=3 method=0x12 attr=0x31'
handover lookup "$ends" -- "$query"
handover setup '^error=0 calls=1 setups=1 teardowns=0 wrong=0$' \
	setup-ms=3000 -- "$query"
seen=$(sa_requests 0x12 0x0035)
knob_set "$first" faults 'drop class=3 attr=0x35'
handover route "$ends" -- "$query noroute"
do_ unlisten >/dev/null
do_ listen gid:"$three" $sid hang >/dev/null
do_ connect-start deadline=30000 -- "$query" >/dev/null
ok "KA-02: a request is outstanding" wait_for 90 state setups=1
ok "KA-02: the SM hands over" other_sm
like "KA-02: request: the connect ends once" "$(do_ connect-wait | head -n 1)" \
	'^error=-[0-9]+ calls=1 setups=1 teardowns=1 wrong=0$'
do_ connect-end >/dev/null
do_ unlisten >/dev/null
do_ listen gid:"$three" $sid accept >/dev/null
ok "KA-02: with the new SA it connects" wait_for 120 found

do_ withdraw
sm_stop
sm_start
ok "the usual subnet manager" port_active_wait
ok "the consumer is unloaded" rmmod cmx_consumer
ok "no object is left" wait_for 120 live_none
finish
