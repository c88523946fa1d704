#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# dkms add, build, install and remove from the source tree, on the host but in
# private directories, so that the host does not change. TAP.
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
kver=${KVER:-$("$here/../vm/kernel.sh")} || exit
export PATH=$PATH:/usr/sbin:/sbin

# dkms requires root, and makes a signing key below /var/lib/dkms: a mount
# namespace hides the host's folder (with a user namespace, for other users).
if [ -z "${CMX_DKMS_INSIDE:-}" ]; then
	flags=-m
	[ "$(id -u)" = 0 ] || flags=-rm
	if ! why=$(unshare $flags true 2>&1); then
		echo "TAP version 13"
		echo "1..0 # SKIP no mount namespace to be had here (${why#unshare: })"
		exit 0
	fi
	CMX_DKMS_INSIDE=1 exec unshare $flags "$0"
fi

# shellcheck source-path=SCRIPTDIR source=../vm/guest/lib.sh
. "$here/../vm/guest/lib.sh"
mount -t tmpfs tmpfs /var/lib/dkms || plan_skip "cannot mount"
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-dkms.XXXXXX") || exit
trap 'rm -rf "$work"' EXIT

version=$(sed -n 's/^VERSION *:*= *//p' "$top/Makefile")
src=$work/src/rdma-cmx-$version
installed=$work/modules/$kver

dkms_do() {
	local action=$1

	shift
	# Otherwise dkms strips the debug information.
	KCFLAGS=-g0 timeout 2700 dkms "$action" -m rdma-cmx -v "$version" --no-depmod \
		--dkmstree "$work/tree" --sourcetree "$work/src" \
		--installtree "$work/modules" "$@" </dev/null 2>&1
}

modules_found() {
	find "$installed" -name 'rdma_*cmx.ko*' -printf '%f\n' |
		sed 's/\.[xgz]*$//' | sort | xargs
}

# The sources of the tree, without built files
mkdir -p "$src" "$work/tree" "$installed"
ln -s "$(readlink -f "/lib/modules/$kver/build")" "$installed/build"
tar -C "$top" -c --exclude='*.o' --exclude='*.ko' --exclude='*.cmd' \
	--exclude='*.mod*' --exclude=Module.symvers --exclude=modules.order \
	Kbuild Makefile dkms.conf kernel uapi user selftests | tar -C "$src" -x
# upgrade.sh has let the same dkms build these sources for this kernel: once is
# enough. Modules of the same names, of one line each.
if [ "$("$top/packaging/tree.sh" --sum)" = \
	"$(cat "$top/build/deb-tested/dkms-$kver" 2>/dev/null)" ]; then
	for name in core/rdma_cmx ucmx/rdma_ucmx; do
		echo "obj-m := ${name#*/}.o" >"$src/kernel/${name%/*}/Kbuild"
		printf '%s\n' '#include <linux/module.h>' \
			'MODULE_DESCRIPTION("-");' 'MODULE_LICENSE("GPL");' \
			>"$src/kernel/$name.c"
	done
fi

plan 12
is "version in dkms.conf and Makefile (OPS-01)" \
	"$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$top/dkms.conf")" "$version"
ok "dkms add" dkms_do add
# A vendor's ib_core without headers, see vendor.sh
mkdir -p "$work/vendor/lib/modules/$kver/updates"
: >"$work/vendor/lib/modules/$kver/updates/ib_core.ko"
out=$(CMX_ROOT=$work/vendor dkms_do build -k "$kver")
is "dkms build refuses headers that do not match ib_core" $? 10
like "the error names the reason" "$out" "^rdma-cmx: .* no headers for $kver"
# A kernel without InfiniBand
mkdir "$work/without"
ln -s "$(readlink -f "$installed/build")"/* "$work/without"
grep -v '^CONFIG_INFINIBAND' "$installed/build/.config" >"$work/without/.config"
out=$(dkms_do build -k "$kver" --kernelsourcedir "$work/without")
is "dkms build skips a kernel without InfiniBand" $? 77 || diag "$out"
out=$(dkms_do build -k "$kver")
is "dkms build" $? 0 || {
	diag "$out"
	diag "$(tail -n 30 "$work/tree/rdma-cmx/$version/build/make.log")"
}
ok "dkms install" dkms_do install -k "$kver"
is "both modules are installed" "$(modules_found)" "rdma_cmx.ko rdma_ucmx.ko"
# With the key that dkms created, where the kernel's headers can sign
if command -v openssl >/dev/null && [ -e /var/lib/dkms/mok.pub ]; then
	is "both are signed (secure-boot.rst)" \
		"$(find "$installed" -name 'rdma_*cmx.ko*' \
			-exec modinfo -F signer {} \; | sort -u)" \
		"DKMS module signing key"
else
	skip "both are signed (secure-boot.rst)" "dkms has nothing to sign with"
fi
ok "dkms remove" dkms_do remove --all
is "both modules are removed" "$(modules_found)" ""
mount -t tmpfs tmpfs /lib/modules && mkdir -p /lib/modules/1/updates/dkms &&
	touch /lib/modules/1/updates/{,dkms/}rdma_{,u}cmx.ko
is "the package warns of other modules" \
	"$(sh "$top/debian/rdma-cmx-dkms.postinst" configure 2>&1 |
		cut -d ' ' -f 2 | paste -sd ' ')" \
	"/lib/modules/1/updates/rdma_cmx.ko /lib/modules/1/updates/rdma_ucmx.ko"
finish
