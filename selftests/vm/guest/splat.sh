# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Lines of a kernel log that report a kernel bug: splat_find < LOG. Sourced in
# the guest and on the host, so that both use the same list.

splat_find() {
	stock_drop | stock_cm_drop | stock_cma_drop | limit_drop |
	grep -E -e 'BUG|WARNING|INFO: (possible|task|suspicious)|UBSAN' \
		-e 'unreferenced object|Oops|Call Trace|Kernel panic' \
		-e 'general protection fault|refcount_t:|KASAN|DEBUG_LOCKS' \
		-e 'unregister_netdevice: waiting|ODEBUG|possible circular' |
	grep -v -E -e 'Spectre|MDS CPU bug|MMIO Stale|L1TF|Retbleed' \
		-e 'BUGLIST|DEBUG_KERNEL'
}

# splat_show FILE: prints 60 lines of a log from its first report on
splat_show() {
	local first line

	first=$(splat_find <"$1" | head -n 1)
	[ -n "$first" ] || return
	line=$(grep -nF -- "$first" "$1" | head -n 1 | cut -d: -f1)
	tail -n "+$line" "$1" | head -n 60
}

# splat_where FILE: prints the functions of the report, " in INNER < ... <
# OUTER", for the line of a summary; nothing without a call trace
splat_where() {
	splat_show "$1" | awk '
	/Call Trace:/ { trace = 1; next }
	!trace || / \? / || /<\/?(TASK|IRQ|NMI)>/ { next }
	!match($0, /[A-Za-z0-9_.]+\+0x/) || n++ == 10 { exit }
	{ list = list (list ? " < " : " in ") substr($0, RSTART, RLENGTH - 3) }
	END { printf "%s", list }'
}

# Debian's rdmavt copies a work request across the fields of a union, and a
# hardened kernel reports it once after each boot. This report is ignored: its
# two lines that the list above matches, and only after its own text.
stock_drop() {
	awk '
	/detected field-spanning write .*"&wqe->.*rdmavt\/qp\.c:2041 / { known = 1 }
	known && /WARNING: CPU: .* at drivers\/infiniband\/sw\/rdmavt\/qp\.c:2041 / {
		next
	}
	known && /Call Trace:/ { known = 0; next }
	{ print }'
}

# ib_cm reads the root of a tree before it takes the lock (stock-bugs.rst): a
# report of cm_work_handler() on what cm_create_timewait_info() allocated and
# cm_reset_to_idle() freed. Its two lines that the list matches are ignored.
stock_cm_drop() {
	awk '
	function report_end(i) {
		for (i = 0; i < n; i++)
			if (!made || !freed ||
			    i && (line[i] !~ /Call Trace:/ || trace++))
				print line[i]
		n = made = freed = trace = 0
	}
	/BUG: KASAN: use-after-free in cm_work_handler\+/ {
		report_end()
		line[n++] = $0
		next
	}
	!n { print; next }
	{ line[n++] = $0 }
	/ cm_create_timewait_info\+/ { made = 1 }
	/ cm_reset_to_idle\+/ { freed = 1 }
	/ =========/ { report_end() }
	END { report_end() }'
}

# Without memory for the path of a request, rdma_cm destroys the new id with the
# lock of the listening one held (stock-bugs.rst). It has no nesting annotation
# for lockdep. The two lines of the report that the list matches are
# ignored. lockdep is off then until the next boot.
stock_cma_drop() {
	awk '
	function report_end(i) {
		for (i = 0; i < n; i++)
			print line[i]
		n = wanted = held = 0
	}
	/WARNING: possible recursive locking detected/ {
		report_end()
		line[n++] = $0
		next
	}
	!n { print; next }
	/ trying to acquire lock:/ { next_is = "wanted" }
	/ already holding lock:/ { next_is = "held" }
	/\(&id_priv->handler_mutex\).* at: cma_ib_req_handler\+/ {
		wanted += next_is == "wanted"
		held += next_is == "held"
	}
	/\}, at: / { next_is = "" }
	/Call Trace:/ {
		if (!wanted || !held)
			line[n++] = $0
		else
			line[0] = ""
		report_end()
		next
	}
	{ line[n++] = $0 }
	END { report_end() }'
}

# A memory cgroup at its limit kills one of its processes, and reports it with a
# call trace. A host without memory is not ignored.
limit_drop() {
	awk '
	/invoked oom-killer/ { held = 1; trace = "" }
	held && /Call Trace:/ { trace = $0; next }
	held && /Memory cgroup out of memory: / { held = 0; trace = "" }
	{ print }
	END { if (trace) print trace }'
}
