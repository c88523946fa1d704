#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-08: parameters of the group. MC-10: many groups in one call. MC-09: a
# membership rejoins with the present parameters of the partition.
. "${0%/*}/functions"

host_add one 2 && host_add two 3
is "two hosts" $? 0
group=239.66.3.1
want=(--qkey 0x55aa --mtu 1024 --rate 3 --sl 0 --traffic-class 0x20
	--flow-label 0x12345 --hop-limit 9)

in_bg member on two timeout 300 cmx join -j --dev "$dev3" --count 3 \
	"${want[@]}" $group
ok "MC-08: joined with parameters" log_wait member joined
is "MC-08: Q_Key" "$(said member qkey)" $((0x55aa))
is "MC-08: MTU" "$(said member mtu)" 1024
is "MC-08: rate" "$(said member rate)" 3
is "MC-08: SL" "$(said member sl)" 0
is "MC-08: traffic class" "$(said member traffic_class)" $((0x20))
is "MC-08: flow label" "$(said member flow_label)" $((0x12345))
is "MC-08: hop limit" "$(said member hop_limit)" 9
is "MC-08: P_Key" "$(said member pkey)" 65535
record=$(sa_query -g | awk -v RS='MCMemberRecord' \
	-v mlid="$(printf '0x%X' "$(said member mlid)")" 'index($0, mlid)')
like "MC-08: the SA has made it so: MTU" "$record" 'Mtu\.+0x83'
like "MC-08: rate" "$record" 'Rate\.+0x83'

# Messages with the Q_Key of the group, which differs from that of datagram ids.
# Messages before the subnet manager has configured the switch are lost.
while kill -0 "$member_pid" 2>/dev/null; do
	on one timeout 60 cmx join -j --send-only --dev "$dev2" --count 30 \
		"${want[@]}" $group >sender.log 2>&1
done
wait "$member_pid"
is "MC-08: data arrives with the group's Q_Key" $? 0
diag "$(tail -n 3 sender.log)"

in_bg member on two timeout 300 cmx join -j --dev "$dev3" "${want[@]}" $group
log_wait member joined
out=$(on one timeout 300 cmx join --dev "$dev2" --once --qkey 0x77 $group 2>&1)
is "MC-08: other parameters are refused" $? 1
like "MC-08: the error names the reason" "$out" 'other parameters'
out=$(on one timeout 300 cmx join --dev "$dev2" --once $group 2>&1)
is "MC-08: a plain join to it too" $? 1
out=$(on one timeout 300 cmx join -j --dev "$dev2" --once "${want[@]}" $group)
is "MC-08: the same are taken" $? 0
end member
out=$(on one timeout 300 cmx join --dev "$dev2" --once --pkey 0x1234 $group 2>&1)
is "MC-08: a P_Key that the port does not have" $? 1
like "MC-08: is refused at once" "$out" 'refused'
out=$(on one timeout 300 cmx join -j --dev "$dev2" --once --pkey 0xffff $group)
is "MC-08: one that it has is taken" $? 0

# Many at once
groups=(239.66.4.{0..255})
in_bg many on two timeout 300 cmx join -j --dev "$dev3" "${groups[@]}"
ok "MC-10: 256 groups in one call" log_wait many '"joined"' 256
is "MC-10: each has its own MLID or MGID" \
	"$(grep -oE '"mgid": "[^"]*"' many.log | sort -u | wc -l)" 256
end many
is "MC-10: left" $? 0

# Parameters that were not specified are those of the broadcast group. It
# changes with a new configuration of the subnet manager. OpenSM ignores the SL
# without QoS.
in_bg member on two timeout 600 cmx join -j --persistent --dev "$dev3" \
	--count 100000 239.66.3.2
ok "MC-09: a persistent membership" log_wait member joined
is "MC-09: SL" "$(said member sl)" 0
echo 'Default=0x7fff, ipoib, sl=3: ALL=full;' >partitions
# On a slow host the membership may rejoin before IPoIB has the new parameters.
# Another event is needed then.
for _ in 1 2 3; do
	sm_stop
	sm_start "$dev1" -Q -P "$PWD/partitions"
	port_active_wait
	wait_for 40 has member '"rejoined".*"sl": 3[,}]' && break
done
ok "MC-09: it rejoins with the new SL" \
	log_wait member '"rejoined".*"sl": 3[,}]'
end member
finish
