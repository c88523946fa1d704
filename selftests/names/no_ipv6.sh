#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The command and the library on a kernel without IPv6: names and numbers of
# both families, as a client and as a server.
. /usr/lib/rdma-cmx/selftests/cmx/functions

names_wait 20

resolve() {
	timeout 60 cmx resolve "$@" 2>&1
}

like "a name of both families: IPv4 first, with a device" \
	"$(resolve storage.cmx.test 4420)" '10\.55\.0\.2 .*rxe0'
like "the result has its IPv6 address, which is unreachable" \
	"$(resolve storage.cmx.test 4420)" 'fd55::2'
for node in fd55::2 ::1 'fe80::1%eth0' v6only.cmx.test; do
	like "$node is an entry, or refused" "$(resolve "$node" 4420; echo "status $?")" \
		'status [0-9]$'
done
like "an IPv4 number" "$(resolve 10.55.0.2 4420)" '10\.55\.0\.2'
like "without a node" "$(resolve - 4420)" '127\.0\.0\.1'
like "the wildcard of a server" "$(resolve --passive - 4420)" '0\.0\.0\.0'
like "a server's IPv6 number" "$(resolve --passive fd55::1 4420)" 'fd55::1'

# --- the other commands, which use the rest of the library ---

cleanup() {
	kill $server
	cp /run/hosts /etc/hosts
} 2>/dev/null
cp /etc/hosts /run/hosts
printf '%s both.no6.test\n' fd55::1 10.55.0.1 >>/etc/hosts
/usr/lib/rdma-cmx/selftests/cmx/tools/accept 7601 &
server=$!
trap cleanup EXIT
ok "a server on the wildcard of both families" wait_for 60 eval \
	'rdma resource show cm_id | grep -q "state LISTEN"'
for race in "" --race; do
	# shellcheck disable=SC2086 # none or one
	out=$(timeout 60 cmx connect $race both.no6.test 7601 2>&1)
	is "cmx connect $race: exit code" $? 0 || diag "$out"
	like "cmx connect $race: by IPv4" "$out" '10\.55\.0\.1 .*up'
done
like "cmx resolve --dev" "$(resolve --dev rxe0 both.no6.test 1)" \
	'^10\.55\.0\.1 .* rxe0/1 '
like "cmx join, IPv4" \
	"$(timeout 60 cmx join --once --source 10.55.0.1 239.55.7.1 2>&1)" \
	'^joined 239\.55\.7\.1 '
fails "cmx join, IPv6" 1 'no RDMA device has the source address' \
	cmx join --once --source fd55::1 ff15::55:1
healthy "cmx doctor" cmx doctor
healthy "cmx doctor, a name" cmx doctor both.no6.test
ok "the kernel is still there" test -e /dev/infiniband/rdma_cmx
finish
