#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02, RA-03: one source, built with librdmacm and, by other compiler flags
# only, with librdmacmx. Both work, with each other, and the former with the
# shim preloaded. A third build uses rsockets of the stock library beside ids of
# rdma_cmx, with the flags of either library.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

tests=/usr/lib/rdma-cmx/selftests/programs
stock=$tests/tools/echo_stock
cmx=$tests/tools/echo_cmx
mix=$tests/tools/echo_mix
both=$tests/tools/echo_both
static=$tests/tools/echo_static

# echo_pair NAME IDS SERVER CLIENT: a hundred messages come back unchanged
echo_pair() {
	pair "$1" "$2" "$3 $sa" "$4 -c $sa"
	is "$1: the client reports it" "$c_out" "echoed 100"
	is "$1: the server reports it" "$s_out" "served 100"
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
echo_pair "with rsockets, built with librdmacmx alone" "2 1" $both $both
echo_pair "with rsockets, the same beside stock" "2 0" $both $mix
echo_pair "with rsockets, the same, preloaded" "2 1" "cmx run $both" \
	"cmx run $both"
echo_pair "with rsockets, the static library" "2 1" $static $static
bed_end
finish
