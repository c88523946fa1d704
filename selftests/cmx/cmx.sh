#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: the command cmx: results, JSON, exit codes, and its messages when
# something is wrong. OPS-03: its counters. Data of MC-12 by its --count.
. /usr/lib/rdma-cmx/selftests/cmx/functions

names_wait 20

json=/usr/lib/rdma-cmx/selftests/cmx/tools/json
group=239.55.2.2

json_ok() {
	"$json" <<<"$1"
}

mkdir -p /tmp/test

# resolve
run cmx resolve storage.cmx.test 7471
is "resolve: exit code (OPS-02)" "$status" 0
is "resolve: all addresses (GAI-01)" "$(grep -c 'RC/TCP' <<<"$out")" 3
like "resolve: storage address first, with its device (GAI-14)" \
	"$(sed -n 2p <<<"$out")" '^(10\.55\.0\.2|fd55::2) .* 7471 .*rxe0/1 +[0-9]+ +RoCEv2$'
like "resolve: no device for the management address" \
	"$(sed -n 4p <<<"$out")" '^192\.168\.77\.2 .*-$'
like "resolve: canonical name (GAI-11)" "$out" \
	'canonical name storage\.cmx\.test$'
run cmx resolve -4 -j storage.cmx.test 7471
ok "resolve -j: JSON (OPS-02)" json_ok "$out"
like "resolve -j: device" "$out" '"destination": "10\.55\.0\.2".*"rxe0/1"'
like "resolve -j: none is null" "$out" '192\.168\.77\.2".*"device": null'
unlike "resolve -4: no IPv6 address (GAI-06)" "$out" 'fd55'
run cmx resolve -6 storage.cmx.test
unlike "resolve -6: no IPv4 address (GAI-06)" "$out" '10\.55'
run cmx resolve --type any 10.55.0.2 7471
is "resolve --type any: both transports (GAI-03)" \
	"$(grep -cE 'RC/TCP|UD/UDP' <<<"$out")" 2
run cmx resolve --passive 10.55.0.1 7471
like "resolve --passive: source only (GAI-04)" "$out" '^- +10\.55\.0\.1 +7471 '
run cmx resolve - 7471
like "resolve without a node: loopback (GAI-07)" "$out" '^(127\.0\.0\.1|::1) '

fails "unknown name" 1 'nosuch\.cmx\.test: .*not known' \
	cmx resolve nosuch.cmx.test
fails "no address" 1 'nodata\.cmx\.test: .*has no address' \
	cmx resolve nodata.cmx.test
fails "other family" 1 'v4only\.cmx\.test: .*leave out' \
	cmx resolve -6 v4only.cmx.test
fails "servers fail" 1 'x\.servfail\.test: .*resolv\.conf' \
	cmx resolve x.servfail.test
fails "port too high" 1 '70000: .*0 to 65535' cmx resolve 10.55.0.2 70000
fails "-n with a name" 1 '-n forbids' cmx resolve -n storage.cmx.test
fails "-n and -j with quotes" 1 'a"b' cmx resolve -j -n 'a"b'

# usage
fails "no command" 2 'a command is missing' cmx
fails "unknown command" 2 "'frob' is not a command" cmx frob
fails "no node" 2 'needs a NODE' cmx resolve
fails "too many arguments" 2 "'c' is one argument too many" cmx resolve a b c
fails "unknown option" 2 'cmx help' cmx resolve --frob a
fails "-4 and -6" 2 '-4 or -6' cmx resolve -4 -6 a
fails "unknown type" 2 "'xrc'" cmx resolve --type xrc a
fails "--sa without a service" 2 'needs a SERVICE' cmx resolve --sa
fails "--sa with a node" 2 "'b' is one argument" cmx resolve --sa a b
fails "--sa and -4" 2 'not go with --sa' cmx resolve --sa -4 a
fails "--sa for any type" 2 'rc or ud' cmx resolve --sa --type any a
fails "unknown form" 2 "'mpi': nccl, ucx" cmx resolve --env mpi a
fails "--env and -j" 2 'without --sa and -j' cmx resolve --env ucx -j a
fails "--sa on a port that is not InfiniBand" 1 "'rxe0/1': .*not an Inf" \
	cmx resolve --sa --dev rxe0/1 a
fails "--sa on an unknown device" 1 "'nosuch0': .*rdma link" \
	cmx resolve --sa --dev nosuch0 a
fails "--sa without InfiniBand" 1 'a: no InfiniBand port is active' \
	cmx resolve --sa a
