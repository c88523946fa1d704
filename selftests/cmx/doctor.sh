#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: cmx doctor on RoCE. It reports no fault on a healthy host and in a
# container, and names each injected fault. Routes and neighbours are those of a
# second soft-RoCE device, on a link to a network namespace.
# shellcheck disable=SC2016,SC2034,SC2154 # eval expands these
. /usr/lib/rdma-cmx/selftests/cmx/functions

json=/usr/lib/rdma-cmx/selftests/cmx/tools/json
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
conf=/etc/request-key.d/rdma-cmx.conf
helper=/usr/libexec/rdma-cmx/cmx-names
request_key=$(readlink -f /sbin/request-key)
stock=$(realpath "$(ls /usr/lib/*/librdmacm.so.1)")
modules=/lib/modules/$(uname -r)
ours=$(dirname "$(modinfo -n rdma_cmx)")
core=$(modinfo -n ib_core)

away() {
	mv "$1" "$1.away"
}

back() {
	mv "$1.away" "$1"
}

side_address() {
	ip addr replace 10.56.0.1/24 dev d0
}

# d0 becomes the lower device of a bond or a VLAN, with its peer in the
# namespace.
bond_up() {
	rdma link del rxe1
	ip addr flush dev d0
	ip link set d0 down
	ip link add bond7 type bond mode active-backup miimon 50
	ip link set d0 master bond7
	ip addr add 10.56.0.1/24 dev bond7
	ip link set bond7 up
	rdma link add rxe1 type rxe netdev bond7
}

bond_down() {
	ip link del bond7
	ip link set d0 up
	side_address
	rdma link del rxe1
	rdma link add rxe1 type rxe netdev d0
}

# vlan_up NETDEV: adds VLAN 7 above it
vlan_up() {
	ip link add link "$1" name v0 type vlan id 7
	ip addr add 10.57.0.1/24 dev v0
	ip link set v0 up
}

far_vlan_up() {
	ip -n far link add link d1 name v1 type vlan id 7
	ip -n far addr add 10.57.0.2/24 dev v1
	ip -n far link set v1 up
}

# vlan_plain NETDEV: adds VLAN 9 above d0 with that name, without an address
vlan_plain() {
	ip link add link d0 name "$1" type vlan id 9
	sysctl -qw "net.ipv6.conf.$1.disable_ipv6=1"
	ip link set "$1" up
}

# pod_up: adds a network namespace with an interface named like rxe0's
pod_up() {
	ip netns add pod
	ip -n pod link add eth0 type dummy
	ip -n pod addr add 10.99.0.1/24 dev eth0
	ip -n pod link set eth0 up
}

# In this cgroup no verbs file of rxe1 can be opened.
cgroup=/sys/fs/cgroup/doctor
limit_up() {
	echo +rdma >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $cgroup && echo "rxe1 hca_handle=0" >$cgroup/rdma.max
}

# garble NAME: makes the helper's response for NAME malformed
garble() {
	away "$helper"
	cat >"$helper" <<-END
	#!/bin/bash
	[ "\${!#}" != $1 ] ||
		exec $(type -P keyctl) instantiate "\${@: -2:1}" garbage 0
	exec $helper.away "\$@"
	END
	chmod 755 "$helper"
}

# The kernel knows a failed lookup for a minute, and none of an unloaded module.
helper_back() {
	rm "$helper" && back "$helper"
	modprobe -r rdma_ucmx && modprobe rdma_ucmx
}

mends() {
	eval "$(sed -n 's/^mend: //p' <<<"$out")"
}

side_up() {
	ip netns add far || return
	ip link add d0 type veth peer name d1 netns far
	ip -n far addr add 10.56.0.2/24 dev d1
	ip -n far link set d1 up
	side_address
	ip link set d0 up
	rdma link add rxe1 type rxe netdev d0
}

rxe0_add() {
	rdma link add rxe0 type rxe netdev eth0
}

cleanup() {
	eval "$undo"
	params_back
	ip link del group 56
	ip link del bond7
	ip link del v0
	rdma link del rxe1
	ip link del d0
	ip netns del far
	ip netns del pod
} 2>/dev/null
trap cleanup EXIT

