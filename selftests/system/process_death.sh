#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A killed process with outstanding operations leaves no object (RAI-07, MC-03,
# OPS-04): lookups, ids, memberships, listeners. The modules cannot be unloaded
# before, and can be afterwards.
. /usr/lib/rdma-cmx/selftests/lib.sh
hold=/usr/lib/rdma-cmx/selftests/api/tools/hold

start() {
	# Empty the log first: the process below may start slowly.
	: >hold.log
	"$@" >>hold.log 2>&1 &
	pid=$!
	wait_for 30 grep -q ready hold.log && return
	cat hold.log
	return 1
}

end() {
	kill -"$1" $pid
	wait $pid 2>/dev/null
}

for signal in KILL TERM SEGV; do
	start $hold 8 10.55.0.1 239.55.9.1
	is "many requests are outstanding ($signal)" $? 0
	ok "MC-03: joined" igmp_joined eth0 239.55.9.1
	like "there are live objects" "$(live_objects)" '=[1-9]'
	for module in rdma_ucmx rdma_cmx; do
		out=$(rmmod $module 2>&1)
		is "OPS-04: unload of $module is refused" $? 1
		like "OPS-04: because it is in use" "$out" 'in use'
	done
	end $signal
	ok "RAI-07: no object is left after SIG$signal" wait_for 30 live_none
	ok "MC-03: the membership too" \
		wait_for 40 no igmp_joined eth0 239.55.9.1
done

# Likewise when a child keeps the file longer than its parent
exec {fd}<>/dev/infiniband/rdma_cmx
sleep 1000 &
child=$!
exec {fd}>&-
out=$(rmmod rdma_ucmx 2>&1)
is "OPS-04: a child's file counts" $? 1
kill $child
wait $child 2>/dev/null

# One module may be unloaded, while the last user of the other one still exits.
unload() {
	[ ! -d /sys/module/rdma_ucmx ] || timeout 120 rmmod rdma_ucmx || return
	timeout 120 rmmod rdma_cmx
}

ok "OPS-04: nothing in use: both modules unload" wait_for 40 unload
ok "OPS-04: the modules load again" modprobe rdma_ucmx
ok "the device node is back" wait_for 40 test -c /dev/infiniband/rdma_cmx
ok "a name resolves again" timeout 60 cmx resolve storage.cmx.test
finish
