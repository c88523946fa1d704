#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The headers that the modules are built with after MLNX_OFED or DOCA-OFED has
# replaced ib_core: each case in a stand-in for /, then a build in one. TAP.
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
kver=${KVER:-$("$here/../vm/kernel.sh")} || exit
kdir=$(readlink -f "/lib/modules/$kver/build")
arch=$(uname -m)
other=5.4.0-42-generic
export PATH=$PATH:/usr/sbin:/sbin
unset OFA_DIR MAKEFLAGS MFLAGS MAKELEVEL

# shellcheck source-path=SCRIPTDIR source=../vm/guest/lib.sh
. "$here/../vm/guest/lib.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-vendor.XXXXXX") || exit
trap 'rm -rf "$work"' EXIT
export CMX_ROOT=$work/root
modules=$CMX_ROOT/lib/modules/$kver
ofa=$CMX_ROOT/usr/src/ofa_kernel
stock=$(modinfo -k "$kver" -F filename ib_core) || plan_skip "no ib_core here"

# root_new [FOLDER]: a node whose ib_core is in that folder of its modules
root_new() {
	rm -rf "$CMX_ROOT"
	mkdir -p "$modules" "$ofa"
	[ -n "${1:-}" ] || return 0
	mkdir -p "$modules/$1"
	cp "$stock" "$modules/$1/"
	depmod -b "$CMX_ROOT" "$kver" 2>/dev/null
}

own=kernel/drivers/infiniband/core

# headers_new DIR [KERNEL]: creates the headers of a vendor
headers_new() {
	mkdir -p "$1/include/rdma" "$1/include/linux"
	echo '#include_next <rdma/ib_verbs.h>' >"$1/include/rdma/ib_verbs.h"
	echo '#define CMX_STAND_IN 1' >"$1/include/linux/compat-2.6.h"
	# In the format of modpost, with a checksum that the kernel's ib_core
	# lacks
	printf '0x0badcafe\tib_register_client\t%s\tEXPORT_SYMBOL\t\n' \
		/build/drivers/infiniband/core/ib_core >"$1/Module.symvers"
	[ -z "${2:-}" ] || echo "KVERSION=$2" >"$1/configure.mk.kernel"
}

vendor() {
	"$top/kernel/vendor.sh" "$kver" 2>&1
}

# takes NAME DIR: selects it; nothing means the kernel's headers
takes() {
	local out

	out=$(vendor)
	is "$1" "$? $out" "0 $2"
}

# refuses NAME REGEX...: fails with one line that matches all of them
refuses() {
	local name=$1 out status

	shift
	out=$(vendor)
	status=$?
	for word; do
		grep -qE -e "$word" <<<"$out" || status=0
	done
	is "$name" "$status $(wc -l <<<"$out")" "1 1" || diag "$out"
}

# Beside ib_core, another module has the checksum of its symbols.
checksums() {
	local dir=$ofa/$arch/$kver crc

	cp "${stock%/*}"/ib_cm.ko* "$modules/updates/dkms/"
	crc=$(modprobe --dump-modversions "$modules"/updates/dkms/ib_cm.ko* |
		awk '$2 == "ib_register_client" { print $1 }')
	if [ -z "$crc" ]; then
		skip "headers of another version" "no MODVERSIONS"
	else
		refuses "headers of another version" \
			"$dir are not those of $modules/updates" \
			"is 0x0badcafe there, and $crc in"
	fi
	OFA_DIR=$dir takes "the same with OFA_DIR" "$dir"
	sed -i "s/0x0badcafe/${crc:-&}/" "$dir/Module.symvers"
	takes "headers of the same version" "$dir"
	rm "$modules"/updates/dkms/ib_cm.ko*
}

