#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: cmtime, rdma_server and similar programs, unmodified, over the shim
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"

# --- cmtime ------------------------------------------------------------------

# Its server never ends; its client prints a line for each step.
serve "$run cmtime -b $sa -c 1000"
client "cmtime, 1,000 connections" "$run cmtime -s $sa -c 1000"
for step in "create id" "resolve addr" "resolve route" "create qp" \
	    "(cm )?connect" disconnect "destroy( id)?"; do
	like "cmtime, 1,000 connections: $step" "$c_out" "^$step *:? +[0-9]"
done
serve_end
# Newer versions connect once to warm up, and repeat all without queue pairs. On
# InfiniBand both sides count in one kernel.
like "cmtime, 1,000 connections: ids at rdma_cmx" "$(ids_since)" \
	'^(1001 1000|2002 2001|2001|4003)$'
none_left "cmtime"

# --- rdma_server, rdma_client --------------------------------------------------

# Each server has a different port: for a while after the end the kernel may
# keep one, and returns EADDRNOTAVAIL (on the stock library, too).
port=7480

port_listens() {
	listens_on $port
}

# unacked: does the server wait for the ACK of a send whose client has ended? A
# client that disconnects right behind a receive may not have sent it. soft-RoCE
# then repeats the send without limit (stock-bugs.rst).
unacked() {
	local sent

	[ $bed = RoCE ] || return 1
	sent=$(sends_repeated)
	wait_for 60 eval "job_ended || [ \$(sends_repeated) -gt $((sent + 3)) ]" &&
		! job_ended
}

sends_repeated() {
	at "$sv" "cat /sys/class/infiniband/rxe*/ports/1/hw_counters/completer_retry_err"
}

# ended NAME IDS SERVER CLIENT: both print "end 0"
ended() {
	for _ in 1 2 3; do
		: $((port += 1))
		serve "$3 -p $port" port_listens
		client "$1" "$4 -s $sa -p $port"
		unacked || break
		diag "$1: again, the client's last ACK is lost"
		job_stop
	done
	served "$1"
	both_say "$1" ': end 0'
	ids "$1" "$2"
	none_left "$1"
}
ended "rdma_server, rdma_client" "2 1" "$run rdma_server" "$run rdma_client"
ended "rdma_client, stock server" "0 1" rdma_server "$run rdma_client"
ended "rdma_server, stock client" "2 0" "$run rdma_server" rdma_client

# outcome_of OPTIONS PORT [PREFIX]: prints the outcome. The server never ends
# here, however long the test waits.
outcome_of() {
	port=$2
	outcome "${3:-} rdma_xserver $1 -p $port" \
		"${3:-} rdma_xclient $1 -s $sa -p $port" port_listens 2
}

# as_stock NAME OPTIONS PORT: an unsupported call fails as on the stock library
as_stock() {
	local stock both

	stock=$(outcome_of "$2" "$3")
	both=$(outcome_of "$2" $(($3 + 1)) "$run")
	is "$1: as on the stock library" "$both" "$stock"
	diag "$both"
	none_left "$1"
}

if [ $bed = RoCE ]; then
	ended "rdma_xserver, rdma_xclient" "2 1" "$run rdma_xserver" \
		"$run rdma_xclient"
else
	# Its client sends inline data, which the fabric's devices do not
	# support.
	as_stock "rdma_xserver, rdma_xclient" "-c r" 7481
fi
# These devices lack XRC
as_stock "rdma_xserver, XRC" "-c x" 7491
bed_end
finish
