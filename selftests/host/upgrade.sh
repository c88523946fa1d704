#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-01: the Debian packages on a fresh Debian, from apt-get install to purge.
# upgrade.sh [RELEASE]: this machine's release, or another one (upgrade_13.sh)
#
# The packages are those that host/packages.sh has built of the same sources, if
# there are any: Debian 13 has those that Debian 12 built.
# 1. Here, by chroot in a copy of the fresh root directory (vm/fresh.sh, an
#    overlay), without network: apt-get install of the packages; DKMS builds for
#    the kernel that is there. Of this machine's release there is none yet: each
#    build takes a minute. Then an upgrade to the newer one, by apt: DKMS builds
#    for it. A compiler in an emulated guest takes ten times as long.
# 2. In a guest that has this directory as its root, by 9p: systemd boots the
#    newer kernel with the initrd that the upgrade made. The service works;
#    apt-get purge. See vm/guest/upgraded.
# 3. Here: the files before and after, which are the same: another installation is
#    like the first. TAP.
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
export PATH=$PATH:/usr/sbin:/sbin
unset MAKEFLAGS MFLAGS MAKELEVEL

# shellcheck source-path=SCRIPTDIR source=../vm/guest/lib.sh
. "$here/../vm/guest/lib.sh"
kver=${KVER:-$("$here/../vm/kernel.sh")} || exit
if [ -z "${CMX_UPGRADE_FRESH:-}" ]; then
	[ "$(id -u)" = 0 ] || plan_skip "only root can make a root directory"
	why=$(unshare -mn true 2>&1) ||
		plan_skip "no namespaces to be had here (${why#unshare: })"
	why=$("$here/../vm/deps.sh" upgrade 2>&1) || plan_skip "${why##*$'\n'}"
	err=$(mktemp) || exit
	CMX_UPGRADE_FRESH=$("$here/../vm/fresh.sh" "${1:-$kver}" 2>"$err")
	status=$?
	why=$(tail -n 1 "$err")
	rm -f "$err"
	case $status in
	0) ;;
	3) plan_skip "$why" ;;
	*)
		plan 1
		fail "a fresh Debian can be had"
		diag "$why"
		finish
		;;
	esac
	export CMX_UPGRADE_FRESH
	exec unshare -mn "$0" "$@"
fi

fresh=$CMX_UPGRADE_FRESH
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
version=$(sed -n 's/^VERSION *:*= *//p' "$top/Makefile")
# shellcheck source-path=SCRIPTDIR source=../vm/guests.sh
. "$here/../vm/guests.sh"
# Nobody logs in, and no timer is to take the time.
masked=(getty.target apt-daily.timer apt-daily-upgrade.timer
	dpkg-db-backup.timer e2scrub_all.timer fstrim.timer)
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-upgrade.XXXXXX") || exit
qemu=''
trap cleanup EXIT
trap 'exit 143' TERM INT HUP
root=$work/root

# $qemu is timeout(1), which passes TERM on to QEMU, but not KILL.
cleanup() {
	[ -z "$qemu" ] || { kill "$qemu" && wait "$qemu"; } 2>/dev/null
	umount -R -l "$work" 2>/dev/null
	rm -rf --one-file-system "$work"
}

# in_root COMMAND... (dkms strips the debug information of the compiler; but of
# this the kernels of Debian 13 make BTF, and the build fails without it)
in_root() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		"${debug[@]}" "$@" </dev/null
}

root_mount() {
	mount -t tmpfs -o size=2g tmpfs "$work" &&
		mkdir "$work/upper" "$work/work" "$root" &&
		mount -t overlay -o \
			"lowerdir=$fresh/root,upperdir=$work/upper,workdir=$work/work" \
			overlay "$root" &&
		binds_mount
}

binds_mount() {
	mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc"
}

binds_umount() {
	umount -R -l "$root/dev" && umount -R -l "$root/proc"
}

