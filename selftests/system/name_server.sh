#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-02, RAI-03: the name server itself fails, not one zone: it stops
# responding, exits, and starts again. Cached names still resolve.
. /usr/lib/rdma-cmx/selftests/lib.sh

# Results stay cached for longer than any two steps on a busy host.
conf=/etc/request-key.d/rdma-cmx.conf
saved=$(<$conf)
trap 'echo "$saved" >$conf' EXIT
sed -i 's/ttl [0-9]*/ttl 600/g' $conf

resolve() {
	timeout 60 cmx resolve "$1" 7471
}

ok "a name resolves" resolve ns1.any.cmx.test

dns_silent
ok "a name in the cache needs no server" resolve ns1.any.cmx.test
begin=$SECONDS
out=$(resolve ns2.any.cmx.test 2>&1)
isnt=$?
ok "GAI-02: a silent server is an error" test $isnt -ne 0
like "GAI-02: the error names the cause" "$out" '[Tt]emporar|[Tt]imed out|try again|did not answer|no answer'
ok "RAI-03: soon after the deadline of 10 s" test $((SECONDS - begin)) -lt 50
ok "a number needs no server" resolve 10.55.0.2
dns_up
ok "it answers again" resolve ns3.any.cmx.test

dns_down
out=$(resolve ns4.any.cmx.test 2>&1)
ok "GAI-02: no server at all is an error" test $? -ne 0
like "GAI-02: a temporary one" "$out" '[Tt]emporar|[Tt]imed out|try again|did not answer|no answer'
dns_up
ok "it answers again" resolve ns5.any.cmx.test
finish
