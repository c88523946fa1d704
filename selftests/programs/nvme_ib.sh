#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-05 on InfiniBand: addresses that `cmx advertise` has set at the SA are
# found and passed to nvme-rdma, each with its port; invalid ones are not.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/programs/nvme_functions

two=$(fab_dev 2) three=$(fab_dev 3)
jobs=()

service=/usr/lib/rdma-cmx/selftests/sa/tools/service
many=(-C "$(fab_dev 1)" -n many -i 0x1062000 -c 200)

cleanup() {
	"$service" "${many[@]}" delete
	kill "${jobs[@]}"
	wait "${jobs[@]}"
	modprobe -r nvme-rdma
} >/dev/null 2>&1
trap cleanup EXIT

# advertise NUMBER DATA ARGUMENTS...: returns when the SA has the record
advertise() {
	cmx advertise --data "$2" "${@:3}" array >$dir/advertise.$1 2>&1 &
	jobs+=($!)
	wait_for 60 grep -q '^set ' $dir/advertise.$1
}

modprobe nvme-rdma
is "KA-05: a service that nobody advertises" \
	"$(cmx nvme connect --sa --nqn $nqn array 2>&1)" \
	"cmx: array: no service record with an address that an RDMA device reaches"
# 64 bytes without a terminator, no address, and an address with an option
advertise 0 "$(printf '1%.0s' {1..64})" --id 0x1061001 --dev "$two"
advertise 1 "10.66.0.2,nqn=other" --id 0x1061002 --dev "$two"
is "KA-05: records without an address" \
	"$(cmx nvme connect --sa --nqn $nqn array 2>&1)" \
	"cmx: array: no service record with an address that an RDMA device reaches"
ok "KA-05: advertised at the second device" advertise 2 10.66.0.2 --dev "$two"
ok "KA-05: and at the third" advertise 3 '10.66.0.3 4421' --dev "$three"
# The HCA of the fabric has no memory registration by work request, which
# nvme-rdma requires of a device, so the connect fails at that point.
tried=$(cmx nvme connect --sa --nqn $nqn array "${options[@]}" 2>&1)
is "KA-05: found, each with its port" \
	"$(grep -o '^cmx: .*: nvme connect' <<<"$tried" | sort | paste -sd,)" \
	"cmx: 10.66.0.2 4420: nvme connect,cmx: 10.66.0.3 4421: nvme connect"
like "KA-05: nvme-rdma says why it does not connect" "$(dmesg | tail -n 20)" \
	'Memory registrations not supported'

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
