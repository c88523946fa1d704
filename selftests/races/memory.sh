#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Kernel memory of a process is charged to its memory cgroup. With a low limit,
# many ids, events and resolutions fail there or end the process, above
# memory.high it is slowed down, and other processes are not affected, nor is the
# removal of its device. No object is left.
. "${0%/*}/functions"
hoard=/usr/lib/rdma-cmx/selftests/races/tools/hoard

group=/sys/fs/cgroup/small
rounds=4

# confined LIMIT COMMAND...
confined() {
	local limit=$1

	shift
	mkdir -p $group && echo "$limit" >$group/memory.max || return
	(
		echo "$BASHPID" >$group/cgroup.procs
		exec "$@"
	)
}

confined_del() {
	rmdir $group
}

ended() {
	grep -q 'populated 0' $group/cgroup.events
}

if ! grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
	plan_skip "no memory controller"
fi
echo +memory >/sys/fs/cgroup/cgroup.subtree_control

# 10,000 ids and requests need about 12 MiB, more than the limit.
for ((i = 1; i <= rounds; i++)); do
	confined $((4 + i))M "$hoard" 10000 \
		>small$i.log 2>&1
	status=$?
	is "round $i: refused or killed, in $((4 + i)) MiB" \
		"$([ $status = 3 ] || [ $status = 137 ] && echo yes)" yes
	diag "status $status: $(cat small$i.log)"
	ok "round $i: it has ended" wait_for 40 ended
	ok "round $i: no object is left" wait_for 30 live_none
	like "round $i: it was the group's limit" \
		"$(cat $group/memory.events)" '^max [1-9]'
	ok "others resolve" timeout 100 cmx resolve storage.cmx.test
	confined_del
done

# Above memory.high it is slowed down, and nobody else.
above_high() {
	[ "$(<$group/memory.current)" -gt 6291456 ] &&
		grep -q '^high [1-9]' $group/memory.events
}
mkdir -p $group && echo 6M >$group/memory.high
ok "memory.high: a device" bed_add
confined max "$hoard" 10000 10.98.0.1 >high.log 2>&1 &
hoarder=$!
ok "memory.high: the group has more" wait_for 90 above_high
ok "memory.high: others resolve" timeout 100 cmx resolve storage.cmx.test
ok "memory.high: it is slowed down, and runs still" kill -0 $hoarder
# A command may sleep for the group's memory with the lock of its id.
ok "memory.high: its device is removed" timeout 100 rdma link del rxe_race
bed_del
echo 1 >$group/cgroup.kill
wait $hoarder 2>/dev/null
ok "memory.high: it has ended" wait_for 40 ended
ok "memory.high: no object is left" wait_for 30 live_none
confined_del

confined 200M "$hoard" 10000 >large.log 2>&1
is "with enough it passes" $? 0
diag "peak $(cat $group/memory.peak 2>/dev/null) bytes"
confined_del
finish
