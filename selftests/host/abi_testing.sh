#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02, RA-03: host/abi beside the newest rdma-core, that of Debian's testing.
# TAP.
exec "${0%/*}/abi.sh" testing
