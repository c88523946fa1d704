#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02, RAI-06, GAI-12: cmx resolve --sa, its results, JSON, exit codes and
# error messages. OPS-03: cmx stat has the SA's counters.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

tests=/usr/lib/rdma-cmx/selftests
client=$(fab_dev 2)
server=$(fab_dev 3)

service() {
	"$tests/sa/tools/service" -C "$server" "$@"
}

# run COMMAND...: sets $out, $err, $status
run() {
	out=$(timeout 100 "$@" 2>err)
	status=$?
	err=$(cat err)
}

# fails NAME REGEX COMMAND...: checks exit code 1, a message, and empty stdout
fails() {
	local name=$1 regex=$2

	shift 2
	run "$@"
	is "$name: exit code (OPS-02)" "$status" 1
	like "$name: message (OPS-02)" "$err" "$regex"
	is "$name: nothing on standard output" "$out" ""
}

# The GID in the format of the output
gid() {
	service -g "$(dev_gid "$1")" -n svc list | awk '{ print $2; exit }'
}

timeouts_long
service -n svc -i 0x12345678 set
lid=$(dev_lid "$server")
where=$(gid "$server")

run cmx resolve --sa --dev "$client" svc
is "by name: exit code (OPS-02)" "$status" 0
like "by name: the node, id, P_Key, LID and type (RAI-06)" "$out" \
	"^$where +0x0000000012345678 +0xffff +$lid +RC/IB "
like "by name: the device that sent the query" "$out" " $client/1$"
like "by name: the number of entries" "$out" '^1 entry in [0-9.]+ ms$'
for id in 0x12345678 305419896 02215053170; do
	run cmx resolve --sa $id
	like "by id $id (RAI-06)" "$out" "^$where +0x0000000012345678 "
done
run cmx resolve --sa -j --dev "$client/1" svc
ok "JSON (OPS-02)" "$tests/cmx/tools/json" <<<"$out"
like "JSON: members" "$out" "\"gid\": \"$where\", \"service_id\": \"0x0000000012345678\", \"pkey\": \"0xffff\", \"lid\": $lid, \"qp_type\": \"RC\", \"port_space\": \"IB\""
run cmx resolve --sa --type ud svc
like "a service for datagrams" "$out" ' UD/IB '
run cmx resolve --sa svc
like "a query at all ports (GAI-12)" "$out" "^$where "

fails "no such service" 'nosuch: this service is not registered.*saquery' \
	cmx resolve --sa nosuch
fails "no such id" '0x999: this service is not registered' cmx resolve --sa 0x999
fails "no such device" "'nosuch0': .*rdma link" \
	cmx resolve --sa --dev nosuch0 svc
fails "no such port" "'$client/2': .*rdma link" \
	cmx resolve --sa --dev "$client/2" svc
fails "a long name" 'at most 63' \
	cmx resolve --sa "$(printf 'n%.0s' {1..64})"

ip netns add empty
fails "no port in this namespace" 'svc: no InfiniBand port is active' \
	ip netns exec empty cmx resolve --sa svc
ip netns del empty

sm_pause
fails "a silent SA" 'late: .*does not respond.*sminfo' cmx resolve --sa late
sm_resume

run cmx stat
like "cmx stat: SA queries (OPS-03)" "$out" \
	'^rdma_cmx +sa_queries +[1-9]'
run cmx stat -j
like "cmx stat -j: timeouts (OPS-03)" "$out" '"sa_timeouts": [1-9]'
finish
