# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# How make compiles the modules for the stock guests; sourced. A warning ends the
# build, so that `make check` compiles once for the guests and for sparse.
# Debug information would be 50 MB of each image, and of what modprobe reads.
# shellcheck shell=bash disable=SC2034
modules_flags=(W=1 "KCFLAGS=-g0 -Werror")
