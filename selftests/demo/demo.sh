#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The demonstration shows the functions of the project step by step, in guest
# alpha with beta as its peer (`make demo`). Each step has a description, shows
# the commands and their output, and checks it. Exits with 1 when any check
# fails.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/demo/show.sh

group=239.55.1.1

# Joins in the background until join_end; shows the output of cmx, sets $out.
join_start() {
	rm -f /run/demo.join
	: >/run/demo.join
	cmx join "$@" --source 10.55.0.1 $group >>/run/demo.join 2>&1 &
	join_pid=$!
	wait_for 40 grep -q Q_Key /run/demo.join
	out=$(cat /run/demo.join)
	echo "  alpha\$ cmx join${*:+ $*} --source 10.55.0.1 $group &"
	sed 's/^/    /' <<<"$out"
}

join_end() {
	kill -INT $join_pid
	wait $join_pid
}

cat <<-END

	Two machines on one wire: alpha, where this runs, and beta. Each has a
	soft-RoCE device rxe0 on the storage network (10.55.0.0/24, fd55::/64),
	and a management network (192.168.77.0/24) without RDMA. alpha runs a
	name server (dnsmasq). Both run Linux $(uname -r) as Debian ships it.
END

title "A name with three addresses: the storage address first" \
	"The name server gives the management address first; RDMA cannot use" \
	"it. cmx queries the kernel's resolver, which has routes and devices."
run 'getent ahosts storage.cmx.test | grep STREAM'
run 'cmx resolve storage.cmx.test 7471'
check "all three addresses came back" [ "$(grep -c RC/TCP <<<"$out")" = 3 ]
check "the first is on the storage network and names rxe0" \
	line_said 2 '^(10\.55\.0\.2|fd55::2) .*rxe0/1'
check "the management address is last, without a device" \
	line_said 4 '^192\.168\.77\.2 .*-$'
run 'cmx resolve -j -4 storage.cmx.test 7471'
check "the same as JSON" said '"destination": "10.55.0.2"'
echo
echo "  The stock library beside it:"
run "$here/call-stock list storage.cmx.test 7471"
check "stock returns one address only" said '^addresses: 1,'

title "The kernel's cache answers a second query" \
	"Stock queries the name server each time."
# The cache keeps a response for 5 s, which may end between the two.
for try in 1 2 3; do
	$here/call list storage.cmx.test 7471 >/dev/null
	queries=$(dns_queries 'storage\.cmx\.test')
	out=$($here/call list storage.cmx.test 7471)
	[ "$(dns_queries 'storage\.cmx\.test')" != "$queries" ] || break
done
show alpha 'call list storage.cmx.test 7471'
check "the query does not reach the name server" \
	[ "$(dns_queries 'storage\.cmx\.test')" = "$queries" ]
run "$here/call-stock list storage.cmx.test 7471"
check "stock has queried the name server again" \
	[ "$(dns_queries 'storage\.cmx\.test')" -gt "$queries" ]

title "Not blocked by a name server that is silent" \
	"Names below silent.test belong to a server that never answers. The" \
	"call returns at once; another name resolves meanwhile; a lookup can" \
	"be cancelled; the lookup of the silent name ends with an error event."
run "$here/async a.silent.test storage.cmx.test"
check "all calls and events are as described" succeeded
echo
echo "  Stock has only the call that waits:"
run "$here/call-stock list b.silent.test 7471"
check "stock was blocked for seconds" said 'after [0-9]{4,}\.'

title "Connect to the first address, data over an RC queue pair" \
	"The server on beta uses the stock stack: on the wire it is the same."
job=$(peer_bg "$here/echo-stock serve :: 7471")
wait_for 40 peer "grep -q listening /run/jobs/$job.log"
run "$here/echo connect storage.cmx.test 7471"
check "connected, and the data is right" said 'every byte right'
check "by the first address of the list" \
	[ "$(grep -c '^trying' <<<"$out")" = 1 ]