decisions() {
	root_new $own
	takes "the kernel's own ib_core, no vendor's headers" ""
	headers_new "$ofa/$other" && ln -s "$other" "$ofa/default"
	takes "the same, and default is for another kernel" ""
	headers_new "$ofa/$arch/$kver"
	refuses "a vendor's headers, but the kernel's own ib_core" \
		"the kernel's own: install"
	OFA_DIR='' takes "the same with an empty OFA_DIR" ""
	export OFA_DIR
	OFA_DIR=$ofa/$arch/$kver
	takes "the same with OFA_DIR" "$OFA_DIR"
	OFA_DIR=$ofa/nowhere
	refuses "OFA_DIR that does not exist" "nowhere is not a directory"
	unset OFA_DIR

	root_new updates/dkms
	refuses "a vendor's ib_core without headers" \
		"$modules/updates/dkms/ib_core" "are no headers for $kver"
	headers_new "$ofa/$other" && ln -s "$other" "$ofa/default"
	refuses "the same, and default is for another kernel" \
		"default is for Linux $other, and there are no headers for $kver"
	headers_new "$ofa-dkms/$arch/$kver"
	takes "DOCA-OFED's headers by DKMS" "$ofa-dkms/$arch/$kver"
	headers_new "$ofa/$kver"
	takes "MLNX_OFED's headers before 5.5" "$ofa/$kver"
	headers_new "$ofa/$arch/$kver" "$kver"
	takes "MLNX_OFED's headers" "$ofa/$arch/$kver"

	checksums

	echo "KVERSION=$other" >"$ofa/$arch/$kver/configure.mk.kernel"
	refuses "headers that were configured for another kernel" \
		"are for Linux $other, not for $kver"
	rm "$ofa/$arch/$kver/configure.mk.kernel"
	: >"$ofa/$arch/$kver/Module.symvers"
	refuses "headers without ib_core's symbols" "no Module.symvers"
	rm -r "$ofa/$arch/$kver/include"
	refuses "headers without ib_verbs.h" "no include/rdma/ib_verbs.h"

	root_new extra/mlnx-ofa_kernel/drivers/infiniband/core
	headers_new "$ofa/tree" "$kver" && ln -s tree "$ofa/default"
	takes "default for this kernel, ib_core in extra/" "$ofa/default"

	root_new
	headers_new "$ofa/$arch/$kver"
	refuses "a vendor's headers, but no ib_core" "not installed: install"
	rm -r "${ofa:?}/$arch"
	takes "neither headers nor ib_core" ""
	mkdir -p "$modules/updates" && cp "$stock" "$modules/updates/"
	refuses "a vendor's ib_core that depmod has not seen" "updates/ib_core"

	root_new
	mkdir -p "$modules/../$other/extra" "$modules/weak-updates"
	cp "$stock" "$modules/../$other/extra/"
	ln -s "../../$other/extra/${stock##*/}" "$modules/weak-updates/"
	headers_new "$ofa/$arch/$other"
	takes "ib_core of another kernel in weak-updates/" "$ofa/$arch/$other"
}

# A module of one file in place of both, built with the project's rules
tree_new() {
	local tree=$work/tree dir

	mkdir -p "$tree"/{user,selftests,kernel/{core,ucmx}}
	cp "$top"/{Makefile,Kbuild} "$tree/"
	cp "$top/kernel/vendor.sh" "$tree/kernel/"
	: >"$tree/user/user.mk"
	: >"$tree/selftests/selftests.mk"
	for dir in core ucmx; do
		echo 'obj-m := cmx_stand_in.o' >"$tree/kernel/$dir/Kbuild"
	done
	sed -i 's/cmx_stand_in/&2/' "$tree/kernel/ucmx/Kbuild"
	cat >"$tree/kernel/core/cmx_stand_in.c" <<-END
		#include <linux/module.h>
		#include <rdma/ib_verbs.h>
		static struct ib_client client = { .name = "stand-in" };
		static int __init start(void)
		{
			return ib_register_client(&client);
		}
		module_init(start);
		#ifdef CMX_STAND_IN
		MODULE_INFO(headers, "vendor");
		#else
		MODULE_INFO(headers, "kernel");
		#endif
		MODULE_LICENSE("GPL");
	END
	echo "#include \"../core/cmx_stand_in.c\"" \
		>"$tree/kernel/ucmx/cmx_stand_in2.c"
}

tree_make() {
	make -s -C "$work/tree" modules KVER="$kver" KDIR="$kdir" "$@" 2>&1
}

# made: prints the headers and the checksum of the build
made() {
	local ko=$work/tree/kernel/core/cmx_stand_in.ko

	modinfo -F headers "$ko"
	modprobe --dump-modversions "$ko" | awk '$2 == "ib_register_client" { print $1 }'
}

builds() {
	local out crc

	tree_new
	root_new updates/dkms
	out=$(tree_make)
	is "make fails where the two do not match" $? 2
	like "the error names the reason" "$out" "are no headers for $kver"
	is "make builds nothing" "$(find "$work/tree" -name '*.o')" ""
	headers_new "$ofa/$arch/$kver" "$kver"
	out=$(tree_make)
	is "make with a vendor's headers" $? 0 || diag "$out"
	crc=$(awk '$2 == "ib_register_client" { print $1 }' "$kdir/Module.symvers")
	if grep -q '^CONFIG_MODVERSIONS=y' "$kdir/.config"; then
		is "make uses them, and their symbols" "$(made | xargs)" \
			"vendor 0x0badcafe"
	else
		is "make uses them" "$(made | head -n 1)" vendor
		crc=''
	fi
	out=$(tree_make OFA_DIR=)
	is "make with an empty OFA_DIR" $? 0 || diag "$out"
	is "takes the kernel's own" "$(made | xargs)" "kernel${crc:+ $crc}"
}

plan 29
decisions
builds
finish
