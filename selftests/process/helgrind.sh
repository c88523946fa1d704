#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02: tests with threads under Valgrind's helgrind: no data race without a
# lock, and one lock order.
#
# helgrind.supp suppresses only code of other projects.
#
# It reports what no lock orders, whether or not two threads meet there. A second
# round finds what the first one has set up, a third one takes the same way.
export CMX_ROUNDS=2 CMX_THREADS=3
. /usr/lib/rdma-cmx/selftests/process/functions

helgrind() {
	run "$1" --tool=helgrind \
		--suppressions="$tests/process/helgrind.supp"
}

for program in process/threads process/acks process/requests process/fork \
	lib/sync; do
	ok "helgrind: $program" helgrind $program
done
# With threads that the library creates
export RDMACMX_NAMES=libc
ok "helgrind: api/rai_cancel, names resolved by libc" helgrind api/rai_cancel
finish
