# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Functions for shell tests in guest gamma, which has an InfiniBand fabric
# (selftests/fabric) instead of a peer. Sourced after lib.sh; the list is in
# Documentation/testing.rst.
#
# The fabric at the start of each test (fabric_up): four devices in the initial
# network namespace, OpenSM on the first, ports ACTIVE, no fault, and no
# ServiceRecord. Device N has an IPoIB interface with 10.66.0.N/24, fd66::N/64.
# RDMA devices belong to one namespace each (`rdma system`: exclusive).
#
# Functions that run before each test, or in waits, start no program where the
# shell itself can read a file: on the debug kernel a process takes a quarter of
# a second.
# shellcheck shell=bash

fab_devices=4
fab_state=/run/fabric
fab_knobs=/sys/kernel/debug/cmx_fabric

# --- Devices ---------------------------------------------------------------

# fabric_load: the modules, and what each device is called
fabric_load() {
	modprobe cmx_fabric devices=$fab_devices || return
	modprobe -a ib_umad rdma_ucm ib_ipoib || return
	# The mode can change only without another namespace.
	rdma system set netns exclusive
	# Several interfaces on one network: each responds for its addresses
	# only
	sysctl -qw net.ipv4.conf.all.arp_ignore=1 \
		net.ipv4.conf.all.arp_announce=2 \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	fabric_note
}

# fabric_unload: unloads all; the caller has unloaded rdma_ucmx. The SM ends
# last: without an SM the removal of a device takes long.
fabric_unload() {
	modprobe -r cmx_fabric || return
	sm_stop
}

fabric_note() {
	local dev

	rm -rf $fab_state
	mkdir -p $fab_state
	for dev in $(fab_list | sort -V); do
		echo "$dev" >>$fab_state/devices
		sed 's/^.*:\(....\):\(....\):\(....\):\(....\)$/\1\2\3\4/' \
			"/sys/class/infiniband/$dev/ports/1/gids/0" \
			>"$fab_state/$dev.guid"
		# In the format of the end of an interface's address
		sed 's/../:&/g' "$fab_state/$dev.guid" >"$fab_state/$dev.address"
	done
}

