#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Two hosts in one guest: network namespaces, joined by a link, with a soft-RoCE
# device each, which receives in its namespace on newer kernels. They resolve,
# connect and join multicast groups, and neither uses a name or a device of the
# other. Then each device belongs to one namespace. Linux 7.3 cannot connect by
# such devices: it does not create queue pair 1 again after a device has moved.
# GAI-01, RA-03, MC-12.
. /usr/lib/rdma-cmx/selftests/lib.sh

group=239.66.9.1
group6=ff15::66:9
ids=/sys/module/rdma_ucmx/counters/ids

netns_mode() {
	rdma system | sed -n 's/.*netns \([a-z]*\).*/\1/p'
}
mode=$(netns_mode)

# on HOST COMMAND...
on() {
	ip netns exec "$@"
}

# host_up NAME N PEER: 10.59.0.N with the device roceN; "peer" is the name of
# the other host
host_up() {
	mkdir -p "/etc/netns/$1"
	: >"/etc/netns/$1/resolv.conf"
	printf '%s\n' '127.0.0.1 localhost' "10.59.0.$3 peer" \
		"10.59.0.$3 peer-of-$1" >"/etc/netns/$1/hosts"
	ip -n "$1" -b - <<-END || return
	link set lo up
	addr add 10.59.0.$2/24 dev wire$2
	addr add fd59::$2/64 dev wire$2 nodad
	link set wire$2 up
	END
	on "$1" rdma link add "roce$2" type rxe netdev "wire$2" || return
	[ "$(netns_mode)" = shared ] || rdma dev set "roce$2" netns "$1"
}

# hosts_up MODE: mode of RDMA namespaces, which can change only without other
# namespaces. A deleted one ends some time later.
hosts_up() {
	wait_for 30 rdma system set netns "$1" &&
		ip netns add one && ip netns add two &&
		ip link add wire1 netns one type veth peer name wire2 netns two &&
		host_up one 1 2 && host_up two 2 1
}

hosts_down() {
	on one rdma link del roce1
	on two rdma link del roce2
	ip netns del one
	ip netns del two
	rm -rf /etc/netns
} 2>/dev/null

cleanup() {
	killall -KILL -q rping mckey
	hosts_down
	wait_for 30 rdma system set netns "$mode"
}
trap cleanup EXIT

devices() {
	"$@" rdma dev show | awk '{ sub(/:$/, "", $2); print $2 }' | xargs
}

hosts_gone() {
	[ "$(devices)" = rxe0 ]
}

# addresses COMMAND...: prints "DESTINATION SOURCE DEVICE" for each entry
addresses() {
	"$@" 2>&1 | awk '/^[0-9]+[.][0-9.]+ / { print $1, $2, $5 }'
}

# cmx_fails NAME REGEX COMMAND...
cmx_fails() {
	local out

	out=$("${@:3}" 2>&1)
	is "$1: fails" $? 1
	like "$1: the message" "$out" "$2"
}

listens() {
	on two rdma resource show cm_id | grep -q 'state LISTEN'
}

# ping NAME ADDRESS: from host one to host two
ping() {
	local before server out

	before=$(<$ids)
	on two cmx run rping -s -a "$2" -V -v -C 5 >server.log 2>&1 &
	server=$!
	ok "$1: the server listens" wait_for 40 listens || diag "$(<server.log)"
	out=$(on one timeout 60 cmx run rping -c -a "$2" -V -v -C 5 2>&1)
	is "$1: five pings came back (RA-03)" \
		"$(grep -c '^ping data: ' <<<"$out")" 5 || diag "$out"
	wait_for 40 no kill -0 $server || kill -KILL $server
	wait $server
	is "$1: ids at rdma_cmx" $(($(<$ids) - before)) 3
}

# mcast NAME GROUP SENDER RECEIVER [OPTION]: the sender restarts until the
# receiver ends, as the network may need some time for the group
mcast() {
	local receiver sends=0

	on two cmx run mckey -m "$2" -b "$4" -C 10 >receiver.log 2>&1 &
	receiver=$!
	while kill -0 $receiver 2>/dev/null && [ $((sends += 1)) -lt 12 ]; do
		on one timeout 90 cmx run mckey -m "$2" -b "$3" \
			-s ${5:+"$5"} -C 30 >sender.log 2>&1
	done
	kill -KILL $receiver 2>/dev/null
	wait $receiver
	is "$1: the receiver's status (MC-12)" $? 0 ||
		diag "$(tail -n 5 receiver.log sender.log)"
	like "$1: all messages came" "$(<receiver.log)" \
		'^data transfers complete'
}

# resolve_check: each host resolves the other one, by its local device
resolve_check() {
	is "$1: the first host's peer (GAI-01)" \
		"$(addresses on one cmx resolve peer 7471)" \
		"10.59.0.2 10.59.0.1 roce1/1"
	is "$1: the second host's peer (GAI-01)" \
		"$(addresses on two cmx resolve peer 7471)" \
		"10.59.0.1 10.59.0.2 roce2/1"
	cmx_fails "$1: the device of the other host" 'roce2' \
		on one cmx resolve --dev roce2 peer 7471
	is "$1: the guest has no device there" \
		"$(cmx resolve 10.59.0.2 7471 2>&1 | grep -c roce)" 0
}

# --- Resolution on each host -------------------------------------------------

ok "two hosts" hosts_up shared || finish
resolve_check "devices in all namespaces"
cmx_fails "a name of the other host" 'no name server responded' \
	on two cmx resolve peer-of-one 7471
cmx_fails "a name of a host in the guest" 'not known' \
	cmx resolve peer-of-one 7471
for host in one two; do
	# A host may stop for longer than a step of it has.
	for _ in 1 2 3 4 5; do
		got=$(on $host cmx doctor peer 7471 | grep -v '^ok ')
		[ "$got" != "verdict: healthy" ] || break
	done
	is "cmx doctor in host $host" "$got" "verdict: healthy"
done

# --- Connections -------------------------------------------------------------

ping "rping" 10.59.0.2
ping "rping, IPv6" fd59::2
mcast "mckey" $group 10.59.0.1 10.59.0.2
mcast "mckey, a send-only member" $group 10.59.0.1 10.59.0.2 -o
mcast "mckey, IPv6" $group6 fd59::1 fd59::2

# --- Devices of one namespace each -------------------------------------------

hosts_down
wait_for 30 hosts_gone
ok "two hosts with their own devices" hosts_up exclusive || finish
is "the first host has its device" "$(devices on one)" roce1
is "the second host has its device" "$(devices on two)" roce2
is "the guest has its own" "$(devices)" rxe0
resolve_check "own devices"

cleanup
trap - EXIT
is "the guest's device is there, alone" "$(devices)" rxe0
ok "no object is left" wait_for 30 live_none
finish
