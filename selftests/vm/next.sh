# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The kernels of the next Debian release, with its compiler and its user space:
# "6.12" is that release's own kernel, "newest" that of its backports. Also, for the
# newest rdma-core, the user space of Debian's testing, without a kernel. Sourced
# by scripts that have the tree's folder in top.
# Each returns 3, and says why on stderr, where there is no such thing here.
# shellcheck shell=bash

: "${top:?}"
next_release=trixie
next_kernels=(6.12 newest)
next_modules=(. selftests/consumer selftests/fabric selftests/storage)
next_tools=(bash dash coreutils sed grep mawk findutils diffutils make gcc-14
	g++-14 pkgconf libc6-dev libibverbs-dev librdmacm-dev libkeyutils-dev
	rdmacm-utils)
next_programs=(bash coreutils util-linux libc-bin kmod iproute2 dnsmasq-base
	keyutils ibverbs-providers ibverbs-utils rdmacm-utils perftest qperf
	libfabric-bin opensm infiniband-diags tcpdump strace valgrind libc6-dbg
	crun)
# Its packages change every day, so nothing here names a version.
next_testing=forky
next_testing_packages=(rdmacm-utils ibverbs-providers librdmacm-dev libibverbs-dev)

next_suite() {
	"$top/selftests/vm/suite.sh" $next_release,$next_release-backports "$@"
}

# next_kver KERNEL: prints its release
next_kver() {
	local suite=$next_release name

	[ "$1" = "${next_kernels[0]}" ] || suite+=-backports
	name=$(next_suite newest "linux-headers-$(dpkg --print-architecture)" \
		"$suite") || return
	echo "${name#linux-headers-}"
}

# Prints the release of each, in order.
next_kvers() {
	local kernel

	for kernel in "${next_kernels[@]}"; do
		next_kver "$kernel" || return
	done
}

# next_mounts: can a process here mount on private folders?
next_mounts() {
	local why

	why=$(unshare "$([ "$(id -u)" = 0 ] && echo -m || echo -rm)" true 2>&1) ||
		{ echo "no mount namespace to be had here (${why#unshare: })" >&2
		  return 3; }
}

# The folder to compile in, for all of them
next_compiler() {
	local root kvers

	next_mounts || return
	kvers=$(next_kvers) || return
	# shellcheck disable=SC2046,SC2086 # one word each
	root=$(next_suite folder compile "${next_tools[@]}" \
		$(printf 'linux-headers-%s ' $kvers)) || return
	mkdir -p "$root/mnt"
	ln -sf mawk "$root/usr/bin/awk"
	ln -sf gcc-14 "$root/usr/bin/gcc"
	ln -sf g++-14 "$root/usr/bin/g++"
	# kernel-doc, which W=1 runs on some kernels: `make lint` has it
	ln -sf true "$root/usr/bin/perl"
	echo "$root"
}

# The folder with the programs for guests, and with the kernels
next_guest() {
	local kvers

	kvers=$(next_kvers) || return
	# shellcheck disable=SC2046,SC2086 # one word each
	next_suite folder guest "${next_programs[@]}" \
		$(printf 'linux-image-%s ' $kvers)
}

# The folder with librdmacm, its headers and programs of Debian's testing. Each
# failure means that there is none: the tests do not depend on a mirror.
next_testing_folder() {
	"$top/selftests/vm/suite.sh" $next_testing folder rdma \
		"${next_testing_packages[@]}" || return 3
}

# next_copy NAME PATH...: copies these of the tree, without objects, to
# build/kernels/NAME
next_copy() {
	local copy=$top/build/kernels/$1

	shift
	mkdir -p "$copy"
	tar -C "$top" -c --exclude='*.o' --exclude='*.ko' --exclude='*.cmd' \
		--exclude='*.mod*' --exclude=Module.symvers \
		--exclude=modules.order "$@" | tar -C "$copy" -x
}

# next_inside ROOT NAME SCRIPT [ARGUMENT...]: runs it in ROOT, with that copy of
# the tree at /mnt
next_inside() {
	local flags=-m

	[ "$(id -u)" = 0 ] || flags=-rm
	# shellcheck disable=SC2016 # of the inner shell
	unshare $flags bash -c '
		root=$1 copy=$2
		shift 2
		mount --rbind "$copy" "$root/mnt" &&
			mount --rbind /dev "$root/dev" &&
			mount --rbind /proc "$root/proc" &&
			mount -t tmpfs tmpfs "$root/tmp" || exit
		exec chroot "$root" env LC_ALL=C bash -c "$@"
	' - "$1" "$top/build/kernels/$2" "$3" - "${@:4}" </dev/null
}

# next_compile ROOT KVER: the modules and those of the tests in build/kernels/KVER,
# as the script below makes them in ROOT. Prints what is a warning. One that came
# once does not come again for an object that is there, so that after one nothing
# is left.
next_compile() (
	root=$1 release=$2 copy=$top/build/kernels/$2

	mkdir -p "$top/build/kernels"
	exec 9>"$top/build/kernels/lock"
	flock 9
	next_copy "$release" Kbuild kernel uapi "${next_modules[@]:1}"
	# shellcheck disable=SC2016 # of the inner shell
	next_inside "$root" "$release" '
	kver=$1
	shift
	for dir; do
		make -s -j2 W=1 KCFLAGS=-Werror \
			CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= \
			-C "/lib/modules/$kver/build" M="/mnt/$dir" $symbols \
			modules || exit
		symbols=KBUILD_EXTRA_SYMBOLS=/mnt/Module.symvers
	done' "$release" "${next_modules[@]}" >"$copy.log" 2>&1 ||
		echo "it ended with $?" >>"$copy.log"
	# Except for the tool that is left out, as there is no BTF here
	! grep -vE '^warning: pahole version|^  (The kernel was built with|You are using):' \
		"$copy.log" || rm -rf "$copy"
)

# next_user ROOT: compiles user space in ROOT, with the headers there; prints
# warnings. Then build/kernels/user.abi has what host/abi.sh prints in ROOT.
next_user() (
	copy=$top/build/kernels/user

	mkdir -p "$copy"
	exec 9>"$top/build/kernels/lock"
	flock 9
	rm -rf "$copy"
	next_copy user Makefile user uapi selftests/host
	# shellcheck disable=SC2069 # the output to the file, warnings to the caller
	next_inside "$1" user 'cd /mnt &&
		make -s -j2 user CC=gcc CFLAGS="-O2 -g -Werror" >&2 || exit
		selftests/host/abi.sh
		true' 2>&1 >"$copy.abi" || echo "it ended with $?"
)

# next_found KVER: prints the compiled files, one for each line
next_found() {
	local dir

	for dir in "${next_modules[@]}"; do
		find "$top/build/kernels/$1/${dir/#./kernel}" -name '*.ko'
	done
}
