#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Multicast joins of an in-kernel consumer: MC-01, MC-03, MC-05
. /usr/lib/rdma-cmx/selftests/lib.sh

dir=/sys/kernel/debug/cmx_consumer

do_() {
	echo "$*" >$dir/command || return
	cat $dir/result
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"

joined="event=multicast join status=0 qp_num=0xffffff context=ours"
is "MC-01: full member" "$(do_ join 10.55.0.1 239.55.7.1 0)" "$joined"
ok "MC-03: which IGMP knows" igmp_joined eth0 239.55.7.1
do_ leave >/dev/null
ok "MC-03: until it leaves" wait_for 5 eval '! igmp_joined eth0 239.55.7.1'
is "MC-01: send-only" "$(do_ join 10.55.0.1 239.55.7.2 1)" "$joined"
ok "MC-03: which IGMP does not know" eval '! igmp_joined eth0 239.55.7.2'
do_ leave >/dev/null

refused() {
	local id=$1 errno=$2

	shift 2
	is "$id: '$*' is error $errno" "$(do_ join "$@")" \
		"at once: error=-$errno"
}

refused "MC-05: not a multicast address:" 22 10.55.0.1 10.55.0.2 0
refused "MC-05: nor in IPv6:" 22 fd55::1 fd55::2 0
refused "MC-05: unknown flag:" 22 10.55.0.1 239.55.7.1 2
refused "MC-05: unknown flag:" 22 10.55.0.1 239.55.7.1 0x80000000
refused "MC-05: not bound:" 22 - 239.55.7.1 0
rmmod cmx_consumer
is "no id is left" "$(rdma resource show cm_id 2>/dev/null | grep -c cmx_consumer)" 0
finish
