#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A third transport, iWARP, by soft-iWARP: addresses resolve and ids connect as
# on the stock library, and multicast, which iWARP lacks, fails. Both ends are
# here, as the peer's kernel of Debian has no soft-iWARP.
. /usr/lib/rdma-cmx/selftests/cmx/functions

address=10.77.0.1
ids=/sys/module/rdma_ucmx/counters/ids
named=/usr/lib/rdma-cmx/selftests/lib/tools/named
run="cmx run"

listens() {
	rdma resource show cm_id link siw0 | grep -q 'state LISTEN'
}

# ping NAME SERVER_PREFIX CLIENT_PREFIX IDS: five pings with their data
ping() {
	local before server out

	before=$(<$ids)
	# shellcheck disable=SC2086 # a command and its arguments
	$2 rping -s -a $address -V -v -C 5 >server.log 2>&1 &
	server=$!
	ok "$1: the server listens" wait_for 40 listens || diag "$(<server.log)"
	# shellcheck disable=SC2086
	out=$($3 timeout 60 rping -c -a $address -V -v -C 5 2>&1)
	is "$1: the client's status" $? 0
	is "$1: five pings came back" "$(grep -c '^ping data: ' <<<"$out")" 5 ||
		diag "$out"
	wait_for 40 no kill -0 $server || kill -KILL $server
	wait $server
	is "$1: the server's status" $? 0
	is "$1: ids at rdma_cmx" $(($(<$ids) - before)) "$4"
}

modprobe -q siw
ip link add iw0 type dummy && ip addr add $address/24 dev iw0 &&
	ip link set iw0 up multicast on
why=$(rdma link add siw0 type siw netdev iw0 2>&1) || {
	ip link del iw0
	plan_skip "no soft-iWARP on this kernel ($why)"
}
like "cmx resolve: the address is at the device" \
	"$(cmx resolve $address 7471)" "^$address .* siw0/1 +- +-\$"
ping "rping, stock" "" "" 0
ping "rping" "$run" "$run" 3
ping "rping, stock server" "" "$run" 1
ping "rping, stock client" "$run" "" 2

# The kernel reports ESTABLISHED, which ends the call as on InfiniBand.
cmx run rping -s -a $address >server.log 2>&1 &
server=$!
ok "connect by name: the server listens" wait_for 40 listens
is "connect by name: one event, and the id is bound" \
	"$(timeout 60 $named $address 7174)" \
	$'RDMA_CM_EVENT_ESTABLISHED\nInvalid argument'
wait_for 40 no kill -0 $server || kill -KILL $server
wait $server

# TCP works over each interface. Another device is soft-RoCE.
healthy "cmx doctor" cmx doctor
like "cmx doctor: the interface is that of the device" "$out" \
	'^ok +netdev +siw0/1: iw0 is up, with an address$'
healthy "cmx doctor, an address" cmx doctor $address
like "cmx doctor, an address: by iWARP" "$out" \
	": reached by siw0/1, iWARP\$"
trap 'rdma link del siw1; ip link del iw1; ip link del iwb; ip netns del far' EXIT
vlan_over_bridge() {
	ip netns add far
	ip link add iw1 type veth peer name d1 netns far
	ip -n far link set d1 up
	ip -n far link add link d1 name v1 type vlan id 5
	ip -n far addr add 10.78.0.2/24 dev v1
	ip -n far link set v1 up
	ip link add iwb type bridge
	ip link set iw1 master iwb
	ip link set iw1 up
	ip link set iwb up
	ip link add link iwb name iwv type vlan id 5
	ip addr add 10.78.0.1/24 dev iwv
	ip link set iwv up
	rdma link add siw1 type siw netdev iwv
}
ok "a device on a VLAN of a bridge" vlan_over_bridge
healthy "cmx doctor, a VLAN of a bridge" cmx doctor 10.78.0.2
like "cmx doctor, a VLAN of a bridge: by iWARP" "$out" \
	'^ok +address +10\.78\.0\.2: reached by siw1/1, iWARP$'
{
	rdma link del siw1
	ip link del iwb
	ip link del iw1
	ip netns del far
} 2>/dev/null
trap - EXIT

out=$(timeout 60 cmx join --once --source $address 239.66.7.1 2>&1)
is "multicast: refused" $? 1
like "multicast: what cmx says of EOPNOTSUPP" "$out" 'the device, .* cannot join it'
ok "the device goes" rdma link delete siw0
ip link del iw0
ok "no object is left" wait_for 30 live_none
finish
