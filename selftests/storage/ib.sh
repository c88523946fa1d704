#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A storage target that advertises itself at the SA, and an initiator that finds
# it by its service name: KA-04
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/storage/functions

first=$(fab_dev 1) third=$(fab_dev 3) fourth=$(fab_dev 4)

ok "an initiator without a target" \
	modprobe cmx_initiator service=storage dev="$first"
ok "a target" modprobe cmx_target name=storage dev="$third"
works "by service" 1 "$(gid_short "$third")"
is "KA-04: the target has all blocks" \
	"$(cat /sys/module/cmx_target/parameters/used)" 16
ok "the target's service is at the SA" service_is_set

ok "the target ends" rmmod cmx_target
ok "its service is withdrawn" wait_for 120 no service_is_set
gap
ok "and starts" modprobe cmx_target name=storage dev="$third"
works "after a restart" 2 "$(gid_short "$third")"
waited "after a restart"

ok "the target ends" rmmod cmx_target
ok "its service is withdrawn" wait_for 120 no service_is_set
gap
ok "and starts elsewhere" modprobe cmx_target name=storage dev="$fourth"
works "after a move" 3 "$(gid_short "$fourth")"
waited "after a move"

ok "the target's device is removed" knob_set "$fourth" plugged 0
ok "and comes back" knob_set "$fourth" plugged 1
wait_for 120 devices_back "$fourth"
addresses_add "$fourth"
ok "its port is active" port_active_wait "$fourth"
works "after the removal of the device" 4 "$(gid_short "$fourth")"

retried=$(field retried) connects=$(field connects)
ok "the target's cable is pulled" link_down "$fourth"
ok "KA-04: a block fails" wait_for 120 more_than retried "$retried"
ok "the cable is back" link_up "$fourth"
ok "its port is active" port_active_wait "$fourth"
works "the block is written again" $((connects + 1)) "$(gid_short "$fourth")"

ok "the target is unloaded" rmmod cmx_target
initiator_end "the initiator is unloaded"
finish