fab_list() {
	local dir

	for dir in /sys/class/infiniband/*/; do
		[ ! -d "$dir" ] || basename "$dir"
	done
}

# fab_dev N: the name of the N-th device
fab_dev() {
	local names

	mapfile -t names <$fab_state/devices
	echo "${names[$1 - 1]}"
}

# fab_number DEV: the inverse of fab_dev
fab_number() {
	local names i

	mapfile -t names <$fab_state/devices
	for i in "${!names[@]}"; do
		[ "${names[i]}" != "$1" ] || echo $((i + 1))
	done
}

# dev_host DEV: its namespace; nothing for the initial one
dev_host() {
	[ ! -e "$fab_state/$1.host" ] || cat "$fab_state/$1.host"
}

# dev_run DEV COMMAND...: runs it in the namespace of the device
dev_run() {
	local host=''

	[ ! -e "$fab_state/$1.host" ] || host=$(dev_host "$1")
	shift
	if [ -n "$host" ]; then
		on "$host" "$@"
	else
		"$@"
	fi
}

# dev_file DEV FILE: the line of one of its folder in sysfs
dev_file() {
	local line

	if [ -e "$fab_state/$1.host" ]; then
		dev_run "$1" cat "/sys/class/infiniband/$1/$2"
	else
		read -r line <"/sys/class/infiniband/$1/$2" && echo "$line"
	fi
}

# dev_guid DEV: the GUID of its port, 16 digits
dev_guid() {
	echo "$(<"$fab_state/$1.guid")"
}

# dev_gid DEV [INDEX]
dev_gid() {
	dev_file "$1" "ports/1/gids/${2:-0}"
}

# gid_short DEV: its first GID in the format of the kernel and of inet_ntop()
gid_short() {
	local gid

	gid=$(dev_gid "$1")
	# Of three zeros in front, one after the other
	gid=${gid//:0/:} gid=${gid//:0/:} gid=${gid//:0/:}
	echo "${gid/#fe80:0:0:0:/fe80::}"
}

# dev_lid DEV: decimal
dev_lid() {
	echo $(($(dev_file "$1" ports/1/lid)))
}

# dev_state DEV: DOWN, INIT, ARMED or ACTIVE
dev_state() {
	local state

	state=$(dev_file "$1" ports/1/state)
	echo "${state#*: }"
}

dev_is() {
	local state

	if [ -e "$fab_state/$1.host" ]; then
		state=$(dev_file "$1" ports/1/state)
	else
		read -r state <"/sys/class/infiniband/$1/ports/1/state"
	fi 2>/dev/null
	[ "${state#*: }" = "$2" ]
}

# netdev_find DEV: sets netdev to its IPoIB interface, the first with the GUID
# in its address
netdev_find() {
	local guid file address index first=''

	netdev=''
	read -r guid <"$fab_state/$1.address" || return
	if [ -e "$fab_state/$1.host" ]; then
		netdev=$(on "$(dev_host "$1")" ip -o link show 2>/dev/null |
			awk -v guid="$guid" '
			index($0, "link/infiniband") && index($0, guid " brd ") {
				sub(/[:@].*/, "", $2); print $2
			}' | head -n 1)
		return
	fi
	for file in /sys/class/net/*/address; do
		{ read -r address <"$file" &&
			read -r index <"${file%address}ifindex"; } 2>/dev/null ||
			continue
		[[ $address == *"$guid" ]] || continue
		if [ -z "$first" ] || [ "$index" -lt "$first" ]; then
			first=$index
			netdev=${file#/sys/class/net/}
			netdev=${netdev%/address}
		fi
	done
}

# dev_netdev DEV: prints the name of its IPoIB interface
dev_netdev() {
	local netdev

	netdev_find "$1"
	echo "$netdev"
}

# --- Ports -----------------------------------------------------------------

# ipoib_joined NETDEV: is it in its broadcast group? With a new subnet manager
# it leaves the group and keeps its carrier; until it has rejoined nobody can
# join by its addresses. A renamed interface has no such file.
ipoib_joined() {
	local file=/sys/kernel/debug/ipoib/$1_mcg lines line broadcast=''

	[ -e "$file" ] || return 0
	mapfile -t lines <"$file"
	for line in "${lines[@]}"; do
		case $line in
		GID:*:ffff:ffff) broadcast=1 ;;
		GID:*) broadcast='' ;;
		*complete:*yes) [ -z "$broadcast" ] || return 0 ;;
		esac
	done
	return 1
}

netdev_is_up() {
	local state

	if [ -e "$fab_state/$1.host" ]; then
		state=$(dev_run "$1" cat "/sys/class/net/$2/operstate")
	else
		read -r state <"/sys/class/net/$2/operstate"
	fi 2>/dev/null
	[ "$state" = up ]
}

ports_active() {
	local dev netdev

	for dev; do
		dev_is "$dev" ACTIVE && netdev_find "$dev" &&
			[ -n "$netdev" ] && netdev_is_up "$dev" "$netdev" &&
			ipoib_joined "$netdev" || return
	done
}

# host_active_wait DEV: one in another namespace, by one shell that stays there
host_active_wait() {
	# shellcheck disable=SC2016 # for that shell
	on "$(dev_host "$1")" bash -c '. /usr/lib/rdma-cmx/selftests/lib.sh
		active() {
			read -r state </sys/class/infiniband/$1/ports/1/state &&
				[[ $state == *ACTIVE ]]
		}
		wait_for 120 active "$1"' - "$1"
}

# port_active_wait [DEV...]: ACTIVE, and IPoIB has joined its groups
port_active_wait() {
	local names dev

	[ $# != 0 ] || { mapfile -t names <$fab_state/devices; set -- "${names[@]}"; }
	for dev; do
		[ ! -e "$fab_state/$dev.host" ] || host_active_wait "$dev"
	done
	wait_for 120 ports_active "$@"
}

# link_down DEV, link_up DEV: the cable; returns when the device has detected it
link_down() {
	knob_set "$1" link 0 && wait_for 120 dev_is "$1" DOWN
}

# link_up DEV: a subnet manager is needed to make it ACTIVE, see above
link_up() {
	knob_set "$1" link 1
}

# --- Knobs -----------------------------------------------------------------

# knob_set DEV NAME VALUE: faults, link, plugged, answer_ms, event
# (selftests/fabric)
knob_set() {
	echo "$3" >"$fab_knobs/$1/$2"
}

# knob_get DEV NAME: those, and mads, status
knob_get() {
	echo "$(<"$fab_knobs/$1/$2")"
}

# knobs_off DEV: plugged in, with its cable, and without faults
knobs_off() {
	knob_set "$1" faults clear
	knob_set "$1" answer_ms 0
	knob_set "$1" link 1
	knob_set "$1" plugged 1
}

# --- Subnet managers -------------------------------------------------------

# sm_start [DEV [OPTIONS...]]: starts OpenSM, by default on the first device.
# Returns when it is master or standby, and the master's SA responds.
sm_start() {
	local dev dir

	dev=${1:-$(fab_dev 1)}
	dir=/run/sm/$dev
	[ $# = 0 ] || shift
	mkdir -p "$dir/cache"
	echo "$*" >"$dir/options"
	# Outside of the group that ends with the test; fabric_up checks it.
	(
		echo "$BASHPID" >/sys/fs/cgroup/cgroup.procs
		echo "$BASHPID" >"$dir/pid"
		export OSM_TMP_DIR=$dir OSM_CACHE_DIR=$dir/cache
		host=$(dev_host "$dev")
		# shellcheck disable=SC2086 # no word when it is in the initial one
		exec ${host:+ip netns exec $host} setsid opensm \
			-g "0x$(dev_guid "$dev")" -f "$dir/log" "$@" \
			</dev/null >>"$dir/out" 2>&1
	) &
	# At a handover the master first ends a sweep, and responds to queries.
	wait_for 90 sm_answers "$dev"
}

sm_answers() {
	dev_run "$1" sminfo -C "$1" -t 500 -D 0 |
		grep -qE 'SMINFO_(MASTER|STANDBY)' &&
		dev_run "$1" saquery -C "$1" --timeout 500 CPI
}

# sm_stop [DEV]: stops one or all of them
sm_stop() {
	local file pid

	for file in /run/sm/${1:-*}/pid; do
		[ -e "$file" ] || continue
		pid=$(cat "$file")
		kill -KILL "$pid" 2>/dev/null
		wait_for 40 test ! -e "/proc/$pid/cmdline"
		rm -f "$file"
	done
}

# sm_pause [DEV], sm_resume [DEV]: it exists and does not respond
sm_pause() {
	process_stop "$(cat "/run/sm/${1:-$(fab_dev 1)}/pid")"
}

sm_resume() {
	kill -CONT "$(cat "/run/sm/${1:-$(fab_dev 1)}/pid")"
}

# sm_log DEV: path of its log
sm_log() {
	echo "/run/sm/$1/log"
}

# sm_master [DEV]: GUID of the master, as DEV's port knows it; 16 digits
sm_master() {
	local dev=${1:-$(fab_dev 1)}

	printf '%016x\n' "$(dev_run "$dev" sminfo -C "$dev" |
		sed -n 's/.*sm guid \(0x[0-9a-f]*\),.*/\1/p')"
}

