#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A third transport, iWARP, by soft-iWARP: addresses resolve and ids connect as
# on the stock library, and multicast, which iWARP lacks, fails. Both ends are
# here, as the peer's kernel of Debian has no soft-iWARP.
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/consumer/connect_functions

address=10.77.0.1
ids=/sys/module/rdma_ucmx/counters/ids
named=$tests/lib/tools/named
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
	ok "$1: the client's status" ended_well $? "$out"
	is "$1: five pings came back" "$(grep -c '^ping data: ' <<<"$out")" 5 ||
		diag "$out"
	wait_for 40 no kill -0 $server || kill -KILL $server
	wait $server
	ok "$1: the server's status" ended_well $? "$(<server.log)"
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

# --- what iWARP does not have ---

# refused NAME REGEX COMMAND...: soon, with this message
refused() {
	local name=$1 regex=$2

	shift 2
	out=$(timeout 60 "$@" 2>&1)
	is "$name: refused" $? 1
	like "$name: the message" "$out" "$regex"
}

join="cmx join --once --source $address"
for group in "" --send-only --persistent "--mtu 1024" "--qkey 7"; do
	# shellcheck disable=SC2086 # a command and its arguments
	refused "multicast${group:+, $group}" 'the device, .* cannot join it' \
		$join $group 239.66.7.1
done
refused "multicast, two groups" 'the device, .* cannot join it' \
	$join 239.66.7.1 239.66.7.2
refused "the GID index for another program" 'iWARP has none' \
	cmx resolve --env ucx $address 7471
refused "a service of the SA" 'no active InfiniBand port' \
	cmx services --dev siw0 any
$tests/cmx/tools/accept 7601 2>accept.log &
server=$!
accepts() {
	rdma resource show cm_id | grep -q 'state LISTEN .*:7601'
}
ok "a server for races" wait_for 40 accepts
refused "a race of connections" 'iWARP devices cannot race: leave out --race' \
	cmx connect --race $address 7601
like "without a race it connects" "$(timeout 60 cmx connect $address 7601 2>&1)" \
	"$address"
kill $server
wait $server
refused "nobody listens" ' refused' cmx connect $address 7603

# same NAME COMMAND...: ends as with the stock library
same() {
	local name=$1 stock

	shift
	stock=$(timeout 60 "$@" 2>&1; echo "status $?")
	out=$(timeout 60 cmx run "$@" 2>&1; echo "status $?")
	unlike "$name: it ends" "$out" '^status 124$'
	unlike "$name: it fails" "$out" '^status 0$'
	is "$name: as with the stock library" "$out" "$stock"
}
same "datagrams, a client" udaddy -s $address
same "datagrams, multicast" mckey -m 239.66.7.1 -b $address -C 1

# --- kernel consumers ---

if modprobe cmx_consumer; then
	do_ listen $address 7600 accept >/dev/null
	is "KA-02: a kernel consumer connects" "$(do_ connect -- $address 7600)" \
		"$(call 0 1 1 0; one $address up 0 0 welcome)"
	is "KA-02: data goes there and back" "$(do_ connect-echo)" "echo: error=0"
	do_ connect-end >/dev/null
	is "KA-02: nobody listens" "$(connect -- $address 7602)" \
		"$(call -111 1 1 1; one $address request -111)"
	do_ unlisten >/dev/null
	is "KA-09: there are no paths" "$(do_ paths $address)" \
		$'found=0 of 1\nerror=-95'
	is "MC-05: no multicast" "$(do_ join $address 239.66.7.1 0)" \
		"at once: error=-95"
	do_ leave >/dev/null
	rmmod cmx_consumer
fi

# Its driver waits for all users of verbs: none is left.
ok "the device goes" timeout 100 rdma link delete siw0
ip link del iw0
ok "no object is left" wait_for 60 live_none
finish
