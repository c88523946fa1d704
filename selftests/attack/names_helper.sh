#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Attacks on the name helper: by the user nobody, whose id other daemons have,
# too; by a process with the helper's user id; and by a user of request_key(2),
# directly and as root of a user and network namespace.
. /usr/lib/rdma-cmx/selftests/lib.sh

conf=/etc/request-key.d/rdma-cmx.conf
keys=/proc/sys/kernel/keys
cp "$conf" saved.conf
max=$(<$keys/root_maxkeys)
attacker=

cleanup() {
	params_back
	cp saved.conf "$conf"
	echo "$max" >$keys/root_maxkeys
	[ -z "$attacker" ] || kill "$attacker"
	killall -KILL cmx-names 2>/dev/null
}

as() {
	local uid=$1

	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}

helpers() {
	pidof cmx-names
}

resolve() {
	timeout 60 cmx resolve "$1" 7471
}

# helper_timeout SECONDS: of the helpers that start from now on
helper_timeout() {
	sed -i "s/--timeout [0-9]*/--timeout $1/" "$conf"
	# The deadline of a query allows the helper all of its time.
	param query_timeout_ms $(($1 > 4 ? 45000 : 10000))
}

# attack UID SIGNAL: sends each new helper the signal, until attack_end
attack() {
	# Not by a function, whose shell would be what is killed
	# shellcheck disable=SC2016 # for the shell that it starts
	setpriv --reuid="$1" --regid="$1" --clear-groups bash -c 'while :; do
		kill -'"$2"' $(pidof cmx-names)
		sleep 0.02
	done' \
		>/dev/null 2>&1 &
	attacker=$!
}

attack_end() {
	kill "$attacker"
	wait "$attacker" 2>/dev/null
	attacker=
}

# silent TAG: sends the maximum of outstanding queries to a silent server
silent() {
	local i

	helper_timeout 4
	pids=()
	for i in 1 2 3 4; do
		as 1000 timeout 60 cmx resolve "$1$i.silent.test" \
			>/dev/null 2>&1 &
		pids+=($!)
	done
	wait_for 40 helpers
}

# The limit is four outstanding queries.
param names_max 4
param names_per_user 4
trap cleanup EXIT	# param has one too

# --- nobody ------------------------------------------------------------------

attack 65534 STOP
silent stop
wait "${pids[@]}"
# Time for a busy host, on which the attacker does not rest either
helper_timeout 20
ok "the user nobody stops the helpers: they end" wait_for 60 no helpers
ok "another user's name resolves" resolve stop.any.cmx.test
attack_end
killall -KILL cmx-names 2>/dev/null
wait_for 40 live_none

attack 65534 KILL
failed=0
for i in 1 2 3 4; do
	resolve "kill$i.any.cmx.test" >/dev/null 2>&1 || failed=$((failed + 1))
done
attack_end
is "the user nobody kills the helpers: every name resolves" "$failed" 0

# --- The helper's own user id ------------------------------------------------

uid=$(sed -n 's/^rdma-cmx:x:\([0-9]*\):.*/\1/p' /etc/passwd)
attack "$uid" STOP
silent own
wait "${pids[@]}"
ok "their own user stops the helpers: they end" wait_for 60 no helpers
resolve own.any.cmx.test >/dev/null 2>&1
is "another's query ends" $(($? < 124)) 1
attack_end
wait_for 60 no helpers
helper_timeout 20
ok "a name resolves after that" resolve own2.any.cmx.test
wait_for 40 live_none
params_back
param query_timeout_ms 45000

# --- request_key(2) ----------------------------------------------------------

requests() {
	local i type

	for i in 1 2; do
		for type in rdma_cmx_name .rdma_cmx_name; do
			timeout 30 keyctl request2 "$type" \
				"r$i.any.cmx.test" '' @u 2>&1
		done
	done
}
export -f requests

query_received() {
	[ "$(dns_queries "$1")" -gt 0 ]
}

out=$(as 1000 bash -c requests)
like "request_key(2) of a user is refused" "$out" 'not permitted'
unlike "it makes no key" "$out" '^[0-9]'
out=$(as 1000 unshare -Urn bash -c requests)
unlike "it makes none in a private namespace of the user" "$out" '^[0-9]'
resolve barrier.any.cmx.test >/dev/null
ok "the module's query reaches the name server" \
	wait_for 40 query_received barrier.any.cmx.test
is "the user's query does not" "$(dns_queries '\<r[0-9]\.any\.cmx\.test')" 0

# --- root's key quota --------------------------------------------------------

# Keys that count against the quota
quota() {
	awk '$1 == "0:" { split($4, n, "/"); print n[1] }' /proc/key-users
}

quota_below() {
	[ "$(quota)" -lt "$1" ]
}

sed -i 's/--ttl [0-9]*/--ttl 600/' "$conf"
param names_cache_max 4
trap cleanup EXIT
before=$(quota)
# A quota for fewer names than the test queries
echo $((before + 12)) >$keys/root_maxkeys
failed=0
for i in $(seq 16); do
	resolve "q$i.any.cmx.test" >/dev/null 2>&1 || failed=$((failed + 1))
done
is "16 names resolve with a quota for 4" "$failed" 0
ok "root's quota has at most 4 keys more" wait_for 40 quota_below $((before + 6))
ok "root may add a key" keyctl add user cmx_names_test x @u
keyctl purge user cmx_names_test >/dev/null
echo "$max" >$keys/root_maxkeys
cp saved.conf "$conf"

# --- Limits that would block every user ---------------------------------------

for name in names_max names_per_user names_waiting_per_user names_cache_max; do
	ok "$name=0 is refused" no param "$name" 0
done
finish
