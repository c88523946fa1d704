#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-03: what queries.bt reports of SA queries and of ports.
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/cmx/trace_functions
. /usr/lib/rdma-cmx/selftests/fabric.sh

timeouts_long
bpftrace_needed
four=$(fab_dev 4)
# Two queries at least. Their number goes to a file, since there may be others
# before bpftrace has attached its probes.
cat >"$work" <<END
	. /usr/lib/rdma-cmx/selftests/lib.sh
	. /usr/lib/rdma-cmx/selftests/fabric.sh
	cmx paths drop --all
	before=\$(counter sa_queries)
	cmx connect --route 10.66.0.3 7471
	cmx connect --route 10.66.0.4 7471
	echo \$((\$(counter sa_queries) - before)) >/tmp/test/queries
	seen=\$(counter sa_events)
	event_counted() {
		[ "\$(counter sa_events)" != "\$seen" ]
	}
	link_down $four
	link_up $four
	# A work item traces an event, and counts it afterwards.
	wait_for 60 event_counted
	exit 0
END
traced queries.bt sa_queries sa_subscribes
queries=$(cat /tmp/test/queries)
sum=$(sum sa_us)
ok "queries.bt: two routes query the SA" test "$queries" -ge 2
ok "queries.bt: the time of each SA query ($sum)" test "$sum" -ge "$queries"
# Subscriptions are SA queries, too.
ok "queries.bt: none twice" test "$sum" -le \
	$((did[sa_queries] + did[sa_subscribes]))
is "queries.bt: the error of each" "$(sum 'sa_errors[[].*')" "$sum"
is "queries.bt: the MADs of each" "$(sum sa_mads)" "$sum"
like "queries.bt: an event of a port" "$out" "^$four/1: event [0-9]+$"
ok "the port is active again" port_active_wait "$four"
ok "each netdevice is up again" wait_for 90 devices_back "$four"
finish
