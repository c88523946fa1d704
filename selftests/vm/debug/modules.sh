#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Build all modules of the project for the debug kernel: modules.sh KERNEL-DIR,
# which kernel.sh prints. The result is in build/debug/src, a copy of the tree,
# so that modules for Debian's kernel stay unchanged.
#
# Only these modules have coverage (gcov, kcov) and the undefined behaviour
# sanitizer, and only the two under test have gcov.
set -euo pipefail
unset MAKEFLAGS MFLAGS MAKELEVEL

build=$1/build
top=$(cd "${0%/*}/../../.." && pwd)
src=$top/build/debug/src

# Copies the sources with their times, and removes deleted ones.
sources_copy() {
	local list=$top/build/debug/files

	mkdir -p "$src"
	(
		cd "$top"
		find Kbuild kernel uapi selftests -type f \( -name '*.[ch]' \
			-o -name Kbuild -o -name '*.mk' \) \
			! -name '*.mod.c' ! -name joined.c | LC_ALL=C sort
	) >"$list.new"
	[ ! -e "$list" ] || comm -23 "$list" "$list.new" |
		while read -r file; do rm -f "${src:?}/$file"; done
	(cd "$top" && cpio -pdmu --quiet "$src" <"$list.new")
	mv "$list.new" "$list"
}

# modules_make FOLDER VARIABLES...
modules_make() {
	local dir=$1

	shift
	make -C "$build" -s -j"$(nproc)" M="$dir" KCOV_INSTRUMENT=y \
		UBSAN_SANITIZE=y "$@" modules
}

sources_copy
modules_make "$src" GCOV_PROFILE=y
for dir in "$src"/selftests/*/Kbuild; do
	modules_make "${dir%/Kbuild}" \
		KBUILD_EXTRA_SYMBOLS="$src/Module.symvers"
done
