#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: cmx doctor on InfiniBand. It reports no fault on a healthy host and in
# a network namespace with one device, and names each injected fault.
# shellcheck disable=SC2016,SC2034,SC2154 # eval expands these
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/fabric.sh

json=/usr/lib/rdma-cmx/selftests/cmx/tools/json
second=$(fab_dev 2)
third=$(fab_dev 3)
netdev=$(dev_netdev "$second")
pkey=/sys/class/infiniband/$second/ports/1/pkeys/0

# verbs_file DEV: its device file
verbs_file() {
	local dir

	for dir in /sys/class/infiniband_verbs/uverbs*; do
		[ "$(cat "$dir/ibdev")" != "$1" ] ||
			echo "/dev/infiniband/${dir##*/}"
	done
}
verbs=$(verbs_file "$third")

sm_again() {
	sm_stop
	sm_start "$@"
}

trap 'eval "$undo"; ip netns del empty 2>/dev/null' EXIT

# Healthy
healthy "host" cmx doctor
like "host: each port sends the SA a query" \
	"$(grep -c '^ok  *sa ' <<<"$out")" '^4$'
healthy "an address of IPoIB" cmx doctor 10.66.0.3 7471
like "an address: GID index and P_Key" "$out" \
	'10\.66\.0\.3: reached by .*/1, GID index 0 \(fe80::.*\), P_Key 0xffff'
healthy "a name" cmx doctor node2.cmx.test
healthy "a container in the host's network" \
	unshare -m -p -f --mount-proc cmx doctor node2.cmx.test
wait_for 70 verdict_is healthy cmx doctor node3.cmx.test
run cmx doctor -j node3.cmx.test
ok "-j: JSON" "$json" <<<"$out"
like "-j: verdict" "$out" '"verdict": \{"id": "healthy"'
healthy "with a device in the environment" \
	env "RDMACMX_DEVICE=$second" cmx doctor 10.66.0.2
like "with a device in the environment: it is named" "$out" \
	"^ok +device-env +RDMACMX_DEVICE is $second"
run env "RDMACMX_DEVICE=$third" cmx resolve --sa --dev "$second" nosuch
like "resolve --sa --dev overrides it" "$err" 'this service is not registered'
# InfiniBand does not need IPoIB.
each() {
	local dev

	for dev in $(fab_list); do
		"$@" "$dev" || return
	done
}
addresses_flush() {
	ip addr flush dev "$(dev_netdev "$1")"
}
each addresses_flush
healthy "a host without addresses of IPoIB" cmx doctor
like "a host without addresses of IPoIB: each port sends the SA a query" \
	"$(grep -c '^ok  *sa ' <<<"$out")" '^4$'
ok "IPoIB is unloaded" rmmod ib_ipoib
healthy "a host without IPoIB" cmx doctor
modprobe ib_ipoib
ok "the interfaces are back" wait_for 60 each dev_has_netdev
each addresses_add
neighbours_forget
ok "their ports are active" port_active_wait
netdev=$(dev_netdev "$second")
healthy "IPoIB is back" cmx doctor 10.66.0.3

ok "a host gets the second device" host_add a 2
healthy "a namespace with one device" ip netns exec a cmx doctor
healthy "a container with one device" \
	ip netns exec a unshare -m -p -f --mount-proc cmx doctor 10.66.0.3
ok "the host is removed" host_del a
ok "the ports are active again" port_active_wait
netdev=$(dev_netdev "$second")

# Faults
fault rdma-namespace "a namespace without a device" \
	'ip netns add empty' 'ip netns del empty' \
	ip netns exec empty cmx doctor
fault verbs-file "no file for verbs" 'mv $verbs $verbs.away' \
	'mv $verbs.away $verbs'
fault port-state "no cable" 'link_down $second' \
	'link_up $second; port_active_wait $second'
fault netdev-down "an IPoIB interface is down" 'ip link set $netdev down' \
	'ip link set $netdev up; addresses_add $second; port_active_wait $second'
fault sm-missing "no subnet manager brings the port up" \
	'sm_stop; link_down $second; link_up $second;
	 wait_for 60 dev_is $second INIT' 'sm_start; port_active_wait'
unlike "and the host does not become one" "$out" 'start opensm'
ip addr flush dev "$netdev"
echo "2: INIT" >/tmp/test/init
healthy "a spare port that no subnet manager brings up" unshare -m bash -c "
	mount --bind /tmp/test/init ${pkey%/pkeys/0}/state && cmx doctor"
addresses_add "$second"
fault sa "the subnet manager does not answer" sm_pause sm_resume
like "its port is queried" "$out" '^mend: sminfo -C [^ ]+ -P 1 '
# A fake SA for all ports, which fails otherwise than by silence
fake_sa() {
	local i victims=()

	sm_pause
	for i in 1 2 3 4; do
		victims+=(-V "$(fab_dev $i)")
	done
	rm -f /tmp/test/fake.log
	/usr/lib/rdma-cmx/selftests/sa/tools/fake -C "$(fab_dev 4)" \
		"${victims[@]}" "$@" >/tmp/test/fake.log 2>&1 &
	fake=$!
	wait_for 40 grep -q ready /tmp/test/fake.log
}

fake_sa_end() {
	kill "$fake"
	wait "$fake"
	sm_resume
	port_active_wait
}

fault sa-refuses "the subnet administrator refuses the query" \
	'fake_sa status=0x0200' fake_sa_end
fault path "the subnet administrator has no path" \
	'fake_sa -a 0x35 empty' fake_sa_end cmx doctor 10.66.0.4
# OpenSM leaves no port without the default partition: a file replaces the
# table.
fault pkey-missing "a port is in no partition" : : unshare -m bash -c "
	mount -t tmpfs none ${pkey%/0} && echo 0x0000 >$pkey && cmx doctor"
fault "pkey-limited?" "limited members only" \
	'echo "Default=0x7fff, ipoib: ALL=limited, SELF=full;" >/run/partitions
	 sm_again "$(fab_dev 1)" -P /run/partitions
	 wait_for 60 grep -qi 0x7fff $pkey' \
	'sm_again; wait_for 60 grep -qi 0xffff $pkey; port_active_wait'
# A partition and its interface, and then the loss of the partition
child_add() {
	echo 0x8007 >"/sys/class/net/$netdev/create_child"
	ip addr add 10.67.0.2/24 dev "$netdev.8007"
	ip link set "$netdev.8007" up
}
fault pkey-interface "an interface of a partition that the port is not in" \
	child_add 'ip link del $netdev.8007' cmx doctor 10.67.0.3
echo 'Default=0x7fff, ipoib: ALL=full; cmx=0x0007, ipoib: ALL=full;' \
	>/run/partitions
sm_again "$(fab_dev 1)" -P /run/partitions
ok "a second partition" wait_for 60 grep -qi 0x8007 "${pkey%0}"*
child_add
healthy "an interface of the second partition" cmx doctor
fault pkey-interface "the port has lost that partition" sm_again \
	'ip link del $netdev.8007; port_active_wait'
fault neighbour "no neighbour" : : cmx doctor 10.66.0.99
fault route-missing "no route" : : cmx doctor mgmt.cmx.test
fault name-unknown "no such name" : : cmx doctor nosuch.cmx.test
healthy "after all" cmx doctor node3.cmx.test
finish
