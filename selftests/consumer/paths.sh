#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-09: many paths in one call, before their use: found, shared, used by
# connects without a query, invalidated; a second path by LMC; deadline, cancel,
# limits, namespaces, handover of the SM, unload.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions
first=$(fab_dev 1) fourth=$(fab_dev 4)

# path N: the record from the first device to the N-th one
path() {
	local dev

	dev=$(fab_dev "$1")
	echo "$(gid_short "$first") $(dev_lid "$first") ->" \
		"$(gid_short "$dev") $(dev_lid "$dev") port=1"
}

# sent NAME COUNT COMMAND...: number of queries at the SA meanwhile; sets
# $result. No other program sends such queries: those of rdma_cm and IPoIB have
# method 1.
sent() {
	local name=$1 count=$2 before

	shift 2
	before=$(sa_requests 0x12 0x0035)
	result=$(do_ "$@")
	is "KA-09: $name" $(($(sa_requests 0x12 0x0035) - before)) "$count"
}

one_call() {
	[ "$(counter live_paths_queries)" = 1 ]
}

# Several hosts; otherwise each address would be local.
modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
for n in 2 3 4; do
	ok "a namespace with device $n" host_add "peer$n" $n
done
param sa_cache_ms 3600000
# A retry would count as another query.
timeouts_long 20000
addresses="10.66.0.2 10.66.0.3 10.66.0.4"
gids="gid:$(dev_gid "$(fab_dev 2)") gid:$(dev_gid "$(fab_dev 3)")"
gids+=" gid:$(dev_gid "$fourth")"

# --- bad input ---

is "KA-09: bad attributes" "$(do_ paths-bad)" \
	"-22 -22 -22 -22 -22 -19 -19 -22 -91 -22"
like "KA-09: a source of another family" \
	"$(do_ paths src=10.66.0.1 gid:fe80::1)" 'error=-22$'

# --- found once, and taken from the cache ---

# An event of a port may empty the whole cache.
once() {
	do_ paths refresh "$addresses" >/dev/null
	before=$(sa_requests 0x12 0x0035)
	result=$(do_ paths "$addresses")
	[ "$(sa_requests 0x12 0x0035)" = "$before" ]
}
wait_for 90 once
is "KA-09: the second time from the cache" $? 0
is "KA-09: all are found" "$result" "found=3 of 3
error=0 $(path 2)
error=0 $(path 3)
error=0 $(path 4)"
is "KA-09: by the call that waits" "$(do_ paths-sync "$addresses")" "$result"
sent "a refresh queries the SA for each" 3 paths refresh "$addresses"
is "KA-09: the same paths" "$(echo "$result" | head -n 1)" "found=3 of 3"
do_ resolve 10.66.0.3 7900 qp=2 noroute >/dev/null
is "KA-09: an id takes the path without a query" \
	"$(do_ path-known 0 0)" "known=0"
is "KA-09: rdma_cm connects by the record" "$(do_ paths-use 1 0)" "used=0"

# A connect by address needs no query: those of rdma_cm are dropped. An event of
# the port empties the cache: then again.
for _ in {1..30}; do
	events=$(counter sa_events)
	do_ paths "$addresses" >/dev/null
	knob_set "$first" faults 'drop class=3 method=0x01 attr=0x35'
	before=$(sa_requests 0x12)
	result=$(do_ connect routed -- 10.66.0.2 7900 src=10.66.0.1)
	do_ connect-end >/dev/null
	number=$(($(sa_requests 0x12) - before))
	knob_set "$first" faults clear
	[ "$(counter sa_events)" != "$events" ] || break
done
like "KA-09: connect by name takes it" "$result" 'step=up error=0'
is "KA-09: without a query" "$number" 0

# --- forgotten ---

do_ paths "$addresses" >/dev/null
is "KA-09: a path is forgotten" "$(do_ paths-forget 1)" "forgot=0"
sent "which costs one query" 1 paths "$addresses"
do_ paths-forget 0 >/dev/null
do_ resolve 10.66.0.2 7900 qp=2 noroute >/dev/null
is "KA-09: an id finds it no more" "$(do_ path-known 0 0)" "known=-2"
do_ paths "$addresses" >/dev/null
ip neigh flush dev "$(dev_netdev "$first")"
is "KA-09: forgotten without its neighbour" "$(do_ paths-forget 2)" "forgot=0"
sent "it costs one query" 1 paths "$addresses"

