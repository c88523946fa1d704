#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RAI-08: a program can connect to the entries of a name, each with an echo over
# its queue pair; the first entry works. GAI-14: so a program that uses the
# first entry reaches the storage network.
. /usr/lib/rdma-cmx/selftests/lib.sh
names_wait 20

rc=/usr/lib/rdma-cmx/selftests/api/tools/rc

serve() {
	job=$(peer_bg "$rc serve $1 $2")
	wait_for 40 peer "grep -q listening /run/jobs/$job.log"
}

# Not by ok, which uses a subshell: job has to stay.
serve 7501 4
is "RAI-08: a server in the other guest" $? 0

out=$(timeout 100 $rc connect storage.cmx.test 7501)
is "RAI-08: the program exits with 0" $? 0
diag "$out"
is "RAI-08: three entries" "$(wc -l <<<"$out")" 3
like "RAI-08: IPv4 storage address" "$out" '^10\.55\.0\.2: ok$'
like "RAI-08: IPv6 storage address" "$out" '^fd55::2: ok$'
like "GAI-14: the first entry connects" "$(head -1 <<<"$out")" ': ok$'
like "GAI-14: the management address is last, and does not connect" \
	"$(tail -1 <<<"$out")" '^192\.168\.77\.2: (RDMA_CM_EVENT_ADDR_ERROR -19|No such device)$'

out=$(timeout 100 $rc connect storage.cmx.test 7501 sync)
like "rdma_getaddrinfo: IPv4 storage address" "$out" '^10\.55\.0\.2: ok$'
like "rdma_getaddrinfo: IPv6 storage address" "$out" '^fd55::2: ok$'
ok "RAI-08: the server saw four good connections" peer_wait "$job"

finish
