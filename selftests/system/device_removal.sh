#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The RDMA device is removed while requests are outstanding (OPS-04, RAI-07):
# each id that was bound to it reports DEVICE_REMOVAL, no call hangs, no object
# is left. It works again after the device returns. GAI-08, GAI-14: without a
# device the addresses are still found.
. /usr/lib/rdma-cmx/selftests/lib.sh
hold=/usr/lib/rdma-cmx/selftests/api/tools/hold

port_active() {
	rdma link show rxe0/1 | grep -q 'state ACTIVE'
}

device_back() {
	[ -e /sys/class/infiniband/rxe0 ] ||
		timeout 120 rdma link add rxe0 type rxe netdev eth0
	wait_for 40 port_active
}

$hold 4 10.55.0.1 239.55.9.2 >hold.log 2>&1 &
pid=$!
ok "many requests are outstanding on the device" wait_for 30 grep -q ready hold.log
ok "OPS-04: the removal of the device ends" timeout 200 rdma link del rxe0
ok "OPS-04: each bound id gets the event" wait_for 30 grep -q removed hold.log
wait $pid
is "OPS-04: the program exits with 0" $? 0
diag "$(cat hold.log)"
ok "RAI-07: no object is left" wait_for 30 live_none

out=$(timeout 60 cmx resolve storage.cmx.test)
is "GAI-08: a name resolves without any device" $? 0
for address in 10.55.0.2 fd55::2 192.168.77.2; do
	like "GAI-01: with $address" "$out" "$(sed 's/\./\\./g' <<<"$address")"
done

# Again, with a process that does not react and is killed: the verbs device of
# rxe waits for its user, so the removal ends with the process.
ok "the device is added again" device_back
$hold 4 10.55.0.1 239.55.9.3 >hold2.log 2>&1 &
pid=$!
ok "ids on it again" wait_for 30 grep -q ready hold2.log
kill -STOP $pid
timeout 200 rdma link del rxe0 &
removal=$!
ok "OPS-04: the removal of the device has begun" wait_for 40 \
	bash -c '! rdma link show rxe0/1 2>/dev/null | grep -q state'
kill -KILL $pid
wait $pid 2>/dev/null
wait $removal
is "OPS-04: the removal ends with its last user" $? 0
ok "RAI-07: no object is left after the kill" wait_for 30 live_none
ok "the device is added once more" device_back
$hold 4 10.55.0.1 239.55.9.3 >hold3.log 2>&1 &
pid=$!
ok "RA-01: ids on it, and their routes" wait_for 30 grep -q ready hold3.log
kill -KILL $pid
wait $pid 2>/dev/null
finish
