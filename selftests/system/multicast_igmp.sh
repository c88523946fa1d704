#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-03: what goes over the wire. tcpdump in beta sees a full member's IGMP
# reports and its leave, and none of a send-only member. A full member of a
# second group comes after the send-only one, so that "none" is certain.
. /usr/lib/rdma-cmx/selftests/lib.sh
mc=/usr/lib/rdma-cmx/selftests/api/mc.helper

# hold NAME GROUP KIND: a member that stays until release NAME. Neither runs
# below ok, whose commands are in a subshell.
hold() {
	mkfifo "$1.fifo"
	timeout 100 $mc hold 10.55.0.1 "$2" "$3" <"$1.fifo" >"$1.log" 2>&1 &
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

reports() {
	peer "grep -c 'igmp.*report.*$1,' /run/jobs/$job.log"
}

seen() {
	[ "$(reports "$1 to_ex")" -gt 0 ]
}

left() {
	[ "$(reports "$1 to_in")" -gt 0 ]
}

job=$(peer_bg 'tcpdump -Z root -n -l -v -i eth0 igmp')
ok "tcpdump listens in beta" wait_for 40 peer "grep -q 'listening on' /run/jobs/$job.log"

hold quiet 239.55.3.1 sendonly
is "MC-03: a send-only join" $? 0
ok "MC-03: it holds no IGMP membership" \
	bash -c '. /usr/lib/rdma-cmx/selftests/lib.sh; ! igmp_joined eth0 239.55.3.1'
hold loud 239.55.3.2 full
is "MC-03: a full-member join" $? 0
ok "MC-03: it holds one" igmp_joined eth0 239.55.3.2
ok "MC-03: beta sees the full member's report" wait_for 40 seen 239.55.3.2
release loud
is "MC-03: leave" $? 0
ok "MC-03: beta sees it leave" wait_for 40 left 239.55.3.2
ok "MC-03: no membership any more" \
	bash -c '. /usr/lib/rdma-cmx/selftests/lib.sh; ! igmp_joined eth0 239.55.3.2'
release quiet
is "MC-03: the send-only member leaves" $? 0

# Whatever the send-only member might have sent is before this one's report.
hold last 239.55.3.3 full
is "MC-03: a last full member" $? 0
ok "MC-03: beta sees it" wait_for 40 seen 239.55.3.3
release last
unlike "MC-03: beta saw nothing of the send-only member" \
	"$(peer_log "$job")" '239\.55\.3\.1 '
[ "$tap_failed" = 0 ] || diag "$(peer_log "$job")"
peer_stop "$job"
finish
