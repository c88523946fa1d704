#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A storage target in beta, and an initiator that finds it by an SRV record or a
# name, whose address changes: KA-04. The first host of the SRV record has
# 10.55.0.2, port 4421, the second fd55::2, port 4422.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/storage/functions

dns_up
cp /etc/hosts /run/hosts

ok "a target in beta" peer "modprobe cmx_target port=4421"
ok "an initiator" modprobe cmx_initiator node=_ordered._tcp.cmx.test
works "by SRV record" 1 10.55.0.2:4421
is "KA-04: the target has all blocks" \
	"$(peer "cat /sys/module/cmx_target/parameters/used")" 16

ok "the target ends" peer "rmmod cmx_target"
gap
ok "and starts" peer "modprobe cmx_target port=4421"
works "after a restart" 2 10.55.0.2:4421
waited "after a restart"

ok "the target ends" peer "rmmod cmx_target"
gap
ok "and starts elsewhere" peer "modprobe cmx_target port=4422"
works "after a move" 3 "[fd55::2]:4422"
waited "after a move"

ok "the target ends" peer "rmmod cmx_target"
initiator_end "the initiator is unloaded while it connects"

ok "the target is back" peer "modprobe cmx_target"
printf '%s storage.ka.test\n' 10.55.0.3 10.55.0.2 >>/etc/hosts
ok "an initiator" modprobe cmx_initiator node=storage.ka.test port=7700
works "the first address is dead" 1 10.55.0.2:7700

# The target is at all addresses of beta: an initiator that keeps the old ones
# does not find out.
lookups_more() {
	[ "$(counter name_lookups)" -gt "$lookups" ]
}
ok "the target ends" peer "rmmod cmx_target"
{ cat /run/hosts; echo "fd55::2 storage.ka.test"; } >/etc/hosts
lookups=$(counter name_lookups)
# Until then it has the old address, from the cache.
ok "KA-04: the initiator looks its name up again" wait_for 120 lookups_more
ok "and the target starts" peer "modprobe cmx_target"
works "after the name's address has changed" 2 "[fd55::2]:7700"
initiator_end "the initiator is unloaded while it works"

cat /run/hosts >/etc/hosts
ok "the target is unloaded" peer "rmmod cmx_target"
finish
