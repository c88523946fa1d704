#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# In-kernel consumers on a kernel without IPv6: names and numbers of both
# families. IPv4 works. IPv6 is an error, and an address of a name that nothing
# reaches. The consumer binds no id to an IPv6 address: rdma_bind_addr() of ib_core
# oopses, see stock-bugs.rst. KA-02, KA-06, KA-08, KA-09, MC-05
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/consumer/connect_functions

port=7600
cleanup() {
	rmmod cmx_consumer
	cp /run/hosts /etc/hosts
	params_back
} 2>/dev/null

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
cp /etc/hosts /run/hosts
names_wait 20
param query_timeout_ms 60000
trap cleanup EXIT
printf '%s both.kc.test\n' fd55::1 10.55.0.1 >>/etc/hosts

why "an IPv4 address" 0 10.55.0.1 1
why "an IPv6 address" -97 fd55::1 1
why "the IPv6 loopback address" -97 ::1 1
why "to listen on IPv6" -99 fd55::1 1 passive

do_ listen 10.55.0.1 $port accept >/dev/null
is "KA-02: IPv4" "$(connect -- 10.55.0.1 $port)" \
	"$(call 0 1 1 0; one 10.55.0.1 up 0 0 welcome)"
is "KA-02: a name of both families" "$(connect -- both.kc.test $port)" \
	"$(call 0 1 1 0; one 10.55.0.1 up 0 0 welcome
	   one fd55::1 no-device -101)"
is "KA-02: IPv6" "$(connect -- fd55::1 $port)" \
	"$(call -101 1 0 0; one fd55::1 no-device -101)"
is "KA-02: an IPv6 source" "$(connect -- fd55::1 $port src=fd55::1)" \
	"$(call -101 1 0 0; one fd55::1 no-device -101)"
do_ unlisten >/dev/null

answered() {
	do_ watched "$w" | grep -q '^events=1 '
}
w=$(do_ watch -- both.kc.test 1 qp=2)
ok "KA-08: a watch gets its answer" wait_for 60 answered
is "KA-08: it has the addresses of both families" "$(do_ watched "$w")" \
	"events=1 error=0 partial=0 last=0 wrong=0 dst=10.55.0.1 fd55::1"
do_ unwatch >/dev/null
is "KA-09: no path of either family on RoCE" "$(do_ paths 10.55.0.1 fd55::1)" \
	$'found=0 of 2\nerror=-95\nerror=-97'

is "MC-01: an IPv4 group" "$(do_ join 10.55.0.1 239.55.7.1 0)" \
	"event=multicast join status=0 qp_num=0xffffff context=ours"
do_ leave >/dev/null
is "MC-05: an IPv6 group" "$(do_ join 10.55.0.1 ff15::55:71 0)" \
	"at once: error=-97"
ok "the consumer is unloaded" rmmod cmx_consumer
ok "no object is left" wait_for 60 live_none
finish
