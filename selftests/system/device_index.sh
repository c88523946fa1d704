#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The device index: an address with a known port, or without a device, is
# resolved without a search of the GID tables, and no result is older than the
# last change of a device, of a netdevice or of a GID table.
. /usr/lib/rdma-cmx/selftests/lib.sh

walks=/sys/module/rdma_cmx/counters/device_walks

rxe_add() {
	rdma link add "$1" type rxe netdev "$2"
}

dummy_add() {
	ip link add "$1" type dummy && ip link set "$1" up
}

# has_gid DEVICE ADDRESS
has_gid() {
	local a b c d

	IFS=. read -r a b c d <<<"$2"
	grep -qs "$(printf 'ffff:%02x%02x:%02x%02x' "$a" "$b" "$c" "$d")" \
		"/sys/class/infiniband/$1/ports/1/gids/"*
}

# device ADDRESS [COMMAND...]: prints the device of a local address
device() {
	local address=$1

	shift
	"$@" cmx resolve "$address" 7471 | awk 'NR == 2 { print $5 }'
}

# device_is ADDRESS DEVICE [COMMAND...]
device_is() {
	[ "$(device "$1" "${@:3}")" = "$2" ]
}

# Another change, for example of a link-local address, may come in between.
known() {
	local before i

	device "$1" >/dev/null
	before=$(<$walks)
	for ((i = 0; i < 10; i++)); do
		device "$1" >/dev/null
	done
	[ "$(<$walks)" = "$before" ]
}

cleanup() {
	rdma link del rxe_i0
	rdma link del rxe_i1
	rdma link del rxe_i9
	rdma link del rxe_m
	ip netns del index
	ip link del br_i
	ip link del idx0
	ip link del idx1
} 2>/dev/null
trap cleanup EXIT

# --- no search ---

dummy_add idx0 && ip addr add 10.98.0.1/24 dev idx0
dummy_add idx1 && ip addr add 10.98.1.1/24 dev idx1
ok "a device" rxe_add rxe_i0 idx0
ok "another" rxe_add rxe_i1 idx1
ok "their GIDs" wait_for 40 eval \
	'has_gid rxe_i0 10.98.0.1 && has_gid rxe_i1 10.98.1.1'
is "the first one's address" "$(device 10.98.0.1)" rxe_i0/1
is "the second one's" "$(device 10.98.1.1)" rxe_i1/1
is "an address of none" "$(device 192.168.77.1)" -
for address in 10.98.0.1 10.98.1.1 192.168.77.1 fd77::1; do
	ok "$address is in the index" wait_for 40 known $address
done

# --- addresses ---

ok "an address moves" eval 'ip addr del 10.98.1.1/24 dev idx1 &&
	ip addr add 10.98.1.1/24 dev idx0 && wait_for 40 has_gid rxe_i0 10.98.1.1'
ok "to the device of its netdevice" wait_for 20 device_is 10.98.1.1 rxe_i0/1
ok "and back" eval 'ip addr del 10.98.1.1/24 dev idx0 &&
	ip addr add 10.98.1.1/24 dev idx1 && wait_for 40 has_gid rxe_i1 10.98.1.1'
ok "its device again" wait_for 20 device_is 10.98.1.1 rxe_i1/1

swaps() {
	local i n=0 m=1 at

	for ((i = 0; i < 20; i++)); do
		ip addr del 10.98.5.1/24 dev idx$m 2>/dev/null
		ip addr add 10.98.5.1/24 dev idx$n
		at=$(device 10.98.5.1)
		[[ $at = - || $at = rxe_i$n/1 ]] ||
			{ echo "round $i: $at"; return 1; }
		wait_for 20 device_is 10.98.5.1 rxe_i$n/1 ||
			{ echo "round $i: $(device 10.98.5.1)"; return 1; }
		m=$n n=$((1 - n))
	done
	ip addr del 10.98.5.1/24 dev idx$m
}
ok "20 times: never the device of another netdevice" swaps

# --- a GID table changes; the address and its netdevice stay ---

