#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# 1,000 reconnects to 100 peers are 100 queries: the other 900 routes come from
# the cache, whatever the number of processes.
#
# A port has one GID in this fabric, which has 16 ports. So a peer is a pair
# here: a port of this host, and the GID of another port that it connects to. 10
# ports connect to 10 others each. Each pair has its own path record, as 100
# hosts would have for one port.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

nodes=11 peers=10 rounds=10
pairs=$(((nodes - 1) * peers))
total=$((rounds * pairs))

# The SM has the first device for itself.
fabric_of() {
	local n

	modprobe -r rdma_ucmx && fabric_unload || return
	fab_devices=$1
	fabric_load && fabric_up && modprobe rdma_ucmx || return
	for ((n = 1; n <= $1; n++)); do
		wait_for 120 dev_is "$(fab_dev "$n")" ACTIVE || return
	done
}

# Do all ports follow their SA, which has nothing left to send?
is_quiet() {
	[ "$(counter sa_subscribed)" = "$(counter sa_ports)" ] &&
		[ "$(counter live_sa_lookups)" = 0 ]
}

# A test that is ended leaves the usual fabric, too.
cleanup() {
	params_back
	[ "$fab_devices" = 4 ] || fabric_of 4
} >/dev/null 2>&1

ok "a fabric of $((nodes + 1)) ports" fabric_of $((nodes + 1))
# A slow SA is not queried again, and nothing expires.
timeouts_long 20000
param sa_cache_ms 3600000
trap cleanup EXIT
ok "all ports follow the SA" wait_for 120 is_quiet
gids=()
for ((n = 2; n <= nodes + 1; n++)); do
	gids+=("$(dev_gid "$(fab_dev "$n")")")
done

# A report of the SA drops paths. The SA sends those of new ports late. An event
# of a port drops all of its paths.
for try in {1..6}; do
	cmx paths drop --all >/dev/null
	reports=$(counter sa_reports) events=$(counter sa_events)
	sent=$(sa_requests 0x12 0x0035)
	queries=$(counter sa_queries)
	by_cm=$(counter routes_by_cm)
	saved=$(($(counter paths_hits) + $(counter paths_coalesced)))
	connected=$(/usr/lib/rdma-cmx/selftests/sa/tools/reconnects \
		$rounds $peers "${gids[@]}")
	sent=$(($(sa_requests 0x12 0x0035) - sent))
	saved=$(($(counter paths_hits) + $(counter paths_coalesced) - saved))
	[ "$(counter sa_reports) $(counter sa_events)" != \
		"$reports $events" ] || break
	diag "try $try: the SA has sent reports, or a port has had an event"
done
is "all connect" "$connected" $total
is "a query for each peer at the SA" "$sent" $pairs
is "of the module" $(($(counter sa_queries) - queries)) $pairs
is "the others are saved" "$saved" $((total - pairs))
is "rdma_cm has sent none" "$(counter routes_by_cm)" "$by_cm"
like "the cache has all of them" "$(cmx paths | tail -n 1)" "^$pairs paths$"
ok "the usual fabric is up again" fabric_of 4
finish
