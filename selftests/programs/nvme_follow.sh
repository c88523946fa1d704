#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-05: which controllers cmx nvme connect --follow removes. The controllers
# are files, and the results of the SA and of names are those of answers.so.
. /usr/lib/rdma-cmx/selftests/lib.sh

bed=/run/nvme_follow
nqn=nqn.2026-11.test.cmx:files
answers=$bed/answers
cache=/sys/module/rdma_cmx/parameters/sa_cache_ms
cache_ms=$(<$cache)
follower='' count=0

cleanup() {
	[ -z "$follower" ] || kill -KILL "$follower"
	umount /sys/class/nvme /sys/class/infiniband
	echo "$cache_ms" >$cache
	ip link del nf_vrf
	ip link del nf_dummy
	modprobe -r nvme-rdma
	rm -rf $bed
} >/dev/null 2>&1
trap cleanup EXIT

# controller NAME ADDRESS SOURCE: has namespace 1, and the removal is a file
controller() {
	mkdir -p "$bed/class/$1" && cd "$bed/class/$1" || return
	echo rdma >transport
	echo $nqn >subsysnqn
	echo live >state
	echo "traddr=$2,trsvcid=4420,host_traddr=$3" >address
	mkdir -p "nvme0c${1#nvme}n1"
	echo 2048 >"nvme0c${1#nvme}n1/size"
	: >delete_controller
}

# answer LINE...: the results from now on
answer() {
	printf '%s\n' "$@" >$answers.new && mv $answers.new $answers
}

# follow ARGUMENT...: starts a follower with a separate log. With
# interval=86400, each round is one of round.
interval=1
follow() {
	count=$((count + 1))
	log=$bed/log.$count
	: >$log
	: >$answers.rounds
	LD_PRELOAD=/usr/lib/rdma-cmx/selftests/programs/tools/answers.so \
		cmx nvme connect --follow=$interval --nqn $nqn "$@" \
		>$log 2>&1 5>&- &
	follower=$!
	# From then on SIGHUP does not end it.
	wait_for 60 test -s $answers.rounds
}

follow_end() {
	kill "$follower"
	wait "$follower"
	follower=''
}

# round: starts one that reads the present answer, and completes the one before
round() {
	local count

	count=$(wc -c <$answers.rounds)
	kill -HUP "$follower"
	wait_for 60 rounds_begun $((count + 1))
}

rounds_begun() {
	[ "$(wc -c <$answers.rounds)" -ge "$1" ]
}

rounds_passed() {
	kill -HUP "$follower"
	rounds_begun "$1"
}

# rounds NUMBER: that many more complete rounds
rounds() {
	wait_for 60 rounds_passed $(($(wc -c <$answers.rounds) + $1 + 1))
}

# removed: the removed controllers since the start of the follower
removed() {
	sed -n 's/^disconnected \([^ ]*\) .*/\1/p' $log | sort -u | paste -sd' '
}

modprobe nvme-rdma
mkdir -p $bed/bin $bed/class
printf '#!/bin/sh\nexit 0\n' >$bed/bin/nvme
chmod 755 $bed/bin/nvme
PATH=$bed/bin:$PATH
export ANSWERS=$answers
ok "controllers of files" mount --bind $bed/class /sys/class/nvme

# --- the SA of one rail: its port 2 ---

port=$bed/devices/rail/ports/2
mkdir -p $port
echo "4: ACTIVE" >$port/state
ok "a device of files" mount --bind $bed/devices /sys/class/infiniband
ok "controllers" eval "controller nvme2 10.55.0.2 10.55.0.1 &&
	controller nvme3 10.55.0.3 10.55.0.1 &&
	controller nvme4 10.55.0.4 10.55.0.1"
