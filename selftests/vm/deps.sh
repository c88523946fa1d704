#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Install what building and testing need on Debian 12; silent when all is there.
#
# Also unpacks, once, the few files of the kernel source package that the
# headers package lacks (kselftest headers, checkpatch.pl, Coccinelle's scripts),
# into the cache:
#   ${XDG_CACHE_HOME:-~/.cache}/rdma-cmx/linux-source-6.1/
#
# deps.sh lint: what `make lint` and libFuzzer need as well.
# deps.sh docs, deps.sh packages, deps.sh upgrade, deps.sh simulate: only what
# `make docs`, what `make deb` and `make rpm`, what the test host/upgrade, and
# what the drawings of `make simulate` need.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
tarball=/usr/src/linux-source-6.1.tar.xz
packages=(
	# to build
	bash gcc g++ make git libc6-dev netbase pkg-config xz-utils kmod dkms
	linux-headers-amd64 linux-source-6.1
	libibverbs-dev librdmacm-dev libkeyutils-dev python3-docutils
	libibumad-dev libibmad-dev
	# 32-bit test programs
	gcc-multilib
	# the debug kernel
	bc bison flex libelf-dev libssl-dev cpio
	# to boot
	qemu-system-x86 linux-image-amd64 busybox-static
	# in the guests
	ibverbs-providers rdmacm-utils ibverbs-utils perftest iproute2
	dnsmasq-base keyutils tcpdump strace valgrind libc6-dbg
	opensm infiniband-diags qperf libfabric-bin ucx-utils crun
)

# Sphinx for `make docs`, which runs scripts/kernel-doc of the kernel's headers
packages_docs=(perl python3-sphinx)
# Large, and not for `make demo`
# (Coccinelle loads libpython3.11.so by that name. bpftrace, for cmx/trace, has
# its compiler in common with clang. Podman is for programs/podman.)
packages_lint=(sparse coccinelle libpython3-dev clang libclang-rt-14-dev
	shellcheck bpftrace podman)
# Large as well; programs/nvme alone needs them
packages_storage=(nvme-cli fio e2fsprogs)
# For `make deb` and `make rpm`, which host/packages runs
packages_packages=(dpkg-dev debhelper dh-dkms fakeroot lintian rpm rpmlint
	python3-docutils libibverbs-dev librdmacm-dev libkeyutils-dev)
# For host/upgrade
packages_upgrade=("${packages_packages[@]}" mmdebstrap qemu-system-x86)
# For `make simulate`
packages_simulate=(gnuplot-nox)

die() { echo "deps: $*" >&2; exit 1; }

packages_missing() {
	local have pkg

	have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' \
		"${packages[@]}" 2>/dev/null || true)
	for pkg in "${packages[@]}"; do
		grep -qx "$pkg installed" <<<"$have" || echo "$pkg"
	done
}

# packages_install PACKAGE...: a machine that has had no kernel boots from
# elsewhere. There the initrd gets no drivers: with all of them it takes minutes.
packages_install() {
	local root=() small='' conf=/etc/initramfs-tools/conf.d

	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null ||
			die "packages are missing: $*. Become root, or install" \
			    "them by hand: apt-get install $*"
		root=(sudo)
	fi
	echo "deps: installing $*"
	export DEBIAN_FRONTEND=noninteractive
	"${root[@]}" apt-get -q update ||
		die "apt-get update failed: is the network there?"
	if [ ! -e /etc/initramfs-tools/initramfs.conf ] &&
	   ! compgen -G '/boot/vmlinu?-*'; then
		small=$conf/rdma-cmx-deps
		# shellcheck disable=SC2064 # the words as they are now
		trap "${root[*]} rm -f $small" EXIT
		"${root[@]}" mkdir -p $conf
		echo MODULES=list | "${root[@]}" tee "$small"
	fi >/dev/null
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		--no-install-recommends -o Dpkg::Options::=--force-confold \
		-o Dpkg::Use-Pty=0 install "$@" ||
		die "apt-get install failed, see above"
	[ -z "$small" ] || "${root[@]}" rm -f "$small"
	trap - EXIT
}

# The stamp has the package's version, so that an update unpacks again.
source_unpack() {
	local dir=$cache/linux-source-6.1 version tmp

	version=$(dpkg-query -W -f '${Version}' linux-source-6.1)
	[ "$(cat "$dir/.version" 2>/dev/null)" != "$version" ] ||
		[ ! -d "$dir/scripts/coccinelle" ] || return 0
	echo "deps: unpacking ${*##*/} from $tarball"
	mkdir -p "$cache"
	tmp=$(mktemp -d "$cache/unpack.XXXXXX")
	# shellcheck disable=SC2064 # the name as it is now
	trap "rm -rf '$tmp'" EXIT
	XZ_DEFAULTS=-T0 tar -C "$tmp" -xJf "$tarball" "${@/#/linux-source-6.1/}"
	echo "$version" >"$tmp/linux-source-6.1/.version"
	rm -rf "$dir"
	mv -T "$tmp/linux-source-6.1" "$dir" || [ -e "$dir/.version" ]
	rm -rf "$tmp"
}

# A kernel and headers of the same version: the installed image may be older.
kernel_bootable() {
	"${0%/*}"/kernel.sh >/dev/null 2>&1
}

command -v dpkg-query >/dev/null ||
	die "this installs Debian packages, and this machine is not Debian." \
	    "What is needed: ${packages[*]}"

case ${1:-} in
lint)
	packages+=("${packages_lint[@]}" "${packages_docs[@]}"
		"${packages_storage[@]}")
	;;
docs) packages=(linux-headers-amd64 "${packages_docs[@]}") ;;
packages) packages=("${packages_packages[@]}") ;;
upgrade) packages=("${packages_upgrade[@]}") ;;
simulate) packages=("${packages_simulate[@]}") ;;
esac
mapfile -t missing < <(packages_missing)
case ${1:-} in
docs | packages | upgrade | simulate)
	[ ${#missing[@]} = 0 ] || packages_install "${missing[@]}"
	exit
	;;
esac
if [ ${#missing[@]} != 0 ]; then
	# Both names bring image and headers to the same version.
	packages_install "${missing[@]}" linux-image-amd64 linux-headers-amd64
fi
kernel_bootable || packages_install linux-image-amd64 linux-headers-amd64
source_unpack tools/testing/selftests/kselftest.h \
	tools/testing/selftests/kselftest_harness.h scripts/coccinelle \
	scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch
