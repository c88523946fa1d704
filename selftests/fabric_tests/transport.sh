#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The stock stack over the simulated fabric: programs of perftest and libibverbs
# between two hosts, each a namespace with one device. programs/ has those of
# rdma_cm, with the stock library on either side.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

here=10.66.0.2
work=$(mktemp -d)

# Shows the server's log after a failure of the client.
server_show() {
	diag "output of its server:"
	diag "$(tail -n 15 "$work/server.log")"
}

# serve COMMAND...: in namespace one; sets $server
serve() {
	(exec ip netns exec one timeout 200 "$@") >"$work/server.log" 2>&1 \
		</dev/null &
	server=$!
}

# Does a process have a listener of rdma_cm?
cm_listens() {
	on one rdma resource show cm_id | grep -q 'state LISTEN.* pid'
}

# tcp_listens PORT
tcp_listens() {
	on one cat /proc/net/tcp /proc/net/tcp6 |
		grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$1") [0-9A-F:]+ 0A"
}

# ready NAME COMMAND...: waits for the server
ready() {
	local name=$1

	shift
	wait_for 90 "$@" && return
	fail "$name"
	server_show
	kill $server 2>/dev/null
	wait $server
	return 1
}

# pair NAME READY CLIENT...: after `serve`; both ends must succeed
pair() {
	local name=$1 listens=$2

	shift 2
	# shellcheck disable=SC2086 # a command and its argument
	ready "$name: the server listens" $listens || return
	ok "$name" on two timeout 100 "$@" </dev/null || server_show
	wait $server
	is "$name: the server exits with 0, too" $? 0 || server_show
}

host_add one 2
host_add two 3
dev1=$(fab_dev 2) dev2=$(fab_dev 3)

# --- perftest -------------------------------------------------------------

# perf_plain NAME PROGRAM OPTIONS...: exchanges the numbers over TCP
perf_plain() {
	local name=$1 program=$2

	shift 2
	serve "$program" "$@" -F -d "$dev1" -p 18600
	pair "$name" "tcp_listens 18600" \
		"$program" "$@" -F -d "$dev2" -p 18600 $here
}

perf_plain ib_send_bw ib_send_bw -n 200 -s 65536
perf_plain ib_send_lat ib_send_lat -n 200 -s 64
perf_plain ib_write_bw ib_write_bw -n 100 -s 1000000
perf_plain ib_write_lat ib_write_lat -n 200 -s 64
perf_plain ib_read_bw ib_read_bw -n 200 -s 65536
perf_plain ib_read_lat ib_read_lat -n 200
perf_plain ib_atomic_bw ib_atomic_bw -n 200
perf_plain ib_atomic_lat ib_atomic_lat -n 200
perf_plain "ib_send_bw, UC" ib_send_bw -c UC -n 200 -s 65536
perf_plain "ib_write_bw, UC" ib_write_bw -c UC -n 200 -s 65536
perf_plain "ib_send_bw, UD" ib_send_bw -c UD -n 200 -s 2048
perf_plain "ib_write_bw both ways, four queue pairs" \
	ib_write_bw -b -q 4 -n 100 -s 65536

# --- libibverbs' own programs ----------------------------------------------

# pingpong NAME PROGRAM OPTIONS...
pingpong() {
	local program=$1

	shift
	serve "$program" -d "$dev1" -p 18601 "$@"
	pair "$program $*" "tcp_listens 18601" \
		"$program" -d "$dev2" -p 18601 "$@" $here
}
pingpong ibv_rc_pingpong -n 200 -s 100000 -c
pingpong ibv_rc_pingpong -n 200 -e
pingpong ibv_uc_pingpong -n 200 -s 100000 -c -r 200
pingpong ibv_ud_pingpong -n 200 -s 2000
pingpong ibv_srq_pingpong -n 200 -q 4

# --- IPoIB, connected mode --------------------------------------------------

mode_set() {
	local ns

	for ns in one two; do
		on $ns sh -c "for f in /sys/class/net/*/mode; do
			echo $1 >\$f || exit
		done"
	done
}
rc_exists() {
	on two rdma resource show qp | grep -q 'type RC .*state RTS'
}
ok "IPoIB: connected mode can be set" mode_set connected
ok "IPoIB: large packets pass" wait_for 60 on two ping -c 1 -s 30000 -W 10 $here
ok "IPoIB: by a connection" wait_for 60 rc_exists
mode_set datagram

# --- A link that goes down --------------------------------------------------

packets_more_than() {
	[ "$(dev_file "$dev2" ports/1/counters/port_xmit_packets)" -gt "$1" ]
}

serve ibv_rc_pingpong -d "$dev1" -p 18602 -n 10000000
ready "endless pingpong: the server listens" tcp_listens 18602
sent=$(dev_file "$dev2" ports/1/counters/port_xmit_packets)
(exec ip netns exec two timeout 300 ibv_rc_pingpong -d "$dev2" -p 18602 \
	-n 10000000 $here) >"$work/client.log" 2>&1 </dev/null &
client=$!
ok "endless pingpong: messages pass" wait_for 90 packets_more_than \
	$((sent + 2000))
link_down "$dev1"
# The end with an outstanding message fails; the other one waits forever.
wait -n $server $client
is "endless pingpong: it fails when the link goes down" $? 1
kill $server $client 2>/dev/null
wait $server $client 2>/dev/null
like "endless pingpong: after its retries" \
	"$(cat "$work/client.log" "$work/server.log")" \
	'transport retry counter exceeded'
link_up "$dev1"
ok "the link is up again" port_active_wait
serve rping -s -a $here -C 20
name="rping: over the link that came back"
if ready "$name: the server listens" cm_listens; then
	out=$(on two timeout 100 rping -c -a $here -C 20 2>&1 </dev/null)
	ok "$name" ended_well $? "$out" || server_show
	wait $server
	ok "$name: the server ends well, too" ended_well $? \
		"$(<"$work/server.log")" || server_show
fi

host_del one
host_del two
rm -rf "$work"
finish