# Healthy
healthy "host" cmx doctor
ok "the second device" side_up
healthy "host with two devices" cmx doctor
healthy "an ordinary user" "${nobody[@]}" cmx doctor
healthy "an address" cmx doctor 10.56.0.2 7471
like "an address: GID index and type" "$out" \
	'10\.56\.0\.2: reached by rxe1/1, GID index [0-9]+ \(::ffff:10\.56\.0\.1\), RoCE v2$'
healthy "a name, also of a management address" cmx doctor storage.cmx.test
like "a name: the management address is no fault" "$out" \
	'^ok +route-device +192\.168\.77\.2'
healthy "this host's own name" cmx doctor alpha.cmx.test
healthy "a container" unshare -m -p -f --mount-proc cmx doctor storage.cmx.test
healthy "a container that was given one of two devices" \
	unshare -m -p -f --mount-proc bash -c 'cd /dev/infiniband &&
		mount -t tmpfs none /dev/infiniband &&
		cp -a "$(ls uverbs* | head -n 1)" rdma_cmx /dev/infiniband &&
		cmx doctor'
fault device-env "the environment has another device" : : \
	env RDMACMX_DEVICE=rxe0 cmx doctor 10.56.0.2
ip addr flush dev d0
ip addr add 10.56.0.1/24 dev d0 label d0:rail
healthy "an address with a label" cmx doctor 10.56.0.2
like "an address with a label: it is the interface's" "$out" \
	'^ok +netdev +rxe1/1: d0 is up, with an address$'
ip addr flush dev d0
side_address
wait_for 70 verdict_is healthy cmx doctor storage.cmx.test
run cmx doctor -j storage.cmx.test
is "-j: exit code" "$status" 0
ok "-j: JSON" "$json" <<<"$out"
like "-j: verdict" "$out" '"verdict": \{"id": "healthy"'
fails "too many arguments" 2 "'c' is one argument too many" cmx doctor a b c
fails "unknown option" 2 'cmx help' cmx doctor --frob
fails "an empty name" 2 'not a NAME' cmx doctor ''

# Modules, device
fault module-user "rdma_ucmx is not loaded" \
	'rmmod rdma_ucmx' 'modprobe rdma_ucmx'
fault module-core "no module is loaded" \
	'modprobe -r rdma_ucmx' 'modprobe rdma_ucmx'
fault module-missing "not built for this kernel" \
	'modprobe -r rdma_ucmx; away "$ours"; mv "$ours.away" /run/; depmod' \
	'mv "/run/${ours##*/}.away" "$ours"; depmod; modprobe rdma_ucmx'
fault "module-copies?" "make install, and then DKMS" \
	'mkdir "$ours/dkms"; cp "$ours/rdma_cmx.ko" "$ours/dkms"' \
	'rm -r "$ours/dkms"'
fault vendor-mix "another ib_core is installed" \
	'mkdir "$modules/extra"; cp "$core" "$modules/extra"
	 echo "search extra built-in updates" >/run/depmod; depmod -C /run/depmod' \
	'rm -r "$modules/extra"; depmod'
# No vendor's modules are available: a file replaces their mark.
fault vendor-mix "ib_core of a vendor with the kernel's rdma_cm" : : \
	unshare -m bash -c 'echo O >/run/taint
	mount --bind /run/taint /sys/module/ib_core/taint; cmx doctor'
fault device-file "no device file" 'away $device' 'back $device'
fault device-stale "the file of another device" \
	'away $device; mknod $device c 10 1' 'rm $device; back $device'
fault device-rights "no right to the device" \
	'chmod 600 $device' 'chmod 666 $device' "${nobody[@]}" cmx doctor
fault verbs-file "no file for verbs" \
	'away /dev/infiniband/uverbs0' 'mends; rm /dev/infiniband/uverbs0.away'

# Stops at the system calls that are named, at no others
trace=(strace --seccomp-bpf -f)
# No older modules are at hand: strace changes what the first ioctl returns.
fault abi "the modules refuse GET_INFO" : : \
	"${trace[@]}" -o /dev/null -e trace=ioctl \
	-e inject=ioctl:error=ENOTTY:when=1 cmx doctor
