#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02, RA-03: one source, built with librdmacm and, by other flags of the
# compiler alone, with librdmacmx: both work, with each other, and the former
# with the shim preloaded; and built with rsockets, which stay with the stock
# library while the ids beside them are ours.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

tests=/usr/lib/rdma-cmx/selftests/programs
stock=$tests/echo_stock.helper
cmx=$tests/echo_cmx.helper
mix=$tests/echo_mix.helper

# echo_pair NAME IDS SERVER CLIENT: a hundred messages come back as they were
echo_pair() {
	pair "$1" "$2" "$3 $sa" "$4 -c $sa"
	is "$1: the client says so" "$c_out" "echoed 100"
	is "$1: the server says so" "$s_out" "served 100"
}
echo_pair "built with librdmacm" "0 0" $stock $stock
echo_pair "built with librdmacmx" "2 1" $cmx $cmx
echo_pair "the server built with librdmacmx" "2 0" $cmx $stock
echo_pair "the client built with librdmacmx" "0 1" $stock $cmx
echo_pair "built with librdmacm, preloaded" "2 1" "cmx run $stock" \
	"cmx run $stock"
echo_pair "built with librdmacmx, preloaded" "2 1" "cmx run $cmx" "cmx run $cmx"
echo_pair "with rsockets, stock" "0 0" $mix $mix
echo_pair "with rsockets, preloaded" "2 1" "cmx run $mix" "cmx run $mix"
echo_pair "with rsockets, server preloaded" "2 0" "cmx run $mix" $mix
echo_pair "with rsockets, client preloaded" "0 1" $mix "cmx run $mix"
bed_end
finish
