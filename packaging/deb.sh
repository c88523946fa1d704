#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# deb.sh DIR: build the Debian packages in DIR. The log is DIR/log.
set -euo pipefail
unset MAKEFLAGS MFLAGS MAKELEVEL

here=$(cd "${0%/*}" && pwd)
rm -rf "$1"
mkdir -p "$1"
out=$(cd "$1" && pwd)
"$here/tree.sh" "$out/rdma-cmx"
cd "$out/rdma-cmx"
dpkg-buildpackage -b -us -uc -j2 >"$out/log" 2>&1 || {
	tail -n 40 "$out/log" >&2
	echo "deb: dpkg-buildpackage failed, see $out/log" >&2
	exit 1
}
rm -rf "$out/rdma-cmx"
