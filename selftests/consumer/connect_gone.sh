#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A connect by name on InfiniBand loses its name, its device, its network
# namespace or its consumer at each of its steps: KA-02. connect_ib.sh has the
# removal of the device at the later steps.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/connect_functions
port=7600
sid=0x13f7600

# start WORDS...: in the network namespace $space, if there is one
start() {
	if [ -n "$space" ]; then
		nsenter --net="/run/netns/$space" \
			bash -c "echo 'connect-start $* own-net' >$dir/command"
	else
		do_ connect-start "$@"
	fi
}

listened() {
	do_ listened | grep -q "$1"
}

service() {
	"$tests/sa/tools/service" -C "$third" -n kcgone -i $sid "$1"
}

# drop WORD...: drops such queries before the SA
drop() {
	knob_set "$(fab_dev 1)" faults "drop class=3 $*"
}

drop_none() {
	knob_set "$(fab_dev 1)" faults clear
}

# For each step: what delays a connect there, which connect, how the test
# detects it, and what ends the delay. The steps are lookup, addr, route, setup
# and request.
hold() {
	case $1 in
	lookup) drop method=0x12 attr=0x31 ;;
	route) drop attr=0x35 rmpp=0 ;;
	setup | request) do_ listen gid:"$three" $sid hang >/dev/null ;;
	esac
	case $1 in
	lookup) seen=$(sa_requests 0x12 0x0031) ;;
	*) seen=$(sa_requests 0x12 0x0035) ;;
	esac
}

words() {
	local service="- - sa service=kcgone src=gid:$four"
	local gid="$three $port qp=2 flags=8 family=27 src=gid:$four noroute"

	case $1 in
	addr) echo "deadline=120000 -- 10.66.0.99 $port src=10.66.0.4" ;;
	route) echo "deadline=120000 -- $gid" ;;
	setup) echo "deadline=120000 setup-ms=3000 -- $service" ;;
	*) echo "deadline=120000 -- $service" ;;
	esac
}

held() {
	case $1 in
	lookup) [ "$(sa_requests 0x12 0x0031)" -gt "$seen" ] ;;
	addr) [ "$(ids)" = 1 ] || started_again ;;
	route) [ "$(sa_requests 0x12 0x0035)" -gt "$seen" ] ;;
	setup) state setups=1 ;;
	request) listened requests=1 ;;
	esac
}

# An address fails after three seconds, on a slow host before it is detected.
# Fails; the next look may succeed.
started_again() {
	state calls=1 && start "$(words addr)"
	return 1
}

# Ids of connects, in the network namespace of the fourth device
ids() {
	dev_run "$fourth" rdma resource show cm_id | grep -c '\[rdma_cmx\]'
}

let_go() {
	drop_none
	do_ unlisten >/dev/null
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
param sa_cache_ms 0
timeouts_long
third=$(fab_dev 3) fourth=$(fab_dev 4) space=''
three=$(gid_short "$third") four=$(gid_short "$fourth")
steps="lookup addr route setup request"

# --- the name is deleted ---

service set
hold lookup
do_ connect-start -- - - sa service=kcgone src=gid:"$four" >/dev/null
ok "KA-02: the service is looked up" wait_for 90 held lookup
service delete
drop_none
is "KA-02: it is gone before the reply: no such service" "$(do_ connect-wait)" \
	"$(call -2 1 0 0)"
do_ connect-end >/dev/null

service set
do_ listen gid:"$three" $sid accept >/dev/null
do_ connect-start setup-ms=3000 -- - - sa service=kcgone src=gid:"$four" \
	>/dev/null
ok "KA-02: the setup runs" wait_for 90 held setup
service delete
is "KA-02: the service is gone, and its target is there: it connects" \
	"$(do_ connect-wait)" "$(call 0 1 1 0; one "$three" up 0 0 welcome)"
do_ connect-end >/dev/null
is "KA-02: the next connect does not find it" \
	"$(do_ connect -- - - sa service=kcgone src=gid:"$four")" \
	"$(call -2 1 0 0)"
do_ connect-end >/dev/null

# gone_in MS: withdraws the service and ends the target during a setup of MS
# milliseconds; sets $result.
# Fails if it connects, as it does when the host was too slow for that.
gone_in() {
	let_go
	do_ listen gid:"$three" $sid accept >/dev/null
	service set
	do_ connect-start deadline=85000 setup-ms="$1" -- - - sa service=kcgone \
		src=gid:"$four" >/dev/null
	wait_for 90 held setup
	do_ unlisten >/dev/null
	service delete
	result=$(do_ connect-wait)
	do_ connect-end >/dev/null
	[[ $result != error=0* ]]
}

gone_in 8000 || gone_in 40000
is "KA-02: service and target are gone: it is refused" "$result" \
	"$(call -111 1 1 1; one "$three" request -111 8)"

# --- the device is removed; connect_ib.sh has the other steps ---

service set
hold lookup
do_ connect-start -- - - sa service=kcgone src=gid:"$four" >/dev/null
ok "KA-02: the service is looked up" wait_for 90 held lookup
ok "KA-02: the removal of the device ends" knob_set "$fourth" plugged 0
drop_none
like "KA-02: the connect ends, once, without a candidate that connects" \
	"$(do_ connect-wait | head -1)" '^error=-[0-9]+ calls=1 setups=0 .*wrong=0$'
do_ connect-end >/dev/null
knob_set "$fourth" plugged 1
wait_for 90 devices_back "$fourth"
addresses_add "$fourth"
ok "the device is back" port_active_wait "$fourth"

# --- the consumer is unloaded ---

for step in $steps; do
	hold "$step"
	start "$(words "$step")" >/dev/null
	ok "KA-02: step $step" wait_for 90 held "$step"
	ok "KA-02: the consumer is unloaded meanwhile" rmmod cmx_consumer
	ok "KA-02: and no object is left" wait_for 90 live_none
	modprobe cmx_consumer
	let_go
done
is "KA-02: nor an id" "$(ids)" 0

# --- the network namespace is deleted ---

for step in $steps; do
	ok "a host" host_add gone 4
	space=gone
	hold "$step"
	start "$(words "$step")"
	ok "KA-02: step $step" wait_for 90 held "$step"
	ip netns del gone
	rm -f "$fab_state/$fourth.host"
	space=''
	# An address and a route have a few seconds: these may end by themselves.
	calls=0
	[[ $step != addr && $step != route ]] || calls='[01]'
	[ "$calls" != 0 ] ||
		ok "KA-02: the network namespace is deleted, the connect goes on" \
			state calls=0
	like "KA-02: it is cancelled" "$(do_ connect-cancel | head -1)" \
		"calls=$calls .* wrong=0"
	do_ connect-end >/dev/null
	ok "KA-02: then the device leaves the namespace" \
		wait_for 120 devices_back "$fourth"
	addresses_add "$fourth"
	let_go
	ok "no object is left" wait_for 90 live_none
done

service delete
ok "the consumer is unloaded" rmmod cmx_consumer
finish
