#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The kernel API of rdma_cmx, used by an in-kernel consumer.
# KA-01, and below it GAI-01 to GAI-08, GAI-14, RAI-01, RAI-03, RAI-05, OPS-04
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

# Entries without the number of the device, which depends on the boot
resolve() {
	do_ resolve "$@" 2>&1 | sed 's/dev=[0-9]\+/dev=rdma/'
}

entry() {
	echo "src=$1 dst=$2 dev=$3 port=$4"
}

both() {
	echo "rc tcp $1"
	echo "ud udp $1"
}

errno_is() {
	local id=$1 errno=$2

	shift 2
	is "$id: '$*' is error $errno" "$(resolve "$@")" "error=-$errno"
}

check_is() {
	local id=$1 errno=$2

	shift 2
	is "$id: '$*' is refused with $errno" \
		"$(do_ start "$@") $(do_ known "$@")" \
		"at once: error=-$errno at once: error=-$errno"
}

# helper_waits SECONDS: the helper's own deadline. The usual 4 s may be too short
# for a host with many helpers at a time.
helper_waits() {
	sed "s/--timeout [0-9]*/--timeout $1/" /run/helper.conf >$conf
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
dns_up
conf=/etc/request-key.d/rdma-cmx.conf
cp $conf /run/helper.conf
param query_timeout_ms 60000
trap 'cp /run/helper.conf $conf; params_back' EXIT
helper_waits 20
scope=$(cat /sys/class/net/eth0/ifindex)
# The kernel assigns the link-local address some time after the link is up.
wait_for 90 grep -q '^fe80.* 20 80 .*eth0' /proc/net/if_inet6
ll=$(ip -o -6 addr show dev eth0 scope link | sed 's/.*inet6 \([^/]*\).*/\1/')

# --- numbers ---

is "GAI-01 GAI-03 GAI-08: an IPv4 number, both types, its source and device" \
	"$(resolve 10.55.0.2 7471)" \
	"entries=2 canonname=10.55.0.2
$(both "$(entry 10.55.0.1:0 10.55.0.2:7471 rdma 1)")"
is "KA-01: the result of a number is available at once" \
	"$(do_ known 10.55.0.2 7471 | sed 's/dev=[0-9]\+/dev=rdma/')" \
	"$(resolve 10.55.0.2 7471)"
is "GAI-01: an IPv6 number" "$(resolve fd55::2 7471 qp=2)" \
	"entries=1 canonname=fd55::2
rc tcp $(entry '[fd55::1]:0' '[fd55::2]:7471' rdma 1)"
is "GAI-01: a link-local number keeps its zone" \
	"$(resolve fe80::1234%eth0 7471 qp=2)" \
	"entries=1 canonname=fe80::1234%eth0
rc tcp $(entry "[$ll]:0%$scope" "[fe80::1234]:7471%$scope" rdma 1)"
is "GAI-01: a zone by number" "$(resolve fe80::1234%$scope 7471 qp=2)" \
	"entries=1 canonname=fe80::1234%$scope
rc tcp $(entry "[$ll]:0%$scope" "[fe80::1234]:7471%$scope" rdma 1)"
errno_is "GAI-01" 2 fe80::1%nosuch0 7471
is "GAI-14: an address without a device" "$(resolve 192.168.77.2 1 qp=4)" \
	"entries=1 canonname=192.168.77.2
ud udp $(entry - 192.168.77.2:1 - -)"
is "GAI-08: unreachable: no source" "$(resolve 203.0.113.9 1 qp=4)" \
	"entries=1 canonname=203.0.113.9
ud udp $(entry - 203.0.113.9:1 - -)"
is "GAI-08: a local address" "$(resolve 10.55.0.1 1 qp=2)" \
	"entries=1 canonname=10.55.0.1
rc tcp $(entry 10.55.0.1:0 10.55.0.1:1 rdma 1)"
is "GAI-08: a multicast address" "$(resolve 239.1.2.3 1 qp=4 src=10.55.0.1)" \
	"entries=1 canonname=239.1.2.3
ud udp $(entry 10.55.0.1:0 239.1.2.3:1 rdma 1)"
is "GAI-07: the source of the hints" \
	"$(resolve 10.55.0.2 1 qp=2 src=10.55.0.1)" \
	"entries=1 canonname=10.55.0.2
rc tcp $(entry 10.55.0.1:0 10.55.0.2:1 rdma 1)"
is "GAI-08: no source of a device without RDMA, though the hints have it" \
	"$(resolve 192.168.77.2 1 qp=2 src=192.168.77.1)" \
	"entries=1 canonname=192.168.77.2
rc tcp $(entry - 192.168.77.2:1 - -)"
is "GAI-08: a source that is not local" \
	"$(resolve 10.55.0.2 1 qp=2 src=10.99.0.1)" \
	"entries=1 canonname=10.55.0.2
rc tcp $(entry - 10.55.0.2:1 - -)"
is "GAI-08: an IPv6 source that is not local" \
	"$(resolve fd55::2 1 qp=2 src=fd99::1)" \
	"entries=1 canonname=fd55::2
rc tcp $(entry - '[fd55::2]:1' - -)"

# --- without a node, passive ---

is "GAI-07: a port only: loopback" "$(resolve - 7471 qp=2)" \
	"entries=2 canonname=-
rc tcp $(entry - 127.0.0.1:7471 - -)
rc tcp $(entry - '[::1]:7471' - -)"
is "GAI-04: passive: the wildcard of each family" \
	"$(resolve - 7471 qp=2 passive)" \
	"entries=2 canonname=-
rc tcp $(entry 0.0.0.0:7471 - - -)
rc tcp $(entry '[::]:7471' - - -)"
is "GAI-04: passive with a node" "$(resolve 10.55.0.1 7471 qp=2 passive)" \
	"entries=1 canonname=10.55.0.1
rc tcp $(entry 10.55.0.1:7471 - rdma 1)"
is "GAI-07: from the hints" "$(resolve - 7471 qp=2 dst=10.55.0.2)" \
	"entries=1 canonname=-
rc tcp $(entry 10.55.0.1:0 10.55.0.2:7471 rdma 1)"
is "GAI-07: family" "$(resolve - 1 qp=2 family=10)" \
	"entries=1 canonname=-
rc tcp $(entry - '[::1]:1' - -)"

# --- invalid queries ---

check_is "GAI-02" 2 - -
check_is "GAI-02" 95 10.55.0.2 1 flags=0x40
check_is "RAI-05" 95 - 1 sa dns
check_is "RAI-05" 95 10.55.0.2 1 sa
check_is "RAI-05" 22 - 1 sa
check_is "GAI-02" 97 10.55.0.2 1 family=99
check_is "GAI-03" 91 10.55.0.2 1 qp=4 ps=0x106
check_is "GAI-03" 91 10.55.0.2 1 qp=2 ps=0x111
check_is "GAI-03" 91 10.55.0.2 1 qp=77
check_is "GAI-05" 2 storage.cmx.test 1 numerichost
check_is "GAI-06" 99 10.55.0.2 1 family=10
check_is "GAI-06" 99 fd55::2 1 family=2
check_is "GAI-15" 99 10.55.0.2 1 family=27 flags=8
check_is "GAI-15" 22 10.55.0.2 1 src=10.55.0.1 dst=fd55::2
like "GAI-06: a GID" \
	"$(resolve fe80::1 7471 family=27 flags=8 qp=2 | tail -n 1)" \
	'dst=fe80::1,sid=0x1061d2f,mask=0xffffffffffffffff,pkey=0xffff '
is "GAI-03: UC is valid with TCP" "$(resolve 10.55.0.2 1 qp=3 | head -2 | tail -1)" \
	"qp3 tcp $(entry 10.55.0.1:0 10.55.0.2:1 rdma 1)"

# --- names ---

storage="entries=3 canonname=storage.cmx.test"
list=$(resolve storage.cmx.test 7471 qp=2)
is "GAI-01 GAI-11: a cold name with all its addresses" "${list%%$'\n'*}" \
	"$storage"
is "GAI-14: the storage addresses come first, the other one last" \
	"$(tail -n 1 <<<"$list")" \
	"rc tcp $(entry - 192.168.77.2:7471 - -)"
like "GAI-14: the first one has a device" "$(sed -n 2p <<<"$list")" 'dev=rdma'
# The cached response may expire between two of them.
from_cache() {
	local lookups hits

	lookups=$(counter name_lookups) hits=$(counter name_hits)
	[ "$(resolve storage.cmx.test 7471 qp=2)" = "$list" ] &&
		[ "$(resolve STORAGE.cmx.TEST 7471 qp=2)" = "$list" ] &&
		[ "$(counter name_lookups)" = "$lookups" ] &&
		[ "$(counter name_hits)" = $((hits + 2)) ]
}
ok "the same again, and in capitals, from the cache" wait_for 90 from_cache
like "GAI-11: the canonical name of an alias" \
	"$(resolve alias.cmx.test 1 qp=2)" '^entries=3 canonname=storage.cmx.test$'
is "GAI-06: the family of the hints" \
	"$(resolve storage.cmx.test 1 qp=2 family=10)" \
	"entries=1 canonname=storage.cmx.test
rc tcp $(entry '[fd55::1]:0' '[fd55::2]:1' rdma 1)"
errno_is "GAI-02: none of the family:" 99 v4only.cmx.test 1 family=10
errno_is "GAI-02: no such name:" 2 nosuch.cmx.test 1
errno_is "GAI-02: again, from the cache:" 2 nosuch.cmx.test 1
errno_is "GAI-02: no address:" 61 nodata.cmx.test 1
errno_is "GAI-02: SERVFAIL:" 11 a.servfail.test 1
errno_is "GAI-02: REFUSED:" 111 a.refused.test 1
before=$(counter name_lookups)
errno_is "not a name:" 2 "bad@name" 1
errno_is "a label of 64 bytes:" 2 "$(printf 'a%.0s' {1..64}).test" 1
errno_is "an empty label:" 2 a..b 1
errno_is "254 bytes:" 2 "$(printf 'a.%.0s' {1..127})" 1
is "no lookup for those" "$(counter name_lookups)" "$before"

# --- without waiting ---

do_ start storage.cmx.test 7471 qp=2 >/dev/null
do_ wait >/dev/null
is "KA-01: callback with the same list" \
	"$(sed 's/dev=[0-9]\+/dev=rdma/' $dir/result)" "$list"
do_ start 10.55.0.2 7471 cancel-inside >/dev/null
like "KA-01: cancelled inside its callback" "$(do_ wait)" '^entries=2 '
like "KA-01: cancelled after its callback" "$(do_ cancel)" '^entries=2 '
do_ start nosuch2.cmx.test 1 >/dev/null
is "RAI-03: no such name" "$(do_ wait)" "error=-2"
params_back
helper_waits 4
do_ start a.silent.test 1 >/dev/null
is "RAI-01: a silent server blocks no caller" "$(cat $dir/result)" "pending"
is "KA-01: cancelled while the server is silent" "$(do_ cancel)" "cancelled"
is "KA-01: cancelled twice" "$(do_ cancel)" "cancelled"
# Earlier than the helper's deadline of 4 s. Each name is new, as failures are
# cached.
deadline() {
	local begin=$SECONDS

	do_ start "b$begin.silent.test" 1 timeout=700 >/dev/null
	[ "$(do_ wait)" = "error=-110" ] && [ $((SECONDS - begin)) -lt 4 ]
}
ok "RAI-03: the deadline of the query" wait_for 90 deadline
errno_is "RAI-03: the helper's own deadline:" 110 c.silent.test 1
do_ start later.example 1 later >/dev/null
is "names that the caller provides" "$(cat $dir/result)" "pending"
do_ give-error 61 >/dev/null
is "an error from the caller" "$(do_ wait)" "error=-61"
is "there is no result before" "$(do_ known later.example 1 later)" "pending"
do_ start later.example 1 later timeout=100 >/dev/null
is "names that the caller does not provide" "$(do_ wait)" "error=-110"
do_ start later.example 1 later >/dev/null
is "cancelled before the names come" "$(do_ cancel)" "cancelled"

# --- many ---

is "KA-01: 2000 numbers, half of them cancelled" \
	"$(do_ stress 2000 10.55.0.2 | sed 's/ cancelled=.*wrong/ wrong/')" \
	"started=2000 refused=0 wrong=0"
helper_waits 60
before=$(counter name_lookups)
is "KA-01: one cold name 400 times" \
	"$(do_ stress 400 one.any.cmx.test 60000 | sed 's/ cancelled=.*failed/ failed/')" \
	"started=400 refused=0 failed=0 wrong=0"
# A query between the end of the lookup and its result starts another lookup.
ok "there are one or two lookups" \
	test $(($(counter name_lookups) - before)) -le 2
# One processor may not start as many helpers within the time of a lookup.
many=$(($(nproc) > 1 ? 100 : 30))
is "KA-01: $many cold names" \
	"$(do_ stress $many x%.any.cmx.test 60000 | sed 's/ cancelled=.*failed/ failed/')" \
	"started=$many refused=0 failed=0 wrong=0"
helper_waits 4
is "KA-01: more names than may wait" \
	"$(do_ stress 600 y%.silent.test 3000 | sed 's/started=.* wrong/wrong/')" \
	"wrong=0"
ok "some were refused" test "$(counter name_refused)" -gt 0

wait_for 90 live_none
# The user has eight lookups at a time, of 4 s each: the last name waits for 28 s.
ok "60 names of one user" \
	do_ crowd 60 z%.silent.test behind.any.cmx.test
like "one user cannot hold up a name for another" \
	"$(do_ resolve behind.any.cmx.test 1 timeout=20000)" '^entries='
do_ crowd 0 >/dev/null

# --- a helper that outlives its result ---

# It ends once the key has expired, or is not there any more.
cat >/run/late-helper <<-'END'
	#!/bin/bash
	/usr/libexec/rdma-cmx/cmx-names --ttl 2 --negative-ttl 2 --timeout 20 \
		-- "$1" "$2"
	key=$(printf '%08x' "$1")
	for _ in {1..600}; do
		expiry=$(awk -v key="$key" '$1 == key { print $4 }' /proc/keys)
		case $expiry in expd | "") break ;; esac
		sleep 0.1
	done
	echo "$expiry" >>/run/late-helper.log
