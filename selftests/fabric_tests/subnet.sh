#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The simulated fabric as the stock subnet manager and diagnostics see it.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

first=$(fab_dev 1) second=$(fab_dev 2)

is "four devices" "$(fab_list | wc -l)" 4
for dev in $(fab_list); do
	is "$dev: ACTIVE" "$(dev_state "$dev")" ACTIVE
	is "$dev: link layer" "$(dev_file "$dev" ports/1/link_layer)" InfiniBand
done
is "every LID is another" \
	"$(for dev in $(fab_list); do dev_lid "$dev"; done | sort -u | wc -l)" 4

out=$(ibnetdiscover -C "$first")
is "ibnetdiscover: one switch" "$(grep -c ^Switch <<<"$out")" 1
is "ibnetdiscover: four HCAs" "$(grep -c ^Ca <<<"$out")" 4
like "ibnetdiscover: a port's LID" "$out" \
	"^\[1\].*# lid $(dev_lid "$second") lmc 0"
out=$(ibstat "$second")
like "ibstat: link up" "$out" 'Physical state: LinkUp'
like "ibstat: SM LID" "$out" "SM lid: $(dev_lid "$first")$"

like "sminfo: master, on the first device" "$(sminfo -C "$second")" \
	"sm lid $(dev_lid "$first") sm guid $(printf %#x "0x$(dev_guid "$first")"),.*SMINFO_MASTER"
like "smpquery by LID: the port's GUID" \
	"$(smpquery -C "$first" nodeinfo "$(dev_lid "$second")")" \
	"PortGuid:\.*0x$(dev_guid "$second")"
like "smpquery by a directed route of two hops" \
	"$(smpquery -C "$first" -D nodeinfo 0,1,2)" \
	"PortGuid:\.*0x$(dev_guid "$second")"
like "perfquery: the port counts" \
	"$(perfquery -C "$first" "$(dev_lid "$second")" 1)" \
	'PortRcvPkts:\.*[1-9]'

# The SA
out=$(sa_query NR)
is "NodeRecords: all nodes" "$(grep -c 'NodeRecord dump' <<<"$out")" 5
like "one names the second device's port" "$out" \
	"port_guid\.+0x0*$(dev_guid "$second" | sed 's/^0*//')"
out=$(sa_query --src-to-dst "$(dev_lid "$first"):$(dev_lid "$second")")
like "a path record from one to the other" "$out" "dlid\.+$(dev_lid "$second")\$"
# With the SM's key the SA returns the members of a group.
out=$(sa_query --smkey 1 -m 0xc000)
is "IPoIB's broadcast group: all four" "$(grep -c 'PortGid\.*fe80' <<<"$out")" 4
mask=$(sa_query CPI | sed -n 's/.*Capability mask 2\.*//p')
ok "the SA can do send-only full members" test $((mask & 0x1000)) != 0

requests=$(sa_requests 0x12 0x0011)
sa_query NR >/dev/null
is "the knob has counted one NodeRecord query" \
	"$(($(sa_requests 0x12 0x0011) - requests))" 1
finish
