# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Lines of a kernel log that mean a kernel bug: splat_find < LOG.
# Sourced in the guest and on the host, so that both mean the same.

splat_find() {
	stock_drop | limit_drop |
	grep -E -e 'BUG|WARNING|INFO: (possible|task|suspicious)|UBSAN' \
		-e 'unreferenced object|Oops|Call Trace|Kernel panic' \
		-e 'general protection fault|refcount_t:|KASAN|DEBUG_LOCKS' \
		-e 'unregister_netdevice: waiting|ODEBUG|possible circular' |
	grep -v -E -e 'Spectre|MDS CPU bug|MMIO Stale|L1TF|Retbleed' \
		-e 'BUGLIST|DEBUG_KERNEL'
}

# Debian's rdmavt copies a work request across the fields of a union, and a
# hardened kernel says so once after each boot. That one report is passed over:
# its two lines that the list above would find, and only behind its own text.
stock_drop() {
	awk '
	/detected field-spanning write .*"&wqe->.*rdmavt\/qp\.c:2041 / { known = 1 }
	known && /WARNING: CPU: .* at drivers\/infiniband\/sw\/rdmavt\/qp\.c:2041 / {
		next
	}
	known && /Call Trace:/ { known = 0; next }
	{ print }'
}

# A memory cgroup that is at its limit ends one of its processes, and tells of
# it with a call trace. A machine without memory is another thing.
limit_drop() {
	awk '
	/invoked oom-killer/ { held = 1; trace = "" }
	held && /Call Trace:/ { trace = $0; next }
	held && /Memory cgroup out of memory: / { held = 0; trace = "" }
	{ print }
	END { if (trace) print trace }'
}
