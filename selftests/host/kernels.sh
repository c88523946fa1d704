#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The modules and those of the tests compile without a warning (W=1) for the
# kernels of the next Debian release and of its backports, with that release's
# compiler; `make lint` does the same for the kernel here. On the host, TAP.
# Objects stay in build/kernels, so that a second run compiles what changed.
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
release=trixie
suites=("$release" "$release-backports")
modules=(. selftests/consumer selftests/fabric)
tools=(bash dash coreutils sed grep mawk findutils diffutils make gcc-14)
export PATH=$PATH:/usr/sbin:/sbin

# shellcheck source-path=SCRIPTDIR source=../vm/guest/lib.sh
. "$here/../vm/guest/lib.sh"

# suite WORD...: suite.sh's answer in $answer; without one, fail or skip all
suite() {
	local status

	answer=$("$here/../vm/suite.sh" "$release" "$@" 2>"$work/err")
	status=$?
	case $status in
	0) return ;;
	3) plan_skip "$(cat "$work/err")" ;;
	esac
	plan 1
	fail "headers of Debian's $release can be had"
	diag "$(cat "$work/err")"
	finish
}

# What the script below does in $root, with the copy of the tree at /mnt
compile() {
	local kver=$1 copy=$top/build/kernels/$1 flags=-m

	[ "$(id -u)" = 0 ] || flags=-rm
	mkdir -p "$copy"
	tar -C "$top" -c --exclude='*.o' --exclude='*.ko' --exclude='*.cmd' \
		--exclude='*.mod*' --exclude=Module.symvers \
		--exclude=modules.order Kbuild kernel uapi \
		selftests/consumer selftests/fabric | tar -C "$copy" -x
	unshare $flags bash -s "$root" "$copy" "$kver" "${modules[@]}" <<-'END'
	root=$1 copy=$2 kver=$3
	shift 3
	mount --rbind "$copy" "$root/mnt" && mount --rbind /dev "$root/dev" &&
		mount --rbind /proc "$root/proc" &&
		mount -t tmpfs tmpfs "$root/tmp" || exit
	for dir; do
		chroot "$root" env LC_ALL=C make -s -j2 W=1 KCFLAGS=-Werror \
			CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= \
			-C "/lib/modules/$kver/build" M="/mnt/$dir" $symbols \
			modules || exit
		symbols=KBUILD_EXTRA_SYMBOLS=/mnt/Module.symvers
	done
	END
}

# But for the tool that is left out, as there is no BTF here
warnings() {
	grep -vE '^warning: pahole version|^  (The kernel was built with|You are using):'
}

found() {
	local dir

	for dir in "${modules[@]}"; do
		find "$top/build/kernels/$1/${dir/#./kernel}" -name '*.ko' -printf '%f\n'
	done | sort | xargs
}

work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-kernels.XXXXXX") || exit
trap 'rm -rf "$work"' EXIT
why=$(unshare "$([ "$(id -u)" = 0 ] && echo -m || echo -rm)" true 2>&1) ||
	plan_skip "no mount namespace to be had here (${why#unshare: })"
headers=()
for suite in "${suites[@]}"; do
	suite newest "linux-headers-$(dpkg --print-architecture)" "$suite"
	headers+=("$answer")
done
suite folder "${tools[@]}" "${headers[@]}"
root=$answer
mkdir -p "$root/mnt"
ln -sf mawk "$root/usr/bin/awk"
# kernel-doc, which W=1 runs on some kernels: `make lint` has it
ln -sf true "$root/usr/bin/perl"

plan $((2 * ${#headers[@]}))
for name in "${headers[@]}"; do
	kver=${name#linux-headers-}
	# Not by a pipe's status: warnings count, too
	compile "$kver" >"$work/log" 2>&1 || echo "it ended with $?" >>"$work/log"
	is "RE-01: no warning for $kver" "$(warnings <"$work/log" | tail -n 30)" ""
	is "RE-01: the modules for $kver" "$(found "$kver")" \
		"cmx_consumer.ko cmx_fabric.ko rdma_cmx.ko rdma_ucmx.ko"
done
finish
