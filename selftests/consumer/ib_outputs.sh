#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What a result of the kernel API tells a driver on InfiniBand: KA-06
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

dir=/sys/kernel/debug/cmx_consumer
own=$(fab_dev 1)
netdev=$(dev_netdev "$own")

do_() {
	echo "$*" >$dir/command || return
	cat $dir/result
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
ok "a namespace with device 2" host_add far 2
param sa_cache_ms 0

# why NAME ERROR QUERY: the reason why the only entry has no route
why() {
	local name=$1 error=$2

	shift 2
	is "KA-06: $name" \
		"$(do_ resolve "$@" qp=2 why | grep -o 'error=.*')" \
		"error=$error"
}

why "an address with a path" 0 10.66.0.2 1
why "its GID" 0 "$(dev_gid "$(fab_dev 2)")" 1 family=27 flags=8
why "no neighbour" -113 10.66.0.99 1
why "no path is wanted" 0 10.66.0.99 1 noroute
why "the SA does not know the GID" -2 fe80::dead 1 family=27 flags=8
why "a GID in no subnet of ours" -101 2001:db8::1 1 family=27 flags=8
ip route add 10.77.0.0/24 via 10.66.0.2 dev "$netdev"
why "behind a router" -95 10.77.0.1 1
ip route del 10.77.0.0/24
sm_pause
why "the SA does not reply" -110 10.66.0.2 1
sm_resume

rmmod cmx_consumer
finish
