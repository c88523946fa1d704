#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# tree.sh DIR: copy to the new DIR what packages are built from, without the
# tests and without what was built before. tree.sh --sum: print a sum of it.
set -euo pipefail

top=$(cd "${0%/*}/.." && pwd)
sources() {
	tar -C "$top" -c --exclude='*.o' --exclude='*.o.d' --exclude='*.ko' \
		--exclude='*.cmd' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude=joined.c --exclude=Module.symvers --exclude=modules.order "$@" \
		Kbuild Makefile dkms.conf README.md Documentation LICENSES \
		debian kernel packaging uapi user
}

if [ "$1" = --sum ]; then
	sources --sort=name --mtime=@0 | sha256sum
	exit
fi
rm -rf "$1"
mkdir -p "$1"
sources | tar -C "$1" -x
