#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Connect by name of an in-kernel consumer on InfiniBand: by service at the SA,
# by GID in an IP port space and by IPoIB address; paths of the cache; removal
# of the device. KA-02, RAI-06.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/connect_functions
port=7600
sid=0x13f7600

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
param sa_cache_ms 600000
timeouts_long
third=$(fab_dev 3) fourth=$(fab_dev 4)
own=$(gid_short "$(fab_dev 1)") three=$(gid_short "$third")
four=$(gid_short "$fourth")
up="$(call 0 1 1 0; one "$three" up 0 0 welcome)"

# --- by service ---

is "KA-02: no such service" "$(connect -- - - sa service=kcsvc)" \
	"$(call -2 1 0 0)"
"$tests/sa/tools/service" -C "$third" -n kcsvc -i $sid set
is "KA-02 RAI-06: nobody listens to the service" \
	"$(connect -- - - sa service=kcsvc src=gid:"$own")" \
	"$(call -111 1 1 1; one "$three" request -111 8)"
ok "a target at the service" do_ listen gid:"$three" $sid accept
is "KA-02 RAI-06: by name" \
	"$(do_ connect -- - - sa service=kcsvc src=gid:"$own")" "$up"
is "KA-02: data goes there and back" "$(do_ connect-echo)" "echo: error=0"
do_ connect-end >/dev/null
is "KA-02 RAI-06: by id" "$(connect -- - - sa service=$sid src=gid:"$own")" "$up"
# The queries of rdma_cm are dropped, and not counted: IPoIB sends some, too. An
# event of the port empties the cache: then again.
for _ in {1..30}; do
	events=$(counter sa_events)
	connect -- - - sa service=kcsvc src=gid:"$own" >/dev/null
	knob_set "$(fab_dev 1)" faults 'drop class=3 method=0x01 attr=0x35'
	before=$(sa_requests 0x12)
	result=$(connect -- - - sa service=kcsvc src=gid:"$own")
	sent=$(($(sa_requests 0x12) - before))
	knob_set "$(fab_dev 1)" faults clear
	[ "$(counter sa_events)" != "$events" ] || break
done
is "KA-02: again" "$result" "$up"
is "KA-02: with what the cache has" "$sent" 0
is "KA-02: routed" "$(connect routed -- - - sa service=kcsvc src=gid:"$own")" \
	"$(call 0 1 0 0; one "$three" up 0)"
is "KA-02: a type of service" \
	"$(connect tos=8 -- - - sa service=kcsvc src=gid:"$own")" "$up"
is "KA-02: as much private data as there is room for" \
	"$(connect data=92 -- - - sa service=kcsvc src=gid:"$own")" "$up"
is "KA-02: a byte more" \
	"$(connect data=93 -- - - sa service=kcsvc src=gid:"$own")" \
	"$(call -90 1 1 1; one "$three" setup -90)"

# --- by GID in an IP port space: with the header of the port space ---

words="$three $port qp=2 flags=8 family=27 src=gid:$own"
do_ listen gid:"$three" $((0x1060000 + port)) accept >/dev/null
is "KA-02 GAI-10: by GID in an IP port space" "$(connect data=56 -- "$words")" \
	"$up"
like "KA-02: the target has received the header" "$(do_ listened)" \
	'data=00000000fe80'
is "KA-02: a byte more" "$(connect data=57 -- "$words")" \
	"$(call -90 1 1 1; one "$three" setup -90)"

# --- by IPoIB address ---

ok "a target at the address" do_ listen 10.66.0.3 $port accept
is "KA-02: by IPoIB address" "$(connect data=56 -- 10.66.0.3 $port)" \
	"$(call 0 1 1 0; one 10.66.0.3 up 0 0 welcome)"

# --- after a failed connect its path leaves the cache ---

words="- - sa service=kcsvc src=gid:$own"
# A retry would count as another query.
param sa_timeout_ms 20000
# An event of the port empties the cache: then again.
for _ in 1 2 3; do
	events=$(counter sa_events)
	do_ unlisten >/dev/null
	do_ listen gid:"$three" $sid first >/dev/null
	connect routed -- "$words" >/dev/null
	before=$(sa_requests 0x12)
	SECONDS=0
	result=$(connect -- "$words")
	took=$SECONDS
	sent=$(($(sa_requests 0x12) - before))
	connect routed -- "$words" >/dev/null
	later=$(($(sa_requests 0x12) - before))
	[ "$(counter sa_events)" != "$events" ] || break
done
is "KA-02: no reply on the path of the cache; on a new one it connects" \
	"$result" "$(call 0 1 2 1; one "$three" up 0 0 welcome 2)"
ok "KA-02: after a part of the time" test $took -lt 40
is "KA-02: the path of the cache was forgotten, and the SA queried" "$sent" 1
is "KA-02: the cache has the new one" "$later" 1
param sa_timeout_ms 1500
# Half of this deadline is shorter than the time until a retry of a request. On a
# slow host so little of it may be left that no second attempt follows.
queried_again() {
	do_ unlisten >/dev/null
	do_ listen gid:"$three" $sid first >/dev/null
	connect routed -- "$words" >/dev/null
	before=$(counter sa_queries)
	connect deadline=6000 -- "$words" >/dev/null
	[ "$(counter sa_queries)" = $((before + 1)) ]
}
ok "KA-02: with a short deadline, too" \
	eval 'for _ in {1..8}; do queried_again && break; done'
