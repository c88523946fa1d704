#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Questions to the SA from the kernel: asked once, kept for a while, in bounds.
# KA-01, and what OPS-03 counts of it
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

consumer=/sys/kernel/debug/cmx_consumer
asker=$(fab_dev 2)
offerer=$(fab_dev 3)

service() {
	/usr/lib/rdma-cmx/selftests/sa/service.helper -C "$offerer" "$@"
}

# ask N KINDS NAME [MS]: start; told: how it ended
ask() {
	echo "services $1 $2 $3 ${4:-20000} gid:$(dev_gid "$asker")" \
		>$consumer/command
}

told() {
	echo services-wait >$consumer/command && cat $consumer/result
}

asked() {
	sa_requests 0x12 0x0031
}

cached_is() {
	[ "$(counter sa_cached)" = "$1" ]
}

cache_drop() {
	local dev

	for dev in $(cat "$fab_state/devices"); do
		knob_set "$dev" event client_reregister
	done
	wait_for 40 cached_is 0
}

more_than() {
	[ "$("$1")" -gt "$2" ]
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
# Late answers of a busy machine are not to be asked for again
param sa_timeout_ms 5000
ok "an empty cache" cache_drop
service -n 'svc-%u' -i 0x100 -c 5 set || fail "no services"

# --- asked once ---

before=$(asked) joined=$(counter sa_coalesced) hits=$(counter sa_hits)
ask 1000 1 svc-
is "KA-01: 1000 at once for one service" "$(told)" "answered=1000 entries=1..1"
ok "are 1 or 2 questions to the SA" test "$(asked)" -le $((before + 2))
is "OPS-03: the others joined it, or came after" \
	"$(($(counter sa_coalesced) - joined + $(counter sa_hits) - hits))" 999
before=$(asked)
ask 1000 1 svc-
is "the same again" "$(told)" "answered=1000 entries=1..1"
is "from the cache" "$(asked)" "$before"
param sa_cache_ms 0
ask 1 1 svc-
is "without the cache" "$(told)" "answered=1 entries=1..1"
is "the SA is asked" "$(asked)" $((before + 1))
param sa_cache_ms 3600000

# --- in bounds ---

ok "an empty cache again" cache_drop
param sa_cache_entries 2
ask 5 5 svc-
is "five services, room for two" "$(told)" "answered=5 entries=1..1"
is "two are kept" "$(counter sa_cached)" 2
param sa_cache_entries 4096
service -n many0 -i 0x1000 -c 30 set || fail "no services"
ok "an empty cache again" cache_drop
param sa_cache_kb 4
ask 1 1 many
is "an answer larger than the cache" "$(told)" "answered=1 entries=30..30"
is "is not kept" "$(counter sa_cached)" 0
param sa_cache_kb 4096
ask 1 1 many
told >/dev/null
is "but with room for it" "$(counter sa_cached)" 1
ask 5 5 none-
is "no such services" "$(told)" "answered=0 error-2=5"
is "which is not remembered" "$(counter sa_cached)" 1

# --- what changes while the SA is asked ---

ok "an empty cache again" cache_drop
param sa_timeout_ms 20000
knob_set "$asker" faults "delay class=3 method=0x92 ms=3000 count=1"
before=$(asked)
ask 1 1 svc- 40000
ok "the SA answers, and the answer is on its way" \
	wait_for 40 more_than asked "$before"
# The next one comes long after it
knob_set "$asker" faults "delay class=3 method=0x92 ms=6000"
ok "meanwhile the service goes" service -i 0x100 delete
knob_set "$asker" event client_reregister
is "the old answer does not count after an event" "$(told)" \
	"answered=0 error-2=1"
is "and is not kept" "$(counter sa_cached)" 0
knob_set "$asker" faults clear
param sa_timeout_ms 5000

# --- very many ---

param sa_waiting_per_user 10
# Or as many would be out as earlier tests have found that the SA can do.
param sa_parallel 8
sm_pause
ask 100 100 none- 2000
like "KA-01: more than may wait are refused at once" "$(told)" \
	'^answered=0 .*-11=[789]'
ok "OPS-03: which is counted" test "$(counter sa_refused)" -gt 0
sm_resume
param sa_waiting_per_user 16384
param sa_parallel 64
ok "nothing is left" wait_for 40 live_none
before=$(counter sa_queries)
param query_timeout_max_ms 240000
ask 10000 10000 none- 240000
is "KA-01: 10000 different ones outstanding" "$(told)" "answered=0 error-2=10000"
is "OPS-03: each was asked" "$(($(counter sa_queries) - before))" 10000

ok "nothing is left in the end" wait_for 40 live_none
rmmod cmx_consumer
finish
