#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-07: IPv6 groups on RoCE v2, on the wire. tcpdump in beta sees a full
# member's MLD reports and that it leaves, and none of a send-only member. A
# full member of another group comes last, so that "none" is certain.
. /usr/lib/rdma-cmx/selftests/lib.sh
mc=/usr/lib/rdma-cmx/selftests/api/mc.helper

# hold NAME GROUP KIND: a member that stays until release NAME. Neither runs
# below ok, whose commands are in a subshell.
hold() {
	mkfifo "$1.fifo"
	timeout 100 $mc hold fd55::1 "$2" "$3" <"$1.fifo" >"$1.log" 2>&1 &
	exec {fd}>"$1.fifo"
	eval "$1_fd=$fd $1_pid=$!"
	wait_for 40 grep -q joined "$1.log"
}

release() {
	local fd=$1_fd pid=$1_pid

	fd=${!fd}
	exec {fd}>&-
	wait "${!pid}"
}

# seen GROUP RECORD: in a report, "to_ex" joins and "to_in" leaves
seen() {
	peer "grep -q 'gaddr $1 $2' /run/jobs/$job.log"
}

joined() {
	mld_joined eth0 "ff15000000000000000000000055${1}"
}

job=$(peer_bg 'tcpdump -Z root -n -l -v -i eth0 ip6 and multicast')
ok "tcpdump listens in beta" wait_for 40 peer "grep -q 'listening on' /run/jobs/$job.log"

hold quiet ff15::55:d1 sendonly
is "MC-07: a send-only join" $? 0
ok "MC-07: it holds no MLD membership" eval '! joined 00d1'
hold loud ff15::55:d2 full
is "MC-07: a full-member join" $? 0
ok "MC-07: it holds one" joined 00d2
ok "MC-07: beta sees the full member's report" wait_for 40 seen ff15::55:d2 to_ex
release loud
is "MC-07: leave" $? 0
ok "MC-07: beta sees it leave" wait_for 40 seen ff15::55:d2 to_in
ok "MC-07: no membership any more" eval '! joined 00d2'
release quiet
is "MC-07: the send-only member leaves" $? 0

# Whatever the send-only member might have sent is before this one's report.
hold last ff15::55:d3 full
is "MC-07: a last full member" $? 0
ok "MC-07: beta sees it" wait_for 40 seen ff15::55:d3 to_ex
# Killed, it leaves as well.
kill "$last_pid"
ok "MC-07: a member that dies leaves" wait_for 40 eval '! joined 00d3'
unlike "MC-07: beta saw nothing of the send-only member" \
	"$(peer_log "$job")" 'ff15::55:d1'
[ "$tap_failed" = 0 ] || diag "$(peer_log "$job")"
peer_stop "$job"
finish
