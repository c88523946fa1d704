#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-13, RA-02: tests of the library under Valgrind's memcheck: no invalid
# access, no undefined value, no leak. system/valgrind.sh has long loops of
# resolutions.
. /usr/lib/rdma-cmx/selftests/process/functions

# libnl and libibverbs have pointers to the middle of list elements: "possibly"
# lost.
leaks="--leak-check=full --show-leak-kinds=definite,indirect
	--errors-for-leak-kinds=definite,indirect"

# Those with threads and fork() run under ASan instead, since they take longer
# here than all others.
for program in process/close api/gai_misuse; do
	# shellcheck disable=SC2086 # several options
	ok "memcheck: $program" run $program $leaks
done
finish
