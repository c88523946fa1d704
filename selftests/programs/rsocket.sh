#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: programs that use rsockets keep working with the shim preloaded: their
# rsockets stay inside the stock library, also in a program that uses ids of
# rdma_cmx at the same time.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
. /usr/lib/rdma-cmx/selftests/programs/each_functions

stream "rstream" rstream -S 5000 -C 5 -I 10 -T v
stream "riostream, long messages" riostream -S 1000000 -C 5 -I 10 -T v
stream "rstream, nonblocking" rstream -S 5000 -C 5 -I 10 -T n
stream "rstream, rdma_getaddrinfo" rstream -S 5000 -C 5 -I 10 -f ip -T r
bed_end
finish
