#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: cmx paths: its output, which paths are cached and queried afterwards,
# permissions, and network namespaces.
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/fabric.sh

mkdir -p /tmp/test
json=/usr/lib/rdma-cmx/selftests/cmx/tools/json
three=$(fab_dev 3) four=$(fab_dev 4)
# A host that stops for some seconds ends no query and no path.
timeouts_long
param sa_cache_ms 3600000

user() {
	setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}

# routed ADDRESS: does a route to it send no query?
routed() {
	local before

	before=$(sa_requests 0x12 0x0035)
	cmx connect --route "$1" 7471 >/dev/null || return
	[ "$(sa_requests 0x12 0x0035)" = "$before" ]
}

cleanup() {
	ip netns del n1
	wait_for 90 rdma system set netns exclusive
} 2>/dev/null
trap cleanup EXIT

# --- list and drop ---

cmx paths drop --all >/dev/null
run cmx paths
is "nothing is cached: exit code" "$status" 0
is "nothing is cached" "$(tail -n 1 <<<"$out")" "0 paths"
ok "a route queries the SA" no routed 10.66.0.3
ok "the next one does not" routed 10.66.0.3
run cmx paths
like "a path: device, GIDs, P_Key, LID, SL, MTU, lifetime" "$out" \
	"^$three/1 +fe80::[0-9a-f:]+ +$(gid_short "$three") +0x(ffff|7fff) +$(dev_lid "$three") +0 +[0-9]+ +[0-9]+ s$"
is "one path" "$(tail -n 1 <<<"$out")" "1 path"
run cmx paths list -j
ok "JSON (OPS-02)" "$json" <<<"$out"
like "JSON members" "$out" "\"device\": \"$three\", \"port\": 1, \"sgid\": \"fe80::[^\"]*\", \"dgid\": \"$(gid_short "$three")\", .*\"dlid\": $(dev_lid "$three"), .*\"left_ms\": [1-9]"
run cmx paths --dev "$four"
is "another device has none" "$(tail -n 1 <<<"$out")" "0 paths"
run cmx paths --dev "$three:1"
is "its device has it" "$(tail -n 1 <<<"$out")" "1 path"

routed 10.66.0.4
run cmx paths drop "$(dev_gid "$three")"
is "those to a GID are dropped" "$out" "1 path dropped"
ok "the next route queries the SA" no routed 10.66.0.3
ok "that to another GID does not" routed 10.66.0.4
run cmx paths drop -j --all
is "all are dropped" "$out" '{"dropped": 2}'
run cmx paths
is "none is left" "$(tail -n 1 <<<"$out")" "0 paths"

# --- tracepoints ---

trace=/sys/kernel/tracing
routed 10.66.0.3
echo 1 | tee $trace/events/rdma_cmx/cmx_path_{saved,gone}/enable >/dev/null
: >$trace/trace
routed 10.66.0.3
cmx paths drop --all >/dev/null
log=$(cat $trace/trace)
echo 0 | tee $trace/events/rdma_cmx/cmx_path_{saved,gone}/enable >/dev/null
gid=$(dev_gid "$three")
like "a query that was not sent is traced" "$log" \
	"cmx_path_saved: dev=$three port=1 dgid=$gid joined=0"
like "a path that was dropped is traced" "$log" \
	"cmx_path_gone: sgid=[0-9a-f:]+ dgid=$gid why=command"

# --- preload ---

run cmx paths preload 10.66.0.3 10.66.0.4
is "two names: exit code" "$status" 0
is "two names" "$out" "2 names, 0 failed, 2 paths"
hits=$(counter paths_hits)
ok "the route to the first one is a hit" routed 10.66.0.3
ok "that to the second one, too" routed 10.66.0.4
ok "they are counted" test "$(counter paths_hits)" -ge $((hits + 2))
cmx paths drop --all >/dev/null
cat >/tmp/test/hosts <<-'END'
	# a hostfile
	10.66.0.3 slots=8

	nosuch.cmx.test
	10.66.0.4
END
run cmx paths preload --json --file /tmp/test/hosts
is "a file with a wrong line: exit code" "$status" 1
is "a file: the sums" "$out" '{"names": 3, "failed": 1, "paths": 2}'
like "a file: the line" "$err" \
	'^cmx: /tmp/test/hosts:4: nosuch.cmx.test: there is no such name'