# Fills the root: files of an older installation, the directory of node_exporter
# as in Debian's package, the packages, and the guest's script.
root_fill() {
	rm -f "$root"/etc/apt/sources.list.d/* "$root/etc/resolv.conf"
	echo fresh >"$root/etc/hostname"
	printf '%s\n' '127.0.0.1 localhost fresh' '10.99.0.1 host.cmx.test' \
		>"$root/etc/hosts"
	printf '%032d\n' 7 >"$root/etc/machine-id"
	in_root useradd -r -d /var/lib/prometheus prometheus
	mkdir -p "$root/var/lib/prometheus/node-exporter" "$root/srv/repository" \
		"$root/srv/cmx-test"
	in_root chown prometheus: /var/lib/prometheus
	cp "$fresh"/debs/*.deb "$work"/deb/*.deb "$root/srv/repository"
	(cd "$root/srv/repository" && dpkg-scanpackages . >Packages) 2>/dev/null
	echo 'deb [trusted=yes] file:/srv/repository ./' >"$root/etc/apt/sources.list"
	cp "$here"/../vm/guest/{upgraded,lib.sh} "$root/srv/cmx-test"
	cat >"$root/etc/systemd/system/cmx-test.service" <<-END
	[Unit]
	After=multi-user.target
	[Service]
	Type=oneshot
	Environment=HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
	ExecStart=/srv/cmx-test/upgraded $kver
	ExecStopPost=/bin/systemctl --no-block poweroff
	StandardOutput=append:/srv/cmx-test/out
	StandardError=append:/srv/cmx-test/out
	END
	mkdir -p "$root/etc/systemd/system/default.target.wants"
	ln -s ../cmx-test.service "$root/etc/systemd/system/default.target.wants"
	in_root apt-get -q update
}

debs_get() {
	local kept=$top/build/deb-tested

	if [ "$(cat "$kept/sources" 2>/dev/null)" = \
		"$("$top/packaging/tree.sh" --sum)" ]; then
		mkdir "$work/deb" && cp "$kept"/*.deb "$work/deb"
	else
		"$top/packaging/deb.sh" "$work/deb"
	fi
}

install_all() {
	in_root apt-get -q -y install rdma-cmx librdmacmx1
}

# The installed modules; the kernels of Debian 13 have compressed ones.
modules() {
	(cd "$root/lib/modules" && printf '%s\n' */updates/dkms/*) |
		sed 's/\.xz$//' | sort -V | xargs
}

# dkms status, one word for each kernel, or "added" without one
dkms_kernels() {
	in_root dkms status -m rdma-cmx -v "$version" |
		sed -n 's|^[^,]*, \([^,]*\), .*: \(.*\)|\1:\2|p
			s|^[^,]*: added$|added|p' | sort -V | xargs
}

# built_keep [RELEASE]: host/dkms.sh need not build the same again
built_keep() {
	[ -n "${1:-}" ] || [ ! -d "$top/build/deb-tested" ] ||
		"$top/packaging/tree.sh" --sum >"$top/build/deb-tested/dkms-$kver"
}

accounts() {
	(cd "$root/etc" && sha256sum passwd group && cut -d: -f1 shadow gshadow) |
		xargs
}

# All files below root, except those in memory only
files() {
	(cd "$root" && find . \( -path ./proc -o -path ./dev -o -path ./run \
		-o -path ./tmp -o -path ./srv -o -path ./sys \) -prune -o \
		-printf '%y%m %U:%G %P\n' | sort -k 3)
}

# Prints new names after the purge. The packages of the newer kernel, and files
# that the system creates for them, do not count.
left() {
	local deb names

	names=$(for deb in "$fresh"/debs/*.deb; do
		dpkg-deb -f "$deb" Package
	done | sed 's/[+.]/\\&/g' | paste -sd '|')
	for deb in "$fresh"/debs/*.deb; do
		dpkg-deb -c "$deb"
	done | awk '{ sub(/^\.\//, "", $6); sub(/\/$/, "", $6)
		sub(/^(lib|sbin|bin)\//, "usr/&", $6); print $6 }' |
		sort -u >"$work/kernel"
	comm -13 <(cut -d' ' -f3- "$work/before" | sort) \
		<(cut -d' ' -f3- "$work/after" | sort) |
		grep -vxFf "$work/kernel" |
		grep -vE "^(boot/)?(initrd|vmlinuz|config-)|^usr/lib/modules/${kver//+/\\+}/modules\\." |
		grep -vE '^var/(log|cache/(apt|ldconfig))/' |
		grep -vE "^var/lib/dpkg/info/($names)(:[^.]*)?\." |
		grep -vE '^var/lib/(dpkg/triggers/|initramfs-tools/)' |
		grep -vE '^var/lib/(systemd/(random-seed|linger)|dbus/machine-id)$' |
		grep -vE '^var/lib/systemd/timers(/stamp-[^r].*)?$' |
		xargs
}

# Prints files that are missing, or have another owner or mode.
changed() {
	comm -23 <(sort "$work/before") <(sort "$work/after") |
		grep -v ' var/cache/apt/' | xargs
}

guest_boot() {
	local accel=$accel cpu=max

	# As in guests.sh
	[ "$accel" != tcg ] || accel=tcg,thread=multi cpu+=,-erms
	: >"$work/console"
	timeout -k 10 "${VM_DEADLINE:-4500}" qemu-system-x86_64 -name upgrade \
		-accel "$accel" -cpu "$cpu" -nodefaults -no-user-config \
		-display none -no-reboot -m 768 -smp 1,maxcpus=2 \
		-kernel "$root/boot/vmlinuz-$kver" \
		-initrd "$root/boot/initrd.img-$kver" \
		-virtfs "local,path=$root,mount_tag=root,\
security_model=passthrough,multidevs=remap" \
		-append "root=root rootfstype=9p rw \
rootflags=trans=virtio,version=9p2000.L,cache=loose,msize=262144 \
console=ttyS0 oops=panic panic=-1 mitigations=off no_timer_check loglevel=5 \
random.trust_cpu=on net.ifnames=0 systemd.getty_auto=0 \
systemd.show_status=error systemd.condition_needs_update=no \
$(printf ' systemd.mask=%s' "${masked[@]}")" \
		-serial "file:$work/console" </dev/null >"$work/qemu" 2>&1 &
	qemu=$!
	wait "$qemu"
	qemu=''
}

# The results of the guest become results of this test.
guest_results() {
	local line name

	while IFS= read -r line; do
		name=${line#*ok [0-9]* }
		case $line in
		'ok '*) pass "$name" ;;
		'not ok '*) fail "$name" ;;
		'#'*) echo "$line" ;;
		esac
	done <"$root/srv/cmx-test/out"
	like "the guest's test came to its end" "$(tail -n 1 \
		"$root/srv/cmx-test/out")" '^1\.\.[0-9]+$' || {
		diag "$(tail -n 30 "$work/console")"
		diag "$(cat "$work/qemu")"
		return 1
	}
}

root_mount >/dev/null 2>&1 || plan_skip "no overlay here"
accel=$(accel_find)
old=$(cat "$fresh/old")
kver=$(cat "$fresh/new")
debug=(KCFLAGS=-g0)
[ -z "$old" ] || debug=()
if ! ok "Debian packages" debs_get; then
	finish
fi
rm -f "$work"/deb/*-dbgsym_*.deb
ok "a fresh Debian without network" root_fill
files >"$work/before"
before=$(accounts)

ok "apt-get install rdma-cmx" install_all
is "DKMS builds for the kernel that is there, if any" "$(dkms_kernels)" \
	"${old:-add}${old:+:install}ed"
ok "apt-get install of a newer kernel" in_root apt-get -q -y install \
	"linux-image-$kver" "linux-headers-$kver"
is "DKMS builds for the newer kernel" "$(dkms_kernels)" \
	"${old:+$old:installed }$kver:installed" && built_keep "$@"
is "each kernel has the modules" "$(modules)" \
	"$(for k in $old "$kver"; do
		echo "$k"/updates/dkms/rdma_{,u}cmx.ko
	done | sort -V | xargs)"
binds_umount
guest_boot
guest_results || finish
binds_mount

files >"$work/after"
is "a purge leaves no file" "$(left)" ""
is "a purge changes nothing" "$(changed)" ""
is "a purge leaves no account" "$(accounts)" "$before"
is "no file of the system mentions it" "$(cd "$root" &&
	grep -rIl cmx etc var/lib/{dpkg,systemd,apt,dbus} usr/lib/systemd \
		usr/lib/modules/*/modules.* |
		grep -vE '^var/lib/apt/lists/|-$|/cmx-test|initramfs-tools/|etc/hosts$')" ""
finish