# --- GIDs, and destinations that fail ---

like "KA-09: by GID" "$(do_ paths "$gids")" '^found=3 of 3$'
ip route add 10.77.0.0/24 via 10.66.0.2 dev "$(dev_netdev "$first")"
ip route add prohibit 10.78.0.0/24
is "KA-09: each fails for itself" \
	"$(do_ paths 10.66.0.99 10.66.0.2 10.77.0.1 gid:fe80::dead 10.78.0.1 \
		gid:2001:db8::1 | sed "s/ $(gid_short "$first").*//")" \
	"found=1 of 6
error=-113
error=0
error=-95
error=-2
error=-13
error=-101"
ip route del 10.77.0.0/24
ip route del prohibit 10.78.0.0/24
is "KA-09: another device reaches none" \
	"$(do_ paths "dev=$first" devport=2 10.66.0.2)" "error=-6"

# --- equal ones share a query; many ---

do_ paths "$addresses" >/dev/null
for n in 0 1 2; do
	do_ paths-forget $n >/dev/null
done
sent "300 destinations are three queries" 3 paths repeat=100 "$addresses"
is "KA-09: all are found" "$(echo "$result" | head -n 1)" "found=300 of 300"
# Outstanding queries are shared; a later call sends another.
param sa_cache_ms 0
before=$(counter sa_coalesced)
is "KA-09: without a cache" \
	"$(do_ paths repeat=100 "$addresses" | head -n 1)" \
	"found=300 of 300"
ok "KA-09: outstanding queries are shared" \
	test "$(counter sa_coalesced)" -gt "$before"
param sa_cache_ms 3600000
param paths_max 2
is "KA-09: above paths_max" "$(do_ paths "$addresses")" "error=-11"
param paths_max 16384

# --- a silent SA: deadline, cancel, others ---

do_ paths "$addresses" >/dev/null
sm_pause
do_ paths-forget 0 >/dev/null
# silent REGEX WORDS...: sets $result. A slow host may need more than a few seconds
# for what the SA does not have to respond to.
silent() {
	local ms

	for ms in 5000 20000 60000; do
		result=$(do_ paths timeout=$ms "${@:2}")
		grep -q "$1" <<<"$result" && break
	done
}
silent '^found=2 ' "$addresses"
is "KA-09: what is known is found although the SA is silent" \
	"$(sed 's/ .*->.*//' <<<"$result")" \
	"found=2 of 3
error=-110
error=0
error=0"
do_ paths-start refresh timeout=60000 repeat=100 "$addresses" >/dev/null
ok "KA-09: a call is outstanding" wait_for 60 one_call
is "KA-09: it is cancelled" "$(do_ paths-cancel)" \
	"cancelled=1 calls=0 again=1"
sm_resume
is "KA-09: the callback cancels its own call" \
	"$(do_ paths inside refresh "$addresses" | head -n 1)" "found=3 of 3"
is "KA-09: that it has run is what a cancel reports" "$(do_ paths-cancel)" \
	"cancelled=0 calls=1 again=0"

# --- another namespace ---

before=$(sa_requests 0x12 0x0035)
on peer2 sh -c 'echo paths own-net 10.66.0.3 >&3' 3>$dir/command
like "KA-09: a namespace has its own device" "$(cat $dir/result)" \
	"^error=0 $(gid_short "$(fab_dev 2)") "
is "KA-09: and nothing of another's cache" \
	$(($(sa_requests 0x12 0x0035) - before)) 1

# --- a second path ---

is "KA-09: a port with one LID has no second path" \
	"$(do_ paths alt 10.66.0.2 | tail -n 1)" "error=0 $(path 2) alt=-2"
sm_stop
sm_start "$first" -l 1
ok "OpenSM -l 1 starts" port_active_wait
# alternate TEXT: do SLID and DLID differ from the first path?
alternate() {
	do_ paths alt refresh 10.66.0.3 >alt.log
	sed -n 's/^error=0 [^ ]* \([0-9]*\) -> [^ ]* \([0-9]*\) port=1 alt=0 [^ ]* \([0-9]*\) -> [^ ]* \([0-9]*\) port=1$/\1 \2 \3 \4/p' \
		alt.log >lids.log
	read -r slid dlid slid2 dlid2 <lids.log &&
		[ "$slid" != "$slid2" ] && [ "$dlid" != "$dlid2" ]
}
cd "$(mktemp -d)" || exit
wait_for 120 alternate
is "KA-09: with LMC 1 the second path has other LIDs" $? 0
is "KA-09: rdma_cm connects by it" "$(do_ paths-use 0 1)" "used=0"
sm_stop

