#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Answers of an SA that are spoilt at random, by a seed: each question ends,
# nothing stays, and the real SA is understood afterwards. FUZZ_SEED=N,
# FUZZ_ANSWERS=N.
# KA-01, RAI-03
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

consumer=/sys/kernel/debug/cmx_consumer
asker=$(fab_dev 2)
gid=$(dev_gid "$asker")
seed=${FUZZ_SEED:-4711}
answers=6000
[ ! -e /sys/kernel/debug/failslab ] || answers=600
answers=${FUZZ_ANSWERS:-$answers}
log=/tmp/test/fuzz.log

told() {
	echo services-wait >$consumer/command && cat $consumer/result
}

given() {
	grep -c " $1" "$log"
}

# fuzz WHAT ATTRIBUTE VERB NAME: as many answers to questions on ATTRIBUTE, which
# VERB asks for services whose names or ids begin with NAME
fuzz() {
	local what=$1 attr=$2 verb=$3 name=$4 round=0 wrong=0 pid text n=0 had

	: >"$log"
	/usr/lib/rdma-cmx/selftests/sa/fake.helper -C "$(fab_dev 4)" \
		-V "$asker" -a "$attr" -n 5 fuzz="$seed" >"$log" 2>&1 &
	pid=$!
	ok "$what: the SA is another one" wait_for 30 grep -q ready "$log"
	while [ "$n" -lt "$answers" ] && [ $round -lt 200 ] &&
		kill -0 $pid 2>/dev/null; do
		round=$((round + 1))
		# Others each time, or the cache would answer
		echo "$verb 200 200 $name$((1000 + round)) 20000 gid:$gid" \
			>$consumer/command
		text=$(told) || wrong=$((wrong + 1))
		[[ $text = answered=* && $text != *wrong* ]] ||
			wrong=$((wrong + 1))
		had=$n n=$(given "$attr")
		# On a busy machine the answers come too late for the next question.
		if [ $((n - had)) -lt $((answers / 100)) ] && [ $patience -lt 800 ]; then
			: $((patience *= 2))
			param sa_timeout_ms $patience
		fi
	done
	diag "seed $seed, $what: $n answers in $round rounds of $patience ms," \
		"last: $text"
	ok "KA-01: $what: at least $answers answers" test "$n" -ge "$answers"
	is "RAI-03: $what: each question ended, once" $wrong 0
	kill $pid
	wait $pid
	is "$what: the fake SA did not fail" $? 0
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
/usr/lib/rdma-cmx/selftests/sa/service.helper -C "$(fab_dev 3)" -n svc0 -i 1 \
	set || fail "no service"
# What is lost is asked for again soon.
patience=25
param sa_timeout_ms $patience
param sa_retries 2

sm_pause
fuzz "services" 0x0031 services s
# Services are told right, by their ids; 5 ways lead to each.
fuzz "paths" 0x0035 services-routes 9
sm_resume

params_back
knob_set "$asker" event sm_change
works() {
	echo "services 1 1 svc 30000 gid:$gid" >$consumer/command
	[ "$(told)" = "answered=1 entries=1..1" ]
}
ok "the real SA answers again" wait_for 60 works
ok "nothing is left in the end" wait_for 60 live_none
rmmod cmx_consumer
finish
