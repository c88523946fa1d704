#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-13, RA-02: the library's own tests under Valgrind's memcheck: no wrong
# access, no undefined value, no leak. system/valgrind.sh has long loops of
# resolving.
#
# Programs are those that do much in little time; numbers of rounds and
# threads are small, for each instruction costs a hundred here.
. /usr/lib/rdma-cmx/selftests/lib.sh
tests=/usr/lib/rdma-cmx/selftests

command -v valgrind >/dev/null || plan_skip "valgrind is not installed"
export CMX_ROUNDS=3 CMX_THREADS=4
diag "$CMX_ROUNDS rounds, $CMX_THREADS threads at most"

# run PROGRAM OPTIONS...: errors turn a test's exit status, so it fails.
run() {
	local program=$1 start=$SECONDS status

	shift
	timeout 300 valgrind --quiet --error-exitcode=99 --num-callers=20 \
		"$@" "$tests/$program" 2>&1 |
		grep -v -e 'unhandled ioctl' -e 'spurious value errors' \
			-e README_MISSING_SYSCALL
	status=${PIPESTATUS[0]}
	echo "$((SECONDS - start)) s"
	return "$status"
}

# Lists of libnl and libibverbs are held by their middle: "possibly" lost.
leaks="--leak-check=full --show-leak-kinds=definite,indirect
	--errors-for-leak-kinds=definite,indirect"

for program in process/close process/threads api/gai_misuse; do
	# shellcheck disable=SC2086 # several options
	ok "memcheck: $program" run $program $leaks
done
# What other threads' stacks pointed to would be a leak in a child.
for program in process/fork process/fork_inherit; do
	ok "memcheck: $program" run $program
done
finish
