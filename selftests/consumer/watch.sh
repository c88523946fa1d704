#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-08: a consumer's watch of a name reports each change of the response, and
# nothing else; forced refresh; stop at each moment; limits; the end of a
# network namespace.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions
dns=$(mktemp -d)
conf=/etc/request-key.d/rdma-cmx.conf
name=array.watch.test

# hosts ADDRESS...: the addresses of $name from now on
hosts() {
	for address; do
		echo "$address $name"
	done >"$dns/hosts"
	kill -HUP "$(cat "$dns/pid")"
	wait_for 60 hosts_are "$@" || diag "the name server has not read its file"
}

hosts_are() {
	[ "$(getent ahostsv4 $name | cut -d' ' -f1 | sort -u)" = \
		"$(printf '%s\n' "$@" | sort -u)" ]
}

dns_begin() {
	: >"$dns/hosts"
	dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces \
		--listen-address=127.0.0.5 --addn-hosts="$dns/hosts" \
		--user=root --pid-file="$dns/pid" --local=/watch.test/
	dns_use 127.0.0.5
}

# ttl SECONDS: lifetime of later responses and failures of the helper, which has a
# minute for each
ttl() {
	sed "s/--ttl [0-9]*/--ttl $1/; s/--negative-ttl [0-9]*/--negative-ttl $1/
		s/--timeout [0-9]*/--timeout 60/" "$dns/conf" >$conf
}

cleanup() {
	[ ! -d $dir ] || do_ unwatch
	ip netns del watch1
	kill -CONT "$(cat "$dns/pid")"
	kill "$(cat "$dns/pid")"
	cp "$dns/conf" $conf
	dns_up
	params_back
	rm -r "$dns"
} >/dev/null 2>&1

