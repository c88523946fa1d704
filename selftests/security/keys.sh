#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Only root and the helper change a cached response: an ordinary user, also as
# root of a user namespace, tries each operation on the keyring of responses, on
# a response in it, and on one under construction. No user, not even root, makes
# a key of the same type elsewhere. Root's results remain those of the server.
. /usr/lib/rdma-cmx/selftests/lib.sh

name=storage.cmx.test
silent=k1.silent.test

user() {
	timeout 100 setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}

# As root of a private user namespace, too
user_root() {
	user unshare -Ur "$@"
}

root() {
	timeout 100 "$@"
}

# key_id TYPE DESCRIPTION: the serial number. /proc/keys has it in hexadecimal,
# and nine letters of the type.
key_id() {
	awk -v type="${1:0:9}" -v name="$2" '$8 == type && ($9 == name ||
		$9 == name ":") { print "0x" $1; exit }' /proc/keys
}

answer() {
	timeout 120 cmx resolve -j "$name" 4420
}

# Prints only the addresses, sorted.
addresses() {
	answer | grep -oE '"(10\.55|192\.168|fd55)[^"]*"' | sort | xargs
}

# refused NAME COMMAND...: the command fails with a permission error
refused() {
	local what=$1 out

	shift
	if out=$("$@" 2>&1 </dev/null); then
		fail "$what is refused"
		diag "$out"
		return
	fi
	case $out in
	*'Permission denied'* | *'Operation not permitted'* | \
	*'Required key not available'*)
		pass "$what is refused"
		;;
	*)
		fail "$what is refused"
		diag "$out"
		;;
	esac
}

# A long time to live: the tests below take a while on a slow host.
conf=/etc/request-key.d/rdma-cmx.conf
cp "$conf" /tmp/rdma-cmx.conf
sed 's/--ttl [0-9]*/--ttl 600/' /tmp/rdma-cmx.conf >"$conf"
trap 'cp /tmp/rdma-cmx.conf "$conf"; keyctl clear "$ring"' EXIT
ring=$(key_id keyring .rdma_cmx_names)
keyctl clear "$ring"

want=$(addresses)
like "root gets a result" "$want" '10\.55\.0\.2'
key=$(key_id .rdma_cmx_name $name)
like "the response is a key" "$key" '^0x'

for who in user user_root; do
	refused "$who: add to the keyring" \
		$who keyctl add .rdma_cmx_name $name false "$ring"
	refused "$who: search the keyring" \
		$who keyctl search "$ring" .rdma_cmx_name $name
	refused "$who: read the keyring" $who keyctl rlist "$ring"
	refused "$who: clear the keyring" $who keyctl clear "$ring"
	refused "$who: link the keyring" $who keyctl link "$ring" @u
	refused "$who: revoke the keyring" $who keyctl revoke "$ring"
	refused "$who: invalidate the keyring" $who keyctl invalidate "$ring"
	refused "$who: set the keyring's mask" \
		$who keyctl setperm "$ring" 0x3f3f3f3f
	refused "$who: own the keyring" $who keyctl chown "$ring" 0
	refused "$who: link an answer" $who keyctl link "$key" @u
	refused "$who: take an answer out" $who keyctl unlink "$key" "$ring"
	refused "$who: read an answer" $who keyctl pipe "$key"
	refused "$who: update an answer" $who keyctl update "$key" false
	refused "$who: revoke an answer" $who keyctl revoke "$key"
	refused "$who: invalidate an answer" $who keyctl invalidate "$key"
	refused "$who: end an answer" $who keyctl timeout "$key" 1
	refused "$who: instantiate an answer" \
		$who keyctl instantiate "$key" false "$ring"
	refused "$who: negate an answer" $who keyctl negate "$key" 60 "$ring"
done

for who in user user_root root; do
	refused "$who: a key of the type elsewhere" \
		$who keyctl add .rdma_cmx_name $name false @u
	refused "$who: an answer by request_key(2)" \
		$who keyctl request2 .rdma_cmx_name $name '' @u
done
is "root's result is unchanged" "$(addresses)" "$want"
is "its key is the same" "$(key_id .rdma_cmx_name $name)" "$key"
keyctl clear "$ring"
is "a new query has the same result" "$(addresses)" "$want"

# A response under construction belongs to its helper.
seen() {
	key=$(key_id .rdma_cmx_name $silent)
	[ -n "$key" ]
}
timeout 120 cmx resolve $silent >/dev/null 2>&1 &
if wait_for 40 seen; then
	refused "assume authority over an answer to come" \
		user keyctl instantiate "$key" false 0
	refused "negate an answer to come" user keyctl negate "$key" 60 0
	refused "reject an answer to come" \
		user keyctl reject "$key" 60 rejected 0
else
	fail "a key under construction is visible"
fi
wait $!
finish
