#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: libfabric's provider verbs, unmodified, over the shim.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"
. /usr/lib/rdma-cmx/selftests/programs/each_functions

# The results depend on rdma_getaddrinfo() and on ids that it binds.
ids_note
found=$(at "$cl" "$run fi_info -p verbs" 2>&1)
is "fi_info: status" $? 0
is "fi_info: the same as on the stock library" "$found" \
	"$(at "$cl" "fi_info -p verbs" 2>&1)"
like "fi_info: endpoints with messages" "$found" 'type: FI_EP_MSG'
unlike "fi_info: at rdma_cmx" "$(ids_since)" '^0( 0)?$'
ids_note
found=$(at "$cl" "$run fi_info -p verbs -n $sa -P 7471 -t FI_EP_MSG" 2>&1)
is "fi_info, to an address: status" $? 0
is "fi_info, to an address: the same as on the stock library" "$found" \
	"$(at "$cl" "fi_info -p verbs -n $sa -P 7471 -t FI_EP_MSG" 2>&1)"
unlike "fi_info, to an address: at rdma_cmx" "$(ids_since)" '^0( 0)?$'
none_left "fi_info"

fi_pair "fi_pingpong, messages" msg 64
fi_pair "fi_pingpong, long messages" msg 65536

# These devices do not support it, with the stock library neither.
rdm='fi_pingpong -p "verbs;ofi_rxm" -e rdm -c -I 20 -S 4096'
alike "fi_pingpong, reliable datagrams" "$rdm" "$rdm $sa" fi_serves
bed_end
finish
