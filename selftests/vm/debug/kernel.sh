#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Print the folder of the debug kernel, building it first when there is none:
#	bzImage		to boot
#	build/		to build modules against (a pruned source tree)
#
# It is made of Debian's package linux-source-6.1 with the file `config`, and
# kept outside the tree by the package's version and a hash of what went in:
#	${XDG_CACHE_HOME:-~/.cache}/rdma-cmx/debug-kernel-VERSION-HASH/
# Runs at the same time wait for the one that builds.
set -euo pipefail
# The kernel's make must not inherit options of the calling make.
unset MAKEFLAGS MFLAGS MAKELEVEL

here=$(cd "${0%/*}" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
tarball=/usr/src/linux-source-6.1.tar.xz
config=$here/config
tmp=''
# Increase it when this script changes the result for the same config.
recipe=1

die() { echo "debug kernel: $*" >&2; exit 1; }

name_get() {
	local version hash

	version=$(dpkg-query -W -f '${Version}' linux-source-6.1) ||
		die "linux-source-6.1 is not installed: try 'make deps'"
	hash=$({ cat "$config"; echo $recipe; gcc --version; } | sha256sum)
	echo "debug-kernel-$version-${hash:0:12}"
}

# Without the parts that no configuration here compiles
source_unpack() {
	XZ_DEFAULTS=-T0 tar -C "$tmp" -xJf "$tarball" --wildcards \
		--exclude='linux-source-6.1/Documentation/*/*' \
		--exclude='linux-source-6.1/sound/*.[ch]' \
		--exclude='linux-source-6.1/drivers/gpu/*.[ch]' \
		--exclude='linux-source-6.1/drivers/media/*.[ch]' \
		--exclude='linux-source-6.1/drivers/staging/*.[ch]' \
		--exclude='linux-source-6.1/drivers/net/ethernet/*.[ch]' \
		--exclude='linux-source-6.1/drivers/net/wireless/*.[ch]' \
		--exclude='linux-source-6.1/tools/testing/*'
	mv "$tmp/linux-source-6.1" "$tmp/source"
}

# Kconfig silently drops unknown options and those with missing dependencies.
config_check() {
	local missing

	missing=$(grep '^CONFIG' "$config" | grep -vxFf "$tmp/source/.config") ||
		return 0
	die "these lines of $config did not come true: $missing"
}

kernel_make() {
	make -C "$tmp/source" -s -j"$(nproc)" "$@" >>"$tmp/log" 2>&1 || {
		tail -n 30 "$tmp/log" >&2
		die "the build failed, see above"
	}
}

# Keeps only the files that Kbuild reads to build a module outside the tree.
tree_prune() {
	local to=$tmp/kernel/build

	mkdir -p "$to"
	cp "$tmp/source/arch/x86/boot/bzImage" "$tmp/kernel/"
	(
		cd "$tmp/source"
		cp -r Makefile Kbuild .config Module.symvers System.map include \
			scripts modules.builtin modules.builtin.modinfo \
			modules.order "$to/"
		mkdir -p "$to/arch" "$to/tools/objtool"
		cp -r --parents arch/x86/include arch/x86/Makefile* \
			tools/objtool/objtool "$to/"
		[ ! -e arch/x86/tools ] || cp -r --parents arch/x86/tools "$to/"
	)
	find "$to" \( -name '*.o' -o -name '.*.cmd' \) -delete
	cp "$tmp/source/include/config/kernel.release" "$tmp/kernel/release"
}

name=$(name_get)
dir=$cache/$name
mkdir -p "$cache"
if [ ! -e "$dir/bzImage" ]; then
	exec 9>"$cache/debug-kernel.lock"
	flock 9
fi
if [ ! -e "$dir/bzImage" ]; then
	echo "building the debug kernel, about $((14 / $(nproc) + 1)) minutes" >&2
	# Remains of a killed build
	rm -rf "$cache"/debug-kernel.??????
	tmp=$(mktemp -d "$cache/debug-kernel.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT TERM HUP
	source_unpack
	kernel_make KCONFIG_ALLCONFIG="$config" allnoconfig
	config_check
	kernel_make bzImage modules
	tree_prune
	# Other configurations stay for two weeks.
	find "$cache" -maxdepth 1 -name 'debug-kernel-*' -type d -mtime +14 \
		-exec rm -rf {} +
	mv -T "$tmp/kernel" "$dir"
fi
echo "$dir"
