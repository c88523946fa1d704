# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Lines of a kernel log that mean a kernel bug: splat_find < LOG.
# Sourced in the guest and on the host, so that both mean the same.

splat_find() {
	grep -E -e 'BUG|WARNING|INFO: (possible|task|suspicious)|UBSAN' \
		-e 'unreferenced object|Oops|Call Trace|Kernel panic' \
		-e 'general protection fault|refcount_t:|KASAN|DEBUG_LOCKS' \
		-e 'unregister_netdevice: waiting|ODEBUG|possible circular' |
	grep -v -E -e 'Spectre|MDS CPU bug|MMIO Stale|L1TF|Retbleed' \
		-e 'BUGLIST|DEBUG_KERNEL'
}
