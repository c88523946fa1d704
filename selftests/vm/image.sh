#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Build the guests' initramfs: image.sh KVER WORKDIR, giving
# WORKDIR/stock.initrd and WORKDIR/programs (lines "GUEST MODE").
# After that, image.sh KVER WORKDIR debug gives WORKDIR/debug.initrd,
# WORKDIR/kernel (a link to what debug/kernel.sh printed) and WORKDIR/gcno-kernel,
# what gcov needs to know about the modules; gcno-user, of before, is the same of
# the library. And image.sh KVER WORKDIR KERNEL, one of next.sh's, gives
# WORKDIR/KERNEL.initrd and WORKDIR/KERNEL.vmlinuz: Debian's next release, whose
# programs and libraries are in a folder; the project's own programs are the same
# as in the others. It ends with 3 when there is no such release here.
# The folder /testing of "newest" has programs of Debian's testing, or the file
# "why" with the reason that they are not there.
#
# Busybox, the programs named below and what `make install` and
# `make install-selftests` install, with every library they need, and the
# stock kernel modules that the tests use.  One image serves all guests.
set -euo pipefail

kver=$1
work=$2
image=${3:-stock}
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
root=$work/root
triplet=$(gcc -print-multiarch)
# Where programs and stock modules come from; nothing: from this machine
from=''
export PATH=$PATH:/usr/sbin:/sbin

programs=(
	bash timeout setpriv prlimit kmod ldconfig ip ss rdma tc
	dnsmasq request-key keyctl key.dns_resolver getent
	rping mckey ucmatose udaddy cmtime rdma_server rdma_client rdma_xserver
	rdma_xclient rstream riostream udpong rcopy qperf fi_pingpong fi_info
	ibv_devices ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong
	ibv_srq_pingpong ibv_asyncwatch
	ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_lat ib_read_bw
	ib_atomic_lat ib_atomic_bw ucx_perftest
	opensm ibstat ibping sminfo saquery smpquery perfquery ibportstate
	ibnetdiscover
	tcpdump strace valgrind valgrind.bin
	nvme fio mkfs.ext4 crun
)
testing=(rping mckey ucmatose udaddy rstream)
modules=(
	virtio_pci virtio_net dummy veth bridge vrf macvlan 8021q bonding team
	sch_netem sch_prio cls_u32
	rdma_rxe crc32_pclmul crc32_generic crc32c_intel crc32c_generic
	ib_uverbs rdma_ucm ib_umad ib_ipoib rdmavt dns_resolver
	nvmet-rdma nvme-rdma brd ext4 vxlan
	9p 9pnet_virtio
)

tree_make() {
	local dir

	mkdir -p "$root"/{dev,proc,sys,run,tmp,root,etc} \
		"$root"/var/{lib,log,cache/opensm} "$root/etc/opensm" \
		"$root"/usr/{bin,sbin,lib,lib64}
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$root/$dir"
	done
	ln -s ../run "$root/var/run"
}

program_find() {
	local path

	[ -n "$from" ] || { command -v "$1"; return; }
	for path in "$from"/usr/bin/"$1" "$from"/usr/sbin/"$1"; do
		[ ! -x "$path" ] || { echo "$path"; return; }
	done
	# The other rows may need a program that the rows of that kernel do not.
	[ -n "${KERNELS:-}" ] && command -v "$1"
}