fault abi "the modules have an older ABI" : : \
	"${trace[@]}" -o /dev/null -e trace=ioctl \
	-e inject=ioctl:poke_exit=@arg3=4000000000000000:when=1 cmx doctor

# Name helper
fault names-request-key "no request-key" \
	'away "$request_key"' 'back "$request_key"'
fault names-config "no configuration of request-key" 'away $conf' 'back $conf'
fault names-config "the line is for another key type" \
	'cp $conf $conf.away; sed -i s/rdma_cmx_name/other/ $conf' 'back $conf'
fault names-helper "no helper" 'away $helper' 'back $helper'
fault names-helper "the helper is not executable" \
	'chmod 644 $helper' 'chmod 755 $helper' "${nobody[@]}" cmx doctor
fault names-run "the helper gives no answer" \
	'away $helper; printf "#!/bin/sh\n" >$helper; chmod 755 $helper' \
	helper_back
fault names-run "the helper's answers are malformed" \
	'garble localhost' helper_back
fault "names-user?" "no user for the helper" \
	'cp /etc/passwd /etc/passwd.away; sed -i /^rdma-cmx/d /etc/passwd' :
cp $conf $conf.away
sed -i 's/rdma_cmx_name/rdma_cmx*/; s/--ttl/--user 65534:65534 &/' $conf
healthy "the line has another user, and types of keys" cmx doctor
back $conf
back /etc/passwd

# busy: a user has more lookups than the limits allow, until $idle exists
idle=/tmp/test/idle
busy() {
	local i

	param names_per_user 1
	param names_waiting_per_user 1
	trap cleanup EXIT
	rm -f "$idle"
	busy_pids=()
	for i in 1 2 3 4; do
		until [ -e "$idle" ]; do
			"${nobody[@]}" timeout 60 cmx resolve "busy$i.silent.test"
		done >/dev/null 2>&1 &
		busy_pids+=($!)
	done
}

busy_end() {
	touch "$idle"
	killall -KILL -q cmx
	wait "${busy_pids[@]}"
	params_back
	wait_for 60 live_none
}
fault "names-busy?" "as many lookups as the limit allows" busy busy_end \
	"${nobody[@]}" cmx doctor
fault names-busy "a name for which there are too many lookups" busy busy_end \
	"${nobody[@]}" cmx doctor x.any.cmx.test

# Limits, rsockets
fault memlock-limit "little memory may be locked" : \
	'like "memlock-limit: for a group only" "$out" "@rdma - memlock"' \
	prlimit --memlock=65536 "${nobody[@]}" cmx doctor
fault "rsocket-library?" "no stock library" 'away "$stock"' 'back "$stock"'
fault "rsocket-device?" "no device of rdma_ucm" \
	'away /dev/infiniband/rdma_cm' 'back /dev/infiniband/rdma_cm'

# Ports and interfaces
fault netdev-down "an interface is down" \
	'ip link set d0 down' 'ip link set d0 up'
fault port-state "no carrier" \
	'ip -n far link set d1 down' 'ip -n far link set d1 up'
# Soft-RoCE has RoCE v2 only: a file replaces the type.
fault "gid-type?" "RoCE v1 only" : : unshare -m bash -c '
	cd /sys/class/infiniband/rxe1/ports/1/gid_attrs &&
	mount -t tmpfs none types && for i in {0..15}; do
		echo "IB/RoCE v1" >"/sys/class/infiniband/rxe1/ports/1/gid_attrs/types/$i"
	done; cmx doctor'
like "RoCE v1 only: the device shows what it has" "$out" \
	'^mend: ibv_devinfo -v -d rxe1 -i 1 '
fault rdma-device "no RDMA device" \
	'rdma link del rxe0; rdma link del rxe1' \
	'rxe0_add; rdma link add rxe1 type rxe netdev d0'
fault rdma-namespace "no network interface in this namespace" : : \
	unshare -n cmx doctor
fault rdma-namespace "an interface with the name of the device's" \
	pod_up 'ip netns del pod' ip netns exec pod cmx doctor
