#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: NAME_without runs NAME_stock with this library preloaded where the
# device is absent, as in a container. The stock library does the calls.
set -eu
if [ "${1:-}" != inside ]; then
	export COMPAT_DEVICE=rdma_cm RDMACMX_VERBOSE=1
	exec unshare --mount "$0" inside
fi
mount --make-rprivate /
mount -t tmpfs tmpfs /tmp
mkdir /tmp/infiniband
cp -a /dev/infiniband/* /tmp/infiniband/
rm /tmp/infiniband/rdma_cmx
mount --bind /tmp/infiniband /dev/infiniband
LD_PRELOAD=$(ls /usr/lib/*/librdmacmx.so.1) exec "${0%_without}_stock"
