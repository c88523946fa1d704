#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# MC-02, MC-06, MC-12: multicast data between the guests, two hosts with a
# private network. Each socket that must not receive is beside one that must:
# the test checks it only after data has arrived at the other.
. /usr/lib/rdma-cmx/selftests/lib.sh
mc=/usr/lib/rdma-cmx/selftests/api/tools/mc

# receive GROUP WHAT MEMBER...: receivers in beta, the sender here; an IPv6
# group is for the IPv6 addresses of both. Sets out and status.
receive() {
	local group=$1 what=$2 from=10.55.0.1 to=10.55.0.2 job sender

	shift 2
	case $group in
	*:*) from=fd55::1 to=fd55::2 ;;
	esac
	job=$(peer_bg "$mc $what $to $group 5 $*")
	wait_for 90 peer "grep -q joined /run/jobs/$job.log" ||
		diag "no receiver: $(peer_log "$job")"
	timeout 100 $mc send $from "$group" 90 >sender.log 2>&1 &
	sender=$!
	out=$(peer_wait "$job" 80)
	status=$?
	kill "$sender"
	wait "$sender" 2>/dev/null
	diag "$out"
}

receive 239.55.12.1 recv full sendonly
is "MC-12: the full member receives" $status 0
like "MC-12: the send-only member receives nothing" "$out" \
	'^got full=[0-9]+ sendonly=0$'

receive 239.55.12.2 recv full
is "MC-02: a queue pair of the id is attached" $status 0

receive 239.55.12.3 recv own
is "MC-02: without one, the user attaches" $status 0

receive 239.55.12.4 recv full full
is "MC-06: two ids receive" $status 0

receive 239.55.12.5 leave full full
is "MC-06: the second id still receives after the first leaves" $status 0
like "MC-06: the first one does not" "$out" '^then full=0 full='

receive 239.55.12.6 recv twice
is "MC-06: an id that joined twice receives" $status 0

receive 239.55.12.7 leave twice
is "MC-06: it still receives after one leave" $status 0

receive ff15::55:c1 recv full sendonly
is "MC-07: a full member of an IPv6 group receives" $status 0
like "MC-07: a send-only member receives nothing" "$out" \
	'^got full=[0-9]+ sendonly=0$'

receive ff15::55:c2 leave full full
is "MC-07: the second id still receives after the first leaves" $status 0
like "MC-07: the first one does not" "$out" '^then full=0 full='

receive ff15::55:c3 leave twice
is "MC-07: an id that joined twice still receives after one leave" $status 0

# In the other direction
job=$(peer_bg "$mc send 10.55.0.2 239.55.12.8 60")
out=$(timeout 80 $mc recv 10.55.0.1 239.55.12.8 5 full sendonly)
is "MC-12: from beta to alpha" $? 0
like "MC-12: send-only receives nothing here either" "$out" 'sendonly=0'
peer_stop "$job"

# With the stock stack as the other end
job=$(peer_bg 'mckey -m 239.55.12.9 -b 10.55.0.2 -c 1 -C 5')
ok "mckey joins in beta" wait_for 90 peer 'igmp_joined eth0 239.55.12.9'
timeout 150 $mc send 10.55.0.1 239.55.12.9 120 >sender.log 2>&1 &
sender=$!
ok "MC-12: a stock receiver receives from this sender" peer_wait "$job" 120
kill $sender
finish
