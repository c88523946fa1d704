#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SV-02: names of services, _service._protocol.domain, by their SRV records in
# the guest's dnsmasq: order, weights and ports, by the kernel's lookup and by
# the library's lookup. The limit of hosts shows in dnsmasq's log.
. /usr/lib/rdma-cmx/selftests/lib.sh

helper=/usr/libexec/rdma-cmx/cmx-names
log=/run/dns/log

# entries NAME [PORT]: its addresses and ports in one line
entries() {
	cmx resolve -j "$@" 2>&1 |
		grep -oE '"destination": "[^"]*"|"port": [0-9]+' |
		grep -oE '[0-9a-f.:]+"?$' | tr -d '"' | paste -sd' ,'
}

# error_of NAME: the error of its resolution
error_of() {
	"$helper" --print --timeout 60 "$1" 2>&1
}

# The helper gives a host a second, and all of them two: one that is slower is left
# out. A result stays cached for 5 s.
# entries_are WANT NAME...: sets $got
entries_are() {
	local want=$1

	shift
	for _ in 1 2 3 4 5; do
		got=$(entries "$@")
		[ "$got" != "$want" ] || break
		nap 6
	done
}

# sixteen NAME: sets $got, its addresses
sixteen() {
	for _ in 1 2 3 4 5; do
		got=$("$helper" --print --timeout 60 "$1" | sort)
		[ "$(grep -c ^address <<<"$got")" != 16 ] || break
	done
}

for way in kernel library; do
	[ $way = kernel ] || export RDMACMX_NAMES=libc
	want='10.55.0.2 4421,fd55::2 4422'
	entries_are "$want" _ordered._tcp.cmx.test
	is "SV-02 by priority, with the record's port ($way)" "$got" "$want"
	want='10.55.0.2 7471,fd55::2 7471'
	entries_are "$want" _ordered._tcp.cmx.test 7471
	is "SV-02 the caller's port instead ($way)" "$got" "$want"
	entries_are 'fd55::2 4422' -6 _ordered._tcp.cmx.test
	is "SV-02 one family ($way)" "$got" 'fd55::2 4422'
	entries_are '10.55.0.2 4432' _half._tcp.cmx.test
	is "SV-02 a host without an address is left out ($way)" "$got" \
		'10.55.0.2 4432'
	entries_are '10.55.0.2 0' _plain._tcp.cmx.test
	is "SV-02 no SRV record: the name's own address ($way)" "$got" \
		'10.55.0.2 0'
done
unset RDMACMX_NAMES

is "SV-02 the only host does not exist" \
	"$(error_of _lost._tcp.cmx.test)" 'error ENOENT'
is "SV-02 the service is not offered" \
	"$(error_of _none._tcp.cmx.test)" 'error ENODATA'
is "SV-02 no such name" "$(error_of _nosuch._tcp.cmx.test)" 'error ENOENT'
is "SV-02 the server fails" \
	"$(error_of _x._tcp.servfail.test)" 'error EAGAIN'
is "SV-02 the server refuses" \
	"$(error_of _x._tcp.refused.test)" 'error ECONNREFUSED'
is "SV-02 the server is silent" \
	"$("$helper" --print --timeout 2 _x._tcp.silent.test 2>&1)" \
	'error ETIMEDOUT'

# With weights 90 and 10, the probability of fewer than 60 of 100 is below
# 1e-12. That of 100 of 100 is 0.00003, that of 300 of 300 is below 1e-13.
heavy=0 all=0
while [ $all -lt 100 ] || { [ $heavy = $all ] && [ $all -lt 300 ]; }; do
	first=$("$helper" --print --timeout 60 _weighted._tcp.cmx.test | head -n 1)
	[ "$first" != 'address 10.55.0.2 port 4001' ] || heavy=$((heavy + 1))
	all=$((all + 1))
done
ok "SV-02 by weight: $heavy of $all begin with 9 of 10" \
	test $heavy -ge $((all * 6 / 10)) -a $heavy -lt $all
is "SV-02 both records of a host" \
	"$("$helper" --print --timeout 60 _weighted._tcp.cmx.test | sort | paste -sd,)" \
	'address 10.55.0.2 port 4001,address 10.55.0.2 port 4002'

# Again if the host stopped until the alarm of the helper
for _ in 1 2 3; do
	got=$("$helper" --print _dead._tcp.cmx.test 2>&1)
	[ "$got" = 'error ETIMEDOUT' ] || break
done
is "SV-02 a host whose server is silent is left out" "$got" \
	'address 10.55.0.2 port 4452'
is "SV-02 the only host's server refuses" \
	"$(error_of _refused._tcp.cmx.test)" 'error EAGAIN'
sixteen _many._tcp.cmx.test
many=$got
is "SV-02 16 hosts of 20 are looked up" "$(grep -c ^address <<<"$many")" 16
sixteen _many._tcp.cmx.test
is "SV-02 the same ones again" "$got" "$many"
is "SV-02 and no others" \
	"$(grep -oE 'query\[A\] m[0-9]+\.any\.cmx\.test' "$log" | sort -u |
	   wc -l)" 16

is "SV-02 all 20 addresses of the only host" \
	"$("$helper" --print --timeout 60 _rotated._tcp.cmx.test |
	   grep -c ^address)" 20
# Of 13 records: 256 / 13
shared() {
	for _ in 1 2 3 4 5; do
		got=$("$helper" --print --timeout 60 _shared._tcp.cmx.test |
			grep '^address 10\.55\.1\.' | sort)
		[ "$(grep -c . <<<"$got")" != 19 ] || break
	done
}
shared
first=$got
is "SV-02 19 addresses of one host of 13" "$(grep -c . <<<"$first")" 19
shared
is "SV-02 the same ones in another order of the server" "$got" "$first"

finish
