#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-05 on InfiniBand: nvme-rdma connects to the addresses that `cmx advertise`
# has set at the SA, each with its port, and not to invalid ones. Target and
# host are on one machine. The target moves while fio writes.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/programs/nvme_functions

two=$(fab_dev 2) three=$(fab_dev 3) four=$(fab_dev 4)
declare -A jobs
follower=''
cache=/sys/module/rdma_cmx/parameters/sa_cache_ms
cache_ms=$(<$cache)

at_target() {
	bash -c "$1"
}

service=/usr/lib/rdma-cmx/selftests/sa/tools/service
many=(-C "$(fab_dev 1)" -n many -i 0x1062000 -c 200)

cleanup() {
	[ -z "$follower" ] || kill "$follower"
	echo "$cache_ms" >$cache
	umount $disk
	nvme disconnect --nqn=$nqn
	target_del
	"$service" "${many[@]}" delete
	kill "${jobs[@]}"
	wait
	modprobe -r nvme-rdma ext4
} >/dev/null 2>&1
trap cleanup EXIT

# Both are for this shell, which has the jobs: ok runs commands in another one.
# advertise NUMBER DATA ARGUMENTS...: returns when the SA has the record
advertise() {
	cmx advertise --data "$2" "${@:3}" array >$dir/advertise.$1 2>&1 &
	jobs[$1]=$!
	wait_for 60 grep -q '^set ' $dir/advertise.$1
}

# withdraw NUMBER: returns when the SA has deleted the record
withdraw() {
	local pid=${jobs[$1]}

	unset "jobs[$1]"
	kill "$pid" && wait "$pid"
}

modprobe -a nvme-rdma ext4
is "KA-05: a service that nobody advertises" \
	"$(cmx nvme connect --sa --nqn $nqn array 2>&1)" \
	"cmx: array: no service record with an address that an RDMA device reaches"
# 64 bytes without a terminator, no address, and an address with an option
advertise 0 "$(printf '1%.0s' {1..64})" --id 0x1061001 --dev "$two"
advertise 1 "10.66.0.2,nqn=other" --id 0x1061002 --dev "$two"
is "KA-05: records without an address" \
	"$(cmx nvme connect --sa --nqn $nqn array 2>&1)" \
	"cmx: array: no service record with an address that an RDMA device reaches"
advertise 2 10.66.0.2 --dev "$two"
is "KA-05: advertised at the second device" "$?" 0
advertise 3 '10.66.0.3 4421' --dev "$three"
is "KA-05: and at the third" "$?" 0

# --- a disk over both rails ---

ok "KA-05: a target" target_add
ok "KA-05: at the second device" port_add 1 10.66.0.2 4420
ok "KA-05: and at the third" port_add 2 10.66.0.3 4421
diag "$(cmx nvme connect --sa --nqn $nqn array "${options[@]}" 2>&1)"
is "KA-05: a path to each, by the service's name" "$(paths live)" \
	"10.66.0.2 4420,10.66.0.3 4421"
node=''
wait_for 60 disk_there
ok "KA-05: one disk" test -b "$node"
ok "KA-05: a file system" mkfs.ext4 -q -F "$node"
ok "KA-05: mounted" mount -t ext4 "$node" $disk
cp /usr/bin/bash $disk/copy

# --- the target moves to the fourth device while fio writes ---

# The follower then removes a path after 15 seconds.
echo 5000 >$cache
cmx nvme connect --follow=1 --sa --nqn $nqn array "${options[@]}" \
	>$dir/follow 2>&1 &
follower=$!
fio_run moving --time_based --runtime=10 --verify_backlog=64 &
writer=$!
withdraw 2 && withdraw 3
is "KA-05: the service leaves two devices" "$?" 0
ok "KA-05: with the target" eval "port_del 1 && port_del 2"
# Controllers of the host may still have the first ids.
ok "KA-05: the target is at the fourth" at_target \
	"echo 1000 >$target/subsystems/$nqn/attr_cntlid_min"
ok "KA-05: where it listens" port_add 3 10.66.0.4 4420
advertise 4 10.66.0.4 --dev "$four"
is "KA-05: and advertised there" "$?" 0
ok "KA-05: the path is the new one" wait_for 120 paths_are "10.66.0.4 4420"
wait $writer
is "KA-05: no write has failed" "$?" 0
is "KA-05: and no byte is wrong" \
	"$(grep -o '"error" : [0-9]*' $dir/fio.moving)" '"error" : 0'
stall=$(fio_stall moving)
diag "the longest write took $stall ms"
ok "KA-05: no write has waited longer than the move may take" \
	test "$stall" -lt 120000
ok "KA-05: the follower reports the new path" wait_for 60 \
	grep -qE '^connected nvme[0-9]+ 10\.66\.0\.4 4420$' $dir/follow
ok "KA-05: unmounted" umount $disk
ok "KA-05: mounted again" mount -t ext4 "$node" $disk
ok "KA-05: the same data" cmp /usr/bin/bash $disk/copy
ok "KA-05: unmounted again" umount $disk
kill "$follower"
wait "$follower"
is "KA-05: a follower that is ended ends well" "$?" 0
follower=''

# Any node of the fabric may set records: 192.168.77.2, which no device reaches
ok "KA-05: a node sets 200 records" "$service" "${many[@]}" \
	-d 3139322e3136382e37372e32 set
before=$(</sys/module/rdma_ucmx/counters/requests)
like "KA-05: most of which do not count" \
	"$(cmx nvme connect --sa --nqn $nqn many "${options[@]}" 2>&1)" \
	'^cmx: many: it has 200 service records: only the first 64 count'
n=$(($(</sys/module/rdma_ucmx/counters/requests) - before))
diag "$n requests"
ok "KA-05: nor are they resolved" [ $((n >= 64 && n < 100)) = 1 ]
finish
