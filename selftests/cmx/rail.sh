#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Rails: results of one of several devices, the GID index of a result, and the
# values that other programs need. rxe1 is in the subnet of rxe0, whose route
# comes first; rxe2 is in another subnet, and has no IPv6.
. /usr/lib/rdma-cmx/selftests/cmx/functions

names_wait 20

mkdir -p /tmp/test
consumer=/sys/kernel/debug/cmx_consumer

rail_add() {
	ip link add "$1" type dummy && ip link set "$1" up &&
		ip addr add "$2" dev "$1" &&
		rdma link add "$3" type rxe netdev "$1"
}

rails_del() {
	rdma link del rxe1
	rdma link del rxe2
	ip link del rail1
	ip link del rail2
}

# gid_of ADDRESS: the format of sysfs; an IPv6 address is PREFIX::NUMBER
gid_of() {
	local zeros=0000:0000:0000:0000:0000 a b c d

	case $1 in
	*.*)
		IFS=. read -r a b c d <<<"$1"
		printf '%s:ffff:%02x%02x:%02x%02x' $zeros "$a" "$b" "$c" "$d" ;;
	*)
		printf '%s:%s:0000:%04x' "${1%%::*}" $zeros "0x${1##*::}" ;;
	esac
}

# gid_is DEVICE INDEX ADDRESS: does sysfs have it there, for RoCE v2?
gid_is() {
	local port=/sys/class/infiniband/$1/ports/1

	[ "$(cat "$port/gids/$2")" = "$(gid_of "$3")" ] &&
		[ "$(cat "$port/gid_attrs/types/$2")" = "RoCE v2" ]
}

# column N OUTPUT: column of the first entry
column() {
	awk -v n="$1" 'NR == 2 { print $n }' <<<"$2"
}

result() {
	echo "$*" >$consumer/command && cat $consumer/result
}

query() {
	result "$@" | sed 's/dev=[0-9]\+/dev=rdma/'
}

