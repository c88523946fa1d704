#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Root unloads the modules while a helper is stopped, which any process of its
# user can cause. The unload ends, and the kernel's key service still works for
# all users.
. /usr/lib/rdma-cmx/selftests/lib.sh

user() {
	timeout 30 setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}

# The processes of helpers that do not run as root
children() {
	local pid

	for pid in $(pidof cmx-names); do
		grep -q '^Uid:	0' "/proc/$pid/status" 2>/dev/null ||
			echo "$pid"
	done
}

children_stop() {
	# shellcheck disable=SC2046 # several of them
	[ -n "$(children)" ] && kill -STOP $(children)
}

# On a busy host the helper may reach its timeout before it starts. The next
# query then starts another helper.
query_until_stopped() {
	children_stop && return
	kill -0 $pid && return 1
	query=$((query + 1))
	user cmx resolve "unload$query.silent.test" >/dev/null 2>&1 &
	pid=$!
	return 1
}

unload() {
	[ ! -d /sys/module/rdma_ucmx ] || rmmod rdma_ucmx || return
	rmmod rdma_cmx
}

# A longer timeout, for a slow host
conf=/etc/request-key.d/rdma-cmx.conf
saved=$(<"$conf")
trap 'echo "$saved" >"$conf"' EXIT
sed -i 's/--timeout [0-9]*/--timeout 20/' "$conf"
query=0
user cmx resolve unload.silent.test >/dev/null 2>&1 &
pid=$!
wait_for 40 query_until_stopped
is "a helper waits" $? 0
killall -KILL cmx
wait $pid
wait_for 100 unload &
pid=$!
ok "the modules are unloaded" wait_for 110 test ! -d /sys/module/rdma_cmx
ok "a user adds a key" user keyctl add user cmx_names_test x @u
# Helpers that still run
killall -KILL cmx-names 2>/dev/null
wait $pid
modprobe rdma_ucmx
ok "they are loaded again" wait_for 40 test -c /dev/infiniband/rdma_cmx
ok "a name resolves" timeout 60 cmx resolve unload.any.cmx.test
finish
