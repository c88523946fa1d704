#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-01, MC-02, MC-06, MC-12 on InfiniBand: members in two namespaces. Each
# socket that must not receive is beside one that must: the test checks it only
# after data has arrived at the other.
. "${0%/*}/functions"
timeouts_long

host_add one 2 && host_add two 3
is "two hosts" $? 0

# receive GROUP WHAT MEMBER...: receivers in two, the sender in one
receive() {
	local group=$1 what=$2 from=10.66.0.2 to=10.66.0.3

	shift 2
	case $group in
	*:*) from=fd66::2 to=fd66::3 ;;
	esac
	in_bg receiver on two "$mc" "$what" $to "$group" 5 "$@"
	log_wait receiver joined
	in_bg sender on one timeout 300 "$mc" send $from "$group" 80
	wait "$receiver_pid"
	status=$?
	out=$(cat receiver.log)
	diag "$out"
	kill "$sender_pid"
	wait "$sender_pid" 2>/dev/null
}

receive 239.66.1.1 recv full sendonly
is "MC-12: the full member receives" $status 0
like "MC-12: the send-only member receives nothing" "$out" \
	'^got full=[0-9]+ sendonly=0$'
receive 239.66.1.2 recv own
is "MC-02: without a queue pair of the id, the user attaches" $status 0
receive 239.66.1.3 leave full full
is "MC-06: the second id still receives after the first leaves" $status 0
like "MC-06: the first one does not" "$out" '^then full=0 full='
receive 239.66.1.4 leave twice
is "MC-06: an id that joined twice still receives after one leave" $status 0
receive ff15::66:101 recv full sendonly
is "MC-12: an IPv6 group" $status 0
like "MC-12: the send-only member receives nothing from it" "$out" 'sendonly=0$'

# The event
in_bg member on two timeout 300 cmx join -j --dev "$dev3" 239.66.1.5
log_wait member joined
like "MC-01: an MLID of the multicast range" "$(said member mlid)" \
	'^(49[1-9]|5[0-9]|6[0-5])[0-9]+$'
is "MC-01: queue pair" "$(said member qp_num)" $((0xffffff))
is "MC-01: the Q_Key of datagram ids" "$(said member qkey)" $((0x1234567))
like "MC-01: the SA has the group" "$(sa_query -g)" \
	"Mlid\.+$(printf '0x%X' "$(said member mlid)")"
end member
is "MC-01: left" $? 0

# With the stock stack as the other end, which joins meanwhile
in_bg stock on two mckey -m 239.66.1.6 -b 10.66.0.3 -C 5
in_bg sender on one timeout 300 "$mc" send 10.66.0.2 239.66.1.6 200
wait "$stock_pid"
is "MC-12: a stock receiver receives from this sender" $? 0
kill "$sender_pid"
finish
