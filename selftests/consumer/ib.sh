#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Resolution by the SA for an in-kernel consumer: KA-01, RAI-06, GAI-09, GAI-10,
# GAI-12.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh
. /usr/lib/rdma-cmx/selftests/consumer/functions

# Entries without the number of the device, which depends on the boot
resolve() {
	do_ resolve "$@" 2>&1 | sed 's/dev=[0-9]\+/dev=rdma/'
}

# service DEV ARGUMENTS...
service() {
	"$tests/sa/tools/service" -C "$@"
}

# entry SOURCE DESTINATION ID
entry() {
	echo "rc ps0x13f src=$1,sid=0x0,mask=0x0,pkey=0xffff" \
		"dst=$2,sid=$3,mask=0xffffffffffffffff,pkey=0xffff" \
		"dev=rdma port=1 paths=1"
}

modprobe cmx_consumer || plan_skip "cmx_consumer.ko is not installed"
timeouts_long
own=$(gid_short "$(fab_dev 1)") three=$(gid_short "$(fab_dev 3)")
four=$(gid_short "$(fab_dev 4)")

is "KA-01: no such service" "$(resolve - - sa service=nobody)" "error=-2"
ok "a service of device 3" service "$(fab_dev 3)" -n ksvc -i 0x10000000013f0001 set
is "KA-01 RAI-06: by name, from one port" \
	"$(resolve - - sa service=ksvc src=gid:"$own")" "entries=1 canonname=-
$(entry "$own" "$three" 0x10000000013f0001)"
is "KA-01 RAI-06: by id" \
	"$(resolve - - sa service=0x10000000013f0001 src=gid:"$own")" \
	"entries=1 canonname=-
$(entry "$own" "$three" 0x10000000013f0001)"
ok "the same of device 4" service "$(fab_dev 4)" -n ksvc -i 0x10000000013f0001 set
echo 0 >/sys/module/rdma_cmx/parameters/sa_cache_ms
like "KA-01 GAI-12: queries at four ports, two services, each once" \
	"$(resolve - - sa service=ksvc | tr '\n' '|')" "^entries=2 canonname=-\|"
is "KA-01 RAI-06: both" \
	"$(resolve - - sa service=ksvc src=gid:"$own" | sort)" \
	"$( (echo "entries=2 canonname=-"
	    entry "$own" "$three" 0x10000000013f0001
	    entry "$own" "$four" 0x10000000013f0001) | sort)"
unlike "KA-01 GAI-09: no paths if they are not wanted" \
	"$(resolve - - sa noroute service=ksvc)" "paths="
is "KA-01 RAI-05: with a node" "$(resolve 10.66.0.1 - sa service=ksvc)" \
	"error=-95"
is "KA-01 RAI-05: without a service" "$(resolve - - sa)" "error=-22"
is "KA-01 RAI-06: an overlong name" \
	"$(resolve - - sa service="$(printf 'x%.0s' {1..64})")" "error=-22"

like "KA-01 GAI-10: by GID in an IP port space" \
	"$(resolve "$three" 7471 qp=2 flags=8 family=27)" \
	"dst=$three,sid=0x1061d2f.* paths=1 connect=36"

# The device of an outstanding query is removed.
sm_pause
do_ start - - sa service=ksvc2 src=gid:"$four" >/dev/null
knob_set "$(fab_dev 4)" plugged 0
is "KA-01: the device is removed" "$(do_ wait)" "error=-19"
sm_resume
knob_set "$(fab_dev 4)" plugged 1

echo 15000 >/sys/module/rdma_cmx/parameters/sa_cache_ms
service "$(fab_dev 3)" -n ksvc -i 0x10000000013f0001 delete
modprobe -r cmx_consumer
finish