fails "--sa with a long name" 1 'at most 63' \
	cmx resolve --sa "$(printf 'n%.0s' {1..64})"
fails "nvme without a command" 2 'one command: connect' cmx nvme a
fails "no subsystem" 2 'needs --nqn' cmx nvme connect a
fails "an option in the name of the subsystem" 2 "'a,b': .*commas" \
	cmx nvme connect --nqn a,b c
fails "an empty name of the subsystem" 2 "'': 1 to 223" cmx nvme connect -n '' c
fails "a name that is too long" 2 '1 to 223' \
	cmx nvme connect -n "$(printf 'n%.0s' {1..224})" c
fails "no name of an array" 2 'needs a NAME' cmx nvme connect -n a
fails "an option behind the name" 2 'in front of NAME' \
	cmx nvme connect -n a b --follow
fails "a word behind the port" 2 "'d' is one argument" \
	cmx nvme connect -n a b c d
fails "seconds of nothing" 2 "'0': seconds from 1" \
	cmx nvme connect -n a --follow=0 b
fails "--follow and -j" 2 'without -j' cmx nvme connect -n a --follow -j b
fails "--sa and a port" 2 "'4420': with --sa" cmx nvme connect -n a --sa b 4420
fails "no nvme-rdma" 1 'modprobe nvme-rdma' cmx nvme connect -n a 10.55.0.2
fails "connect without a service" 2 'a NODE and a SERVICE' cmx connect a
fails "connect --sa without a service" 2 'needs a SERVICE' cmx connect --sa
fails "connect --sa and -4" 2 'not go with --sa' cmx connect --sa -4 a
fails "connect --race and --route" 2 'not go with --route' \
	cmx connect --race --route a b
fails "connect: too many arguments" 2 "'c' is one" cmx connect a b c
fails "connect: no time" 2 "'0': seconds" cmx connect --timeout 0 a b
fails "no group" 2 'needs a GROUP' cmx join
fails "not a multicast address" 2 "'10.1.2.3'" cmx join 10.1.2.3
fails "count of nothing" 2 "'0'" cmx join --count 0 $group
fails "source of the other family" 2 'another family' \
	cmx join --source fd55::1 $group
run cmx help
is "help: exit code (OPS-02)" "$status" 0
like "help: names each command" "$out" 'resolve.*'
run cmx version
like "version" "$out" '^cmx [0-9]+\.[0-9]+\.[0-9]+'
like "version: the kernel's ABI" "$out" 'ABI 1'
limits=/sys/module/rdma_cmx/parameters
like "version: limits of a user" "$out" \
	"^limits of a user: .* services $(<$limits/services_per_user) .* $(<$limits/sa_kb_per_user) KB\$"

# connect
run cmx connect --route -j storage.cmx.test 7471
is "connect --route: exit code (KA-02)" "$status" 0
ok "connect -j: JSON" json_ok "$out"
like "connect -j: the winner, and one without a device" "$out" \
	'"step": "up", "error": null.*"device": null, "step": "no-device"'
run timeout 120 cmx connect 10.55.0.2 7999
is "connect: nobody listens: exit code" "$status" 1
like "connect: nobody listens" "$err" '10\.55\.0\.2 7999: refused'
like "connect: the step that failed" "$out" \
	'10\.55\.0\.2 .* request .* refused \(reason 8\)$'
run timeout 120 cmx connect --race 10.55.0.2 7999
is "connect --race: nobody listens: exit code" "$status" 1
like "connect --race: nobody listens" "$err" '10\.55\.0\.2 7999: refused'
like "connect --race: the step that failed" "$out" \
	'10\.55\.0\.2 .* rxe0/1 +request .* ms +[0-9]+ ms +.*refused \(reason 8\)$'
run timeout 120 cmx connect --race 192.168.77.2 7471
like "connect --race: no device" "$err" 'no RDMA device'
like "connect --race: the address without a device" "$out" '192\.168.* no-device '
server=$(peer_bg "/usr/lib/rdma-cmx/selftests/cmx/tools/accept 7472")
ok "a server in the other guest" wait_for 60 \
	peer "rdma resource show cm_id | grep -q 'state LISTEN .*:7472'"
run timeout 120 cmx connect --race storage.cmx.test 7472
is "connect --race: exit code (KA-02)" "$status" 0
is "connect --race: one address is connected" "$(grep -c ' up .* ok$' <<<"$out")" 1
run timeout 120 cmx connect --race -j storage.cmx.test 7472
is "connect --race -j: exit code" "$status" 0
ok "connect --race -j: JSON" json_ok "$out"
like "connect --race -j: no error" "$out" '"error": null, "candidates"'
peer_stop "$server"
run timeout 120 cmx connect 192.168.77.2 7471
is "connect: no device: exit code" "$status" 1
like "connect: no device" "$err" 'no RDMA device'
fails "connect: unknown name" 1 'nosuch\.cmx\.test: there is no such name' \
	cmx connect nosuch.cmx.test 7471

