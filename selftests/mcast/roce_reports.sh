#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-03, MC-07: the packets on the network with RoCE v2, IPv4 and IPv6. tcpdump
# in beta records the reports of a full member and its leave, and none of a
# send-only member. The report of a full member of another group comes last and
# proves that none is missing.
# shellcheck disable=SC2154 # hold sets the names of jobs by eval
. /usr/lib/rdma-cmx/selftests/lib.sh
mc=/usr/lib/rdma-cmx/selftests/api/tools/mc

# hold NAME GROUP KIND: starts a member that stays until release NAME. Neither
# runs under ok, which uses a subshell.
hold() {
	[ -p "$1.fifo" ] || mkfifo "$1.fifo"
	timeout 300 $mc hold "$own" "$2" "$3" <"$1.fifo" >"$1.log" 2>&1 &
	exec {fd}>"$1.fifo"
	eval "$1_fd=$fd $1_pid=$!"
	wait_for 90 grep -q joined "$1.log"
}

release() {
	local fd=$1_fd pid=$1_pid

	fd=${!fd}
	exec {fd}>&-
	wait "${!pid}"
}

# seen GROUP RECORD: has a report the record? "to_ex" joins and "to_in" leaves
seen() {
	peer "grep -q 'gaddr $1 $2' /run/jobs/$job.log"
}

# member N: is this host a member of the N-th group?
member() {
	case $protocol in
	IGMP) igmp_joined eth0 "$group$1" ;;
	MLD) mld_joined eth0 "ff1500000000000000000000005500d$1" ;;
	esac
}

# reports ID FILTER: checks $protocol, from $own, for three groups
reports() {
	local id=$1 last_pid=''

	job=$(peer_bg "tcpdump -Z root -n -l -v -i eth0 $2")
	ok "tcpdump listens in beta" \
		wait_for 90 peer "grep -q 'listening on' /run/jobs/$job.log"

	hold quiet "${group}1" sendonly
	is "$id: a send-only join" $? 0
	ok "$id: it holds no $protocol membership" eval '! member 1'
	hold loud "${group}2" full
	is "$id: a full-member join" $? 0
	ok "$id: it holds one" member 2
	ok "$id: beta sees the full member's report" \
		wait_for 90 seen "${group}2" to_ex
	release loud
	is "$id: leave" $? 0
	ok "$id: beta sees it leave" wait_for 90 seen "${group}2" to_in
	ok "$id: no membership any more" wait_for 90 eval '! member 2'
	release quiet
	is "$id: the send-only member leaves" $? 0

	# A report of the send-only member would come before this one.
	hold last "${group}3" full
	is "$id: a last full member" $? 0
	ok "$id: beta sees it" wait_for 90 seen "${group}3" to_ex
	# The end of a killed process is a leave, too.
	kill "$last_pid"
	ok "$id: a member that dies leaves" wait_for 90 eval '! member 3'
	release last
	unlike "$id: beta receives no report of the send-only member" \
		"$(peer_log "$job")" "${group}1([^0-9a-f]|\$)"
	[ "$tap_failed" = 0 ] || diag "$(peer_log "$job")"
	peer_stop "$job"
}

protocol=IGMP own=10.55.0.1 group=239.55.3.
reports MC-03 igmp
protocol=MLD own=fd55::1 group=ff15::55:d
reports MC-07 'ip6 and multicast'
finish
