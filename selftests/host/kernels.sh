#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The modules, and those of the tests, compile without a warning (W=1) for the
# kernels of the next Debian release and of its backports, with that release's
# compiler; `make lint` does the same for the local kernel. User space compiles
# there without a warning, and passes abi.sh beside that release's rdma-core. On
# the host, TAP. Objects of modules stay in build/kernels, so that a second run
# compiles only changes.
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
export PATH=$PATH:/usr/sbin:/sbin

# shellcheck source-path=SCRIPTDIR source=../vm/guest/lib.sh
. "$here/../vm/guest/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../vm/next.sh
. "$here/../vm/next.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-kernels.XXXXXX") || exit
trap 'rm -rf "$work"' EXIT
root=$(next_compiler 2>"$work/err")
status=$?
[ $status != 3 ] || plan_skip "$(cat "$work/err")"
if [ $status != 0 ]; then
	plan 1
	fail "headers of Debian's $next_release can be had"
	diag "$(cat "$work/err")"
	finish
fi

plan $((4 + 2 * ${#next_kernels[@]}))
is "RE-01: no code depends on the version of the kernel" \
	"$(cd "$top" && grep -rnE '\<(LINUX_VERSION_CODE|KERNEL_VERSION)\>' \
		--include='*.[ch]' --include=Kbuild --include='*.mk' \
		kernel selftests uapi)" ""
for kver in $(next_kvers); do
	is "RE-01: no warning for $kver" \
		"$(next_compile "$root" "$kver" | tail -n 30)" ""
	is "RE-01: the modules for $kver" \
		"$(next_found "$kver" | sed 's|.*/||' | sort | xargs)" \
		"cmx_consumer.ko cmx_fabric.ko cmx_initiator.ko cmx_target.ko rdma_cmx.ko rdma_ucmx.ko"
done
is "RE-01: no warning in user space for Debian's $next_release" \
	"$(next_user "$root" | tail -n 30)" ""
abi=$top/build/kernels/user.abi
is "RA-02, RA-03: compatible with the rdma-core of that release" \
	"$(grep -vE '^(ok [0-9]+ [^#]*$|TAP version |1\.\.[1-9])' "$abi")" ""
is "RA-02, RA-03: each comparison was made" "$(grep -c '^ok ' "$abi")" \
	"$(sed -n 's/^1\.\.//p' "$abi")"
finish