# --- a second path to another port of the peer ---

# The fourth device is the second port of the third one's HCA.
knob_set "$fourth" first 3
sm_start
ok "OpenSM starts with LMC 0" port_active_wait
peer_port() {
	do_ paths alt refresh "$1" | tail -n 1
}
peer_port_found() {
	[[ $(peer_port 10.66.0.3) = *alt=0* ]]
}
wait_for 120 peer_port_found
is "KA-09: the second path leads to the other port of the peer" \
	"$(peer_port 10.66.0.3)" "error=0 $(path 3) alt=0 $(path 4)"
is "KA-09: rdma_cm connects by it, too" "$(do_ paths-use 0 1)" "used=0"
is "KA-09: and from there to the first" \
	"$(peer_port 10.66.0.4)" "error=0 $(path 4) alt=0 $(path 3)"
is "KA-09: a peer with one port has none" \
	"$(peer_port 10.66.0.2)" "error=0 $(path 2) alt=-2"
is "KA-09: nor is one searched if the caller has named another port" \
	"$(peer_port 10.66.0.3/10.66.0.2)" "error=0 $(path 3) alt=-2"
knob_set "$first" faults 'drop class=3 attr=0x11'
silent '^error=0 ' alt refresh 10.66.0.3
is "KA-09: the SA is silent about nodes: the first path is found all the same" \
	"$(tail -n 1 <<<"$result")" \
	"error=0 $(path 3) alt=-110"
knob_set "$first" faults clear
sm_stop
knob_set "$fourth" first 0
sm_start
ok "OpenSM starts with HCAs of one port" port_active_wait

# --- a network namespace is deleted in mid-call ---

second=$(fab_dev 2)
knob_set "$first" faults 'drop class=3 method=0x12 attr=0x35'
on peer2 sh -c 'echo paths-start own-net timeout=60000 refresh 10.66.0.3 >&3' \
	3>$dir/command
ok "KA-09: a call is outstanding" wait_for 60 one_call
ip netns del peer2
rm -f "$fab_state/$second.host"
# On a slow host it may be over.
like "KA-09: the namespace of a call is deleted, the call is cancelled" \
	"$(do_ paths-cancel)" '^cancelled=(1 calls=0 again=1|0 calls=1 again=0)$'
ok "KA-09: then its device leaves the namespace" \
	wait_for 120 devices_back "$second"
knob_set "$first" faults clear
addresses_add "$second"
ok "its port is active" port_active_wait "$second"

# --- another SM takes over in mid-call ---

sm_is() {
	[ "$(sm_master "$first")" = "$(dev_guid "$1")" ]
}

sent_more() {
	[ "$(sa_requests 0x12 0x0035)" -gt "$before" ]
}

# The first SA does not respond any more. The queries outlast the handover.
param route_timeout_ms 300000
param query_timeout_max_ms 300000
knob_set "$first" faults 'drop class=3 method=0x12 attr=0x35'
before=$(sa_requests 0x12 0x0035)
do_ paths-start refresh timeout=300000 10.66.0.3 10.66.0.4 >/dev/null
ok "KA-09: its queries are outstanding" wait_for 60 sent_more
ok "a subnet manager of higher priority starts" sm_start "$second" -p 14
ok "KA-09: it takes over" wait_for 120 sm_is "$second"
is "KA-09: the call has the paths of the new SA" "$(do_ paths-wait)" \
	"found=2 of 2
error=0 $(path 3)
error=0 $(path 4)"
is "KA-09: by one callback" "$(do_ paths-cancel)" "cancelled=0 calls=1 again=0"
knob_set "$first" faults clear
sm_stop
sm_start
ok "the usual subnet manager" port_active_wait

# --- unload ---

sm_pause
do_ paths-start refresh timeout=60000 repeat=100 "$addresses" >/dev/null
ok "KA-09 OPS-04: the consumer is unloaded in mid-call" wait_for 60 rmmod cmx_consumer
sm_resume
ok "no object is left" wait_for 90 live_none
finish