fault netdev-address "no address" \
	'rdma link del rxe0; ip addr flush dev d0' 'rxe0_add; side_address'
fault netdev-bridge "the interface is in a bridge" \
	'rdma link del rxe0; ip link add br0 type bridge; ip addr flush dev d0
	 ip link set d0 master br0; ip addr add 10.56.0.1/24 dev br0
	 ip link set br0 up' \
	'ip link del br0; rxe0_add; side_address'

# A destination
fault netdev-bridge "the route is by a bridge" \
	'ip link add br0 type bridge; ip addr flush dev d0
	 ip link set d0 master br0; ip addr add 10.56.0.1/24 dev br0
	 ip link set br0 up' \
	'ip link del br0; side_address' cmx doctor 10.56.0.2
fault netdev-macvlan "the route is by a macvlan" \
	'ip link add mv0 link d0 type macvlan; ip addr add 10.58.0.1/24 dev mv0
	 ip link set mv0 up' 'ip link del mv0' cmx doctor 10.58.0.2
fault netdev-upper "the route is by a team" \
	'ip addr flush dev d0; ip link set d0 down; ip link add tm0 type team
	 ip link set d0 master tm0; ip addr add 10.58.0.1/24 dev tm0
	 ip link set tm0 up; ip link set d0 up' \
	'ip link del tm0; ip link set d0 up; side_address' cmx doctor 10.58.0.2
fault netdev-vlan "the route is by a VLAN without an address" \
	'vlan_plain v9; ip route add 10.59.0.0/24 dev v9 src 10.56.0.1' \
	'ip link del v9' cmx doctor 10.59.0.2

# VLAN and bond
far_vlan_up
vlan_up d0
healthy "a VLAN" cmx doctor 10.57.0.2
route="proto 99 table 77 metric 7 mtu 1400 advmss 1300"
fault gid-missing "the route has the source address of another interface" \
	'ip rule add to 10.57.0.2 table 77
	 ip route add 10.57.0.0/28 dev v0 src 10.56.0.1 $route
	 routes=$(ip route show table all)' 'found=$out; mends' \
	cmx doctor 10.57.0.2
like "the route has the source address of another interface: the finding" \
	"$found" ': the route leaves by v0 from 10\.56\.0\.1, '
healthy "the source address is changed as printed" cmx doctor 10.57.0.2
is "the source address is changed as printed: nothing else is" \
	"$(ip route show table all)" "$(sed '/dev v0 .*metric 7/s/ src [^ ]*//' \
	<<<"$routes")"
ip route del 10.57.0.0/28 dev v0 table 77
ip rule del to 10.57.0.2 table 77
fault gid-missing "that route is by a gateway" \
	'ip route add 10.59.0.0/24 via 10.57.0.2 dev v0 src 10.56.0.1 metric 9
	 routes=$(ip route show)' mends cmx doctor 10.59.0.2
healthy "the source address of that is changed as printed" cmx doctor 10.59.0.2
is "the source address of that is changed as printed: nothing else is" \
	"$(ip route show)" "$(sed '/^10.59/s/ src [^ ]*//' <<<"$routes")"
ip route del 10.59.0.0/24
fault gid-missing "that route has what ip would not keep" \
	'ip route add 10.57.0.2 dev v0 src 10.56.0.1 mtu lock 1400' \
	'found=$out; ip route del 10.57.0.2' cmx doctor 10.57.0.2
like "that route has what ip would not keep: it is shown" "$found" \
	'^mend: ip route get fibmatch 10\.57\.0\.2 '
fault gid-missing "that route is of IPv6" \
	'ip addr add fd57::1/64 dev v0 nodad; ip addr add fd56::1/64 dev d0 nodad
	 ip route add fd57::2 dev v0 src fd56::1 metric 9 proto 99 mtu 1400
	 routes=$(ip -6 route show)' mends cmx doctor fd57::2
is "the source address of IPv6 is changed as printed: nothing else is" \
	"$(ip -6 route show)" "$(sed '/^fd57::2/s/ src [^ ]*//' <<<"$routes")"
