#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The test bed with the stock stack only: the peer's command server, the name
# servers, RDMA and multicast over the network between the guests.
. /usr/lib/rdma-cmx/selftests/lib.sh

is "a peer command's output" "$(peer 'hostname; echo two')" $'beta\ntwo'
peer 'exit 7'
is "a peer command's status" $? 7
peer 'printf "no newline"; false' >out
is "output without a newline" "$(cat out)" "no newline"

job=$(peer_bg 'sleep 100; exit 3')
is "a background job runs on" "$(peer "test -s /run/jobs/$job.status; echo \$?")" 1
peer_stop
job=$(peer_bg 'echo done; exit 3')
out=$(peer_wait "$job")
is "a background job's status" $? 3
is "a background job's output" "$out" "done"

ok "both guests have an active RDMA port" \
	peer 'rdma link show rxe0/1 | grep -q "state ACTIVE"'
ok "alpha has one too" sh -c 'rdma link show rxe0/1 | grep "state ACTIVE"'
ok "mgmt0 has no RDMA device" sh -c '! rdma link | grep mgmt0'

# Names
out=$(getent ahosts storage.cmx.test)
like "name server: management address" "$out" '^192\.168\.77\.2 '
like "name server: storage address" "$out" '^10\.55\.0\.2 '
like "name server: IPv6 address" "$out" '^fd55::2 '
like "name server: alias" "$(getent ahosts alias.cmx.test)" 'storage.cmx.test'
is "name server: no such name" "$(getent ahosts nobody.gone; echo $?)" 2
before=$(dns_queries counted.gone)
getent ahosts counted.gone
ok "queries are counted" test "$(dns_queries counted.gone)" -gt "$before"
dns_use 127.0.0.1 'timeout:1 attempts:1'
begin=$SECONDS
is "silent server: no answer" "$(getent ahosts x.silent.test; echo $?)" 2
ok "silent server: only after its time" test $((SECONDS - begin)) -ge 1
like "a server responds SERVFAIL" "$(nslookup x.servfail.test 127.0.0.1 2>&1)" SERVFAIL
like "a server responds REFUSED" "$(nslookup x.refused.test 127.0.0.1 2>&1)" REFUSED
dns_silent
is "dns_silent" "$(getent ahosts v4only.cmx.test; echo $?)" 2
dns_up
like "dns_up after dns_silent" "$(getent ahosts v4only.cmx.test)" 10.55.0.2
dns_down
is "dns_down" "$(getent ahosts v4only.cmx.test; echo $?)" 2
dns_up
like "dns_up after dns_down" "$(getent ahosts v4only.cmx.test)" 10.55.0.2

# RDMA over the network
job=$(peer_bg 'rping -s -a 10.55.0.2 -C 5 -v')
ok "rping's server listens" wait_for 40 peer 'rdma resource show cm_id | grep -q LISTEN'
out=$(timeout 120 rping -c -a 10.55.0.2 -C 5 2>&1)
ok "rping, alpha to beta" ended_well $? "$out"
out=$(peer_wait "$job")
ok "rping's server ends well" ended_well $? "$out"

job=$(peer_bg 'mckey -m 239.5.5.5 -b 10.55.0.2 -c 1 -C 10')
ok "mckey's receiver joins" wait_for 40 peer 'igmp_joined eth0 239.5.5.5'
# No burst beyond the receive buffers: newer kernels may deliver nothing more to
# a queue pair after one.
sends=0
while ! peer "test -s /run/jobs/$job.status" && [ $((sends += 1)) -le 12 ]; do
	timeout 90 mckey -m 239.5.5.5 -b 10.55.0.1 -s -c 1 -C 10 >sender.log 2>&1
done
ok "multicast, alpha to beta" peer_wait "$job"
finish
