#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-13: valgrind reports nothing in the library: no leak, no undefined value,
# no access out of bounds; with names of the kernel and of libc. RA-02: nor in
# the calls on connections, groups and queue pairs.
. /usr/lib/rdma-cmx/selftests/lib.sh
loop=/usr/lib/rdma-cmx/selftests/api/tools/loop

command -v valgrind >/dev/null || plan_skip "valgrind is not installed"

check() {
	timeout 900 env "$@" valgrind --quiet --error-exitcode=99 \
		--leak-check=full --show-leak-kinds=definite,indirect,possible \
		--errors-for-leak-kinds=definite,indirect,possible \
		--track-fds=no --num-callers=20 $loop 3
}

# libnl and libibverbs have pointers to the middle of list elements: "possibly"
# lost.
check_ids() {
	timeout 900 valgrind --quiet --error-exitcode=99 --leak-check=full \
		--show-leak-kinds=definite,indirect \
		--errors-for-leak-kinds=definite,indirect --num-callers=20 \
		/usr/lib/rdma-cmx/selftests/process/close 2>&1 |
		grep -v -e 'unhandled ioctl' -e 'spurious value errors' \
			-e README_MISSING_SYSCALL
	return "${PIPESTATUS[0]}"
}

ok "the program exits with 0" $loop 3
ok "GAI-13: names resolved by the kernel" check A=1
ok "GAI-13: names resolved by libc" check RDMACMX_NAMES=libc
ok "RA-02: connections, groups and queue pairs" check_ids
finish
