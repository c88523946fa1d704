#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# GAI-13, RA-02: the library's own tests under Valgrind's memcheck: no wrong
# access, no undefined value, no leak. system/valgrind.sh has long loops of
# resolving.
. /usr/lib/rdma-cmx/selftests/process/functions

# Lists of libnl and libibverbs are held by their middle: "possibly" lost.
leaks="--leak-check=full --show-leak-kinds=definite,indirect
	--errors-for-leak-kinds=definite,indirect"

# process/threads, process/fork and process/fork_inherit run under ASan, and
# took more here than all others.
for program in process/close api/gai_misuse; do
	# shellcheck disable=SC2086 # several options
	ok "memcheck: $program" run $program $leaks
done
finish
