#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Connect by name of an in-kernel consumer: KA-02. Targets are in beta, at
# 10.55.0.2, and here, at 10.55.0.11 and .12. No host has 10.55.0.3.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/consumer/connect_functions

port=7600

# The end of the test checks the results of all attempts.
do_() {
	echo "$*" >$dir/command || return
	tee -a results <$dir/result
}

# there COMMAND...: to the consumer in beta
there() {
	peer "echo '$*' >$dir/command && cat $dir/result"
}

# name NAME ADDRESS...: adds the addresses in this order
name() {
	local name=$1 address

	shift
	for address; do
		echo "$address $name"
	done >>/etc/hosts
}

# dead: on a slow host the unused address may reach its timeout before the end
dead() {
	sed 's/^\(dst=10.55.0.3 step=addr error=\)-110 /\1-125 /'
}

# started N: start of the candidate in ms
started() {
	sed -n "$((1 + $1))s/.* start=\([0-9]*\) .*/\1/p"
}

# Ids of connects; ids of targets have another owner.
ids() {
	rdma resource show cm_id | grep -c '\[rdma_cmx\]'
}

no_ids() {
	[ "$(ids)" = 0 ]
}

gid_there() {
	grep -qi "$1" /sys/class/infiniband/rxe0/ports/1/gids/*
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
dns_up
names_wait 20
cp /etc/hosts /run/hosts
name near.kc.test 10.55.0.3 10.55.0.2
name slow.kc.test 10.55.0.11 10.55.0.12
name none.kc.test 10.55.0.12 10.55.0.3
name mixed.kc.test 10.55.0.2 192.168.77.2
name many.kc.test 10.55.0.{11..19}
name fails.kc.test 10.55.0.{11..13}
name drops.kc.test 10.55.0.{11..16}
name share.kc.test 10.55.0.{11..20}
name mean.kc.test 10.55.0.{11..19}
for n in {11..20}; do
	ip addr add 10.55.0.$n/24 dev eth0
done
ok "GIDs of the addresses" wait_for 90 gid_there 0a37:0014
ok "a target in beta" peer "modprobe cmx_consumer"
there listen 10.55.0.2 $port accept >/dev/null
there listen fd55::2 $port accept >/dev/null
do_ listen 10.55.0.11 $port hang >/dev/null

# --- it connects ---

is "KA-02: a number" "$(do_ connect -- 10.55.0.2 $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"
is "KA-02: data goes there and back" "$(do_ connect-echo)" "echo: error=0"
do_ connect-end >/dev/null
ok "KA-02: the target has seen the end" wait_for 90 eval \
	'there listened | grep -q "requests=1 established=1 ended=1"'
is "KA-02: IPv6" "$(connect -- fd55::2 $port)" \
	"$(call 0 1 1 0; one fd55::2 up 0 0 welcome)"
is "KA-02: a name; an address without a device is not tried" \
	"$(connect -- mixed.kc.test $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome
	   one 192.168.77.2 no-device -101)"
is "KA-02: the synchronous call" \
	"$(do_ connect-sync -- near.kc.test $port | dead)" \
	"$(call 0 0 1 0; one 10.55.0.3 addr -125; one 10.55.0.2 up 0 0 welcome)"
is "KA-02: data goes there and back" "$(do_ connect-echo)" "echo: error=0"
do_ connect-end >/dev/null
is "KA-02: a routed id" "$(connect routed -- 10.55.0.2 $port)" \
	"$(call 0 1 0 0; one 10.55.0.2 up 0)"
is "KA-02: type of service" "$(connect tos=16 -- 10.55.0.2 $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"
is "KA-02: a source" "$(connect -- 10.55.0.2 $port src=10.55.0.12)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"

is "KA-02: retry counts" "$(connect retry=5 rnr=6 -- 10.55.0.2 $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"
like "KA-02: arrive at the target" "$(there listened)" ' retry=5 rnr=6$'
is "KA-02: and no retry, which is not the default" \
	"$(connect retry=0 rnr=0 -- 10.55.0.2 $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"
like "KA-02: arrives, too" "$(there listened)" ' retry=0 rnr=0$'

# --- the first candidate does not respond ---

# After a guest stops for a moment, its clock jumps ahead.
delayed() {
	do_ connect times delay=300 -- near.kc.test $port >connect.out
	do_ connect-end >/dev/null
	[ "$(started 2 <connect.out)" -ge 200 ] &&
		[ "$(started 2 <connect.out)" -lt 2900 ]
}
ok "KA-02: the second starts after the delay, before the first has failed" \
	wait_for 90 delayed
is "KA-02: the first address is dead, the second wins" \
	"$(sed 's/ start=.* data/ data/' connect.out | dead)" \
	"$(call 0 1 1 0; one 10.55.0.3 addr -125; one 10.55.0.2 up 0 0 welcome)"
do_ listen 10.55.0.12 $port accept >/dev/null
# The delay is long enough for the first one's request on a slow host.
is "KA-02: the first does not reply, the second wins" \
	"$(connect delay=1000 -- slow.kc.test $port)" \
	"$(call 0 1 2 1; one 10.55.0.11 request -125
	   one 10.55.0.12 up 0 0 welcome)"
is "KA-02: likewise with a source port, which both have" \
	"$(connect delay=1000 -- slow.kc.test $port src=10.55.0.1 sport=2222)" \
	"$(call 0 1 2 1; one 10.55.0.11 request -125
	   one 10.55.0.12 up 0 0 welcome)"
ok "KA-02: no id is left of those that lost" test "$(ids)" = 0

# taken_down MODE MS REQUESTS: connects to a target of that mode and to one that
# accepts. Have the targets so many requests, and each has ended? A host may be
# too slow for two requests in time; a REJ is sent once.
ended() {
	do_ listened | grep -q "^requests=$1 established=.* ended=$1 "
}
taken_down() {
	do_ unlisten >/dev/null
	do_ listen 10.55.0.11 $port "$1" >/dev/null
	do_ listen 10.55.0.12 $port accept >/dev/null
	connect delay="$2" -- slow.kc.test $port >connect.out
	wait_for 7 ended "$3"
}
ok "KA-02: the target that did not reply receives the end of its request" \
	wait_for 90 taken_down hang 1000 2 ||
	diag "$(cat connect.out; do_ listened)"
# The first one accepts when the second has a request, too.
ok "KA-02: and so does each of two that accept" \
	wait_for 90 taken_down tardy 100 2 ||
	diag "$(cat connect.out; do_ listened)"
do_ unlisten >/dev/null

# The first is silent, the second does not listen.
do_ listen 10.55.0.11 $port hang >/dev/null
do_ listen 10.55.0.13 $port accept >/dev/null
fails_over() {
	connect times delay=4000 deadline=40000 -- fails.kc.test $port \
		>connect.out
	grep -q '^dst=10.55.0.12 step=request error=-111 ' connect.out &&
		[ "$(started 3 <connect.out)" -lt \
			$(($(started 2 <connect.out) + 3000)) ]
}
ok "KA-02: one that fails makes way for the next while another is silent" \
	wait_for 90 fails_over || diag "$(cat connect.out)"
do_ unlisten >/dev/null

# --- many are silent: each has a share of the time, here 5 s ---

for n in {11..18}; do
	do_ listen 10.55.0.$n $port hang >/dev/null
done
do_ listen 10.55.0.19 $port accept >/dev/null
do_ connect times delay=50 deadline=40000 -- many.kc.test $port >connect.out
is "KA-02: the first of eight silent peers gives way" \
	"$(sed 's/ start=.* data/ data/' connect.out)" \
	"$(call 0 1 9 8; one 10.55.0.11 request -110
	   for n in {12..18}; do one 10.55.0.$n request -125; done
	   one 10.55.0.19 up 0 0 welcome)"
ok "KA-02: when it has had its share" test "$(started 9 <connect.out)" -ge 4500
do_ connect-end >/dev/null
# After 5 s the first one is cancelled, and the ninth connects.
eight_cancelled() {
	do_ connect-start delay=10 -- many.kc.test $port >/dev/null
	wait_for 90 state 'setups=[89]'
	[ "$(do_ connect-cancel)" = "$(call 0 0 8 8 cancelled)" ]
}
ok "KA-02: cancelled with eight requests outstanding" \
	wait_for 90 eight_cancelled
do_ unlisten >/dev/null

# --- peers that accept and disconnect while the others are taken down ---

# The accepting peer replies after each other peer has been the first once. That
# depends on the order of the teardowns.
starts_again() {
	do_ unlisten >/dev/null
	do_ listen 10.55.0.11 $port sixth >/dev/null
	for n in {12..16}; do
		do_ listen 10.55.0.$n $port lose >/dev/null
	done
	connect delay=200 teardown-ms=1000 -- drops.kc.test $port >connect.out
	[ "$(cat connect.out)" = "$(
		call 0 1 11 10; one 10.55.0.11 up 0 0 welcome 6
		for n in {12..16}; do one 10.55.0.$n up -104 0 welcome; done)" ]
}
ok "KA-02: for five such peers a good one starts again, and they do not" \
	wait_for 90 starts_again || diag "$(cat connect.out)"
do_ unlisten >/dev/null

# The first teardown lasts until shortly before the deadline. Eight silent peers
# use their share of the rest before the last one starts.
do_ listen 10.55.0.12 $port lose >/dev/null
for n in 11 {13..19}; do
	do_ listen 10.55.0.$n $port hang >/dev/null
done
do_ listen 10.55.0.20 $port accept >/dev/null
shared_anew() {
	connect times delay=100 deadline=10000 teardown-ms=3000 -- \
		share.kc.test $port >connect.out
	grep -q '^dst=10.55.0.12 step=up error=-104 ' connect.out &&
		[ "$(started 10 <connect.out)" -ge 6000 ] &&
		grep -q '^error=0 ' connect.out
}
ok "KA-02: when a winner is lost the rest of the time is shared anew" \
	wait_for 90 shared_anew || diag "$(cat connect.out)"
do_ unlisten >/dev/null

# Three silent peers, and five that accept and disconnect, precede the good one.
# Each of the five costs one delay, not three more for candidates that start
# again.
for n in {11..13}; do
	do_ listen 10.55.0.$n $port hang >/dev/null
done
for n in {14..18}; do
	do_ listen 10.55.0.$n $port lose >/dev/null
done
do_ listen 10.55.0.19 $port accept >/dev/null
found_behind() {
	connect delay=2000 deadline=36000 teardown-ms=1000 -- \
		mean.kc.test $port >connect.out
	[ "$(cat connect.out)" = "$(
		call 0 1 24 23
		for n in {11..13}; do one 10.55.0.$n request -125 0 '' 6; done
		for n in {14..18}; do one 10.55.0.$n up -104 0 welcome; done
		one 10.55.0.19 up 0 0 welcome)" ]
}
ok "KA-02: behind silent peers and five such the good one is found in time" \
	wait_for 90 found_behind || diag "$(cat connect.out)"
do_ unlisten >/dev/null

# --- none connects ---

do_ connect times delay=60000 deadline=85000 -- none.kc.test $port >connect.out
is "KA-02: refused, and dead: the error of the one that came further" \
	"$(sed 's/ start=.* data/ data/' connect.out | sort)" \
	"$( (call -111 1 1 1; one 10.55.0.12 request -111 8
	     one 10.55.0.3 addr -110) | sort)"
ok "KA-02: the next one starts when one fails" \
	test "$(started 2 <connect.out)" -lt 50000
do_ listen 10.55.0.12 $port reject >/dev/null
is "KA-02: rejected by the consumer, with its data" \
	"$(connect -- 10.55.0.12 $port)" \
	"$(call -111 1 1 1; one 10.55.0.12 request -111 28 "go away")"
is "KA-02: no RDMA device reaches it" "$(connect -- 192.168.77.2 $port)" \
	"$(call -101 1 0 0; one 192.168.77.2 no-device -101)"
is "KA-02: no such name" "$(connect -- nosuch.cmx.test $port)" "$(call -2 1 0 0)"
is "KA-02: a setup that fails" "$(connect fail -- 10.55.0.2 $port)" \
	"$(call -71 1 1 0; one 10.55.0.2 setup -71)"
is "KA-02: a setup without a queue pair" "$(connect no-qp -- 10.55.0.2 $port)" \
	"$(call -22 1 1 1; one 10.55.0.2 setup -22)"
is "KA-02: as much private data as there is room for" \
	"$(connect data=56 -- 10.55.0.2 $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"
is "KA-02: a byte more" "$(connect data=57 -- 10.55.0.2 $port)" \
	"$(call -90 1 1 1; one 10.55.0.2 setup -90)"

# --- the deadline ---

# The deadline of the attempt is at the same time.
like "KA-02: shorter than the first attempt" \
	"$(connect deadline=100 -- 10.55.0.3 $port | tr '\n' ' ')" \
	"^$(call -110 1 0 0) dst=10.55.0.3 step=addr error=-1(25|10) "
is "KA-02: of 1 ms" "$(connect deadline=1 -- 10.55.0.3 $port | head -1)" \
	"$(call -110 1 0 0)"
do_ unlisten >/dev/null
do_ listen 10.55.0.11 $port hang >/dev/null
# A slow host may need more time for its request.
for ms in 15000 60000; do
	result=$(connect deadline=$ms -- 10.55.0.11 $port)
	[[ $result != *step=request* ]] || break
done
is "KA-02: while nobody replies" "$result" \
	"$(call -110 1 1 1; one 10.55.0.11 request -125)"
names_wait 4
silent() {
	local begin=$SECONDS

	[ "$(connect deadline=500 -- a.silent.test $port)" = "$(call -110 1 0 0)" ] &&
		[ $((SECONDS - begin)) -lt 8 ]
}
ok "KA-02: that of the call while the name server is silent" wait_for 90 silent

# --- cancel ---

cancelled() {
	do_ connect-start -- "$1" $port >/dev/null
	[ "$(do_ connect-cancel)" = "$(call 0 0 0 0 cancelled)" ]
}
ok "KA-02: cancelled while a name is looked up" wait_for 90 cancelled b.silent.test
names_wait 20
ok "KA-02: cancelled while an address is resolved" wait_for 90 cancelled 10.55.0.3
do_ connect-start -- 10.55.0.11 $port >/dev/null
ok "KA-02: a request is outstanding" wait_for 90 state setups=1
is "KA-02: cancelled while a request is outstanding" "$(do_ connect-cancel)" \
	"$(call 0 0 1 1 cancelled)"
is "KA-02: cancelled twice" "$(do_ connect-cancel)" \
	"$(call 0 0 1 1 cancelled)"
do_ connect-start cancel=setup -- 10.55.0.2 $port >/dev/null
ok "KA-02: cancelled in the setup" wait_for 90 state 'teardowns=1 wrong=0'
is "KA-02: and outside" "$(do_ connect-cancel)" "$(call 0 0 1 1 cancelled)"
do_ listen 10.55.0.12 $port accept >/dev/null
do_ connect-start cancel=teardown delay=1000 -- slow.kc.test $port >/dev/null
ok "KA-02: cancelled in the teardown of one that lost" \
	wait_for 90 state 'teardowns=2 wrong=0'
is "KA-02: the winner is taken down, too" "$(do_ connect-cancel)" \
	"$(call 0 0 2 2 cancelled)"
is "KA-02: cancelled in the callback" \
	"$(connect cancel=done -- 10.55.0.2 $port)" \
	"$(call 0 1 1 0; one 10.55.0.2 up 0 0 welcome)"
do_ connect-start -- 10.55.0.2 $port >/dev/null
do_ connect-wait >/dev/null
is "KA-02: cancelled after the end: it has run" \
	"$(do_ connect-cancel | head -1)" "$(call 0 1 1 0)"
do_ connect-end >/dev/null
(echo "connect-sync -- 10.55.0.11 $port" >$dir/command) &
killed=$!
ok "KA-02: a synchronous call waits" wait_for 90 eval \
	'[ "$(counter live_connects)" = 1 ]'
kill -KILL $killed
wait $killed 2>/dev/null
ok "KA-02: it ends with its process" wait_for 90 eval \
	'[ "$(counter live_connects)" = 0 ]'
do_ connect-end >/dev/null

# --- refused at once ---

refused() {
	local errno=$1

	shift
	is "KA-02: '$*' is error $errno" "$(do_ connect-start "$@")" \
		"at once: error=-$errno"
}

refused 22 delay=9 -- 10.55.0.2 $port
refused 22 -- 10.55.0.2 $port passive
refused 95 -- 10.55.0.2 $port qp=4
refused 95 -- 10.55.0.2 $port ps=0x111
refused 97 -- 10.55.0.2 $port family=99
refused 19 -- 10.55.0.2 $port dev=nosuch0
is "KA-02: a routed id for datagrams" "$(connect routed -- 10.55.0.2 $port qp=4)" \
	"$(call 0 1 0 0; one 10.55.0.2 up 0)"

# --- a target that disconnects at once: lost before the handover, or after ---

do_ unlisten >/dev/null
do_ listen 10.55.0.12 $port drop >/dev/null
do_ connect -- 10.55.0.12 $port >connect.out
like "KA-02: a connection that ends at once" "$(head -1 connect.out)" \
	'^error=(0|-104) calls=1 setups=1 teardowns=[01] wrong=0$'
if grep -q '^error=0' connect.out; then
	ok "KA-02: the event is not lost" wait_for 90 eval \
		'do_ connect-events | grep -q "events=[1-9].* wrong=0"'
else
	like "KA-02: the candidate has lost it" "$(cat connect.out)" \
		'step=(request|up) error=-104'
fi
do_ connect-end >/dev/null

# --- a handler that ends its id ---

there unlisten >/dev/null
there listen 10.55.0.2 $port accept >/dev/null
do_ connect handler-ends -- 10.55.0.2 $port >/dev/null
is "KA-02: there is an id" "$(ids)" 1
there unlisten >/dev/null
ok "KA-02: the handler ends it" wait_for 90 no_ids
is "KA-02: with the first event after the handover" "$(do_ connect-events)" \
	"events=1 removals=0 wrong=0"
do_ connect-end >/dev/null

# --- in the end ---

do_ unlisten >/dev/null
do_ listen 10.55.0.11 $port hang >/dev/null
do_ connect-start -- 10.55.0.11 $port >/dev/null
ok "KA-02: a request is outstanding" wait_for 90 state setups=1
ok "KA-02: the consumer is unloaded meanwhile" rmmod cmx_consumer
ok "no object is left" wait_for 90 live_none
peer "rmmod cmx_consumer"
cat /run/hosts >/etc/hosts
for n in {11..20}; do
	ip addr del 10.55.0.$n/24 dev eth0
done
unlike "KA-02: no attempt broke a rule" "$(cat results)" ' wrong=[1-9]'
finish
