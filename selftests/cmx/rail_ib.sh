#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Rails on InfiniBand: the GID index of a result, and results of one device.
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

mkdir -p /tmp/test
dev=$(fab_dev 2)

# rows OUTPUT: source, device, GID index and type of each entry
rows() {
	awk '/RC\/TCP/ { print $2, $5, $6, $7 }' <<<"$1" | sort | xargs
}

run cmx resolve 10.66.0.2 7471
is "GID index" "$(rows "$out")" "10.66.0.2 $dev/1 0 IB"
run cmx resolve --dev "$dev:1" 10.66.0.2 7471
is "--dev" "$(rows "$out")" "10.66.0.2 $dev/1 0 IB"
run cmx resolve --passive --dev "$dev" - 7471
is "--dev: the wildcard is an address of IPoIB of each family" \
	"$(rows "$out")" "10.66.0.2 $dev/1 0 IB fd66::2 $dev/1 0 IB"
run cmx resolve --env ucx 10.66.0.2
is "--env" "$out" "UCX_NET_DEVICES=$dev:1
UCX_IB_GID_INDEX=0"

# --- another host, which all interfaces reach ---

# neighbours: the interfaces with a neighbour entry of the host
neighbours() {
	ip neigh show to 10.66.0.4 | sed 's/.* dev \([^ ]*\) .*/\1/' | xargs
}

# The switch may not forward the host's multicast messages yet.
host_is_reached() {
	[ "$(rows "$(cmx resolve --dev "$dev" 10.66.0.4 7471)")" = \
		"10.66.0.2 $dev/1 0 IB" ]
}

netdev=$(dev_netdev "$dev")
ok "a host" host_add other 4
ok "--dev: a host" wait_for 60 host_is_reached
is "--dev: the neighbour is resolved on its interface" "$(neighbours)" "$netdev"
if modprobe cmx_consumer; then
	neighbours_forget
	path="error=0 $(gid_short "$dev") $(dev_lid "$dev") ->"
	path_of_source() {
		do_ paths src=10.66.0.2 10.66.0.4 | grep -q "^$path"
	}
	ok "GAI-08: a source: the path from its device" \
		wait_for 60 path_of_source
	is "GAI-08: a source: the neighbour is resolved on its interface" \
		"$(neighbours)" "$netdev"
	modprobe -r cmx_consumer
else
	skip "a source" "cmx_consumer.ko is not installed"
fi
ok "the host is gone" host_del other
fails "no such port" 1 "'$dev:3': the device has no such port" \
	cmx resolve --dev "$dev:3" 10.66.0.2
fails "no such device" 1 "no such RDMA device" \
	cmx resolve --dev nosuch0 10.66.0.2
finish