ip link add br_i type bridge
ip addr add 10.98.2.1/24 dev br_i
ip link set br_i up
ok "no device has the bridge's address" wait_for 20 device_is 10.98.2.1 -
ok "which is in the index" wait_for 40 known 10.98.2.1
ip link set idx1 master br_i
ok "a port with a device" wait_for 40 has_gid rxe_i1 10.98.2.1
ok "it is its device's" wait_for 20 device_is 10.98.2.1 rxe_i1/1
ok "which is in the index, too" wait_for 40 known 10.98.2.1
ip link set idx0 master br_i
ok "a second one" wait_for 40 has_gid rxe_i0 10.98.2.1
ok "it is the first one's, as for rdma_cm" wait_for 20 \
	device_is 10.98.2.1 rxe_i0/1
ip link set idx0 nomaster
ok "the port leaves" wait_for 40 no has_gid rxe_i0 10.98.2.1
ok "it is the second one's" wait_for 20 device_is 10.98.2.1 rxe_i1/1
ip link set idx1 nomaster
ok "the other one leaves" wait_for 40 no has_gid rxe_i1 10.98.2.1
ok "it is none's" wait_for 20 device_is 10.98.2.1 -

# --- devices ---

ok "a new name" rdma dev set rxe_i1 name rxe_i9
is "is seen" "$(device 10.98.1.1)" rxe_i9/1
ok "the old one" rdma dev set rxe_i9 name rxe_i1
is "likewise" "$(device 10.98.1.1)" rxe_i1/1
ok "a device goes" rdma link del rxe_i1
is "its address stays without" "$(device 10.98.1.1)" -
is "that of another one has its device" "$(device 10.98.0.1)" rxe_i0/1
ok "it comes back" rxe_add rxe_i1 idx1
ok "with its GID" wait_for 40 has_gid rxe_i1 10.98.1.1
ok "and has the address" wait_for 20 device_is 10.98.1.1 rxe_i1/1
ok "a device on a netdevice without" rxe_add rxe_m mgmt0
ok "with a GID" wait_for 40 has_gid rxe_m 192.168.77.1
ok "has its address" wait_for 20 device_is 192.168.77.1 rxe_m/1
ok "and goes" rdma link del rxe_m
is "the address is none's again" "$(device 192.168.77.1)" -

comes_goes() {
	local i

	for ((i = 0; i < 10; i++)); do
		rdma link del rxe_i1 && rxe_add rxe_i1 idx1 || return
	done
}

# Both are queried all the time.
queried() {
	local at

	while [ ! -e going ]; do
		for at in "$(device 10.98.1.1)" "$(device 192.168.77.1)"; do
			[[ $at = - || $at = rxe_i1/1 ]] || echo "$at"
		done
	done >wrong
}
rm -f going
queried &
queries=$!
ok "a device comes and goes while queries run" comes_goes
touch going
wait $queries
is "no other device was reported" "$(<wrong)" ""
ok "it has its address in the end" wait_for 40 device_is 10.98.1.1 rxe_i1/1

# --- network namespaces ---

ip netns add index
ip link add link idx1 name mv_i type macvlan mode bridge
ip link set mv_i netns index
ip -n index link set lo up
ip -n index link set mv_i up
ip -n index addr add 10.98.3.1/24 dev mv_i
ip addr add 10.98.3.1/24 dev mgmt0
ok "an address in a namespace" wait_for 40 has_gid rxe_i1 10.98.3.1
ok "has its device" wait_for 20 \
	device_is 10.98.3.1 rxe_i1/1 ip netns exec index
is "the same one outside has none" "$(device 10.98.3.1)" -
is "with the index" "$(device 10.98.3.1 ip netns exec index) \
$(device 10.98.3.1)" "rxe_i1/1 -"
ip addr del 10.98.3.1/24 dev mgmt0
ok "its netdevice leaves the namespace" ip -n index link set mv_i netns 1
ip -n index link add mgmt1 type dummy
ip -n index link set mgmt1 up
ip -n index addr add 10.98.3.1/24 dev mgmt1
is "there, the address is none's" \
	"$(device 10.98.3.1 ip netns exec index)" -
ip link set mv_i up
ip addr add 10.98.3.1/24 dev mv_i
ok "outside it has its device" wait_for 40 device_is 10.98.3.1 rxe_i1/1
is "and in the namespace none" "$(device 10.98.3.1 ip netns exec index)" -
ip link del mv_i
ok "no object is left" wait_for 40 live_none
finish
