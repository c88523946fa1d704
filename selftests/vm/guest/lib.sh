# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Functions for shell tests in guest alpha. A test begins with
#	. /usr/lib/rdma-cmx/selftests/lib.sh
# and ends with `finish`. Documentation/testing.rst lists them.
# shellcheck shell=bash

# --- TAP -------------------------------------------------------------------

tap_count=0
tap_failed=0
tap_plan=

tap_header() {
	[ -n "$tap_begun" ] || echo "TAP version 13"
	tap_begun=1
}

# plan N: number of results; without it `finish` prints the plan.
plan() {
	tap_header
	tap_plan=$1
	echo "1..$1"
}

# plan_skip REASON: skip the whole test program.
plan_skip() {
	tap_header
	echo "1..0 # SKIP $*"
	exit 0
}

pass() {
	tap_header
	tap_count=$((tap_count + 1))
	echo "ok $tap_count $*"
}

fail() {
	tap_header
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count $*"
}

skip() {
	local name=$1

	shift
	tap_header
	tap_count=$((tap_count + 1))
	echo "ok $tap_count $name # SKIP $*"
}

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# ok NAME COMMAND...: passes when the command does; shows its output if not.
ok() {
	local name=$1 out status

	shift
	out=$("$@" 2>&1)
	status=$?
	if [ $status = 0 ]; then
		pass "$name"
	else
		fail "$name"
		diag "'$*' exited with $status and said:"
		diag "$out"
		return 1
	fi
}

# is NAME GOT WANT
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1"
		diag "got:    $2"
		diag "wanted: $3"
		return 1
	fi
}

# matches TEXT REGEX: does a line match (extended)? Of one line no program is
# started, which is the longest part of most results.
matches() {
	if [[ $1$2 == *$'\n'* ]]; then
		grep -qE -e "$2" <<<"$1"
	else
		[[ $1 =~ $2 ]]
	fi
}

# like NAME GOT REGEX
like() {
	if matches "$2" "$3"; then
		pass "$1"
	else
		fail "$1"
		diag "got:    $2"
		diag "wanted a match of: $3"
		return 1
	fi
}

# unlike NAME GOT REGEX
unlike() {
	if matches "$2" "$3"; then
		fail "$1"
		diag "got:    $2"
		diag "wanted no match of: $3"
		return 1
	fi
	pass "$1"
}

# no COMMAND...: succeeds when it does not
no() {
	! "$@"
}

finish() {
	tap_header
	[ -n "$tap_plan" ] || echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
	exit
}

# --- Waiting ---------------------------------------------------------------

# nap SECONDS: without a process, of which the start alone takes as long. It
# reads a pipe that nobody writes. A process substitution would set $!, which
# callers use after a wait.
nap() {
	if [ -z "${nap_fd:-}" ]; then
		[ -p /run/nap ] || mkfifo -m 666 /run/nap 2>/dev/null
		exec {nap_fd}<>/run/nap
	fi
	read -rt "$1" -u "$nap_fd" || :
}

# wait_for SECONDS COMMAND...: until the command succeeds; 1 when it never does.
# A machine that shares its processors gets three times as long.
wait_for() {
	local end=$((SECONDS + 3 * $1))

	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		nap 0.1
	done
}

