#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: NAME_preloaded runs NAME_stock, a program for the stock library.
set -u
export COMPAT_DEVICE=rdma_cmx
LD_PRELOAD=$(ls /usr/lib/*/librdmacmx.so.1) exec "${0%_preloaded}_stock"
