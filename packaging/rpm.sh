#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rpm.sh DIR: build the rpm packages in DIR/RPMS. The log is DIR/log. Where the
# machine has no database of rpm's, its packages cannot be checked.
set -euo pipefail
unset MAKEFLAGS MFLAGS MAKELEVEL

here=$(cd "${0%/*}" && pwd)
top=${here%/*}
version=$(sed -n 's/^VERSION *:*= *//p' "$top/Makefile")
rm -rf "$1"
mkdir -p "$1/SOURCES"
out=$(cd "$1" && pwd)
options=()
# Nor are there the macros of systemd: folders, and what scripts of Fedora do.
! command -v dpkg >/dev/null || options=(--nodeps
	--define '_modulesloaddir /usr/lib/modules-load.d'
	--define '_sysusersdir /usr/lib/sysusers.d'
	--define '_udevrulesdir /usr/lib/udev/rules.d'
	--define '_unitdir /usr/lib/systemd/system'
	--define "systemd_post() [ \$1 -ne 1 ] || systemctl --no-reload preset %{*} || :"
	--define "systemd_preun() [ \$1 -ne 0 ] || systemctl --no-reload disable --now %{*} || :"
	--define 'systemd_postun() systemctl daemon-reload || :')

"$here/tree.sh" "$out/rdma-cmx-$version"
tar -C "$out" -czf "$out/SOURCES/rdma-cmx-$version.tar.gz" "rdma-cmx-$version"
rpmbuild -bb "${options[@]}" --define "_topdir $out" \
	--define "cmx_version $version" "$here/rpm/rdma-cmx.spec" \
	>"$out/log" 2>&1 || {
	tail -n 40 "$out/log" >&2
	echo "rpm: rpmbuild failed, see $out/log" >&2
	exit 1
}
rm -rf "$out/rdma-cmx-$version" "$out/BUILD" "$out/BUILDROOT"