# join
run timeout 120 cmx join --once --source 10.55.0.1 $group
is "join: exit code (OPS-02)" "$status" 0
like "join: device and source (MC-01)" "$out" 'device +rxe0/1'
like "join: queue pair (MC-01)" "$out" 'QP +0xffffff'
ok "join --once: left again (MC-03)" \
	wait_for 40 eval "! igmp_joined eth0 $group"
run timeout 120 cmx join -j --once --send-only --dev rxe0 $group
ok "join -j: JSON (OPS-02)" json_ok "$out"
like "join -j: role" "$out" '"role": "send-only full member"'
fails "join on an unknown device" 1 "'nosuch0'.*rdma link" \
	cmx join --dev nosuch0 $group
fails "join by an address without RDMA" 1 'no RDMA device' \
	cmx join --source 192.168.77.1 $group

fails "join without a route" 1 "$group: no route.*--source or --dev" \
	cmx join $group
ip route add $group/32 dev eth0
run timeout 120 cmx join --once $group
ip route del $group/32 dev eth0
like "join by the routing table (MC-01)" "$out" 'source +10\.55\.0\.1'

cmx join --source 10.55.0.1 $group >/tmp/test/join 2>&1 &
pid=$!
ok "join stays" wait_for 40 grep -q Q_Key /tmp/test/join
ok "join: IGMP (MC-03)" igmp_joined eth0 $group
kill -TERM $pid
wait $pid
is "join ends by SIGTERM with 0 (OPS-02)" $? 0

job=$(peer_bg "cmx join -j --dev rxe0 --count 2 $group")
ok "the peer joins" wait_for 30 peer "grep -q joined /run/jobs/$job.log"
# Datagrams may get lost.
for _ in {1..5}; do
	run timeout 100 cmx join -j --send-only --dev rxe0 --count 2 $group
	! wait_for 10 peer "test -s /run/jobs/$job.status" || break
done
is "join --count: sent (MC-12)" "$(grep -c '"sent"' <<<"$out")" 2
ok "join --count: JSON lines (OPS-02)" json_ok "$out"
out=$(peer_wait "$job")
is "the peer received all (MC-12)" "$?" 0
like "the peer names the sender" "$out" '"number": 2, "from": "10\.55\.0\.1"'
ok "the peer's output is JSON" json_ok "$out"

# stat
run cmx stat
is "stat: exit code (OPS-02)" "$status" 0
like "stat: a counter of each module (OPS-03)" "$(tr '\n' ' ' <<<"$out")" \
	'rdma_cmx +requests +[1-9].*rdma_ucmx +files +[1-9]'
run cmx stat -j
ok "stat -j: JSON (OPS-03)" json_ok "$out"
before=$(counter requests | head -1)
cmx resolve 10.55.0.2 >/dev/null
is "a resolution is counted (OPS-03)" "$(counter requests | head -1)" \
	$((before + 1))

# completion
complete_line() {
	. /usr/share/bash-completion/completions/cmx
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_cmx
	echo "${COMPREPLY[*]}"
}
is "completion of a command" "$(complete_line cmx res)" resolve
like "completion of an option" "$(complete_line cmx join --se)" '^--send-only$'
is "completion of a program to run" "$(complete_line cmx run rpin)" rping
is "completion of what is the program's" \
	"$(cd / && complete_line cmx run -- rping /us)" /usr
is "completion of doctor's options" "$(complete_line cmx doctor --)" --json
is "completion of stat's options" "$(complete_line cmx stat --o)" --output
is "completion of a device" "$(complete_line cmx join --dev rx)" rxe0

# the device
chmod 0600 $device
fails "permission denied" 1 'Permission denied.*udev' \
	setpriv --reuid 65534 --clear-groups cmx resolve 10.55.0.2
chmod 0666 $device
# within /dev: a copy would not go with the module
mv $device $device.away
fails "no device" 1 'modprobe rdma_ucmx' cmx resolve 10.55.0.2
fails "no device, join" 1 'modprobe rdma_ucmx' cmx join $group
mv $device.away $device
ok "an output that cannot be written is a failure (OPS-02)" \
	bash -c '! cmx help >/dev/full'
finish
