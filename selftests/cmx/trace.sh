#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-03: the scripts for bpftrace in Documentation/trace. The kernel has their
# tracepoints and fields, and each begin and end event have the same key. Then
# bpftrace runs them, and their reports match; for SA queries see trace_ib.sh.
. /usr/lib/rdma-cmx/selftests/cmx/functions
. /usr/lib/rdma-cmx/selftests/cmx/trace_functions

names_wait 20

trace=/sys/kernel/tracing
events=$trace/events/rdma_cmx

# uses FILE: prints "TRACEPOINT FIELD" for each field of a probe, "TRACEPOINT -"
# for each probe
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
		# str() is for text only, and all text needs str().
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

# The keys: one resolution, with a lookup of an uncached name
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

# --- bpftrace ----------------------------------------------------------------

bpftrace_needed
# At least two lookups, one response of the cache, which may expire on a host
# that stops, and one failure
cat >"$work" <<-'END'
	hits=/sys/module/rdma_cmx/counters/name_hits
	before=$(<$hits)
	{
		cmx resolve nosuch.bpf.test 7471
		for i in {1..100}; do
			cmx resolve bpf.any.cmx.test 7471
			[ $(<$hits) = $before ] || break
		done
	} >/dev/null 2>&1
	exit 0
END
traced names.bt name_lookups name_hits
like "names.bt: the name that fails" "$out" \
	'^nosuch\.bpf\.test: error -2 after [0-9]+ ms$'
ok "names.bt: there were lookups" test "${did[name_lookups]}" -ge 2
is "names.bt: the time of each lookup" "$(sum lookup_ms)" \
	"${did[name_lookups]}"
ok "names.bt: the cache had one" test "${did[name_hits]}" -ge 1
is "names.bt: each answer of the cache" "$(sum cached)" "${did[name_hits]}"
traced queries.bt completed failed
ok "queries.bt: there were resolutions" test "${did[completed]}" -ge 2
is "queries.bt: the time of each resolution" "$(sum resolution_us)" \
	$((did[completed] + did[failed]))
is "queries.bt: those that succeed" "$(sum 'resolution_errors[[]0[]]')" \
	"${did[completed]}"
is "queries.bt: those that fail" "$(sum 'resolution_errors[[]-.*')" \
	"${did[failed]}"
is "queries.bt: the number of entries of each" "$(sum resolution_entries)" \
	$((did[completed] + did[failed]))
finish
