#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A program without RDMA does not load libibverbs because of the preload.
. /usr/lib/rdma-cmx/selftests/lib.sh

library=librdmacmx.so.1
# A dynamic program that reads its own maps
# shellcheck disable=SC2016 # for the shell that it starts
own_maps=(bash -c 'mapfile </proc/self/maps; printf %s "${MAPFILE[@]}"')

maps=$(LD_PRELOAD=$library "${own_maps[@]}")
like "it is preloaded" "$maps" "$library"
unlike "a preloaded program has no libibverbs" "$maps" 'libibverbs|libnl'
maps=$(cmx run "${own_maps[@]}")
like "cmx run preloads it" "$maps" "$library"
unlike "a program under cmx run has none" "$maps" 'libibverbs|libnl'
finish
