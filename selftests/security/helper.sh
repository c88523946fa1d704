#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What the name helper is while it waits for an answer from outside: a process
# without rights, as /proc tells, and a parent that no user has power over. A name
# whose server is silent holds it there.
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
		# Past the point where it gives up what it had
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

# The helper gives up by itself after some seconds: all that is to be looked
# at is copied while it is there.
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
		as "$uid" readlink "/proc/$pid/cwd" >"$work/peeped" 2>/dev/null
		as 65534 kill -0 "$pid" 2>"$work/nobody"
		as "$uid" kill -0 "$parent" 2>"$work/own"
		# Still the same one, so that all of it is of one process
		if [ -s "$work/limits" ] && [ -s "$work/cwd" ] &&
		   [ -d "/proc/$pid/fd" ]; then
			wait $!
			return 0
		fi
		wait $!
	done
	return 1
}

work=$(mktemp -d)
# Time to look, on a slow machine too
conf=/etc/request-key.d/rdma-cmx.conf
saved=$(<"$conf")
trap 'rm -rf "$work"; echo "$saved" >"$conf"' EXIT
sed -i 's/--timeout [0-9]*/--timeout 8/' "$conf"
dns_queries >/dev/null
ok "a helper was seen at work" look
is "it runs as a user of its own" "$(status Uid)" "$uid $uid $uid $uid"
is "and as no group of root's" "$(status Gid)" "$uid $uid $uid $uid"
is "without other groups" "$(status Groups)" ""
for set in CapInh CapPrm CapEff CapAmb; do
	is "without capabilities: $set" "$(status $set)" "0000000000000000"
done
is "and cannot get any" "$(status NoNewPrivs)" "1"
is "no core dump" "$(limit 'Max core file size')" "0 0"
is "it writes no file" "$(limit 'Max file size')" "0 0"
is "it starts no process" "$(limit 'Max processes')" "0 0"
is "its memory is limited" "$(limit 'Max address space')" \
	"268435456 268435456"
is "its files are" "$(limit 'Max open files')" "64 64"
is "its time is" "$(limit 'Max cpu time')" "10 10"
is "it is in no folder" "$(cat "$work/cwd")" "/"
unlike "it has the device not open" "$(cat "$work/fds")" 'rdma_cmx'
like "nobody cannot signal it" "$(cat "$work/nobody")" 'not permitted'
like "its parent is root" "$(cat "$work/parent")" '^Uid:	0	0	0	0$'
like "which its user cannot signal" "$(cat "$work/own")" 'not permitted'
is "others of its user cannot look into it" "$(cat "$work/peeped")" ""
finish