# Is only the usual one running, without options and ServiceRecords?
sm_usual() {
	local dev files services

	dev=$(fab_dev 1)
	files=(/run/sm/*/pid)
	[ "${files[*]}" = "/run/sm/$dev/pid" ] || return
	[ "$(<"/run/sm/$dev/options")" = '' ] || return
	sm_resume 2>/dev/null || return
	# The sweeps of a new one would disturb the next test.
	services=$(saquery -C "$dev" --timeout 10000 SR 2>/dev/null) &&
		[[ $services != *ServiceName* ]]
}

# sa_query ARGUMENTS...: saquery from the first device. It sends a query once,
# with a timeout of a second by default.
sa_query() {
	local dev

	dev=$(fab_dev 1)
	dev_run "$dev" saquery -C "$dev" --timeout 20000 "$@"
}

# sa_services: the names in all ServiceRecords
sa_services() {
	sa_query SR | sed -n 's/.*ServiceName\.*//p'
}

# sa_requests [METHOD [ATTRIBUTE]]: number of requests that have reached the SA
# on the first device, for example 0x12 0x0031; without arguments of all.
# Acknowledgements do not count.
sa_requests() {
	local lines line n=0 class method attr rmpp count

	mapfile -t lines <"$fab_knobs/$(fab_dev 1)/mads"
	for line in "${lines[@]}"; do
		read -r class method attr rmpp count _ <<<"$line"
		[[ $class,$method,$rmpp =~ ^0x03,0x(01|02|12|13|14|15),[01]$ &&
			${1:-$method} = "$method" && ${2:-$attr} = "$attr" ]] &&
			n=$((n + count))
	done
	echo $n
}

# --- Hosts: a network namespace with one device ----------------------------

# on HOST COMMAND...
on() {
	ip netns exec "$@"
}

# The interface of a device is new each time, with another queue pair number in
# its address: no node may send to the old one.
neighbours_forget() {
	local host

	ip neigh flush all
	for host in $(ip netns list | cut -d' ' -f1); do
		on "$host" ip neigh flush all
	done
}

# addresses_add DEV: adds those of its IPoIB interface, and sets it up
addresses_add() {
	local n netdev

	n=$(fab_number "$1")
	netdev=$(dev_netdev "$1")
	# The metric makes the routes independent of the order of interfaces.
	dev_run "$1" ip -b - <<-END
	addr replace 10.66.0.$n/24 dev $netdev metric 10$n
	addr replace fd66::$n/64 dev $netdev metric 10$n nodad
	link set $netdev up
	END
}

dev_has_netdev() {
	local netdev

	netdev_find "$1"
	[ -n "$netdev" ]
}

# netdev_follow DEV HOST: waits for the new interface of a moved device: in the
# initial namespace, from which it is moved, or, on newer kernels, in that of
# the device
netdev_follow() {
	local netdev

	rm -f "$fab_state/$1.host"
	netdev_find "$1"
	[ -z "$netdev" ] || ip link set "$netdev" netns "$2" || return
	echo "$2" >"$fab_state/$1.host"
	dev_has_netdev "$1"
}

# host_add NAME N: creates a namespace with the N-th device, and its addresses
host_add() {
	local host=$1 dev

	dev=$(fab_dev "$2")
	ip netns add "$host" && rdma dev set "$dev" netns "$host" || return
	wait_for 40 netdev_follow "$dev" "$host" || return
	on "$host" ip link set lo up
	addresses_add "$dev"
	neighbours_forget
	port_active_wait "$dev"
}

devices_back() {
	local dev

	for dev; do
		[ -d "/sys/class/infiniband/$dev" ] && dev_has_netdev "$dev" ||
			return
	done
}

# host_del NAME: its devices return to the initial namespace
host_del() {
	local host=$1 dev back=()

	for dev in $(cat $fab_state/devices); do
		[ "$(dev_host "$dev")" = "$host" ] || continue
		rm -f "$fab_state/$dev.host"
		back+=("$dev")
	done
	ip netns pids "$host" | xargs -r kill -KILL 2>/dev/null
	ip netns del "$host" || return
	wait_for 40 devices_back "${back[@]}" || return
	for dev in "${back[@]}"; do
		addresses_add "$dev"
	done
	neighbours_forget
}

# --- The start state -------------------------------------------------------

# fabric_up: restores the start state of the fabric; prints what it cannot
# restore
fabric_up() {
	local names dev netdev host addresses n=0

	[ -d /sys/module/cmx_fabric ] || fabric_load ||
		{ echo "cmx_fabric cannot be loaded"; return 1; }
	mapfile -t names <$fab_state/devices
	for host in /run/netns/*; do
		[ -e "$host" ] || continue
		host_del "${host##*/}" ||
			{ echo "host ${host##*/} does not go"; return 1; }
	done
	# A killed test may have left one unplugged.
	for dev in "${names[@]}"; do
		knob_set "$dev" plugged 1
	done
	wait_for 40 devices_back "${names[@]}" ||
		{ echo "of the devices there are only" $(fab_list); return 1; }
	for dev in "${names[@]}"; do
		knobs_off "$dev"
	done
	if ! sm_usual; then
		sm_stop
		sm_start || { echo "OpenSM does not answer"; return 1; }
	fi
	addresses=$(ip -o -4 addr show)
	for dev in "${names[@]}"; do
		n=$((n + 1))
		netdev_find "$dev"
		[[ $addresses =~ [[:space:]]$netdev[[:space:]]+inet[[:space:]]10\.66\.0\.$n/ ]] &&
			dev_is "$dev" ACTIVE || addresses_add "$dev"
	done
	port_active_wait ||
		{ echo "ports:"; fabric_show; return 1; }
}

fabric_show() {
	local dev

	for dev in $(cat $fab_state/devices); do
		echo "$dev $(dev_host "$dev") $(dev_state "$dev")" \
			"lid $(dev_lid "$dev") $(dev_netdev "$dev")"
	done
}