check "the server has received the data, too" peer_wait "$job" 30
echo
echo "  An unmodified program, with this project's library preloaded:"
job=$(peer_bg "rping -s -a 10.55.0.2 -p 7472 -C 3 -v")
wait_for 40 peer "rdma resource show cm_id | grep -q 7472"
run 'LD_PRELOAD=librdmacmx.so.1 timeout 60 rping -c -a 10.55.0.2 -p 7472 -C 3 -v'
check "rping went through /dev/infiniband/rdma_cmx" ended_well "$status" "$out"
out=$(peer_wait "$job" 30)
check "its server has ended well, too" ended_well $? "$out"

title "Multicast: a full member and a send-only member" \
	"A full member reports by IGMP to the network that it listens. A send-only" \
	"member sends no IGMP, so that switches do not flood its port."
before=$(igmp_joined eth0 $group && echo there)
check "eth0 is not a member of $group" [ -z "$before" ]
join_start
check "joined as a full member" said '^joined .* as full member'
check "the kernel's IGMP has $group on eth0" igmp_joined eth0 $group
join_end
check "interrupted, it left: IGMP no longer has it" \
	wait_for 40 no igmp_joined eth0 $group
join_start --send-only
check "joined as a send-only member" said 'as send-only full member'
check "without IGMP" no igmp_joined eth0 $group
join_end

title "Multicast data from alpha to beta" \
	"beta is a full member and waits for three datagrams."
job=$(peer_bg "cmx join --dev rxe0 --count 3 $group")
wait_for 40 peer "grep -q Q_Key /run/jobs/$job.log"
# Datagrams may get lost.
for _ in {1..5}; do
	run "cmx join --send-only --dev rxe0 --count 3 $group"
	! wait_for 10 peer "test -s /run/jobs/$job.status" || break
done
check "sent" succeeded
out=$(peer_wait "$job" 30)
printf '  beta$ cmx join --dev rxe0 --count 3 %s\n' $group
sed 's/^/    /' <<<"$out"
check "beta received all three, from alpha" said 'received 3: .*10\.55\.0\.1'

title "The kernel sends the same query" \
	"cmx_consumer.ko stands for a storage driver: it resolves the name" \
	"with the in-kernel API, no user space involved on its side."
run 'modprobe cmx_consumer'
run 'echo "resolve storage.cmx.test 4420 qp=2 ps=262" >/sys/kernel/debug/cmx_consumer/command'
run 'cat /sys/kernel/debug/cmx_consumer/result'
check "three entries" said 'entries=3'
check "the storage address first, with a device" \
	line_said 2 'dst=(10\.55\.0\.2|\[fd55::2\]):4420 dev=[0-9]+ port=1'
run 'rmmod cmx_consumer'

title "Where stock falls short: invalid calls" \
	"Each returns an error here that names the cause."
run "$here/call list 10.55.0.2 70000"
check "port 70000 is refused" error_reported
run "$here/call-stock list 10.55.0.2 70000"
check "stock takes it" succeeded
run "$here/call join 10.1.2.3 10.55.0.1"
check "10.1.2.3 is not a multicast address: refused" error_reported
run "$here/call-stock join 10.1.2.3 10.55.0.1"
check "stock joins it" succeeded
run "$here/call length"
check "a length without an address is refused" error_reported
run "$here/call-stock length"
echo "    $(crash_text)"
check "stock does not refuse it" no error_reported
run "$here/call null"
check "no place for the result: refused" error_reported
run "$here/call-stock null"
echo "    $(crash_text)"
check "stock crashes" [ "$status" -gt 128 ]
run 'cmx resolve nosuch.cmx.test'
check "the error of an unknown name names the cause" said 'Name or service not known'

title "Counters, and nothing left behind"
run 'cmx stat'
check "no live object" wait_for 40 live_none

demo_end
