#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Stock IPoIB on the simulated fabric. Hosts are network namespaces, each with
# one device; the initial namespace has the device of the SM.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

second=$(fab_dev 2) third=$(fab_dev 3)

ok "a host gets the second device" host_add two 2
ok "another one the third" host_add three 3
is "the host has the device" "$(on two ls /sys/class/infiniband)" "$second"
ok "it is not here any more" test ! -e "/sys/class/infiniband/$second"
is "a host does not see another's" "$(on three ls /sys/class/infiniband)" "$third"
is "its interface is up" \
	"$(on two cat "/sys/class/net/$(dev_netdev "$second")/mode")" datagram

ok "ping, initial namespace to host" wait_for 60 ping -c 1 -W 5 10.66.0.2
ok "ping by IPv6" wait_for 60 ping -c 1 -W 5 fd66::2
ok "ping between hosts" wait_for 60 on two ping -c 1 -W 5 10.66.0.3
ok "ping in fragments" wait_for 60 on two ping -c 1 -W 5 -s 7000 10.66.0.3
like "ARP has the other's GID" \
	"$(on two ip neigh show 10.66.0.3 | tr -d :)" "$(dev_guid "$third")"

# TCP, many packets in order. The server ends with its input, so that stays
# open.
mkfifo open
exec {open}<>open
on three nc -l -p 7100 <&$open >got &
receiver=$!
ok "TCP: a server listens" wait_for 90 on three sh -c 'ss -tln | grep -q 7100'
head -c 1000000 /dev/urandom >sent
ok "TCP: a megabyte arrives" timeout 200 \
	ip netns exec two sh -c 'nc -w 30 10.66.0.3 7100 <sent'
wait $receiver
ok "TCP: every byte as it was" cmp sent got

ok "the end of a host returns its device" host_del two
ok "the device is here" test -e "/sys/class/infiniband/$second"
ok "ACTIVE, with its interface" port_active_wait "$second"
ok "the other host still works" wait_for 60 ping -c 1 -W 5 10.66.0.3
finish
