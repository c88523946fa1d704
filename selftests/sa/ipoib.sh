#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Paths to IP addresses over IPoIB: GAI-08, GAI-09, GAI-14. Devices 1 and 2 are
# in different namespaces, so that ARP and neighbour discovery are real.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
tests=/usr/lib/rdma-cmx/selftests

paths() {
	"$tests/sa/tools/paths" "$@"
}

timeouts_long
# The usual 4 s of the name helper may be too short.
sed -i 's/--timeout [0-9]*/--timeout 20/' /etc/request-key.d/rdma-cmx.conf
ok "a namespace with device 2" host_add far 2
own=$(fab_dev 1) far=$(fab_dev 2)
here="$(gid_short "$own")/$(dev_lid "$own")"
there="$(gid_short "$far")/$(dev_lid "$far")"
path="path $here $there ffff"
netdev=$(dev_netdev "$own")

# cold ADDRESS: waits for a path; IPoIB waits only a second for its path.
cold() {
	ip neigh flush dev "$netdev"
	got=$(paths "$1" 7471)
	[[ $got == *' path '* ]]
}

wait_for 60 cold 10.66.0.2
is "GAI-09: path to an IPv4 address, whose GID needs ARP" \
	"$got" "10.66.0.1 10.66.0.2 $path"
is "GAI-09: the same from the cache" \
	"$(paths 10.66.0.2 7471)" "10.66.0.1 10.66.0.2 $path"
is "GAI-09: RAI_NOROUTE" "$(paths noroute 10.66.0.2 7471)" \
	"10.66.0.1 10.66.0.2"

wait_for 60 cold fd66::2
is "GAI-09: path to an IPv6 address, whose GID needs ND" \
	"$got" "fd66::1 fd66::2 $path"
is "GAI-09: the same from the cache" \
	"$(paths fd66::2 7471)" "fd66::1 fd66::2 $path"
# Both addresses of the name are cold again.
both() {
	[ "$(paths node2.cmx.test 7471 | grep -c ' path ')" = 2 ]
}
wait_for 60 both
is "GAI-09: by name, each address with its path" \
	"$(paths node2.cmx.test 7471 | sort)" \
	"10.66.0.1 10.66.0.2 $path
fd66::1 fd66::2 $path"

is "GAI-09: an id uses the path of the result, IPv4" \
	"$(paths use 10.66.0.2 7471)" "10.66.0.1 10.66.0.2 $path used"
is "GAI-09: an id uses the path of the result, IPv6" \
	"$(paths use fd66::2 7471)" "fd66::1 fd66::2 $path used"
# Counts Get queries, which rdma_cm would send, and IPoIB sends at times.
cached() {
	local before

	before=$(sa_requests 0x01 0x0035)
	paths use 10.66.0.2 7471 && paths use fd66::2 7471 &&
		[ "$(sa_requests 0x01 0x0035)" = "$before" ]
}
ok "GAI-09: no query is sent again" wait_for 90 cached
ok "GAI-13: valgrind" valgrind --quiet --error-exitcode=99 --leak-check=full \
	"$tests/sa/tools/paths" node2.cmx.test 7471

# The discovery of each address of a name starts, before a path needs its GID.
warm=(10.66.0.2 10.66.0.22 fd66::2 fd66::22)

far_addresses() {
	local far_dev

	far_dev=$(on far ip -o -4 addr show to 10.66.0.2 | awk '{ print $2 }')
	on far ip addr add 10.66.0.22/24 dev "$far_dev" &&
		on far ip addr add fd66::22/64 dev "$far_dev" nodad
}

warm_are() {
	local addr

	for addr in "${warm[@]}"; do
		case $(ip neigh show to "$addr" dev "$netdev") in
		*REACHABLE* | *STALE* | *DELAY* | *PROBE*) [ "$1" = valid ] ;;
		*) [ "$1" = unknown ] ;;
		esac || return
	done
}

# IPoIB may lose a request while it has no path: another resolution sends it.
warm_or_again() {
	warm_are valid && return
	paths far.warm 7471 >/dev/null
	return 1
}

cp /etc/hosts /run/ipoib.hosts
printf '%s far.warm\n' "${warm[@]}" >>/run/ipoib.hosts
mount --bind /run/ipoib.hosts /etc/hosts
ok "RA-01: device 2 has four addresses" far_addresses
# A probe of far would make one valid again.
on far ip neigh flush all
for addr in "${warm[@]}"; do
	ip neigh flush to "$addr" dev "$netdev"
done
ok "RA-01: no neighbour is known" wait_for 20 warm_are unknown
before=$(counter neighs_warmed)
paths noroute far.warm 7471 >/dev/null
is "RA-01: RAI_NOROUTE: none" "$(counter neighs_warmed)" "$before"
ok "RA-01: they are still unknown" warm_are unknown
is "RA-01: a name has all of them" \
	"$(paths far.warm 7471 | awk '{ print $2 }' | sort)" \
	"$(printf '%s\n' "${warm[@]}" | sort)"
is "RA-01: discovery of each neighbour starts" \
	$(($(counter neighs_warmed) - before)) 4
ok "RA-01: all become valid" wait_for 60 warm_or_again ||
	diag "$(ip neigh show dev "$netdev")"
before=$(counter neighs_warmed)
paths far.warm 7471 >/dev/null
is "RA-01: not of valid ones" "$(counter neighs_warmed)" "$before"
umount /etc/hosts

is "GAI-09: path to a local address" "$(paths 10.66.0.1 7471)" \
	"10.66.0.1 10.66.0.1 path $here $here ffff"
# As in cold()
from_far() {
	got=$(on far "$tests/sa/tools/paths" 10.66.0.1 7471)
	[[ $got == *' path '* ]]
}
wait_for 60 from_far
is "GAI-09: from the other side" "$got" \
	"10.66.0.2 10.66.0.1 path $there $here ffff"

# No response: the result has the address without a path after 3 s, and not at
# the deadline of the query or after the last retry.
param route_timeout_ms 3000
param sa_timeout_ms 20000
SECONDS=0
is "GAI-09: no host has the address" "$(paths 10.66.0.99 7471)" \
	"10.66.0.1 10.66.0.99"
ok "GAI-09: the call returns in time" test $SECONDS -lt 45

# The SA is silent.
param sa_cache_ms 0
sm_pause
SECONDS=0
is "GAI-09: the SA does not respond" "$(paths 10.66.0.2 7471)" \
	"10.66.0.1 10.66.0.2"
ok "GAI-09: the call returns in time" test $SECONDS -lt 45
timeouts_long
sm_resume
is "GAI-09: the SA responds again" "$(paths 10.66.0.2 7471)" \
	"10.66.0.1 10.66.0.2 $path"
params_back

# Behind a gateway the neighbour has another GID.
ip route add 10.67.0.0/24 via 10.66.0.2
is "GAI-09: no path through an IP router" "$(paths 10.67.0.7 7471)" \
	"10.66.0.1 10.67.0.7"
ip route del 10.67.0.0/24

finish
