#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The name helper while it waits for a response of a server: /proc shows that it
# is a process without privileges, whose parent no user can signal. A name of a
# silent server holds it there.
. /usr/lib/rdma-cmx/selftests/lib.sh

pid=
uid=$(sed -n 's/^rdma-cmx:x:\([0-9]*\):.*/\1/p' /etc/passwd)

as() {
	local id=$1

	shift
	setpriv --reuid="$id" --regid="$id" --clear-groups "$@"
}

helper_found() {
	local found

	for found in $(pidof cmx-names); do
		# It has dropped its privileges.
		if grep -q '^NoNewPrivs:.*1$' "/proc/$found/status" \
				2>/dev/null; then
			pid=$found
			return 0
		fi
	done
	return 1
}

status() {
	sed -n "s/^$1:[[:space:]]*//p" "$work/status" | tr '\t' ' ' |
		sed 's/ *$//'
}

limit() {
	sed -n "s/^$1  *\([^ ]*\)  *\([^ ]*\) .*/\1 \2/p" "$work/limits"
}

# The helper exits after some seconds: the test copies everything that it checks
# while the helper runs.
look() {
	local i

	for i in $(seq 20); do
		rm -rf "$work"
		mkdir "$work"
		timeout 60 setpriv --reuid=1000 --regid=1000 --clear-groups \
			cmx resolve "h$i.silent.test" >/dev/null 2>&1 &
		wait_for 10 helper_found || { wait $!; continue; }
		cat "/proc/$pid/status" >"$work/status"
		cat "/proc/$pid/limits" >"$work/limits"
		readlink "/proc/$pid/cwd" >"$work/cwd"
		readlink "/proc/$pid"/fd/* >"$work/fds"
		parent=$(sed -n 's/^PPid:[[:space:]]*//p' "$work/status")
		cat "/proc/$parent/status" >"$work/parent"
		as "$uid" readlink -v "/proc/$pid/cwd" >"$work/peeped" 2>&1
		as 65534 kill -0 "$pid" 2>"$work/nobody"
		as "$uid" kill -0 "$parent" 2>"$work/own"
		# It has not exited, so all copies are from it. A zombie has no
		# working directory.
		if [ -s "$work/limits" ] && [ -s "$work/cwd" ] &&
		   readlink "/proc/$pid/cwd" >/dev/null; then
			wait $!
			return 0
		fi
		wait $!
	done
	return 1
}

work=$(mktemp -d)
# A longer timeout, for a slow host
conf=/etc/request-key.d/rdma-cmx.conf
saved=$(<"$conf")
trap 'rm -rf "$work"; echo "$saved" >"$conf"' EXIT
sed -i 's/--timeout [0-9]*/--timeout 20/' "$conf"
ok "a helper runs" look
is "it runs as a separate user" "$(status Uid)" "$uid $uid $uid $uid"
is "it runs as a separate group" "$(status Gid)" "$uid $uid $uid $uid"
is "it has no other groups" "$(status Groups)" ""
for set in CapInh CapPrm CapEff CapAmb; do
	is "it has no capabilities: $set" "$(status $set)" "0000000000000000"
done
is "it cannot gain any" "$(status NoNewPrivs)" "1"
is "it dumps no core" "$(limit 'Max core file size')" "0 0"
is "it writes no file" "$(limit 'Max file size')" "0 0"
is "it starts no process" "$(limit 'Max processes')" "0 0"
is "its memory is limited" "$(limit 'Max address space')" \
	"268435456 268435456"
is "its open files are limited" "$(limit 'Max open files')" "64 64"
is "its CPU time is limited" "$(limit 'Max cpu time')" "10 10"
is "its working directory is the root" "$(cat "$work/cwd")" "/"
unlike "it does not have the device open" "$(cat "$work/fds")" 'rdma_cmx'
like "the user nobody cannot signal it" "$(cat "$work/nobody")" 'not permitted'
like "its parent runs as root" "$(cat "$work/parent")" '^Uid:	0	0	0	0$'
like "its user cannot signal the parent" "$(cat "$work/own")" 'not permitted'
like "other processes of its user cannot inspect it" \
	"$(cat "$work/peeped")" 'cwd: .*Permission denied'
finish
