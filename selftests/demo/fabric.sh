#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The second half of the demonstration, in guest gamma: the project on
# InfiniBand, with a stock subnet manager. The server runs in the guest itself,
# as rdma_cm of Linux 6.1 accepts connections by GID in the initial network
# namespace only. The client runs in a namespace with a separate HCA. Exits with
# 1 when any check fails.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/demo/show.sh

service=/usr/lib/rdma-cmx/selftests/sa/tools/service
group=239.55.1.1

# run_client COMMAND: like run, in the namespace of the client
run_client() {
	out=$(timeout -k 1 90 ip netns exec client bash -c "$1" 2>&1)
	status=$?
	show client "$1"
}

# server_start COMMAND, client_start COMMAND: start it in the background; $job
# is the process, $log its output
server_start() {
	background gamma "$1" bash -c
}

client_start() {
	background client "$1" ip netns exec client bash -c
}

background() {
	local host=$1 command=$2

	shift 2
	log=/run/demo.$host
	timeout -k 1 90 "$@" "exec $command" >"$log" 2>&1 &
	job=$!
	printf '  %s$ %s &\n' "$host" "${command//$here\//}"
}

# log_shows REGEX: waits until the log matches, and shows it
log_shows() {
	wait_for 40 grep -qE "$1" "$log"
	out=$(cat "$log")
	sed 's/^/    /' "$log"
}

# The SA's records of the members of the group in $log
members_show() {
	local mgid

	mgid=$(sed -n 's/^ *MGID *//p' "$log" | head -n 1)
	run "saquery --timeout 10000 --smkey 1 -m | grep -A 3 'MGID.*\\.$mgid' | grep -E 'PortGid|State'"
}

cat <<-END

	The second half: InfiniBand. Four simulated HCAs on a switch, and Debian's
	OpenSM, which manages them as any subnet. A query to the subnet
	administrator (SA) here goes to a real one.
END

title "A subnet manager brings the fabric up" \
	"Without one, ports have no address (LID) and carry no data."
# From the start, without any module
modprobe -r cmx_fabric
sm_stop
fabric_load
run 'rdma link | cut -d" " -f 2,5,6,11,12'
check "no port is active" [ "$(grep -c 'state INIT' <<<"$out")" = 4 ]
first=$(fab_dev 1)
sm_start
echo "  gamma\$ opensm -g 0x$(dev_guid "$first") &"
# IPoIB joins its groups when its interface is up.
for n in 1 2 3 4; do
	addresses_add "$(fab_dev $n)"
done
check "IPoIB runs on all of them" port_active_wait
run 'rdma link | cut -d" " -f 2,5,6,11,12'
check "all are active, each with a different LID" \
	[ "$(grep -c 'state ACTIVE' <<<"$out")" = 4 ]
run "sminfo -C $first"
check "the master is this one" said SMINFO_MASTER

client=$(fab_dev 2)
host_add client 2
echo
echo "  The client is a separate host, with the second HCA; the server is here."
run_client 'rdma link | cut -d" " -f 2,5,6,11,12; ip -br -4 addr show up'

title "One node offers a service, another finds it by name" \
	"The server listens and registers at the SA. The client needs no" \
	"address: it queries the SA for the name."
server_start "$here/echo-stock serve-ib $(dev_gid "$first")"
log_shows 'service id'
check "the server listens (the stock library)" said '^listening'
id=$(sed -n 's/.*service id //p' "$log")
run "$service -C $first -n backup -i $id set"
check "registered" succeeded
run_client "saquery -C $client SR | grep -E 'ServiceID|ServiceGID|ServiceName'"
# A retry would count as a second query.
param sa_timeout_ms 20000
queries=$(sa_requests 0x12 0x0031)
run_client 'cmx resolve --sa backup'
check "found, with its id, on the server's port" said "$id"
check "by one query to the SA" \
	[ $(($(sa_requests 0x12 0x0031) - queries)) = 1 ]
run_client 'cmx resolve --sa backup'
check "the cache answers the second query" \
	[ $(($(sa_requests 0x12 0x0031) - queries)) = 1 ]
params_back

title "Connect to what was found, data over an RC queue pair" \
	"By GID and service id (AF_IB): no IP address is involved."
run_client "$here/echo connect-sa backup"
check "connected, and the data is right" said 'every byte right'
wait_for 40 grep -q 'served one' "$log"
out=$(cat "$log")
check "the server has received the data, too" said 'served one client'
run "$service -C $first -i $id delete"
kill $job 2>/dev/null

title "Failures are reported" \
	"A name that is not registered, and a subnet manager that is dead."
run_client 'cmx resolve --sa nosuch'
check "no such service: an error that names the cause" error_reported
sm_pause
run_client 'cmx resolve --sa late'
check "the SA does not answer: an error, in some seconds" error_reported
sm_resume

title "A host name: the address that an HCA reaches, by IPoIB" \
	"The same query as with RoCE."
run 'cmx resolve node2.cmx.test 7471'
check "both addresses, with the HCA" [ "$(grep -c "$first/1" <<<"$out")" = 2 ]
server_start "rping -s -a 10.66.0.1 -C 3 -v"
wait_for 40 sh -c 'rdma resource show cm_id | grep -q LISTEN'
run_client 'LD_PRELOAD=librdmacmx.so.1 timeout 60 rping -c -a 10.66.0.1 -C 3'
check "rping, not modified, goes through this project" \
	ended_well "$status" "$out"
wait $job
check "its server has ended well, too" ended_well $? "$(<"$log")"

title "Multicast: a full member and a send-only member" \
	"To the SA a full member (join state 1) wants the group's data; a" \
	"send-only full member (8) only sends, and gets none."
server_start "cmx join --source 10.66.0.1 --count 3 $group"
log_shows Q_Key
check "joined as a full member" said 'as full member'
receiver=$job received=$log
client_start "cmx join --source 10.66.0.2 --send-only $group"
log_shows Q_Key
check "joined to send only" said 'as send-only full member'
members_show
check "the SA has one full member" [ "$(grep -c 'State\.*0x.1$' <<<"$out")" = 1 ]
check "and one that only sends" [ "$(grep -c 'State\.*0x.8$' <<<"$out")" = 1 ]
kill -INT $job
wait $job
# Datagrams may get lost.
for _ in {1..5}; do
	run_client "cmx join --source 10.66.0.2 --send-only --count 3 $group"
	! wait_for 5 no kill -0 "$receiver" || break
done
check "sent" succeeded
wait $receiver
out=$(cat "$received")
show gamma "cmx join --source 10.66.0.1 --count 3 $group"
check "the server received all three, from the client" \
	said 'received 3: '

title "Counters, and nothing left behind"
host_del client
run 'cmx stat | grep -E " (sa_|live_)"'
check "no live object" wait_for 40 live_none

demo_end
