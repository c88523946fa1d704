#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Users without privileges, and users against each other: everything that
# resolves works for anybody (GAI-01, RAI-01), any number of names in a row
# is no burden on a user's key quota, and one user's silent names do not keep
# another from an answer. GAI-01: inside a container too.
. /usr/lib/rdma-cmx/selftests/lib.sh
loop=/usr/lib/rdma-cmx/selftests/api/loop.helper

as() {
	local uid=$1

	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}

ok "GAI-01: an ordinary user resolves" timeout 60 setpriv --reuid=1000 \
	--regid=1000 --clear-groups $loop 2

many() {
	local i

	for i in $(seq 250); do
		as 1000 timeout 30 cmx resolve "u$i.any.cmx.test" >last 2>&1 || {
			echo "name $i: $(cat last)"
			return 1
		}
	done
}
ok "GAI-13: 250 names of one user in a row" many

# More silent names than one user may ask at a time
pids=()
for i in $(seq 24); do
	as 1000 timeout 60 cmx resolve "s$i.silent.test" >/dev/null 2>&1 &
	pids+=($!)
done
running() {
	[ "$(counter live_lookups | head -1)" -ge 8 ]
}
ok "one user waits for many silent names" wait_for 40 running
ok "RAI-01: another user gets an answer" \
	timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups \
	cmx resolve other.any.cmx.test
ok "RAI-01: while the first one still waits" running
wait "${pids[@]}"
ok "GAI-02: each of them gets an answer in the end" wait_for 40 live_none
ok "the first user resolves again" as 1000 timeout 60 cmx resolve again.any.cmx.test

# A container: user, network and mount namespace of its own
inside='ip link set lo up
	echo "10.55.0.2 inside.hosts.test" >hosts
	mount --bind hosts /etc/hosts
	cmx resolve inside.hosts.test 7471'
out=$(as 1000 timeout 60 unshare -Urnm bash -c "cd \$(mktemp -d); $inside" 2>&1)
is "GAI-01: a container resolves a name of its own" $? 0
like "GAI-01: to its address" "$out" '10\.55\.0\.2'
out=$(timeout 60 cmx resolve inside.hosts.test 2>&1)
ok "GAI-02: nobody outside knows that name" test $? -ne 0
finish
