#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# One device, and all with the module, are removed and return while in use.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

second=$(fab_dev 2)
guid=$(dev_guid "$second")
netdev=$(dev_netdev "$second")

ok "a device is unplugged" knob_set "$second" plugged 0
ok "the device is removed" test ! -e "/sys/class/infiniband/$second"
ok "its interface, too" test ! -e "/sys/class/net/$netdev"
ok "plugged in" knob_set "$second" plugged 1
ok "it is back" wait_for 90 test -e "/sys/class/infiniband/$second"
like "with its GUID" "$(dev_gid "$second" | tr -d :)" "$guid\$"
ok "it has an interface" wait_for 90 dev_has_netdev "$second"
addresses_add "$second"
ok "the SM makes it ACTIVE" port_active_wait "$second"

ok "a device is in a namespace" host_add two 2
begin=$SECONDS
ok "the module is unloaded in use" timeout 200 modprobe -r cmx_fabric
ok "without waiting long" test $((SECONDS - begin)) -lt 150
is "no device is left" "$(fab_list)" ''
ok "no knob is left" test ! -e /sys/kernel/debug/cmx_fabric
ip netns del two
sm_stop
is "parameter devices=0 is refused" \
	"$(modprobe cmx_fabric devices=0 2>/dev/null; echo $?)" 1
is "parameter devices=17 is refused" \
	"$(modprobe cmx_fabric devices=17 2>/dev/null; echo $?)" 1
ok "the module is loaded again" fabric_load
is "with its devices" "$(fab_list | wc -l)" 4
ok "the whole fabric is up again" fabric_up
finish