is "a file: no other error" "$(wc -l <<<"$err")" 1
ok "the others are cached" routed 10.66.0.4
run cmx paths preload --file - 10.66.0.3 < <(printf 'a\0b\n10.66.0.4')
like "a line with a NUL" "$err" '^cmx: -:1: -: the line has a NUL$'
is "standard input, and a name" "$out" "3 names, 1 failed, 2 paths"
# More than are outstanding at a time; each one succeeds or fails alone.
for i in {1..300}; do
	echo 10.66.0.$((2 + i % 3))
done >/tmp/test/many
run cmx paths preload --file /tmp/test/many
is "300 names" "$out" "300 names, 0 failed, 300 paths"
is "300 names: exit code" "$status" 0
# As many as ids, and a line that is longer than the buffer
ids=$(cat /sys/module/rdma_ucmx/parameters/max_ids)
echo 16 >/sys/module/rdma_ucmx/parameters/max_ids
run cmx paths preload --file /tmp/test/many
is "300 names, 16 ids" "$out" "300 names, 0 failed, 300 paths"
echo "$ids" >/sys/module/rdma_ucmx/parameters/max_ids
run bash -c 'ulimit -v 150000
	{ echo 10.66.0.3; head -c 160000000 /dev/zero | tr "\\0" x; echo
	  echo 10.66.0.4; } | cmx paths preload --file -'
is "a line of 160 MB: exit code" "$status" 1
is "a line of 160 MB: the sums" "$out" "3 names, 1 failed, 2 paths"
like "a line of 160 MB: which one" "$err" '^cmx: -:2: x+: the name is too long$'
fails "a folder" 1 'cannot be read to its end' \
	bash -c 'cmx paths preload --file /tmp/test >/dev/null'
fails "an address without InfiniBand" 1 'no InfiniBand port reaches it' \
	bash -c 'cmx paths preload 192.168.77.1 >/dev/null'
fails "no such file" 1 '/tmp/test/nosuch: No such file' \
	cmx paths preload --file /tmp/test/nosuch

# --- invalid use ---

fails "no command of paths" 2 "'a' is not a command of paths" cmx paths a
fails "nothing to drop" 2 'needs a GID, or --all' cmx paths drop
fails "all, and a GID" 2 'needs a GID, or --all' cmx paths drop --all fe80::1
fails "no GID" 2 "'10.66.0.3' is not a GID" cmx paths drop 10.66.0.3
fails "the GID of nothing" 2 "'::' is not a GID" cmx paths drop ::
fails "nothing to preload" 2 'needs a NAME' cmx paths preload
fails "a list of a file" 2 'the options -j' cmx paths list --file a
fails "no such device" 1 "'nosuch0': there is no such InfiniBand" \
	cmx paths --dev nosuch0
fails "no such port" 1 'has no such port' cmx paths --dev "$three:7"
fails "no port number" 2 'DEVICE or DEVICE:PORT' cmx paths --dev "$three:x"

# --- other users and namespaces ---

routed 10.66.0.3
fails "a user may not drop" 1 'CAP_NET_ADMIN' setpriv --reuid=1000 \
	--regid=1000 --clear-groups cmx paths drop --all
run user cmx paths
like "a user may list" "$out" " $(gid_short "$three") "
run user unshare -Urn cmx paths
is "a namespace without devices has nothing" "$out" \
	"$(printf 'DEVICE  SOURCE  DESTINATION  P_KEY  DLID  SL  MTU  EXPIRES\n0 paths')"
run user unshare -Urn cmx paths drop --all
is "nor anything to drop" "$out" "0 paths dropped"
ok "the host's path is there" routed 10.66.0.3

# A shared device is in every namespace; its paths are not.
ok "devices are shared" wait_for 90 rdma system set netns shared
ok "a namespace" ip netns add n1
routed 10.66.0.3
run ip netns exec n1 cmx paths --dev "$three"
is "a shared device: exit code" "$status" 0
is "a shared device: nothing of the host" "$(tail -n 1 <<<"$out")" "0 paths"
run ip netns exec n1 cmx paths drop --all --dev "$three"
is "a shared device: nothing of the host is dropped" "$out" "0 paths dropped"
run cmx paths --dev "$three"
is "the host has its path" "$(tail -n 1 <<<"$out")" "1 path"
finish