dns_up
ok "a device in the same subnet" rail_add rail1 10.55.0.11/24 rxe1
ok "a device in another subnet" rail_add rail2 10.56.0.1/24 rxe2
ip -6 addr flush dev rail2
ip addr add fd55::11/64 dev rail1 nodad
gids_there() {
	grep -qs 0a37:000b /sys/class/infiniband/rxe1/ports/1/gids/* &&
		grep -qs 0a38:0001 /sys/class/infiniband/rxe2/ports/1/gids/* &&
		grep -qsE 'fd55:.*:0011$' /sys/class/infiniband/rxe1/ports/1/gids/*
}
ok "their addresses are GIDs" wait_for 40 gids_there

# --- the index ---

for dest in 10.55.0.2 fd55::2; do
	run cmx resolve $dest 7471
	ok "GID index of $dest: that of sysfs" \
		gid_is rxe0 "$(column 6 "$out")" "$(column 2 "$out")"
	is "GID type of $dest" "$(column 7 "$out")" RoCEv2
done
run cmx resolve 192.168.77.2
is "no device, no index" "$(column 5 "$out") $(column 6 "$out") \
$(column 7 "$out")" "- - -"
run cmx resolve -j 10.55.0.2
like "-j: index" "$out" '"gid_index": [0-9]+, *"gid_type": "RoCEv2"'
run cmx resolve -j 192.168.77.2
like "-j: no index is null" "$out" '"gid_index": null, *"gid_type": null'

# --- the filter ---

run cmx resolve 10.55.0.2
is "without --dev: the routing table's device" "$(column 5 "$out")" rxe0/1
for dev in rxe1 rxe1:1 rxe1/1; do
	run cmx resolve --dev $dev 10.55.0.2
	is "--dev $dev: that device, with its address" \
		"$(column 2 "$out") $(column 5 "$out")" "10.55.0.11 rxe1/1"
	ok "--dev $dev: its GID" gid_is rxe1 "$(column 6 "$out")" 10.55.0.11
done
run cmx resolve --dev rxe1 fd55::2
is "--dev: IPv6" "$(column 2 "$out") $(column 5 "$out")" "fd55::11 rxe1/1"
# The id stays on the device of its source.
ip route add fd55::/64 dev eth0 metric 100
run cmx resolve --dev rxe1 fd55::2
ip route del fd55::/64 dev eth0 metric 100
is "--dev: IPv6, rxe0 has the lower metric" \
	"$(column 2 "$out") $(column 5 "$out")" "fd55::11 rxe1/1"
run cmx resolve --dev rxe0 storage.cmx.test
is "--dev of a name: no address without RDMA" \
	"$(awk '/RC\/TCP/ { print $5 }' <<<"$out" | sort | uniq -c | xargs)" \
	"2 rxe0/1"
run cmx resolve --dev rxe2 10.56.0.9
is "--dev: the only one there" "$(column 2 "$out") $(column 5 "$out")" \
	"10.56.0.1 rxe2/1"
fails "--dev that does not reach it" 1 "10.56.0.9: RDMA device 'rxe0' reaches" \
	cmx resolve --dev rxe0 10.56.0.9
fails "--dev, no route by it" 1 "device 'rxe0' reaches none" \
	cmx resolve --dev rxe0 192.168.77.2
fails "--dev, nowhere" 1 "device 'rxe1' reaches none" \
	cmx resolve --dev rxe1 203.0.113.9
fails "--dev, no such device" 1 "'nosuch0': there is no such RDMA device" \
	cmx resolve --dev nosuch0 10.55.0.2
fails "--dev, no such port" 1 "'rxe1:2': the device has no such port" \
	cmx resolve --dev rxe1:2 10.55.0.2

# --- passive ---

run cmx resolve --passive --dev rxe1 - 7471
is "passive: the wildcard is an address of each family" \
	"$(awk '/RC\/TCP/ { print $2, $3, $5 }' <<<"$out" | sort | xargs)" \
	"10.55.0.11 7471 rxe1/1 fd55::11 7471 rxe1/1"
run cmx resolve --passive --dev rxe2 - 7471
is "passive: a family that the device lacks is left out" \
	"$(awk '/RC\/TCP/ { print $2, $5 }' <<<"$out" | xargs)" \
	"10.56.0.1 rxe2/1"
fails "passive: none left" 1 "device 'rxe2' reaches none" \
	cmx resolve --passive -6 --dev rxe2 - 7471
run cmx resolve --passive --dev rxe0 10.55.0.1 7471
is "passive: an address of the device" "$(column 5 "$out")" rxe0/1
fails "passive: an address of another" 1 "reaches none" \
	cmx resolve --passive --dev rxe1 10.55.0.1 7471
run cmx resolve --passive - 7471
is "passive: the wildcard has no device" \
	"$(column 5 "$out") $(column 6 "$out")" "- -"

# --- a new name ---

ok "rename" rdma dev set rxe2 name rxe9
fails "the old name" 1 "no such RDMA device" cmx resolve --dev rxe2 10.56.0.9
run cmx resolve --dev rxe9 10.56.0.9
is "the new name" "$(column 2 "$out")" 10.56.0.1
ok "rename back" rdma dev set rxe9 name rxe2

# --- programs without support for rails ---

serve_on() {
	RDMACMX_DEVICE=$1 cmx run rdma_server -p 18777 >/tmp/test/server 2>&1 &
	server=$!
	wait_for 40 eval 'rdma resource show cm_id |
		grep -E "state LISTEN .*:18777( |$)" >/tmp/test/listen'
	kill $server
	wait $server
} 2>/dev/null
serve_on rxe1
like "a server with RDMACMX_DEVICE listens on the device" \
	"$(cat /tmp/test/listen)" 'link rxe1/1 .*10\.55\.0\.11:18777'
run env RDMACMX_DEVICE=nosuch0 cmx run rdma_server -p 18777
like "a wrong one is reported with its value" "$err" \
	"RDMACMX_DEVICE='nosuch0': no such RDMA device"
is "once" "$(grep -c RDMACMX_DEVICE <<<"$err")" 1
run env RDMACMX_DEVICE=rxe0:7 cmx run rdma_client -s 10.55.0.2 -p 18777
like "a wrong port likewise" "$err" \
	"RDMACMX_DEVICE='rxe0:7': the device has no such port"
run env RDMACMX_DEVICE=rxe1 cmx resolve 10.55.0.2
is "cmx obeys it, too" "$(column 5 "$out")" rxe1/1
run env RDMACMX_DEVICE=rxe1 cmx resolve --dev rxe0 10.55.0.2
is "--dev goes before it" "$(column 5 "$out")" rxe0/1
cp "$(command -v cmx)" /usr/bin/cmx-setuid && chmod u+s /usr/bin/cmx-setuid
run setpriv --reuid 65534 --clear-groups env RDMACMX_DEVICE=nosuch0 \
	/usr/bin/cmx-setuid resolve 10.55.0.2
is "a setuid program does not" "$status $(column 5 "$out")" "0 rxe0/1"
rm /usr/bin/cmx-setuid

# --- values for other programs ---

index=$(cmx resolve --dev rxe1 10.55.0.2 | awk 'NR == 2 { print $6 }')
run cmx resolve --dev rxe1 --env nccl 10.55.0.2
is "--env nccl" "$out" "NCCL_IB_HCA==rxe1:1
NCCL_IB_GID_INDEX=$index
NCCL_SOCKET_IFNAME==rail1"
run cmx resolve --dev rxe1 --env ucx 10.55.0.2
is "--env ucx" "$out" "UCX_NET_DEVICES=rxe1:1
UCX_IB_GID_INDEX=$index"
run cmx resolve --dev rxe1 --env perftest 10.55.0.2
is "--env perftest" "$out" "-d rxe1 -i 1 -x $index"
fails "--env without a device" 1 'no RDMA device reaches it' \
	cmx resolve --env ucx 192.168.77.2
ip link set rail2 down
ip link set rail2 name "r'\$x"
ip link set "r'\$x" up
ip addr add 10.56.0.1/24 dev "r'\$x" 2>/dev/null
wait_for 40 eval 'cmx resolve --dev rxe2 10.56.0.9 >/dev/null 2>&1'
fails "--env nccl: an interface that is no word of the shell" 1 \
	"interface 'r'.x': .* rename it with: ip link set" \
	cmx resolve --dev rxe2 --env nccl 10.56.0.9
run cmx resolve --dev rxe2 --env ucx 10.56.0.9
like "--env ucx does not print it" "$out" '^UCX_NET_DEVICES=rxe2:1'
ip link set "r'\$x" down
ip link set "r'\$x" name rail2

# perftest uses it. On both sides the first device would work, too, but not its
# first GID, which is not an address. -u 20: 4 s until a retry, as a guest may
# stop once.
peer_args=$(peer "cmx resolve --passive --env perftest 10.55.0.2")
like "the peer's" "$peer_args" '^-d rxe0 -i 1 -x [0-9]+$'
job=$(peer_bg "ib_write_bw $peer_args -u 20 -n 50 -F -p 18800")
# shellcheck disable=SC2016
wait_for 60 peer "grep -qE ':$(printf %04X 18800) [0-9A-F:]+ 0A' /proc/net/tcp \
	/proc/net/tcp6"
# shellcheck disable=SC2046
run ib_write_bw $(cmx resolve --env perftest 10.55.0.2) -u 20 -n 50 -F \
	-p 18800 10.55.0.2
is "perftest with the printed options" "$status" 0
like "perftest: the GID is that of the address" "$out" \
	'GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:55:00:01'
peer_wait "$job" >/tmp/test/peer
is "perftest: the server" $? 0

# --- in the kernel ---

if modprobe cmx_consumer; then
	is "kernel: the device's entries, with their GID" \
		"$(query resolve 10.55.0.2 7471 ps=0x106 dev=rxe1 gids)" \
		"entries=1 canonname=10.55.0.2
rc tcp src=10.55.0.11:0 dst=10.55.0.2:7471 dev=rdma port=1 gid=$index/2"
	is "kernel: a source that is a wildcard is none" \
		"$(query resolve 10.55.0.2 7471 ps=0x106 dev=rxe1 src=0.0.0.0 |
			tail -n 1)" \
		"rc tcp src=10.55.0.11:0 dst=10.55.0.2:7471 dev=rdma port=1"
	is "kernel: a source of another device" \
		"$(query resolve 10.55.0.2 7471 dev=rxe1 src=10.55.0.1)" error=-101
	for dest in 10.55.0.2 fd55::2; do
		by_dev=$(result resolve $dest 7471 ps=0x106 dev=rxe1)
		src=10.55.0.11
		[ $dest = 10.55.0.2 ] || src=fd55::11
		like "kernel: from $src" "$by_dev" \
			"src=\\[?$src\\]?:0 .*dev=[0-9]"
		is "GAI-08: a source of the second rail: its device" \
			"$(result resolve $dest 7471 ps=0x106 src=$src)" \
			"$by_dev"
		is "GAI-08: the same with the device" \
			"$(result resolve $dest 7471 ps=0x106 src=$src \
				dev=rxe1)" "$by_dev"
	done
	is "GAI-08: a source whose interface has no route" \
		"$(query resolve 10.55.0.2 7471 ps=0x106 src=10.56.0.1 |
			tail -n 1)" \
		"rc tcp src=- dst=10.55.0.2:7471 dev=- port=-"
	is "kernel: no index" \
		"$(query resolve 192.168.77.2 7471 ps=0x106 gids | tail -n 1)" \
		"rc tcp src=- dst=192.168.77.2:7471 dev=- port=- gid=-1"
	is "kernel: no such device" \
		"$(query resolve 10.55.0.2 7471 dev=nosuch0)" error=-19
	is "kernel: no such port" \
		"$(query resolve 10.55.0.2 7471 dev=rxe1 devport=2)" error=-6
	is "kernel: a port without a device" \
		"$(query resolve 10.55.0.2 7471 devport=1)" error=-22
	is "kernel: none reached" \
		"$(query resolve 192.168.77.2 7471 dev=rxe1)" error=-101
	modprobe -r cmx_consumer
else
	skip "kernel" "cmx_consumer.ko is not installed"
fi

# --- removal ---

rails_del
fails "a device that is gone" 1 "'rxe1': there is no such RDMA device" \
	cmx resolve --dev rxe1 10.55.0.2
finish
