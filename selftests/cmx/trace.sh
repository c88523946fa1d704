#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The scripts for bpftrace in Documentation/trace: the kernel has their
# tracepoints and fields, and a beginning and its end have the same key. There
# is no bpftrace here; its compiler is as large as all else.
. /usr/lib/rdma-cmx/selftests/cmx/functions

trace=/sys/kernel/tracing
events=$trace/events/rdma_cmx
scripts=/usr/lib/rdma-cmx/selftests/cmx/trace

# uses FILE: "TRACEPOINT FIELD" for each field of a probe, "TRACEPOINT -" for it
uses() {
	awk '
	/^tracepoint:/ {
		split($1, part, ":")
		probe = part[2] "/" part[3]
		print probe, "-"
	}
	/^END|^BEGIN/ { probe = "" }
	{
		line = $0
		while (match(line, /args->[a-z_0-9]+/)) {
			print probe, substr(line, RSTART + 6, RLENGTH - 6)
			line = substr(line, RSTART + RLENGTH)
		}
	}' "$1" | sort -u
}

# field EVENT FIELD: its declaration
field() {
	sed -nE "s/^[[:space:]]*field:([^;]*[ *])$2(\[[^]]*\])?;.*/\1/p" \
		"$trace/events/$1/format"
}

for script in "$scripts"/*.bt; do
	name=${script##*/}
	strings=$(grep -oE 'str\(args->[a-z_]+' "$script" |
		sed 's/.*->//' | sort -u)
	ok "$name has probes" grep -q '^tracepoint:rdma_cmx:' "$script"
	while read -r event use; do
		if [ "$use" = - ]; then
			ok "$name: $event exists" test -d "$trace/events/$event"
			continue
		fi
		like "$name: $event has $use" "$(field "$event" "$use")" .
		# str() is for text only, and text is for str() only.
		if grep -qx "$use" <<<"$strings"; then
			like "$name: $event: $use is text" \
				"$(field "$event" "$use")" '__data_loc char\[\]'
		else
			unlike "$name: $event: $use is a number" \
				"$(field "$event" "$use")" '__data_loc|char|struct'
		fi
	done < <(uses "$script")
done
is "two scripts" "$(cd "$scripts" && echo ./*.bt)" "./names.bt ./queries.bt"

# The keys: one resolution, with a lookup of a name that no cache has
echo 1 >$events/enable
: >$trace/trace
run cmx resolve trace.any.cmx.test
log=$(cat $trace/trace)
echo 0 >$events/enable
: >$trace/trace
is "a resolution" "$status" 0
query=$(sed -n 's/.*cmx_query_start: query=\([^ ]*\) node=trace\.any.*/\1/p' \
	<<<"$log")
ok "cmx_query_done has the query of cmx_query_start" \
	grep -qF "cmx_query_done: query=$query error=0 entries=" <<<"$log"
like "cmx_lookup_start has the name" "$log" \
	'cmx_lookup_start: name=trace\.any\.cmx\.test '
like "cmx_lookup_done has it, too" "$log" \
	'cmx_lookup_done: name=trace\.any\.cmx\.test error=0'
finish