both=("record 10.55.0.2 1" "record 10.55.0.3 2" "record 10.55.0.4 1")
answer "${both[@]}"
# An absent address is believed after 15 seconds.
echo 5000 >$cache
follow --sa array
ok "KA-05: the SAs of both rails respond" rounds 2
# Each of them, and again when an absent address would be believed
parts() {
	answer "${both[0]}" "${both[2]}" "error 110"
	ok "KA-05: one does not respond" rounds 3
	answer "${both[@]}" "fails 10.55.0.3"
	ok "KA-05: the address cannot be resolved" rounds 3
	echo "1: DOWN" >$port/state
	answer "${both[0]}" "${both[2]}"
	ok "KA-05: the port is not active" rounds 3
}
parts
time_passed() {
	rounds 1 && [ $SECONDS -gt $((since + 16)) ]
}
since=$SECONDS
ok "KA-05: for more than 15 seconds" wait_for 60 time_passed
answer "${both[0]}" "${both[2]}" "error 110"
echo "4: ACTIVE" >$port/state
parts
answer "${both[@]}"
ok "KA-05: all of it is back" rounds 3
is "KA-05: the path of that rail stays" "$(removed)" ""
echo "4: ACTIVE" >$port/state
echo 60000 >$cache
answer "${both[0]}" "${both[2]}" "fails 10.55.0.4"
ok "KA-05: its SA has no record" rounds 1
since=$SECONDS
ok "KA-05: for more than 15 seconds" wait_for 60 time_passed
is "KA-05: which may be one response in the cache" "$(removed)" ""
echo 5000 >$cache
ok "KA-05: until the cache must have had others" wait_for 60 \
	grep -q '^disconnected nvme3' $log
is "KA-05: a record whose address cannot be resolved keeps only its path" \
	"$(removed)" nvme3
follow_end
umount /sys/class/infiniband
rm -r $bed/class/*

# --- a result that may lack addresses ---

ok "controllers" eval "controller nvme2 10.55.0.2 10.55.0.1 &&
	controller nvme3 2001:db8::3 ::1"
both=("address 10.55.0.2 10.55.0.1" "address 2001:db8::3 ::1")
interval=86400
for name in _nvme._tcp.array array; do
	answer "${both[@]}"
	follow $name
	# The lookup of a host of SRV records fails; the query for one family.
	answer "${both[0]}"
	ok "KA-05: a result without an address ($name)" round
	answer "${both[@]}"
	ok "KA-05: and one with it" eval "round && round"
	is "KA-05: its path stays" "$(removed)" ""
	follow_end
done
interval=1
rm -r $bed/class/*

# --- other paths to an address of the name ---

# A source that the host has had, and those that it has: at an interface, in a
# VRF, and by a route alone
ok "a VRF" eval "ip link add nf_vrf type vrf table 79 &&
	ip link add nf_dummy type dummy && ip link set nf_dummy master nf_vrf &&
	ip address add 192.0.2.7/32 dev nf_dummy"
ok "controllers" eval "controller nvme2 10.55.0.2 10.55.0.1 &&
	controller nvme3 10.55.0.2 127.0.0.1 &&
	controller nvme4 10.55.0.2 192.0.2.1 &&
	controller nvme5 2001:DB8:0:0::1 ::1 && controller nvme6 10.55.0.6 ::1 &&
	controller nvme7 10.55.0.2 192.0.2.7 &&
	controller nvme8 10.55.0.2 127.0.0.8"
answer "address 10.55.0.2 10.55.0.1" "address 2001:db8::1 0::1"
follow array
ok "KA-05: what has an address that the name has not is removed" \
	wait_for 60 grep -q '^disconnected nvme6' $log
ok "KA-05: more rounds" rounds 3
is "KA-05: other text and another source of an address are no reason" \
	"$(removed)" "nvme4 nvme6"
follow_end
RDMACMX_DEVICE='' follow array
ok "KA-05: the device \"\" is none: all controllers are considered" \
	wait_for 60 grep -q '^disconnected nvme4' $log
follow_end
rm -r $bed/class/*

# --- the state of the others changes during a removal ---

removal_waits() {
	local file

	# Before, it is a copy of this shell, with the same files.
	grep -q connect /proc/"$follower"/cmdline || return
	for file in /proc/"$follower"/fd/*; do
		[ ! "$file" -ef $bed/pipe ] || return 0
	done
	return 1
}

mkfifo $bed/pipe
exec 5<>$bed/pipe
ok "a full pipe" eval "timeout 60 head -c 65536 /dev/zero >&5"
answer "address 10.55.0.2 10.55.0.1"
for number in 2 31 32; do
	ok "a controller" controller nvme$number 10.55.0.$number 10.55.0.1
	[ $number = 2 ] || ln -sf $bed/pipe \
		"$bed/class/nvme$number/delete_controller"
done
follow array
ok "KA-05: a removal takes its time" wait_for 60 removal_waits
echo connecting >$bed/class/nvme2/state
head -c 65536 <&5 >/dev/null
ok "KA-05: the path that serves the disk is lost meanwhile" rounds 3
like "KA-05: so the next one stays" "$(removed)" '^nvme3[12]$'
follow_end
exec 5>&-
rm -r $bed/class/nvme3[12]
finish
