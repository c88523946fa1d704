#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02, RAI-06, GAI-12: cmx resolve --sa, its answers, JSON, exit codes, and
# what it says when something is wrong. OPS-03: cmx stat has the SA's counters.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

tests=/usr/lib/rdma-cmx/selftests
asker=$(fab_dev 2)
offerer=$(fab_dev 3)

service() {
	"$tests/sa/service.helper" -C "$offerer" "$@"
}

# run COMMAND...: sets $out, $err, $status
run() {
	out=$(timeout 60 "$@" 2>err)
	status=$?
	err=$(cat err)
}

# fails NAME REGEX COMMAND...: exit code 1, message, and silence on stdout
fails() {
	local name=$1 regex=$2

	shift 2
	run "$@"
	is "$name: exit code (OPS-02)" "$status" 1
	like "$name: message (OPS-02)" "$err" "$regex"
	is "$name: nothing on standard output" "$out" ""
}

# The GID as it is printed
gid() {
	service -g "$(dev_gid "$1")" -n svc list | awk '{ print $2; exit }'
}

service -n svc -i 0x12345678 set
lid=$(dev_lid "$offerer")
where=$(gid "$offerer")

run cmx resolve --sa --dev "$asker" svc
is "by name: exit code (OPS-02)" "$status" 0
like "by name: the node, id, P_Key, LID and type (RAI-06)" "$out" \
	"^$where +0x0000000012345678 +0xffff +$lid +RC/IB "
like "by name: the device that was asked" "$out" " $asker/1$"
like "by name: counted" "$out" '^1 entry in [0-9.]+ ms$'
for id in 0x12345678 305419896 02215053170; do
	run cmx resolve --sa $id
	like "by id $id (RAI-06)" "$out" "^$where +0x0000000012345678 "
done
run cmx resolve --sa -j --dev "$asker/1" svc
ok "JSON (OPS-02)" "$tests/cmx/json.helper" <<<"$out"
like "JSON: members" "$out" "\"gid\": \"$where\", \"service_id\": \"0x0000000012345678\", \"pkey\": \"0xffff\", \"lid\": $lid, \"qp_type\": \"RC\", \"port_space\": \"IB\""
run cmx resolve --sa --type ud svc
like "for datagrams" "$out" ' UD/IB '
run cmx resolve --sa svc
like "at all ports (GAI-12)" "$out" "^$where "

fails "no such service" 'nosuch: nobody has registered.*saquery' \
	cmx resolve --sa nosuch
fails "no such id" '0x999: nobody has registered' cmx resolve --sa 0x999
fails "no such device" "'nosuch0': .*rdma link" \
	cmx resolve --sa --dev nosuch0 svc
fails "no such port" "'$asker/2': .*rdma link" \
	cmx resolve --sa --dev "$asker/2" svc
fails "a long name" 'at most 63' \
	cmx resolve --sa "$(printf 'n%.0s' {1..64})"

ip netns add empty
fails "no port in this namespace" 'svc: no InfiniBand port is active' \
	ip netns exec empty cmx resolve --sa svc
ip netns del empty

sm_pause
fails "a silent SA" 'late: .*does not answer.*sminfo' cmx resolve --sa late
sm_resume

run cmx stat
like "cmx stat: questions to the SA (OPS-03)" "$out" \
	'^rdma_cmx +sa_queries +[1-9]'
run cmx stat -j
like "cmx stat -j: time-outs (OPS-03)" "$out" '"sa_timeouts": [1-9]'
finish
