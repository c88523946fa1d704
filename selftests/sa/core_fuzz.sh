#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Responses of an SA with random errors, by a seed: each query ends, no object
# is left, and responses of the real SA are valid afterwards. FUZZ_SEED=N,
# FUZZ_ANSWERS=N. KA-01, RAI-03
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

consumer=/sys/kernel/debug/cmx_consumer
client=$(fab_dev 2)
gid=$(dev_gid "$client")
seed=${FUZZ_SEED:-4711}
answers=6000
[ ! -e /sys/kernel/debug/failslab ] || answers=600
answers=${FUZZ_ANSWERS:-$answers}
log=/tmp/test/fuzz.log

result() {
	echo services-wait >$consumer/command && cat $consumer/result
}

responses() {
	grep -c " $1" "$log"
}

# fuzz WHAT ATTRIBUTE VERB NAME: $answers responses to queries of ATTRIBUTE;
# VERB queries services whose names or ids begin with NAME
fuzz() {
	local what=$1 attr=$2 verb=$3 name=$4 round=0 wrong=0 pid text n=0 had

	: >"$log"
	/usr/lib/rdma-cmx/selftests/sa/tools/fake -C "$(fab_dev 4)" \
		-V "$client" -a "$attr" -n 5 -c 2 fuzz="$seed" >"$log" 2>&1 &
	pid=$!
	ok "$what: the fake SA starts" wait_for 90 grep -q ready "$log"
	# One with QoS: each service has separate path queries.
	knob_set "$client" event device_fatal
	while [ "$n" -lt "$answers" ] && [ $round -lt 200 ] &&
		kill -0 $pid 2>/dev/null; do
		round=$((round + 1))
		# Each round has new names; otherwise the cache would respond.
		echo "$verb 200 200 $name$((1000 + round)) 20000 gid:$gid" \
			>$consumer/command
		text=$(result) || wrong=$((wrong + 1))
		[[ $text = answered=* && $text != *wrong* ]] ||
			wrong=$((wrong + 1))
		had=$n n=$(responses "$attr")
		# On a busy host the responses come too late.
		if [ $((n - had)) -lt $((answers / 100)) ] && [ $timeout_ms -lt 800 ]; then
			: $((timeout_ms *= 2))
			param sa_timeout_ms $timeout_ms
		fi
	done
	diag "seed $seed, $what: $n responses in $round rounds of $timeout_ms ms," \
		"last: $text"
	ok "KA-01: $what: at least $answers responses" test "$n" -ge "$answers"
	is "RAI-03: $what: each query ends once" $wrong 0
	kill $pid
	wait $pid
	is "$what: the fake SA succeeds" $? 0
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
/usr/lib/rdma-cmx/selftests/sa/tools/service -C "$(fab_dev 3)" -n svc0 -i 1 \
	set || fail "no service"
# A lost query has a retry soon.
timeout_ms=25
param sa_timeout_ms $timeout_ms
param sa_retries 2

sm_pause
fuzz "services" 0x0031 services s
# The services are found by their ids and without errors; each has 5 paths.
fuzz "paths" 0x0035 services-routes 9
sm_resume

params_back
knob_set "$client" event sm_change
works() {
	echo "services 1 1 svc 30000 gid:$gid" >$consumer/command
	[ "$(result)" = "answered=1 entries=1..1" ]
}
ok "the real SA answers again" wait_for 60 works
ok "no object is left in the end" wait_for 60 live_none
rmmod cmx_consumer
finish
