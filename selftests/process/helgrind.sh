#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02: tests with threads under Valgrind's helgrind: no data race without a
# lock, and one lock order.
#
# helgrind.supp suppresses only code of other projects.
#
# It reports what no lock orders, whether or not two threads meet there. A second
# round finds what the first one has set up, a third one takes the same way.
# Numbers of rounds and threads are small, since each instruction is about 100
# times slower.
. /usr/lib/rdma-cmx/selftests/lib.sh
tests=/usr/lib/rdma-cmx/selftests
export CMX_ROUNDS=2 CMX_THREADS=3

command -v valgrind >/dev/null || plan_skip "valgrind is not installed"

# helgrind PROGRAM: a report sets the exit status, so the test fails
helgrind() {
	local start=$SECONDS status

	timeout 900 valgrind --quiet --error-exitcode=99 --num-callers=20 \
		--tool=helgrind --suppressions="$tests/process/helgrind.supp" \
		"$tests/$1" 2>&1 |
		grep -v -e 'unhandled ioctl' -e 'spurious value errors' \
			-e README_MISSING_SYSCALL
	status=${PIPESTATUS[0]}
	echo "$((SECONDS - start)) s"
	return "$status"
}

for program in process/threads process/acks process/requests process/fork \
	lib/sync lib/calls; do
	ok "helgrind: $program" helgrind $program
done
# With threads that the library creates
export RDMACMX_NAMES=libc
ok "helgrind: api/rai_cancel, names resolved by libc" helgrind api/rai_cancel
finish
