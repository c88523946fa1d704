#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Services that an in-kernel consumer advertises: KA-03, SV-01.
. "${0%/*}/advertise_functions"

# --- set, found, withdrawn ---

is "SV-01: before" "$(resolved adv)" "error=-2"
first=$(do_ advertise adv 0x1061d2f data="$hex" lease=600)
state_wait "KA-03: set at all ports" 120 "count=1 set=4 waiting=0 error=0" "$first"
records_wait "KA-03: the SA has four records" 120 adv 4
is "KA-03: and the module finds them, in spite of its cache" \
	"$(resolved adv)" "entries=4"
is "SV-01: with id, P_Key, lease, name, data" \
	"$("$service" -C "$one" -n adv -g "$(dev_gid "$three")" list)" \
	"0x0000000001061d2f $gid 0xffff 600 adv $hex"
is "SV-01: duplicate" "$(do_ advertise other 0x1061d2f)" "error=-17"
is "SV-01: duplicate with the P_Key by number" \
	"$(do_ advertise other 0x1061d2f pkey=0xffff dev="$three")" "error=-17"
is "SV-01: name too long" \
	"$(do_ advertise "$(printf 'x%.0s' {1..64})" 0x10)" "error=-36"
is "SV-01: lease too short" "$(do_ advertise adv 0x10 lease=1)" "error=-34"
is "SV-01: P_Key without a partition" "$(do_ advertise adv 0x10 pkey=0x8000)" \
	"error=-22"
is "SV-01: no id" "$(do_ advertise adv 0)" "error=-22"
is "SV-01: no such device" "$(do_ advertise adv 0x10 dev=none0)" "error=-19"
is "SV-01: no such port" "$(do_ advertise adv 0x10 dev="$three" port=9)" \
	"error=-6"
do_ withdraw "$first"
records_wait "KA-03: withdrawn" 120 adv 0
is "KA-03: and not in the cache, either" "$(resolved adv)" "error=-2"
ok "nothing is left" wait_for 90 no_live

# --- one port, two services of one name ---

a=$(do_ advertise twin 0x1001 dev="$one" lease=4294967295)
b=$(do_ advertise twin 0x1001 dev="$three" port=1 lease=0xffffffff)
state_wait "SV-01: one port" 120 "set=1 waiting=0" "$a"
state_wait "SV-01: another" 120 "set=1 waiting=0" "$b"
is "SV-01: two services of one name are two entries" "$(resolved twin)" \
	"entries=2"
do_ withdraw "$a"
again=$(do_ advertise twin 0x1001 dev="$one" lease=0xffffffff)
state_wait "SV-01: withdrawn and advertised again at once" 120 "set=1 waiting=0" "$again"
records_wait "SV-01: still two records" 120 twin 2
pkey=$(do_ advertise part 0x1002 dev="$one" pkey=0x8123)
state_wait "SV-01: a P_Key that the port does not have" 120 "set=0 waiting=1 error=-2 " "$pkey"
do_ withdraw
records_wait "KA-03: both withdrawn" 120 twin 0

# --- lost responses ---

before=$(counter sa_retries)
knob_set "$three" faults "drop class=3 method=0x81 attr=0x31 count=2"
first=$(do_ advertise lossy 0x2002 dev="$three")
state_wait "SV-01: set although responses are lost" 120 \
	"set=1 waiting=0 error=0 events=1,0,0" "$first"
ok "SV-01: by retries" [ "$(counter sa_retries)" -ge $((before + 2)) ]
knob_set "$three" faults clear
do_ withdraw

# --- SA away and back, events ---

first=$(do_ advertise stays 0x3001)
state_wait "SV-01: set" 120 "set=4 waiting=0" "$first"
sm_stop
sm_start
state_wait "SV-01: set again after the restart of the SM" 120 "set=4 waiting=0 error=0 events=([89]|1[0-9])," "$first"
records_wait "SV-01: the new SA has the records" 120 stays 4
sm_pause
second=$(do_ advertise late 0x3002 dev="$three")
state_wait "SV-01: an SA that does not respond is reported" 120 \
	"set=0 waiting=1 error=-110 events=0,0,[1-9]" "$second"
ok "SV-01: and counted" [ "$(counter service_failures)" -gt 0 ]
sm_resume
state_wait "SV-01: set when it is back" 120 "set=1 waiting=0 error=0" "$second"
before=$(sets)
knob_set "$three" event client_reregister
more() {
	[ "$(sets)" -ge $((before + 2)) ]
}
ok "SV-01: both set again after a client reregister" wait_for 90 more
link_down "$three"
state_wait "SV-01: a port goes down" 120 "set=3 waiting=1 error=-19" "$first"
state_wait "SV-01: the service there is lost" 90 "events=[0-9]+,1," "$second"
link_up "$three"
port_active_wait "$three"
state_wait "SV-01: and is back" 120 "set=1 waiting=0 error=0" "$second"

# --- another SM takes over while a record is being set ---