programs_copy() {
	local name path file

	install -D /bin/busybox "$root/usr/bin/busybox"
	for name in $(busybox --list | grep -vx busybox); do
		ln -sf busybox "$root/usr/bin/$name"
	done
	for name in "${programs[@]}"; do
		path=$(program_find "$name") || {
			echo "image: $name is not installed, left out" >&2
			continue
		}
		rm -f "$root/usr/bin/$name"
		cp -L "$path" "$root/usr/bin/$name"
	done
	for name in modprobe insmod rmmod lsmod modinfo depmod; do
		ln -sf kmod "$root/usr/bin/$name"
	done
	ln -sf bash "$root/usr/bin/sh"
	for name in request-key key.dns_resolver modprobe; do
		ln -s "../bin/$name" "$root/usr/sbin/$name"
	done
	# Loaded by dlopen, so that ldd does not see them
	for file in "$from/lib/$triplet/libgcc_s.so.1" \
		    "$from/usr/lib/$triplet"/libibverbs/*.so \
		    "$from/usr/lib/$triplet/rsocket/librspreload.so" \
		    "$from/usr/lib/$triplet/ucx"/libuct_ib.so.0 \
		    "$from"/usr/libexec/valgrind/{memcheck,helgrind}-amd64-linux \
		    "$from"/usr/libexec/valgrind/vgpreload_{core,memcheck,helgrind}-amd64-linux.so \
		    "$from/usr/libexec/valgrind/default.supp"; do
		[ -e "$file" ] || [ -z "${KERNELS:-}" ] || file=${file#"$from"}
		[ ! -e "$file" ] || install -D "$file" "$(place_of "$file")"
	done
	cp -a "$from/etc/libibverbs.d" "$root/etc/"
	# Valgrind wants the loader's symbols, by build id
	debug_copy "$from/lib64/ld-linux-x86-64.so.2"
	debug_copy "$from/lib/$triplet/libc.so.6"
}

# place_of FILE: where a file of the machine or of $from is in the image
place_of() {
	local path=${1#"$from"}

	case $path in
	/lib/* | /lib64/*) path=/usr$path ;;
	esac
	echo "$root$path"
}

debug_copy() {
	local id file

	id=$(readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p')
	file=$from/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	[ ! -e "$file" ] || install -D "$file" "$(place_of "$file")"
}

# The project itself and its tests; VM_BARE=1 leaves both out, for work on the
# bed itself, and VM_PARTIAL=1 goes on with what could be built.
# Runs at the same time do not build at the same time. All images have what is
# installed in WORKDIR/project.
project_make() {
	flock "$top/build/.lock" make -C "$top" -s --no-print-directory \
		${VM_PARTIAL:+-k} DESTDIR="$root" KVER="$kver" \
		"${modules_flags[@]}" "$@" ||
		[ -n "${VM_PARTIAL:-}" ]
}

project_install() {
	local root=$work/project

	rm -rf "$root"
	tree_make
	if [ -z "${VM_BARE:-}" ]; then
		mkdir -p "$top/build"
		project_make -j"$(nproc)" all selftests
		project_make install install-selftests
		gcno_keep user "$(cd "$top" && pwd -P)" build/sanitize
	else
		install -D "$top/selftests/system/bed.sh" \
			"$root/usr/lib/rdma-cmx/selftests/system/bed.sh"
	fi
	mkdir -p "$root/usr/lib/rdma-cmx/selftests" "$root/usr/lib/rdma-cmx/vm"
	cp "$here"/guest/{lib,fabric}.sh "$root/usr/lib/rdma-cmx/selftests/"
	cp "$top/selftests/tests" "$root/usr/lib/rdma-cmx/vm/tests"
	cp "$here"/guest/{peerd,check,lead,dnsmasq.conf,splat.sh,tests.sh,debug.sh} \
		"$root/usr/lib/rdma-cmx/vm/"
	gcc -O2 -Wall -o "$root/usr/lib/rdma-cmx/vm/dns-answer" \
		"$here/guest/dns-answer.c"
	install "$here/guest/init" "$root/init"
}

# libraries_of FILE: as ldd prints them. A loader of another release finds its own
# ones first; those that it lacks, as a compiler's, are the machine's.
libraries_of() {
	local dirs=$root/usr/lib/$triplet:$root/usr/lib loader

	if [ -n "$from" ]; then
		dirs+=:$from/usr/lib/$triplet
		loader=$from/usr/lib64/ld-linux-x86-64.so.2
		if "$loader" --verify "$1" 2>/dev/null; then
			"$loader" --library-path "$dirs" --list "$1"
			return
		fi
	fi
	LD_LIBRARY_PATH=$dirs ldd "$1"
}

# The project and the programs, of which all images have their own
root_make() {
	rm -rf "$root"
	cp -a "$work/project" "$root"
	programs_copy
	etc_write
}

# Every library of every program and library, from the root itself, from $from,
# or from the machine
libraries_copy() {
	local file lib

	[ -z "$from" ] || install -D "$from/usr/lib64/ld-linux-x86-64.so.2" \
		"$root/usr/lib64/ld-linux-x86-64.so.2"
	find "$root/usr" -path '*/lib/modules' -prune -o -path '*/lib/debug' \
		-prune -o -type f \( -perm -u+x -o -name '*.so*' \) -print |
	while read -r file; do
		libraries_of "$file" 2>/dev/null || true
	done | sed -n 's/^\t\(.* => \)\?\(\/[^ ]*\) (.*/\2/p' | sort -u |
	while read -r lib; do
		case $lib in "$root"/*) continue ;; esac
		file=$(place_of "$lib")
		[ -e "$file" ] || install -D "$lib" "$file"
	done
	# Works for root only; the guest makes the cache else
	ldconfig -r "$root" 2>/dev/null || true
}

# modules_copy KVER: some are built in, or are not there at all, on some kernels
modules_copy() {
	local files=$from/lib/modules/$1 to=$root/usr/lib/modules/$1 file

	mkdir -p "$to"
	cp "$files"/modules.{builtin,builtin.modinfo,order} "$to/"
	for file in "${modules[@]}"; do
		modprobe -d "$from/" -S "$1" --show-depends "$file" ||
			echo "image: no module $file" >&2
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u |
	while read -r file; do
		install -D -m 644 "$file" "$to/${file#*"/modules/$1/"}"
	done
	# Once here, instead of at each boot of a guest
	find "$to" -name '*.xz' -exec xz -d {} +
	depmod -b "$root" "$1"
}

etc_write() {
	cat >"$root/etc/passwd" <<-END
	root:x:0:0:root:/root:/bin/bash
	daemon:x:1:1:daemon:/:/bin/false
	nobody:x:65534:65534:nobody:/:/bin/bash
	user:x:1000:1000:user:/tmp:/bin/bash
	tcpdump:x:104:104::/:/bin/false
	rdma-cmx:x:105:105:name helper:/:/bin/false
	END
	cat >"$root/etc/group" <<-END
	root:x:0:
	daemon:x:1:
	user:x:1000:
	tcpdump:x:104:
	rdma-cmx:x:105:
	nogroup:x:65534:
	END
	echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
	printf '%s\n' 'passwd: files' 'group: files' 'services: files' \
		'protocols: files' >>"$root/etc/nsswitch.conf"
	printf '%s\n' '127.0.0.1 localhost' '::1 localhost' \
		'10.55.0.2 storage-in-hosts' >"$root/etc/hosts"
	cp /etc/protocols /etc/services "$root/etc/" 2>/dev/null ||
		printf '%s\n' 'ssh 22/tcp' 'http 80/tcp' 'iscsi-target 3260/tcp' \
			>"$root/etc/services"
	[ -e "$root/etc/request-key.conf" ] ||
		cp /etc/request-key.conf "$root/etc/"
	mkdir -p "$root/etc/request-key.d"
	cp -n /etc/host.conf /etc/gai.conf "$root/etc/" 2>/dev/null || true
}

# In place of all the others; the stock ones are in this kernel.
debug_modules_copy() {
	local dir src=$top/build/debug/src release to file

	dir=$("$here/debug/kernel.sh")
	ln -s "$dir" "$work/kernel"
	mkdir -p "$top/build/debug"
	flock "$top/build/.lock" "$here/debug/modules.sh" "$dir"
	release=$(cat "$dir/release")
	rm -rf "$root/usr/lib/modules"
	to=$root/usr/lib/modules/$release
	mkdir -p "$to/updates"
	cp "$dir"/build/modules.{builtin,builtin.modinfo,order} "$to/"
	find "$src" -name '*.ko' -exec cp {} "$to/updates/" \;
	depmod -b "$root" "$release"
	gcno_keep kernel "$src" kernel
}

# next_modules_install KVER: ours, compiled by that release
next_modules_install() {
	local to=$root/usr/lib/modules/$1/updates compiler text

	rm -rf "$root/usr/lib/modules"
	mkdir -p "$to" "$top/build/kernels"
	compiler=$(next_compiler)
	text=$(next_compile "$compiler" "$1")
	[ -z "$text" ] || { echo "$text" >&2; return 1; }
	next_found "$1" | xargs cp -t "$to"
}

# testing_copy: a root directory for chroot, with the programs of Debian's testing,
# their libraries and soft-RoCE's provider, and the project's library and command
testing_copy() {
	local to=$root/testing from file

	mkdir -p "$to"/{dev,proc,sys,tmp,usr/bin,usr/lib64}
	for file in bin lib lib64; do
		ln -s "usr/$file" "$to/$file"
	done
	from=$(next_testing_folder 2>"$to/why") || return 0
	for file in "${testing[@]}"; do
		[ -x "$from/usr/bin/$file" ] && continue
		echo "Debian $next_testing has no $file" >"$to/why"
		return
	done
	rm "$to/why"
	testing_copy_from "$from" "$to" && return
	rm -rf "${to:?}"/*
	echo "the files of Debian $next_testing are not where they were" >"$to/why"
}

# testing_copy_from FOLDER TO
testing_copy_from() {
	local from=$1 to=$2 libraries=usr/lib/$triplet file

	# pthread_cancel() loads libgcc_s.
	(cd "$from" && cp -L --parents -t "$to" "${testing[@]/#/usr/bin/}" .packages \
		usr/lib64/ld-linux-x86-64.so.2 "$libraries/libgcc_s.so.1" \
		"$libraries"/libibverbs/librxe-rdmav*.so \
		etc/libibverbs.d/rxe.driver) &&
		cp -a "$root/usr/bin/cmx" "$to/usr/bin/" &&
		cp -a "$root/$libraries"/librdmacmx.so* "$to/$libraries/" ||
		return
	for file in "$to"/usr/bin/* "$to/$libraries"/libibverbs/*; do
		"$from/usr/lib64/ld-linux-x86-64.so.2" --library-path \
			"$from/$libraries:$to/$libraries" --list "$file"
	done | sed -n "s|.* => $from/\(.*\) (.*|\1|p" | sort -u |
	while read -r file; do
		[ -e "$to/$file" ] || install -D "$from/$file" "$to/$file"
	done
}

# next_image KERNEL
next_image() {
	local release file

	root=$work/root-$1
	release=$(next_kver "$1") && from=$(next_guest) && next_mounts || exit
	[ -e "$from/usr/lib/modules/$release/modules.dep" ] ||
		depmod -b "$from" "$release"
	for file in "$from/boot/vmlinuz-$release" \
		    "$from/usr/lib/modules/$release/vmlinuz"; do
		[ ! -e "$file" ] || cp "$file" "$work/$1.vmlinuz"
	done
	root_make
	next_modules_install "$release"
	modules_copy "$release"
	libraries_copy
	[ "$1" != newest ] || testing_copy
	image_write "$1"
	rm -rf "$root"
}

# gcno_keep AREA BUILT FOLDER: those that were built now, before the next build
gcno_keep() {
	mkdir -p "$work/gcno-$1" "$2/$3"
	(cd "$2" && find "$3" -name '*.gcno' | cpio -pdm --quiet "$work/gcno-$1")
	echo "$2" >"$work/gcno-$1/.from"
}

# image_write KERNEL
image_write() {
	(cd "$root" && find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet) \
		>"$work/$1.initrd"
}

# A test that VM_BARE=1 or VM_PARTIAL=1 has left out does not run.
lists_write() {
	local tests=$root/usr/lib/rdma-cmx/selftests

	[ -n "${VM_BARE:-}${VM_PARTIAL:-}" ] ||
		tests_check "$tests" "$top/selftests"
	programs_list "$tests" >"$work/programs"
}

. "$here/flags.sh"
. "$here/guest/tests.sh"
. "$here/next.sh"

case $image in
stock) ;;
debug)
	debug_modules_copy
	image_write debug
	exit
	;;
*)
	next_image "$image"
	exit
	;;
esac
project_install
root_make
modules_copy "$kver"
libraries_copy
image_write stock
lists_write
