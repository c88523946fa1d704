#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# vendor.sh KVER: which RDMA stack the modules are built for. Makefile and
# dkms.conf run it; Documentation/install.rst describes it.
#
# Prints the directory of a vendor's headers, or nothing for the kernel's own.
# MLNX_OFED and DOCA-OFED replace ib_core: a module built with other headers
# than those of the ib_core that will be loaded corrupts memory. Where the two
# do not match, it prints one sentence to stderr and exits with 1.
#
# OFA_DIR=DIR takes the headers in DIR, OFA_DIR= the kernel's own; ib_core is
# not looked at then. CMX_ROOT=DIR looks below DIR instead of / (for tests).
kver=${1:?usage: vendor.sh KVER}
root=${CMX_ROOT:-}
src=$root/usr/src/ofa_kernel
PATH=$PATH:/usr/sbin:/sbin

die() { echo "rdma-cmx: $*" >&2; exit 1; }

# The kernel that a vendor's configure recorded in a tree, if it did
tree_kernel() {
	sed -n 's/^KVERSION[ :]*=[ "]*\([^ "]*\).*/\1/p' \
		"$1/configure.mk.kernel" 2>/dev/null | head -n 1
}

# The checksum of ib_core that the modules beside it have, if they have any
ib_core_crc() {
	[ -n "${ib_core:-}" ] || return 0
	for name in ib_cm rdma_cm ib_uverbs; do
		modprobe --dump-modversions \
			"$(dirname "$(readlink -f "$ib_core")")/$name".ko*
	done 2>/dev/null | symbol_crc
}

symbol_crc() {
	awk '$2 == "ib_register_client" { print $1; exit }' "$@"
}

# crc_check DIR KERNEL: are they of the version that is installed?
crc_check() {
	has=$(symbol_crc "$1/Module.symvers")
	wants=$(ib_core_crc)
	[ "${wants:-$has}" = "$has" ] ||
		die "the headers in $1 are not those of $ib_core: the checksum" \
		    "of ib_register_client is $has there, and $wants in the" \
		    "modules beside it: install the vendor's headers of the" \
		    "same version for $2, or name their directory in OFA_DIR."
}

# tree_use DIR KERNEL: print DIR if it can be built with
tree_use() {
	found=$(tree_kernel "$1")
	[ "${found:-$2}" = "$2" ] ||
		die "the headers in $1 are for Linux $found, not for $2:" \
		    "install the vendor's headers for $2, or name their" \
		    "directory in OFA_DIR."
	[ -e "$1/include/rdma/ib_verbs.h" ] ||
		die "$1 has no include/rdma/ib_verbs.h: reinstall the" \
		    "vendor's headers for $2, or name their directory in" \
		    "OFA_DIR."
	grep -qw ib_register_client "$1/Module.symvers" 2>/dev/null ||
		die "$1 has no Module.symvers with the symbols of ib_core:" \
		    "reinstall the vendor's headers for $2, or name their" \
		    "directory in OFA_DIR."
	crc_check "$1" "$2"
	echo "$1"
	exit 0
}

# The file of ib_core, "(builtin)", or nothing. Where depmod has not run, the
# order of the directories is depmod's.
ib_core_find() {
	modinfo ${root:+-b "$root"} -k "$kver" -F filename ib_core 2>/dev/null && return
	cd "$root/lib/modules/$kver" 2>/dev/null || return
	for dir in updates extra weak-updates kernel; do
		find "$PWD/$dir" -name 'ib_core.ko*' 2>/dev/null
	done | head -n 1
}

if [ -n "${OFA_DIR+set}" ]; then
	[ -n "$OFA_DIR" ] || exit 0
	[ -d "$OFA_DIR" ] || die "OFA_DIR=$OFA_DIR is not a directory."
	tree_use "$(cd "$OFA_DIR" && pwd)" "$kver"
fi

ib_core=$(ib_core_find)
case $ib_core in
'')
	vendor='' built=$kver own='not installed'
	;;
'(builtin)' | */lib/modules/"$kver"/kernel/*)
	vendor='' built=$kver own="the kernel's own"
	;;
*)
	# weak-updates/ has links to modules that were built for a kernel with
	# the same symbols; the headers are for that one, too.
	vendor=$ib_core
	built=$(readlink -f "$ib_core")
	built=${built##*/lib/modules/}
	built=${built%%/*}
	;;
esac

# MLNX_OFED from 5.5 on, before that, and DOCA-OFED by DKMS, which has links
# to the last one in the first: they may be absolute, and lead nowhere in a
# container
headers=''
for dir in "$src/$(uname -m)/$built" "$src/$built" \
		"$src-dkms/$(uname -m)/$built"; do
	if [ -d "$dir" ]; then
		headers=$dir
		break
	fi
done

# It may belong to any kernel.
other=''
if [ -z "$headers" ] && [ -d "$src/default" ]; then
	other=$(tree_kernel "$src/default")
	[ -n "$other" ] || other=$(basename "$(readlink -f "$src/default")")
	[ "$other" != "$built" ] || headers=$src/default
fi

[ -n "$vendor$headers" ] || exit 0
[ -n "$headers" ] ||
	die "ib_core of Linux $kver is a vendor's ($vendor), but" \
	    "${other:+$src/default is for Linux $other, and }there are no" \
	    "headers for $built in $src: install the vendor's headers for" \
	    "$built, or name their directory in OFA_DIR."
[ -n "$vendor" ] ||
	die "$headers has a vendor's headers, but ib_core of Linux $kver is" \
	    "$own: install the vendor's modules for $kver, remove those" \
	    "headers, or choose the kernel's own stack by an empty OFA_DIR."
tree_use "$headers" "$built"