requests_more() {
	[ "$(sa_requests "$1" 0x0031)" -gt "$2" ]
}
sm_is() {
	[ "$(sm_master "$three")" = "$(dev_guid "$1")" ]
}
fourth=$(fab_dev 4)
# The first SA does not receive it.
knob_set "$one" faults 'drop class=3 method=0x02 attr=0x31'
before=$(sets)
moved=$(do_ advertise moved 0x3007 dev="$three")
ok "SV-01: a record is being set" wait_for 90 requests_more 0x02 "$before"
ok "a subnet manager of higher priority starts" sm_start "$fourth" -p 14
ok "SV-01: it takes over" wait_for 120 sm_is "$fourth"
state_wait "SV-01: the new SA sets it" 120 \
	"set=1 waiting=0 error=0 events=[1-9][0-9]*," "$moved"
state_wait "SV-01: and all of the others" 120 "set=4 waiting=0 error=0" "$first"
records_wait "SV-01: it has the record" 120 moved 1
records_wait "SV-01: and those of the others" 120 stays 4
do_ withdraw "$moved"
records_wait "SV-01: which is withdrawn from it" 120 moved 0
knob_set "$one" faults clear
sm_stop
sm_start
ok "the usual subnet manager" port_active_wait
state_wait "SV-01: has the services" 120 "set=4 waiting=0 error=0" "$first"
state_wait "SV-01: has both" 120 "set=1 waiting=0 error=0" "$second"
records_wait "SV-01: but not the withdrawn one" 120 moved 0

# --- the device goes and comes ---

knob_set "$three" plugged 0
state_wait "SV-01: the device is removed" 120 "set=3 waiting=0 error=0" "$first"
state_wait "SV-01: a service of this device only" 120 "set=0 waiting=0 error=-19" "$second"
knob_set "$three" plugged 1
state_wait "SV-01: set at the port that came later" 120 "set=4 waiting=0" "$first"
wait_for 90 devices_back "$three"
addresses_add "$three"
ok "its port is active" port_active_wait "$three"
records_wait "SV-01: and at the SA" 120 stays 4

# --- and with a record that is being set, and one that is being deleted ---

ended=$(do_ advertise ended 0x3005 dev="$three")
state_wait "SV-01: a service of this device only" 120 "set=1 waiting=0" "$ended"
services=$(counter live_services)
knob_set "$three" faults "drop class=3 attr=0x31"
before=$(sa_requests 0x15 0x0031)
do_ withdraw "$ended"
ok "SV-01: its deletion is outstanding" wait_for 90 requests_more 0x15 "$before"
before=$(sets)
pending=$(do_ advertise pending 0x3006 dev="$three")
ok "SV-01: another one is being set" wait_for 90 requests_more 0x02 "$before"
knob_set "$three" plugged 0
state_wait "SV-01: the device is removed meanwhile" 120 \
	"set=0 waiting=0 error=-19" "$pending"
services_are() {
	[ "$(counter live_services)" = "$1" ]
}
ok "SV-01: that ends the one that was withdrawn" wait_for 90 services_are "$services"
records_wait "SV-01: which has no record" 120 ended 0
knob_set "$three" faults clear
knob_set "$three" plugged 1
state_wait "SV-01: the other one is set when the device is back" 120 \
	"set=1 waiting=0 error=0" "$pending"
wait_for 90 devices_back "$three"
addresses_add "$three"
ok "its port is active" port_active_wait "$three"
records_wait "SV-01: at the SA, too" 120 pending 1
do_ withdraw "$pending"
records_wait "SV-01: and withdrawn" 120 pending 0
state_wait "SV-01: all ports have the first service" 120 "set=4 waiting=0" "$first"

# --- network namespaces ---

host_add other 4
state_wait "SV-01: a device of another namespace is not used" 120 \
	"set=3 waiting=0" "$first"
third=$(nsenter --net=/run/netns/other bash -c "
	echo advertise inner 0x3004 >$dir/command; cat $dir/result")
state_wait "SV-01: but by a service of that namespace, and no other" 120 \
	"set=1 waiting=0" "$third"
do_ withdraw "$third"
records_wait "SV-01: which is withdrawn" 120 inner 0
# A service references its namespace until the service has ended.
ok "SV-01: and lets the namespace go" host_del other
state_wait "SV-01: the device is back" 120 "set=4 waiting=0" "$first"

# --- the consumer is unloaded ---

rmmod cmx_consumer
records_wait "KA-03: withdrawn at the unloading" 120 stays 0
ok "nothing is left" wait_for 90 no_live
modprobe cmx_consumer

# --- limits ---

param services_per_user 3
is "SV-01: the limit of a user" "$(do_ advertise u 0x4000 user=1000 dev="$one" count=5)" \
	"advertised=3 error=-11"
is "SV-01: is not that of another" "$(do_ advertise v 0x5000 user=1001 dev="$one" count=1)" \
	"advertised=1 error=0"
is "SV-01: nor of the kernel" "$(do_ advertise w 0x6000 dev="$one" count=5)" \
	"advertised=5 error=0"
do_ withdraw
ok "all end" wait_for 90 no_live
is "SV-01: the share is free again" "$(do_ advertise u 0x4000 user=1000 dev="$one" count=3)" \
	"advertised=3 error=0"
do_ withdraw
ok "all end" wait_for 90 no_live
param services_max 2
is "SV-01: the limit of all" "$(do_ advertise w 0x6000 dev="$one" count=5)" \
	"advertised=2 error=-11"
do_ withdraw
params_back
ok "all end" wait_for 90 no_live

ok "no object is left in the end" wait_for 90 live_none
rmmod cmx_consumer
finish
