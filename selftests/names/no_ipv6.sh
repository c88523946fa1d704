#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The command and the library on a kernel without IPv6: names and numbers of
# both families, as a client and as a server.
. /usr/lib/rdma-cmx/selftests/lib.sh

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
ok "the kernel is still there" test -e /dev/infiniband/rdma_cmx
finish