# seen N: events, error and sorted addresses of the last event
seen() {
	do_ watched "$1" | sed 's/partial.*dst=/dst=/' | while read -r events error list; do
		echo "$events $error $(tr ' ' '\n' <<<"${list#dst=}" | sort | paste -sd' ')"
	done
}

seen_is() {
	[ "$(seen "$1")" = "$2" ]
}

# event NAME N TEXT: waits for it
event() {
	wait_for 90 seen_is "$2" "$3"
	is "$1" "$(seen "$2")" "$3"
}

grown() {
	[ $(($(counter "$1") - $2)) -ge "$3" ]
}

# queries N: have the watches started N more queries?
queries() {
	wait_for 120 grown watch_queries "$(counter watch_queries)" "$1"
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
cp $conf "$dns/conf"
dns_begin
param watch_gap_ms 100
param query_timeout_ms 60000
trap cleanup EXIT
query="$name 4420 qp=2"

# --- another response ---

hosts 10.55.0.2
w=$(do_ watch interval=300 -- "$query")
event "KA-08: the first answer" "$w" "events=1 error=0 10.55.0.2"
like "KA-08: its query had no error" "$(do_ watched "$w")" ' last=0 '
ok "KA-08: it is queried again" queries 3
is "KA-08: the same answer is no event" "$(seen "$w")" \
	"events=1 error=0 10.55.0.2"
hosts 10.55.0.12
event "KA-08: another address" "$w" "events=2 error=0 10.55.0.12"
hosts 10.55.0.12 10.55.0.13
event "KA-08: one more address" "$w" "events=3 error=0 10.55.0.12 10.55.0.13"
hosts 10.55.0.13 10.55.0.12
# The cache keeps a response for 5 s, and dnsmasq rotates the addresses.
before=$(counter name_lookups)
ok "KA-08: the addresses come in another order" \
	wait_for 120 grown name_lookups "$before" 4
is "KA-08: which is no event" "$(seen "$w")" \
	"events=3 error=0 10.55.0.12 10.55.0.13"
hosts
event "KA-08: the name is gone" "$w" "events=4 error=-2 -"
hosts 10.55.0.2
event "KA-08: and comes back" "$w" "events=5 error=0 10.55.0.2"
process_stop "$(cat "$dns/pid")"
before=$(counter name_errors)
ok "KA-08: a name server that does not respond" \
	wait_for 120 grown name_errors "$before" 2
is "KA-08: is no event" "$(seen "$w")" "events=5 error=0 10.55.0.2"
kill -CONT "$(cat "$dns/pid")"
hosts 10.55.0.14
event "KA-08: it responds again" "$w" "events=6 error=0 10.55.0.14"
do_ unwatch "$w" >/dev/null
like "KA-08: no callback was where none may be" "$(do_ watched "$w")" ' wrong=0 '

# --- past the caches ---

ttl 86400
hosts 10.55.0.2
# Also when a response of a few seconds is left
do_ resolve "$query" refresh >/dev/null
w=$(do_ watch interval=86400000 -- "$query")
event "KA-08: an answer for a day" "$w" "events=1 error=0 10.55.0.2"
hosts 10.55.0.15
is "KA-08: a query has it from the cache" \
	"$(do_ resolve "$query" | sed -n 's/.*dst=\([^ ]*\):.*/\1/p')" 10.55.0.2
do_ watch-refresh "$w" >/dev/null
event "KA-08: a refresh reports another answer" "$w" \
	"events=2 error=0 10.55.0.15"
is "KA-08: which is cached" \
	"$(do_ resolve "$query" | sed -n 's/.*dst=\([^ ]*\):.*/\1/p')" 10.55.0.15
hosts
do_ watch-refresh "$w" >/dev/null
event "KA-08: a refresh reports that the name is gone" "$w" \
	"events=3 error=-2 -"
hosts 10.55.0.16
is "KA-08: a failure for a day" "$(do_ resolve "$query")" "error=-2"
like "KA-08: a query with refresh passes it" \
	"$(do_ resolve "$query" refresh)" ' dst=10.55.0.16:'
is "KA-08: and leaves its answer" \
	"$(do_ resolve "$query" | sed -n 's/.*dst=\([^ ]*\):.*/\1/p')" 10.55.0.16
do_ unwatch >/dev/null
cp "$dns/conf" $conf

# --- no more queries than the gap allows ---

param watch_gap_ms 3600000
w=$(do_ watch interval=1 -- 10.55.0.2 1 qp=2)
event "KA-08: a numeric address" "$w" "events=1 error=0 10.55.0.2"
before=$(counter watch_queries)
for ((i = 0; i < 100; i++)); do
	echo "watch-refresh $w" >$dir/command
done
for ((i = 0; i < 5; i++)); do
	ip addr add 10.99.0.1/24 dev eth0
	ip addr del 10.99.0.1/24 dev eth0
done
is "KA-08: a storm of events and refreshes is no query within the gap" \
	"$(counter watch_queries)" "$before"
do_ unwatch >/dev/null
param watch_gap_ms 100

# --- an event of a device starts the next query ---

w=$(do_ watch interval=86400000 -- 10.55.0.2 1 qp=2)
event "KA-08: once a day" "$w" "events=1 error=0 10.55.0.2"
rdma link del rxe0
event "KA-08: the device that reaches it is removed" "$w" \
	"events=2 error=0 10.55.0.2"
rdma link add rxe0 type rxe netdev eth0
event "KA-08: and added again" "$w" "events=3 error=0 10.55.0.2"
do_ unwatch >/dev/null

# --- stop ---

w=$(do_ watch interval=100 stop -- 10.55.0.2 1 qp=2)
event "KA-08: a callback that stops its watch" "$w" "events=1 error=0 10.55.0.2"
ok "KA-08: which ends" wait_for 60 live_none
before=$(counter cancelled)
ttl 5
process_stop "$(cat "$dns/pid")"
w=$(do_ watch -- silent.watch.test 1)
ok "a query that waits" wait_for 60 grown live_lookups 0 1
do_ unwatch "$w" >/dev/null
is "KA-08: a stop while it is outstanding cancels it" \
	"$(($(counter cancelled) - before)) $(counter live_watches)" "1 0"
kill -CONT "$(cat "$dns/pid")"
cp "$dns/conf" $conf
like "KA-08: no callback" "$(do_ watched "$w")" '^events=0 .* wrong=0 '

h=$(do_ watch hold -- 10.55.0.2 1 qp=2)
event "KA-08: a callback that takes long" "$h" "events=1 error=0 10.55.0.2"
w=$(do_ watch -- 10.55.0.2 1 qp=2)
event "KA-08: holds up no other watch" "$w" "events=1 error=0 10.55.0.2"
is "KA-08: and no unload of its module is begun" \
	"$(rmmod cmx_consumer 2>&1 | grep -c 'in use')" 1
is "it waited" "$(do_ watch-go)" "held=1"
do_ unwatch >/dev/null
like "KA-08: a stop has waited for the callback" "$(do_ watched "$h")" ' wrong=0 '

# --- a network namespace ends ---

ip netns add watch1
ip netns exec watch1 ip link set lo up
w=$(nsenter --net=/run/netns/watch1 bash -c "
	echo 'watch interval=300 -- 127.0.0.1 1 qp=2 own-net' >$dir/command
	cat $dir/result")
event "KA-08: in another namespace" "$w" "events=1 error=0 127.0.0.1"
# The consumer keeps a query of that namespace that has called back.
nsenter --net=/run/netns/watch1 bash -c "
	echo 'start 127.0.0.1 1 qp=2 own-net' >$dir/command
	echo wait >$dir/command"
ip netns del watch1
event "KA-08: a watch does not hold it; its end is the last event" "$w" \
	"events=2 error=-100 -"
do_ unwatch >/dev/null
ok "no object is left" wait_for 90 live_none

# --- limits, and invalid watches ---

param watches_max 40
is "KA-08: a module has a quarter of the watches" \
	"$(do_ watch-many 20 -- 10.55.0.2 1 qp=2)" "watches=10 error=-11"
do_ unwatch >/dev/null
param watches_max 1024
is "KA-08: a longer interval than a day" \
	"$(do_ watch interval=86400001 -- 10.55.0.2 1)" "error=-22"
is "KA-08: neither name nor port" "$(do_ watch -- - -)" "error=-2"
is "KA-08: a port without a device" "$(do_ watch -- 10.55.0.2 1 devport=1)" \
	"error=-22"
is "KA-08: a device and a netdevice" \
	"$(do_ watch -- 10.55.0.2 1 dev=rxe0 iface=eth0)" "error=-22"
w=$(do_ watch -- 10.55.0.2 1 qp=2 dev=none0)
ok "KA-08: the error of a query that fails" \
	wait_for 60 eval "do_ watched $w | grep -q '^events=0 .* last=-19 '"
do_ unwatch >/dev/null

# --- unload ---

do_ watch-many 50 interval=100 -- "$query" >/dev/null
ok "they are queried" queries 60
# Unload fails while a callback runs.
ok "KA-08 OPS-04: the consumer is unloaded with running watches" \
	wait_for 60 rmmod cmx_consumer
ok "no object is left in the end" wait_for 90 live_none
finish
