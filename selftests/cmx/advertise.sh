#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SV-01, OPS-02: cmx advertise: its output, the records at the SA meanwhile, two
# nodes with one name, an SA that does not respond, a device that is removed, a
# kill.
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/fabric.sh

mkdir -p /tmp/test
tools=/usr/lib/rdma-cmx/selftests
two=$(fab_dev 2) three=$(fab_dev 3) four=$(fab_dev 4)
# A host that stops for some seconds ends no query.
param sa_timeout_ms 1500
param query_timeout_ms 60000

# advertise FILE ARGUMENTS...: runs in the background, output in FILE; sets pid
advertise() {
	local file=$1

	shift
	cmx advertise "$@" >"$file" 2>&1 &
	pid=$!
}

# prints_wait NAME SECONDS FILE REGEX [COUNT]: waits for COUNT matching lines
prints() {
	[ "$(grep -cE -e "$2" "$1")" -ge "${3:-1}" ]
}

prints_wait() {
	ok "$1" wait_for "$2" prints "$3" "$4" "${5:-1}" || diag "$(cat "$3")"
}

# records NAME: all fields of its records, sorted
records() {
	"$tools/sa/tools/service" -C "$two" -n "$1" list | sort
}

records_are() {
	[ "$("$tools/sa/tools/service" -C "$two" -n "$1" count)" = "$2" ]
}

no_records() {
	[ "$(counter live_service_records)" = 0 ] && records_are "$1" 0
}

# --- one service on all ports ---

advertise log --id 0x1061144 --data hello --lease 600 storage
prints_wait "SV-01: set at all ports" 60 log \
	'^set +[^ ]+/1  GID fe80::[^ ]+, P_Key 0xffff, lease 600 s$' 4
like "its id is printed" "$(head -n 1 log)" \
	'^advertised +storage, id 0x0000000001061144$'
like "SV-01: the SA has all of it" "$(records storage)" \
	"^0x0000000001061144 $(gid_short "$three") 0xffff 600 storage 68656c6c6f$"
run cmx services storage
is "cmx services: exit code (OPS-02)" "$status" 0
like "cmx services: a record" "$out" \
	"^storage  0x0000000001061144  $(gid_short "$three") +0xffff  600 +[^ ]+/1 +hello$"
is "cmx services: each once, from all SAs" "$(tail -n 1 <<<"$out")" "4 records"
run cmx services --dev "$two"
is "cmx services: all, from one SA" "$(tail -n 1 <<<"$out")" "4 records"
run cmx services -j 0x1061144
ok "cmx services: JSON (OPS-02)" "$tools/cmx/tools/json" <<<"$out"
like "cmx services: JSON members" "$out" '"name": "storage", "service_id": "0x0000000001061144", "gid": "fe80::[^"]*", "pkey": "0xffff", "lease": 600, "device": "[^"]+", "port": 1, "data": "68656c6c6f", "text": "hello"'
ok "cmx services: an ordinary user, by name" setpriv --reuid 1000 \
	--regid 1000 --clear-groups cmx services storage
fails "cmx services: all" 1 'CAP_NET_ADMIN.*give the NAME' \
	setpriv --reuid 1000 --regid 1000 --clear-groups cmx services
fails "cmx services: none" 1 'nosuch: this service is not registered' \
	cmx services nosuch
fails "cmx services: no such device" 1 "'nosuch0': no active" \
	cmx services --dev nosuch0
fails "cmx services: two names" 2 'takes one NAME' cmx services a b
# Bytes that are no text, and control characters of terminals
"$tools/sa/tools/service" -C "$two" -n $'bad\e[31m' -i 0x99 -d 01ff set
like "cmx services: no control characters" "$(cmx services 0x99)" \
	'^bad\?\[31m .* 0x01ff$'
ok "cmx services: JSON with them" "$tools/cmx/tools/json" \
	< <(cmx services -j 0x99)
"$tools/sa/tools/service" -C "$two" -n $'bad\e[31m' -i 0x99 delete
fails "the id again" 1 'advertises the id 0x1061144 .*another --id' \
	cmx advertise --id 0x1061144 other
# The removal waits for the SA for a second, and a slow host may need longer.
removals=0
deleted_by_removal() {
	removals=$((removals + 1))
	knob_set "$three" plugged 0
	wait_for 60 prints log "^gone +$three/1 " $removals || return
	wait_for 15 records_are storage 3
}
device_back() {
	knob_set "$three" plugged 1
	prints_wait "and is back" 120 log "^set +$three/1 " $((removals + 1))
	wait_for 90 devices_back "$three"
	addresses_add "$three"
	ok "its port is active" port_active_wait "$three"
}
until deleted_by_removal || [ $removals = 5 ]; do
	device_back
done
prints_wait "a device goes" 60 log "^gone +$three/1 "
ok "SV-01: its removal deletes the record at the SA" records_are storage 3
device_back
link_down "$three"
prints_wait "a port goes down" 60 log "^down +$three/1  the port is not active"
link_up "$three"
prints_wait "and is up" 120 log "^set +$three/1 " $((removals + 2))
ok "its port is active again" port_active_wait "$three"
kill -TERM "$pid"
wait "$pid"
is "a signal ends it (OPS-02)" "$?" 0
like "and withdraws" "$(tail -n 1 log)" '^withdrawn +storage, id '
ok "SV-01: from the SA, too" wait_for 30 no_records storage

# --- withdrawn while the port is down ---

