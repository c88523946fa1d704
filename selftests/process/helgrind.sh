#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02: the library's own tests with threads under Valgrind's helgrind: no two
# threads race for what no lock protects, and locks are taken in one order.
#
# Numbers of rounds and threads are small, for each instruction costs a hundred
# here. What is suppressed, in helgrind.supp, is others' code.
. /usr/lib/rdma-cmx/selftests/lib.sh
tests=/usr/lib/rdma-cmx/selftests

command -v valgrind >/dev/null || plan_skip "valgrind is not installed"
export CMX_ROUNDS=3 CMX_THREADS=4
diag "$CMX_ROUNDS rounds, $CMX_THREADS threads at most"

# run PROGRAM: errors turn a test's exit status, so it fails.
run() {
	local start=$SECONDS status

	timeout 300 valgrind --tool=helgrind --quiet --error-exitcode=99 \
		--num-callers=20 --suppressions=$tests/process/helgrind.supp \
		"$tests/$1" 2>&1 |
		grep -v -e 'unhandled ioctl' -e 'spurious value errors' \
			-e README_MISSING_SYSCALL
	status=${PIPESTATUS[0]}
	echo "$((SECONDS - start)) s"
	return "$status"
}

for program in process/threads process/close process/fork \
		process/fork_inherit lib/sync; do
	ok "helgrind: $program" run $program
done
# With threads of the library's own
export RDMACMX_NAMES=libc
ok "helgrind: api/rai_cancel, names asked by libc" run api/rai_cancel
finish
