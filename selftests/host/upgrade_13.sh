#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-01: host/upgrade on Debian 13, from its own kernel to that of its
# backports. TAP.
exec "${0%/*}/upgrade.sh" trixie
