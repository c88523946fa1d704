#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: unmodified programs linked to librdmacm run over rdma_cmx when
# librdmacmx is preloaded, with themselves and with stock peers; programs that
# use rsockets still work.
. /usr/lib/rdma-cmx/selftests/lib.sh

lib=$(ls /usr/lib/*/librdmacmx.so.1)
a=10.55.0.1
b=10.55.0.2
pre="env LD_PRELOAD=$lib"

# Stock peers listen in the stock module's name, ours in rdma_ucmx's
listening() {
	wait_for 20 peer "rdma resource show cm_id | grep -q 'LISTEN'"
}

ids_made() {
	counter ids
}

# pair NAME SERVER CLIENT: SERVER in beta, CLIENT here, both end well
pair() {
	local name=$1 job

	job=$(peer_bg "$2")
	ok "$name: the server listens" listening
	ok "$name: client" timeout 60 bash -c "$3"
	ok "$name: server" peer_wait "$job" 30
	peer_stop
	ok "$name: nothing is left over" wait_for 5 live_none ||
		diag "$(live_objects)"
}

before=$(ids_made)
pair "rping, both preloaded" "$pre rping -s -a $b -C 5 -V" \
	"$pre rping -c -a $b -C 5 -V"
ok "the ids were rdma_ucmx's" test "$(ids_made)" -gt "$before"
pair "rping, stock server" "rping -s -a $b -C 5 -V" \
	"$pre rping -c -a $b -C 5 -V"
pair "rping, stock client" "$pre rping -s -a $b -C 5 -V" \
	"rping -c -a $b -C 5 -V"
pair "rping, IPv6" "$pre rping -s -a fd55::2 -C 5 -V" \
	"$pre rping -c -a fd55::2 -C 5 -V"
pair "rping, threads of a persistent server" \
	"timeout 25 $pre rping -s -P -a $b; [ \$? = 124 ]" \
	"for i in 1 2 3; do $pre rping -c -a $b -C 3 || exit; done"

pair "ucmatose" "$pre ucmatose -b $b" "$pre ucmatose -s $b"
pair "ucmatose, many connections" "$pre ucmatose -b $b -c 20 -C 3" \
	"$pre ucmatose -s $b -c 20 -C 3"
pair "ucmatose, migrated ids" "$pre ucmatose -b $b -m" \
	"$pre ucmatose -s $b -m"
pair "ucmatose, stock client" "$pre ucmatose -b $b" "ucmatose -s $b"
pair "udaddy" "$pre udaddy -b $b" "$pre udaddy -s $b"
pair "udaddy, stock server" "udaddy -b $b" "$pre udaddy -s $b"
# cmtime's server does not end by itself
job=$(peer_bg "$pre cmtime -b $b -c 20")
ok "cmtime: the server listens" listening
ok "cmtime: client" timeout 60 $pre cmtime -s $b -c 20
ok "cmtime: another client" timeout 60 $pre cmtime -s $b -c 20
peer_stop
pair "rdma_server, rdma_client" "$pre rdma_server" "$pre rdma_client -s $b"
pair "rdma_client with a stock server" "rdma_server" \
	"$pre rdma_client -s $b"
pair "ib_send_lat -R" "$pre ib_send_lat -R -n 50 -d rxe0" \
	"$pre ib_send_lat -R -n 50 -d rxe0 $b"
pair "ib_write_bw -R" "$pre ib_write_bw -R -n 50 -d rxe0" \
	"$pre ib_write_bw -R -n 50 -d rxe0 $b"

job=$(peer_bg "$pre mckey -m 239.5.5.6 -b $b -c 1 -C 10")
ok "mckey: the receiver joins" wait_for 20 peer 'igmp_joined eth0 239.5.5.6'
timeout 60 $pre mckey -m 239.5.5.6 -b $a -s -c 1 -C 100 >sender.log 2>&1
ok "mckey: all messages arrive" peer_wait "$job" 30
peer_stop

# rsockets are the stock library's, which calls back into ours by name
if command -v rstream >/dev/null; then
	pair "rstream (rsockets)" "$pre rstream -b $b -S 64 -I 50 -C 5" \
		"$pre rstream -s $b -S 64 -I 50 -C 5"
	pair "riostream" "$pre riostream -b $b -S 64 -I 50 -C 5" \
		"$pre riostream -s $b -S 64 -I 50 -C 5"
fi
finish
