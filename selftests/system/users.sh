#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Unprivileged users, and users against each other: all resolutions work for
# every user (GAI-01, RAI-01), any number of names one after the other does not
# use up a user's key quota, and one user's silent names do not block another
# user. GAI-01: in a container, too.
. /usr/lib/rdma-cmx/selftests/lib.sh
loop=/usr/lib/rdma-cmx/selftests/api/tools/loop

as() {
	local uid=$1

	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}

ok "GAI-01: an ordinary user resolves" timeout 60 setpriv --reuid=1000 \
	--regid=1000 --clear-groups $loop 2

# A small quota, which keys of the user fill
quota=/proc/sys/kernel/keys
keys=$(cat $quota/maxkeys) bytes=$(cat $quota/maxbytes)
echo 20 >$quota/maxkeys
echo 2000 >$quota/maxbytes

own_keys() {
	# shellcheck disable=SC2016 # for the shell that it starts
	as 1000 bash -c 'for i in {1..30}; do
			keyctl add user "k$i" value @u || exit
		done' >last 2>&1
}

many() {
	local i

	for i in {1..30}; do
		as 1000 timeout 90 cmx resolve "u$i.any.cmx.test" >out 2>&1 || {
			echo "name $i: $(cat out)"
			return 1
		}
	done
}
# A host may stop for the usual 4 s of the helper.
helper_waits() {
	sed -i "s/--timeout [0-9]*/--timeout $1/" /etc/request-key.d/rdma-cmx.conf
}
own_keys
helper_waits 9
ok "the quota holds for keys of the user" grep -q 'quota exceeded' last
ok "GAI-13: 30 names in a row of a user without quota left" many
as 1000 keyctl clear @u
echo "$keys" >$quota/maxkeys
echo "$bytes" >$quota/maxbytes
helper_waits 4

# More names of a silent server than the limit of one user
running() {
	[ "$(counter live_lookups | head -1)" -ge 8 ]
}

# waiting N: on a slow host the first user's names may have ended; another call
# then uses new names
waiting() {
	local i pids=()

	for i in {1..24}; do
		as 1000 timeout 60 cmx resolve "s$1-$i.silent.test" \
			>/dev/null 2>&1 &
		pids+=($!)
	done
	wait_for 40 running
	many=$?
	as 65534 timeout 60 cmx resolve "other$1.any.cmx.test" >out 2>&1
	other=$?
	running
	still=$?
	wait "${pids[@]}"
	wait_for 40 live_none
	ended=$?
}
for i in 1 2 3; do
	waiting $i
	[ $many$other$still$ended != 0000 ] || break
done
is "one user waits for many silent names" $many 0
is "RAI-01: another user's query succeeds" $other 0 || diag "$(<out)"
is "RAI-01: while the first one still waits" $still 0
is "GAI-02: each of them ends" $ended 0
ok "the first user resolves again" as 1000 timeout 60 cmx resolve again.any.cmx.test

# A container: a private user, network and mount namespace
inside='ip link set lo up
	echo "10.55.0.2 inside.hosts.test" >hosts
	mount --bind hosts /etc/hosts
	cmx resolve inside.hosts.test 7471'
out=$(as 1000 timeout 60 unshare -Urnm bash -c "cd \$(mktemp -d); $inside" 2>&1)
is "GAI-01: a container resolves a private name" $? 0
like "GAI-01: to its address" "$out" '10\.55\.0\.2'
out=$(timeout 60 cmx resolve inside.hosts.test 2>&1)
ok "GAI-02: that name does not resolve outside" test $? -ne 0
finish