END
chmod +x /run/late-helper
printf 'create .rdma_cmx_name * * /run/late-helper %%k %%d\n' >$conf
rm -f /run/late-helper.log
errno_is "KA-01: the key expires before the helper ends" 2 late.cmx.test 1 \
	timeout=60000
errno_is "KA-01: likewise without an address" 61 nodata.cmx.test 1 \
	timeout=60000
like "KA-01: likewise a name with addresses" \
	"$(do_ resolve late.any.cmx.test 1 timeout=60000)" '^entries='
is "all three keys had expired" "$(tr '\n' ' ' </run/late-helper.log)" \
	"expd expd expd "
cp /run/helper.conf $conf

# --- without the helper, at the end ---

mv /etc/request-key.d/rdma-cmx.conf /run/
errno_is "no helper: ENOKEY" 126 nohelper.cmx.test 1
mv /run/rdma-cmx.conf /etc/request-key.d/
mv /usr/sbin/request-key /run/
errno_is "no request-key(8): ENOKEY" 126 norequest.cmx.test 1
mv /run/request-key /usr/sbin/

is "OPS-04: unload is refused while in use" \
	"$(rmmod rdma_cmx 2>&1 | grep -c 'in use')" 1
do_ start d.silent.test 1 >/dev/null
ok "OPS-04: the consumer is unloaded with a query outstanding" rmmod cmx_consumer
ok "no object is left in the end" wait_for 90 live_none
finish
