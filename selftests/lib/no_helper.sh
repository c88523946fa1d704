#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-01, GAI-02, RAI-02, RAI-03 on a host without the name helper: the library
# resolves with libc, whether it detects this itself (no configuration) or the
# kernel reports it (no request-key program).
. /usr/lib/rdma-cmx/selftests/lib.sh

resolve=/usr/lib/rdma-cmx/selftests/lib/tools/resolve
conf=/etc/request-key.d/rdma-cmx.conf
program=$(readlink -f /usr/sbin/request-key)

restore() {
	[ ! -e $conf.hidden ] || mv $conf.hidden $conf
	[ ! -e "$program.hidden" ] || mv "$program.hidden" "$program"
}
trap restore EXIT

# all_ways WHERE
all_ways() {
	local way

	# A name that is not in the kernel's cache
	for way in call event wait; do
		is "GAI-01, RAI-02: $way, $1" \
			"$($resolve $way no-helper.any.cmx.test)" 10.55.0.2
	done
	is "GAI-02: call, no such name, $1" "$($resolve call nobody.cmx.test)" -2
	is "RAI-03: event, no such name, $1" \
		"$($resolve event nobody.cmx.test)" -2
	is "RAI-03: event, name without address, $1" \
		"$($resolve event nodata.cmx.test)" -61
}

given() {
	counter names_given
}

mv "$program" "$program.hidden"
before=$(given)
all_ways "request-key is missing"
ok "the library gave the names" test "$(given)" -ge $((before + 3))
mv $conf $conf.hidden
before=$(given)
all_ways "no helper is configured"
ok "the library gave the names again" test "$(given)" -ge $((before + 3))
restore
# New names: the kernel caches a failure without a helper for a minute.
before=$(given)
is "the helper is back" "$($resolve event storage.cmx.test)" 10.55.0.2
is "the kernel resolves names" "$(given)" "$before"
finish