ip route del fd57::2
# Each interface has such routes; ip would change the first one.
fault gid-missing "that route is of a zone" \
	'ip route add fe80::57:9 dev v0 src fd56::1' \
	'found=$out; ip route del fe80::57:9 dev v0' cmx doctor fe80::57:9%v0
like "that route is of a zone: it is shown" "$found" \
	'^mend: ip route get fibmatch fe80::57:9 dev v0 '
ip addr del fd56::1/64 dev d0
ip addr del fd57::1/64 dev v0
fault netdev-down "the VLAN is down" \
	'ip link set v0 down' 'ip link set v0 up' cmx doctor 10.57.0.2
fault neighbour "the other host is not in the VLAN" \
	'ip -n far link del v1' far_vlan_up cmx doctor 10.57.0.2
fault route-device "the VLAN is above an interface without RDMA" \
	'ip link del v0; vlan_up mgmt0' 'ip link del v0' cmx doctor 10.57.0.2
fault route-device "the address is that of an interface without RDMA" \
	'ip addr flush dev d0; ip addr add 10.56.0.1/24 dev mgmt0' \
	'ip addr del 10.56.0.1/24 dev mgmt0; side_address' \
	cmx doctor 10.56.0.2
fault route-device "an interface that is down has a shorter prefix" \
	'ip link add link d0 name v8 type vlan id 8
	 ip addr add 172.16.0.1/12 dev v8; ip addr add 172.20.0.1/24 dev mgmt0' \
	'ip link del v8; ip addr del 172.20.0.1/24 dev mgmt0' \
	cmx doctor 172.20.0.2
bond_up
vlan_up bond7
healthy "a device on a bond" cmx doctor 10.56.0.2
healthy "a VLAN above it" cmx doctor 10.57.0.2
fault port-state "the bond's only slave is down" \
	'ip link set d0 down' 'ip link set d0 up'
fault port-state "the bond's only slave was moved" 'ip link set d0 nomaster' \
	'ip link set d0 down; ip link set d0 master bond7' \
	cmx doctor 10.56.0.2
below='rdma link del rxe1; rdma link add rxe1 type rxe netdev d0'
fault netdev-bond "the device is below the bond" "$below" mends \
	cmx doctor 10.56.0.2
healthy "the device is moved to the bond as printed" cmx doctor 10.56.0.2
fault netdev-bond "the device is below the VLAN's bond" "$below" mends \
	cmx doctor 10.57.0.2
eval "$below"
fault port-state "the device is below the bond, whose slave is down" \
	'ip link set d0 down' 'ip link set d0 up; bond_down' \
	cmx doctor 10.56.0.2

fault route-vrf "the interface is in a VRF" \
	'ip link add red type vrf table 77; ip link set red up
	 ip link set d0 master red' \
	mends cmx doctor 10.56.0.2
healthy "the route of the VRF is added as printed" cmx doctor 10.56.0.2
ip route del 10.56.0.2
fault route-vrf "the VRF has a gateway" \
	'ip route add 10.59.0.0/24 via 10.56.0.2 table 77' mends \
	cmx doctor 10.59.0.2
healthy "its route is added as printed" cmx doctor 10.59.0.2
ip route del 10.59.0.2
fault route-vrf "there is a route beside that of the VRF" \
	'ip route add 10.56.0.0/24 dev mgmt0' \
	'found=$out; shown=$(mends); ip route del 10.56.0.0/24 dev mgmt0
	 ip link del red; side_address' cmx doctor 10.56.0.2
like "there is a route beside that of the VRF: it stays" "$found" \
	'^mend: ip route get vrf red 10\.56\.0\.2 '
like "there is a route beside that of the VRF: the source is shown" \
	"$shown" ' dev d0 .*src 10\.56\.0\.1'
vlan_up d0
fault route-vrf "a VLAN of the interface is in a VRF" \
	'ip link add blue type vrf table 78; ip link set blue up
	 ip link set v0 master blue' \
	mends cmx doctor 10.57.0.2
healthy "the route of the VLAN's VRF is added by mend" cmx doctor 10.57.0.2
ip route del 10.57.0.2
ip link del blue
ip link del v0
# ip parses a zone as a device.
fault route-missing "no route to a link-local address" \
	'ip -6 route del fe80::/64 dev d0' mends cmx doctor fe80::56:9%d0