# The SA has its record until the port is active again. The time for that is
# limited, and a slow host may need longer.
withdrawn_while_down() {
	advertise log3 --dev "$three" --id 0x1061166 brief
	wait_for 60 prints log3 "^set +$three/1 " || return
	link_down "$three"
	wait_for 60 prints log3 "^down +$three/1 " || return
	kill -TERM "$pid"
	wait "$pid"
	link_up "$three"
	port_active_wait "$three"
	wait_for 15 no_records brief
}

for _ in 1 2 3 4 5; do
	withdrawn_while_down && break
	diag "the port was not active in time: $(tail -n 1 log3)"
	"$tools/sa/tools/service" -C "$two" -n brief -i 0x1061166 delete
done
ok "SV-01: withdrawn while the port was down" no_records brief

# --- two nodes, one name ---

host_add node 4
advertise log --dev "$two" storage
first=$pid
ip netns exec node cmx advertise -j storage >log2 2>&1 &
second=$!
prints_wait "SV-01: one node" 60 log "^set +$two/1 "
prints_wait "SV-01: another" 60 log2 '"event": "set"'
is "SV-01: two entries of one name" \
	"$(cmx resolve --sa --dev "$two" storage | tail -n 1 | cut -d' ' -f1,2)" \
	"2 entries"
is "SV-01: with the same id" "$(records storage | cut -d' ' -f1 | sort -u | wc -l)" 1
like "JSON: what is set" "$(cat log2)" "\"event\": \"set\", \"service\": \"storage\", \"service_id\": \"0x02[0-9a-f]{14}\", \"device\": \"$four\", \"port\": 1, \"gid\": \"fe80::[^\"]*\", \"pkey\": \"0xffff\", \"lease\": 900"
while read -r line; do
	ok "JSON: each line is one object" "$tools/cmx/tools/json" <<<"$line"
done <log2

# --- killed ---

kill -KILL $second
wait $second
ok "SV-01: kill -9 withdraws" wait_for 30 records_are storage 1
kill -INT $first
wait $first
ok "SV-01: all are withdrawn" wait_for 30 no_records storage
ok "and the namespace goes" host_del node

# --- the SA does not respond ---

sm_pause
advertise log --dev "$three" late
prints_wait "SV-01: an SA that does not respond is reported" 60 log \
	"^trying +$three/1  the subnet administrator does not respond: 'sminfo'"
fails "cmx services: a silent SA" 1 'never: .*does not respond.*sminfo' \
	cmx services never
sm_resume
prints_wait "SV-01: and the record is set when it is back" 60 log \
	"^set +$three/1 "
kill -HUP "$pid"
wait "$pid"
advertise log --dev "$three/1" --pkey 0x8123 partition
prints_wait "a P_Key that the port does not have" 60 log \
	"^trying +$three/1  the port does not have the P_Key"
kill "$pid"
wait "$pid"

# --- options ---

advertise log --dev "$two" --port 4420 --lease forever --data-hex 0aFF0b nvme
prints_wait "a lease without end" 60 log 'no end of the lease$'
like "an id by port, data by digits" "$(records nvme)" \
	"^0x0000000001061144 [^ ]+ 0xffff 4294967295 nvme 0aff0b$"
kill "$pid"
wait "$pid"
advertise log --dev "$two" 0x77
prints_wait "an id instead of a name" 60 log "^set "
ok "is found by it" cmx resolve --sa --dev "$two" 0x77
kill "$pid"
wait "$pid"

# --- invalid calls ---

fails "an ordinary user" 1 'mine: .*CAP_NET_ADMIN.*root' \
	setpriv --reuid 1000 --regid 1000 --clear-groups cmx advertise mine
fails "another user namespace" 1 'mine: .*CAP_NET_ADMIN' \
	unshare -r cmx advertise mine
unshare -r -n cmx advertise mine >log 2>&1 &
pid=$!
prints_wait "a network namespace without a device" 30 log \
	'^waiting +mine, id 0x02.*no InfiniBand port is active'
kill "$pid"
wait "$pid"
fails "no such device" 1 "'nosuch0': no such InfiniBand device.*rdma link" \
	cmx advertise --dev nosuch0 x
fails "no such port" 1 "'$two:7': the device has no such port" \
	cmx advertise --dev "$two:7" x
param services_per_user 0
fails "the limit of a user" 1 'services_per_user' cmx advertise x
params_back
fails "no name" 2 'needs one NAME' cmx advertise
fails "two names" 2 'needs one NAME' cmx advertise a b
fails "a long name" 2 'has 64 bytes: a name has 1 to 63' \
	cmx advertise "$(printf 'n%.0s' {1..64})"
fails "long data" 2 'has 65 bytes: at most 64' \
	cmx advertise --data "$(printf 'n%.0s' {1..65})" x
fails "odd digits" 2 "'abc': pairs of hexadecimal digits" \
	cmx advertise --data-hex abc x
fails "a short lease" 2 "'3': seconds, at least 4" cmx advertise --lease 3 x
fails "id 0" 2 "'0': a number of 64 bits, not 0" cmx advertise --id 0 x
fails "two ids" 2 'once' cmx advertise --id 1 --port 2 x
fails "another id than the name" 2 "'0x7' is found as a service id" \
	cmx advertise --id 8 0x7
fails "no partition" 2 "'0x8000': a number like" cmx advertise --pkey 0x8000 x

ok "nothing is left" wait_for 40 live_none
finish
