#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: the behaviour of a program without the device, with signals and with
# fork(), in comparison to the stock librdmacm.
. /usr/lib/rdma-cmx/selftests/lib.sh
probe=/usr/lib/rdma-cmx/selftests/process/tools/probe
nodes=/dev/infiniband

stock() {
	timeout 60 "$@" 2>&1
}

project() {
	LD_PRELOAD=librdmacmx.so.1 timeout 60 "$@" 2>&1
}

user=(setpriv --reuid=1000 --regid=1000 --clear-groups)

both() {
	diag "stock:   $(tr '\n' ',' <<<"$1")"
	diag "project: $(tr '\n' ',' <<<"$2")"
}

# calls OUTPUT: first and last word of each "CALL WORDS" line
calls() {
	awk '{ print $1, $NF }' <<<"$1"
}

all_ok='rdma_create_event_channel ok
rdma_create_id ok
rdma_getaddrinfo ok'

# all_are ERRNO
all_are() {
	printf '%s\n' "rdma_create_event_channel $1" "rdma_create_id $1" \
		"rdma_getaddrinfo EAI_SYSTEM $1"
}

is "an ordinary user opens the device" "$(project "${user[@]}" $probe open)" "$all_ok"

# Without permission
mode=$(stat -c %a $nodes/rdma_cmx)
mode_stock=$(stat -c %a $nodes/rdma_cm)
chmod 600 $nodes/rdma_cmx $nodes/rdma_cm
theirs=$(stock "${user[@]}" $probe open)
ours=$(project "${user[@]}" $probe open)
both "$theirs" "$ours"
is "no permission: EACCES" "$ours" "$(all_are EACCES)"
is "root may" "$(project $probe open)" "$all_ok"
out=$("${user[@]}" cmx resolve 10.55.0.2 2>&1)
is "cmx fails" $((! $?)) 0
like "the error of cmx names the cause and the file" "$out" '/dev/infiniband/rdma_cmx.*[Pp]ermission'

# The failure is not cached: one process, before and after
coproc loop { LD_PRELOAD=librdmacmx.so.1 "${user[@]}" $probe loop; }
# shellcheck disable=SC2154 # coproc sets it
exec {to}>&"${loop[1]}" {from}<&"${loop[0]}"

probe_run() {
	local line

	echo >&"$to"
	while read -r -t 60 line <&"$from" && [ "$line" != end ]; do
		echo "$line"
	done
}

is "no permission: the process survives" "$(probe_run)" "$(all_are EACCES)"
chmod "$mode" $nodes/rdma_cmx
chmod "$mode_stock" $nodes/rdma_cm
is "with permission it works" "$(probe_run)" "$all_ok"
exec {to}>&- {from}<&-

# Without the node
hidden="mount -t tmpfs none $nodes && exec timeout 60 $probe open"
theirs=$(unshare -m bash -c "$hidden" 2>&1)
ours=$(unshare -m bash -c "export LD_PRELOAD=librdmacmx.so.1; $hidden" 2>&1)
both "$theirs" "$ours"
is "no device node: ENOENT" "$ours" "$(all_are ENOENT)"
out=$(unshare -m bash -c "mount -t tmpfs none $nodes; cmx resolve 10.55.0.2" 2>&1)
like "the error of cmx names the missing file" "$out" '/dev/infiniband/rdma_cmx'

# A node without a device behind it, as an administrator may create it
dead="mount -t tmpfs none $nodes && mknod -m 666 $nodes/rdma_cmx c 240 4000 &&
	mknod -m 666 $nodes/rdma_cm c 240 4001 && exec timeout 60 $probe open"
ours=$(unshare -m bash -c "export LD_PRELOAD=librdmacmx.so.1; $dead" 2>&1)
is "a node without a driver: ENXIO" "$ours" "$(all_are ENXIO)"

# Signals
theirs=$(stock $probe event)
ours=$(project $probe event)
both "$theirs" "$ours"
is "rdma_get_cm_event is interrupted" "$ours" 'rdma_get_cm_event EINTR'
is "as stock's is" "$ours" "$theirs"
theirs=$(stock $probe sync)
ours=$(project $probe sync)
both "$theirs" "$ours"
unlike "a synchronous call is not, unlike stock's" "$ours" EINTR
like "it ends by its own time" "$ours" 'rdma_resolve_addr (ETIMEDOUT|EHOSTUNREACH)'

# fork()
for what in close destroy; do
	theirs=$(stock $probe $what)
	ours=$(project $probe $what)
	both "$theirs" "$ours"
	like "fork, $what in the child: the parent continues" "$ours" \
		'^parent RDMA_CM_EVENT_ADDR_RESOLVED'
	is "fork, $what in the child: the parent's results are those of stock" \
		"$(grep -v child <<<"$ours")" "$(grep -v child <<<"$theirs")"
done
theirs=$(stock $probe read)
ours=$(project $probe read)
both "$theirs" "$ours"
like "fork: the child can read, unlike stock's" "$ours" \
	'^child RDMA_CM_EVENT_ADDR_RESOLVED'
like "fork: the parent reads later events" "$ours" \
	'^parent RDMA_CM_EVENT_ROUTE_RESOLVED'
like "fork: it need not wait for the child's ack" "$ours" \
	'^rdma_destroy_id ok'
finish