like "no route to a link-local address: it is added as printed" \
	"$(ip -6 route get fe80::56:9 dev d0)" '^fe80::56:9 .*dev d0 '
ip -6 route del fe80::56:9 dev d0
ip -6 route add fe80::/64 dev d0 proto kernel metric 256
fault route-missing "no route" : : cmx doctor unreachable.cmx.test
fault route-device "a route without RDMA" : : cmx doctor mgmt.cmx.test
fault neighbour "no neighbour" : : cmx doctor 10.56.0.9
fault address "a broadcast address" : : cmx doctor 10.56.0.255
fault address "a broadcast address of any network" : : \
	cmx doctor 255.255.255.255
fault address "a multicast address" : : cmx doctor 239.1.2.3
fault address "a cgroup whose limit of device handles is used up" \
	limit_up 'rmdir $cgroup' bash -c "
	echo \$\$ >$cgroup/cgroup.procs && exec cmx doctor 10.56.0.2"
fault name-unknown "no such name" : : cmx doctor nosuch.cmx.test
fault name-no-address "a name without an address" : : \
	cmx doctor nodata.cmx.test
fault name-server "the server fails" : : cmx doctor x.servfail.test
fault name-server "no server" dns_down dns_up cmx doctor x.any.cmx.test
fault name "the helper's answer for a name is malformed" \
	'garble garbage.any.cmx.test' 'rm $helper; back $helper' \
	cmx doctor garbage.any.cmx.test
fault service "no such service" : : cmx doctor 10.56.0.2 nosuch

# Names that others chose
fault netdev-down "a name with a command in it" \
	'ip link set d0 down; ip link set d0 name "d;\$(reboot)"' \
	'mends; up=$(ip -br link show up dev "d;\$(reboot)")
	 ip link set "d;\$(reboot)" down; ip link set "d;\$(reboot)" name d0
	 ip link set d0 up'
like "a name with a command in it: it is up" "$up" '^d;'
fault netdev-down "a name that is a word of ip" \
	'ip link set d0 down; ip link set d0 name down' \
	'mends; up=$(ip -br link show up dev down)
	 ip link set dev down down; ip link set dev down name d0
	 ip link set d0 up'
like "a name that is a word of ip: it is up" "$up" '^down'
# words: the words of the proposed command
words() (
	getent() {
		printf '<%s>' "$@"
	}
	mends
)
for name in "a b;touch /tmp/test/ran" "it's\$(touch /tmp/test/ran)" \
	$'a\e[31m\nb' $'a\\b\xc3\xa9\x9b' '*'; do
	run cmx doctor "$name"
	is "the name $(printf %q "$name") is one word" "$(words)" \
		"<ahosts><--><$name>"
	is "the name $(printf %q "$name"): its text is no more" \
		"$(LC_ALL=C tr -d ' -~\n\303\251' <<<"$out")" ""
done
run cmx doctor "$(printf 'a %.0s' {1..500})"
is "a name for which there is no room" "$(words)" \
	"<ahosts><--><NAME>"
ok "no command was run" test ! -e /tmp/test/ran

# calls: counts accesses to kernel files, since their time depends on the host
calls() {
	"${trace[@]}" -o /tmp/test/calls -e trace=%file cmx doctor \
		>/dev/null 2>&1
	wc -l </tmp/test/calls
}
few=$(calls)
for i in {1..300}; do
	echo "link add many$i group 56 type dummy"
done >/tmp/test/batch
ok "300 other interfaces" ip -batch /tmp/test/batch
ok "300 other interfaces: a few files for each at most" \
	test $(($(calls) - few)) -le 1500
ip link del group 56
run cmx doctor $'no\e[31msuch"name'
unlike "no control character is printed" "$out" $'\e'
run cmx doctor -j $'no\e[31msuch"name'
ok "-j of that: JSON" "$json" <<<"$out"
is "-j of that: exit code" "$status" 1
healthy "after all" cmx doctor storage.cmx.test
finish