do_ unlisten >/dev/null
do_ listen gid:"$three" $sid hang >/dev/null
# A slow host may need more time for the second attempt.
for ms in 16000 60000; do
	connect routed -- "$words" >/dev/null
	result=$(connect deadline=$ms -- "$words")
	[[ $result != *step=request*attempts=2* ]] || break
done
is "KA-02: the deadline while nobody replies" "$result" \
	"$(call -110 1 2 2; one "$three" request -125 0 '' 2)"

# --- the device is removed ---

# holds CONDITION WORDS...: does it hold for the connect? A connect that has
# ended before, on a slow host, starts again; its address fails after three
# seconds.
holds() {
	eval "$1" && return
	state calls=1 && do_ connect-start "${@:2}"
	return 1
}

# removed NAME CONDITION STEP WORDS...: a connect from the fourth device. The
# address may also fail with the interface, and the route with the port.
removed() {
	local name=$1 condition=$2 step=$3 removal

	shift 3
	do_ connect-start "$@" >/dev/null
	ok "KA-02: $name" wait_for 90 holds "$condition" "$@"
	knob_set "$fourth" plugged 0 &
	removal=$!
	like "KA-02: the candidate has failed" "$(do_ connect-wait | tail -n 1)" \
		" step=$step error=-[1-9]"
	ok "KA-02: the removal of the device ends" \
		wait_for 90 no kill -0 $removal
	like "KA-02: once" "$(do_ connect-state)" ' calls=1 .* wrong=0$'
	do_ connect-end >/dev/null
	knob_set "$fourth" plugged 1
	wait_for 90 devices_back "$fourth"
	addresses_add "$fourth"
	ok "the device is back" port_active_wait "$fourth"
}

bound() {
	rdma resource show cm_id | grep -q "$fourth.*\[rdma_cmx\]"
}

# The queries of the module end at once; those of rdma_cm continue.
paths_lose() {
	param sa_timeout_ms 10
	param sa_retries 0
	knob_set "$(fab_dev 1)" faults 'drop class=3 attr=0x35 rmpp=0'
	by_cm=$(counter routes_by_cm)
}

paths_find() {
	knob_set "$(fab_dev 1)" faults clear
	param sa_timeout_ms 1500
	param sa_retries 9
}

queried() {
	[ "$(counter routes_by_cm)" -gt "$by_cm" ]
}

# listened N: have there been more than N requests?
listened() {
	[ "$(do_ listened | sed 's/^requests=\([0-9]*\) .*/\1/')" -gt "$1" ]
}

requests=$(do_ listened | sed 's/^requests=\([0-9]*\) .*/\1/')
removed "a request is outstanding" "listened $requests" request \
	-- - - sa service=kcsvc src=gid:"$four"
removed "an address is being resolved" bound addr \
	-- 10.66.0.99 $port src=10.66.0.4
paths_lose
# Newer kernels may crash on a breakpoint in an emulated processor.
case $(uname -r) in
6.1.*) ok "rdma_cm cancels slowly" do_ slow-cancel 800 ;;
esac
removed "a route is being resolved" queried '(addr|route)' \
	-- "$three" $port qp=2 flags=8 family=27 src=gid:"$four" noroute
paths_find

# Likewise for the id of a process, whose neighbour is resolved.
ok "a host" host_add one 2
ok "the neighbour is known" wait_for 90 \
	ping -q -c 1 -W 1 -I "$(dev_netdev "$fourth")" 10.66.0.2
paths_lose
cmx run rping -c -a 10.66.0.2 -I 10.66.0.4 -C 1 >/dev/null 2>&1 &
process=$!
ok "OPS-04: a process has a route query" wait_for 90 queried
ok "OPS-04: the removal of its device ends" knob_set "$fourth" plugged 0
ok "OPS-04: so does the process" wait_for 90 no kill -0 $process
ok "the host is gone" host_del one
paths_find
ok "rdma_cm cancels as ever" do_ slow-cancel 0
knob_set "$fourth" plugged 1
wait_for 90 devices_back "$fourth"
addresses_add "$fourth"
ok "the device is back" port_active_wait "$fourth"
removed "the setup runs" 'state setups=1' '(setup|request)' \
	setup-ms=3000 -- - - sa service=kcsvc src=gid:"$four"
do_ unlisten >/dev/null
do_ listen gid:"$three" $sid accept >/dev/null
is "KA-02: it connects" \
	"$(do_ connect -- - - sa service=kcsvc src=gid:"$four")" "$up"
knob_set "$fourth" plugged 0 &
removal=$!
ok "KA-02: the removal after the handover is the caller's" wait_for 90 eval \
	'do_ connect-events | grep -q "removals=1 wrong=0"'
do_ connect-end >/dev/null
ok "KA-02: the removal ends with the id" wait_for 90 no kill -0 $removal
knob_set "$fourth" plugged 1
ok "the device is back" wait_for 120 dev_is "$fourth" ACTIVE

"$tests/sa/tools/service" -C "$third" -n kcsvc -i $sid delete
ok "the consumer is unloaded" rmmod cmx_consumer
ok "no object is left" wait_for 90 live_none
finish