is_stopped() {
	local file stat

	for file in /proc/"$1"/task/*/stat; do
		read -r stat <"$file" || return
		# After the name, which may have blanks
		[[ ${stat##*) } == T* ]] || return
	done
}

# process_stop PID: sends a signal, which a thread on another processor handles
# later; returns when all threads have stopped.
process_stop() {
	kill -STOP "$1" && wait_for 40 is_stopped "$1"
}

# --- The other guest -------------------------------------------------------

peer_address=10.55.0.2

# peer 'COMMAND': run in beta; its output and its exit status are the result.
# A command still running after 100 s, or a dead peer, gives 255.
peer() {
	local reply status

	reply=$(timeout 150 bash -c '
		exec 3<>"/dev/tcp/$1/7000" || exit
		echo "$2" >&3
		cat <&3' - "$peer_address" "$(printf %s "$1" | base64 -w 0)" \
		2>/dev/null)
	status=${reply##*@status }
	if [ "$status" = "$reply" ]; then
		printf '%s\n' "$reply"
		return 255
	fi
	reply=${reply%$'\n'@status *}
	[ -z "$reply" ] || printf '%s\n' "${reply%$'\n'}"
	return "$status"
}

# peer_bg 'COMMAND': start it in beta without waiting; prints a name for the
# job.
peer_bg() {
	local job

	job=job$RANDOM$RANDOM
	touch /run/peer-jobs
	peer "mkdir -p /run/jobs
	      setsid bash -c $(printf %q "echo \$\$ >/run/jobs/$job.pid
		. /usr/lib/rdma-cmx/selftests/lib.sh
		( $1
		)
		echo \$? >/run/jobs/$job.status") \
		>/run/jobs/$job.log 2>&1 </dev/null &
	      wait_for 40 test -s /run/jobs/$job.pid" || return
	echo "$job"
}

# peer_log JOB: prints its output so far
peer_log() {
	peer "cat /run/jobs/$1.log"
}

# peer_wait JOB [SECONDS]: waits for its end; prints its output, returns its
# status
peer_wait() {
	if ! wait_for "${2:-60}" peer "test -s /run/jobs/$1.status"; then
		peer_log "$1"
		return 124
	fi
	peer_log "$1"
	peer "exit \$(cat /run/jobs/$1.status)"
}

# peer_stop [JOB]: ends it, or every job
peer_stop() {
	peer "for pid in \$(cat /run/jobs/${1:-*}.pid 2>/dev/null); do
		kill -KILL -- -\$pid 2>/dev/null
	done
	rm -f /run/jobs/${1:-*}.pid"
}

# --- Name servers ----------------------------------------------------------

# dns_up: starts the real name server, in its usual state. Safe to call at any
# time.
dns_up() {
	local pid=''

	[ -d /run/dns ] || mkdir -p /run/dns
	dns_use 127.0.0.1
	pidof dns-answer >/dev/null ||
		setsid /usr/lib/rdma-cmx/vm/dns-answer </dev/null \
			>/run/dns/answer.log 2>&1 &
	[ ! -e /run/dns/pid ] || read -r pid </run/dns/pid
	# One that was killed with its test takes signals until it is reaped.
	if [ -n "$pid" ] && [ -e "/proc/$pid/exe" ] &&
	   kill -CONT "$pid" 2>/dev/null; then
		return
	fi
	dnsmasq --conf-file=/usr/lib/rdma-cmx/vm/dnsmasq.conf
}

# dns_silent: from now on no query gets a response, until dns_up.
dns_silent() {
	process_stop "$(cat /run/dns/pid)"
}

# dns_down: no server listens on the port, until dns_up.
dns_down() {
	local pid

	pid=$(cat /run/dns/pid) || return
	kill -KILL "$pid"
	wait_for 40 test ! -e "/proc/$pid"
	rm -f /run/dns/pid
}

# dns_use ADDRESS [OPTIONS]: sets the content of /etc/resolv.conf
dns_use() {
	printf 'nameserver %s\noptions %s\n' "$1" \
		"${2:-timeout:5 attempts:2}" >/etc/resolv.conf
}

# dns_queries [REGEX]: number of matching queries so far
dns_queries() {
	grep -cE "query\\[[A-Z]+\\] .*${1:-}" /run/dns/log
}

# --- rping -----------------------------------------------------------------

# ended_well STATUS OUTPUT: has it ended well? At times rping ends with 255 after
# success: it destroys its channel while its thread may still use it (on the
# stock library, too). The stock library then reads freed memory; this one
# reports an unknown or closed channel.
ended_well() {
	[ "$1" = 0 ] || { [ "$1" = 255 ] &&
		grep -qE '^rdma_get_cm_event: (Bad file descriptor|Invalid argument)' \
			<<<"$2"; }
}

# names_wait SECONDS: the deadline of the name helper until the test ends. A host
# may stop for the usual 4 s.
names_wait() {
	sed -i "s/--timeout [0-9]*/--timeout $1/" /etc/request-key.d/rdma-cmx.conf
}

# --- Programs of the host ---------------------------------------------------

# usr_mount FOLDER: the host's /usr, for programs that are too large for the image;
# alpha and gamma have it, except on the debug kernel.
usr_mount() {
	mkdir -p "$1" && modprobe -qa virtio_pci 9pnet_virtio 9p &&
		mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose usr "$1"
}

# usr_program FOLDER NAME: prints what starts a program there. Its loader and
# libraries are the host's, since the guest's may be of another release.
usr_program() {
	local libraries

	libraries=$(echo "$1"/lib/*-linux-gnu)
	echo "$libraries/ld-linux-x86-64.so.2 --library-path $libraries $1/bin/$2"
}

# --- Kernel ----------------------------------------------------------------

# kernel_slow: is this the kernel with KASAN, lockdep and faults, where a call
# takes ten times as long? Tests of large numbers use smaller ones there.
kernel_slow() {
	[ -e /sys/kernel/debug/failslab ]
}

# counter NAME: value in either module; nothing if it does not exist
counter() {
	local file value

	for file in /sys/module/rdma_{,u}cmx/counters/"$1"; do
		{ read -r value <"$file"; } 2>/dev/null && echo "$value"
	done
}

# param NAME VALUE: of rdma_cmx, until params_back or the end of the test
declare -A params_old
param() {
	local file=/sys/module/rdma_cmx/parameters/$1

	[ -n "${params_old[$1]:-}" ] || params_old[$1]=$(<"$file")
	trap params_back EXIT
	echo "$2" >"$file"
}

params_back() {
	local name

	for name in "${!params_old[@]}"; do
		echo "${params_old[$name]}" >"/sys/module/rdma_cmx/parameters/$name"
	done
	params_old=()
}

# timeouts_long [SA_MS]: a host that stops for some seconds ends no query; SA_MS
# is the time until the first retry of an SA query.
timeouts_long() {
	param sa_timeout_ms "${1:-1500}"
	param query_timeout_ms 60000
	param route_timeout_ms 30000
	param neigh_timeout_ms 5000
}

# live_objects: prints counters that are not zero, as NAME=VALUE lines
live_objects() {
	local file value

	for file in /sys/module/rdma_{,u}cmx/counters/live_*; do
		{ read -r value <"$file"; } 2>/dev/null || continue
		[ "$value" = 0 ] || echo "${file#/sys/module/}=$value"
	done
}

live_none() {
	[ -z "$(live_objects)" ]
}

# igmp_joined DEVICE GROUP: does the kernel hold membership (IPv4)?
igmp_joined() {
	local a b c d

	IFS=. read -r a b c d <<<"$2"
	awk -v dev="$1" -v group="$(printf '%02X%02X%02X%02X' "$d" "$c" "$b" "$a")" '
		/^[0-9]/ { here = ($2 == dev) }
		here && $1 == group { found = 1 }
		END { exit !found }' /proc/net/igmp
}

# mld_joined DEVICE GROUP: the same for IPv6; GROUP as 32 hex digits.
mld_joined() {
	grep -qiE "^[0-9]+ +$1 +$2 " /proc/net/igmp6
}
