#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Services that an in-kernel consumer advertises: leases and 1000 services. SV-01
. "${0%/*}/advertise_functions"

# --- renewed ---

first=$(do_ advertise short 0x2001 dev="$three" lease=4)
state_wait "SV-01: a short lease" 120 "set=1 waiting=0" "$first"
before=$(sets) gone=0 begin=$SECONDS
# A renewal takes place after two seconds at most, later on a busy host.
watched() {
	[ $((SECONDS - begin)) -ge 40 ] || { [ $((SECONDS - begin)) -ge 14 ] &&
		[ $(($(sets) - before)) -ge 6 ]; }
}
until watched; do
	records_are short 1 || gone=$((gone + 1))
done
# A host that stops for longer than a lease loses it for a moment.
ok "SV-01: there for three leases" [ "$gone" -le 2 ]
ok "SV-01: because it is renewed" [ $(($(sets) - before)) -ge 6 ]
like "SV-01: renewals are no events" "$(state "$first")" "events=1,0,0"
do_ withdraw

# --- withdrawn without an SA ---

do_ advertise mute 0x3003 dev="$three" lease=8 >/dev/null
state_wait "SV-01: set" 120 "set=1 waiting=0"
sm_pause
do_ withdraw
ok "SV-01: ends although the SA does not respond" wait_for 90 no_live
sm_resume
records_wait "SV-01: its lease ends the record at the latest" 120 mute 0

# --- many ---

# A retry of a query would count as another query.
param sa_timeout_ms 20000
before=$(sets)
is "SV-01: 1000 services" "$(do_ advertise many 0x10000 dev="$three" count=1000)" \
	"advertised=1000 error=0"
state_wait "SV-01: are set" 120 "count=1000 set=1000 waiting=0 error=0"
n=$(($(sets) - before))
ok "SV-01: with one query each, or a few more" [ $((n / 100)) = 10 ]
is "SV-01: the SA has them" "$("$service" -C "$one" list | grep -c ' many')" 1000
do_ withdraw
ok "SV-01: and all are withdrawn" wait_for 120 no_live
is "SV-01: from the SA" "$("$service" -C "$one" list | grep -c ' many')" 0

ok "no object is left in the end" wait_for 90 live_none
rmmod cmx_consumer
finish
