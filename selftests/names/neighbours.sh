#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-01: a resolution of a name starts ARP and neighbour discovery for all its
# addresses and waits for none. An outstanding discovery is not started again.
. /usr/lib/rdma-cmx/selftests/lib.sh

names_wait 20

dev=eth0
there=(10.55.0.31 10.55.0.32 fd55::31 fd55::32)
silent=(10.55.0.77 fd55::77)
all=("${there[@]}" "${silent[@]}")
hosts=/run/neighbours.hosts
v4=/proc/sys/net/ipv4/neigh
v6=/proc/sys/net/ipv6/neigh
parameter=/sys/module/rdma_cmx/parameters/neigh_warm
warm=$(<$parameter)
limit=$(<$v4/default/gc_thresh3)
retrans4=$(<$v4/$dev/retrans_time_ms)
retrans6=$(<$v6/$dev/retrans_time_ms)

back() {
	echo "$limit" >$v4/default/gc_thresh3
	echo "$retrans4" >$v4/$dev/retrans_time_ms
	echo "$retrans6" >$v6/$dev/retrans_time_ms
	forget "${all[@]}"
	umount /etc/hosts
	peer_addresses del
	echo "$warm" >$parameter
}

# peer_addresses add
# del: adds or deletes ${there[@]} in the peer
peer_addresses() {
	local addr command=

	for addr in "${there[@]}"; do
		case $1:$addr in
		*.*) addr+=/24 ;;
		add:*) addr+='/64 nodad' ;;
		*) addr+=/64 ;;
		esac
		command+="ip addr $1 $addr dev eth0 && "
	done
	peer "${command}true"
}

# state ADDRESS: state of the neighbour, or nothing
state() {
	ip neigh show to "$1" dev $dev | awk '{ print $NF }'
}

states() {
	local addr

	for addr in "$@"; do
		state "$addr"
	done
}

gone() {
	[ -z "$(states "$@")" ]
}

forget() {
	local addr

	for addr in "$@"; do
		ip neigh flush to "$addr" dev $dev
	done
	wait_for 20 gone "$@"
}

valid() {
	case $(state "$1") in
	REACHABLE | STALE | DELAY | PROBE) return 0 ;;
	esac
	return 1
}

# probes ADDRESS...: number of requests sent for each
probes() {
	local addr

	for addr in "$@"; do
		ip -s neigh show to "$addr" dev $dev |
			grep -oE 'probes [0-9]+'
	done
}

# resolve NAME: its result, without the elapsed time
resolve() {
	timeout 60 cmx resolve -j --type any "$1" 7471 2>&1 |
		sed 's/"microseconds": [0-9.]*//'
}

warmed() {
	echo $(($(counter neighs_warmed) - before))
}

count() {
	before=$(counter neighs_warmed)
}

cp /etc/hosts $hosts
printf '%s there.warm\n' "${there[@]}" >>$hosts
printf '%s silent.warm\n' "${there[@]}" "${silent[@]}" >>$hosts
mount --bind $hosts /etc/hosts
trap back EXIT
ok "the peer has four more addresses" peer_addresses add

# A peer may stop for longer than three requests that are a second apart. IPv6
# drops a reply that comes after them.
echo 10000 >$v4/$dev/retrans_time_ms
echo 10000 >$v6/$dev/retrans_time_ms
for way in kernel library; do
	[ $way = kernel ] || export RDMACMX_NAMES=libc
	forget "${all[@]}"
	count
	like "a name has all its addresses ($way)" "$(resolve there.warm)" \
		"${there[3]}"
	is "discovery of each neighbour starts, once for its entries ($way)" \
		"$(warmed)" 4
	for addr in "${there[@]}"; do
		ok "the neighbour becomes valid: $addr ($way)" \
			wait_for 20 valid "$addr"
	done
	resolve there.warm >/dev/null
	is "not of valid ones ($way)" "$(warmed)" 4
done
unset RDMACMX_NAMES

# A neighbour is in the table at the end of the resolution, or never.
forget "${all[@]}"
count
resolve "${there[0]}" >/dev/null
is "none for a number" "$(states "${there[@]}")" ""
echo 0 >$parameter
without=$(resolve silent.warm)
is "neigh_warm=0: none" "$(states "${all[@]}")" ""
is "nor is one counted" "$(warmed)" 0
echo 1 >$parameter

# An attempt takes a minute: the silent ones stay outstanding.
echo 60000 >$v4/$dev/retrans_time_ms
echo 60000 >$v6/$dev/retrans_time_ms
is "silent neighbours do not change the result" "$(resolve silent.warm)" \
	"$without"
is "which has not waited for them" "$(states "${silent[@]}")" \
	"$(printf 'INCOMPLETE\nINCOMPLETE')"
sent=$(probes "${silent[@]}")
count
for _ in 1 2 3; do
	resolve silent.warm >/dev/null
done
is "no second request is sent meanwhile" "$(probes "${silent[@]}")" "$sent"
is "nor counted" "$(warmed)" 0
echo "$retrans4" >$v4/$dev/retrans_time_ms
echo "$retrans6" >$v6/$dev/retrans_time_ms

# In a full table a new entry replaces another one, or is not added. That is not
# an error of the resolution.
forget "${all[@]}"
ip neigh flush all
echo 0 >$v4/default/gc_thresh3
full=$(resolve silent.warm)
echo "$limit" >$v4/default/gc_thresh3
is "a table that is full does not change the result" "$full" "$without"
finish
