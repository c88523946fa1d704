#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What a result of the kernel API tells a driver on RoCE: KA-06
. /usr/lib/rdma-cmx/selftests/lib.sh

dir=/sys/kernel/debug/cmx_consumer

do_() {
	echo "$*" >$dir/command || return
	cat $dir/result
}

cleanup() {
	ip route del 203.0.113.0/24
} 2>/dev/null
trap cleanup EXIT

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"

# why NAME ERROR QUERY: the reason why the only entry has no route
why() {
	local name=$1 error=$2

	shift 2
	is "KA-06: $name" \
		"$(do_ resolve "$@" qp=2 why | grep -o 'error=.*')" \
		"error=$error"
}

why "an address that is reached" 0 10.55.0.2 1
why "one of our own" 0 10.55.0.1 1
why "no RDMA device on the way" -19 192.168.77.2 1
why "no route" -101 203.0.113.9 1
ip route add prohibit 203.0.113.0/24
why "a route that is forbidden" -13 203.0.113.9 1
ip route replace unreachable 203.0.113.0/24
why "a route to nowhere" -113 203.0.113.9 1
ip route replace blackhole 203.0.113.0/24
why "a black hole" -101 203.0.113.9 1
why "a black hole, not the source" -101 203.0.113.9 1 src=10.55.0.1
ip route del 203.0.113.0/24
why "a source that is not local" -99 10.55.0.2 1 src=10.99.0.1
why "an IPv6 source that is not local" -99 fd55::2 1 src=fd99::1
why "to listen on a wildcard" 0 0.0.0.0 1 passive
why "to listen on an RDMA device" 0 10.55.0.1 1 passive
why "to listen beside RDMA" -19 192.168.77.1 1 passive
why "to listen on an address of another" -99 10.55.0.2 1 passive
why "a GID in no subnet of ours" -101 2001:db8::1 1 family=27 flags=8

rmmod cmx_consumer
finish
