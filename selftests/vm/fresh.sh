#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Print a folder with a fresh Debian, of this machine's release:
#	root/	apt, systemd, DKMS with a compiler, rdma-core and keyutils, and
#		the headers of the archive's kernel before KVER; made by
#		mmdebstrap, each package's scripts ran
#	debs/	what an upgrade to the kernel KVER and its headers installs
#	old	the release of the older kernel
# fresh.sh KVER
#
# apt fetches and verifies the packages from this machine's own sources, or
# takes them from its cache. All is below ${XDG_CACHE_HOME:-~/.cache}/rdma-cmx,
# made anew when a package has a new version.
#
# Exit status: 1 it went wrong; 3 the archive has not both kernels. Needs root.
set -euo pipefail

kver=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
own=$(. /etc/os-release && echo "$VERSION_CODENAME")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
packages=(systemd systemd-sysv udev dbus kmod iproute2 initramfs-tools
	dkms gcc make libc6-dev
	keyutils librdmacm1 libibverbs1 ibverbs-providers rdma-core)
# Debian's kernel has 4000 drivers. The guest needs few of them; the rest costs
# time and memory.
left_out=(path-exclude='/usr/share/locale/*'
	path-exclude='/lib/modules/*/kernel/drivers/*'
	path-exclude='/lib/modules/*/kernel/sound/*'
	path-include='/lib/modules/*/kernel/drivers/infiniband/*'
	path-include='/lib/modules/*/kernel/drivers/virtio/*'
	path-include='/lib/modules/*/kernel/drivers/net/dummy.ko')

die() { echo "fresh: $2" >&2; exit "$1"; }

# Prints the lines of a sources.list, for Debian only.
sources() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format \
		'$(ORIGIN) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | grep -E "^Debian $own(-updates|-security)? " |
		sort -u | while read -r _ _ uri release component; do
		echo "deb [signed-by=$keyring] $uri $release $component"
	done
}

# Prints NAME=VERSION of these packages and their dependencies, for an empty
# system. `apt-get -s` takes no lock and changes nothing.
closure() {
	local log

	log=$(apt-get -s -o Dir::Etc::sourcelist="$work/sources" \
		-o Dir::Etc::sourceparts=- -o Dir::State::status="$work/status" \
		--no-install-recommends install "$@" 2>&1) || {
		echo "$log" >"$work/log"
		return 1
	}
	sed -n 's/^Inst \([^ ]*\) (\([^ ]*\).*/\1=\2/p' <<<"$log" | sort
}

older() {
	local name=linux-headers-${kver%%-*} flavour=${kver##*-}

	apt-cache search --names-only "^$name-[0-9]+-$flavour$" |
		sed "s/ .*//; s/^linux-headers-//" | cat - <(echo "$kver") |
		sort -Vu | sed "/^$kver$/,\$d" | tail -n 1
}

# debs_get DIR NAME=VERSION...: copies them from apt's cache, or fetches them
debs_get() {
	local dir=$1 file name

	shift
	mkdir -p "$dir"
	for name; do
		file=${name/=/_}
		cp -l /var/cache/apt/archives/"${file//:/%3a}"_*.deb "$dir" 2>/dev/null ||
			cp /var/cache/apt/archives/"${file//:/%3a}"_*.deb "$dir" \
				2>/dev/null || :
	done
	(cd "$dir" && apt-get -q -o APT::Sandbox::User= \
		-o Dir::Etc::sourcelist="$work/sources" \
		-o Dir::Etc::sourceparts=- download "$@") >"$work/log" 2>&1
}

root_make() {
	local opt hooks=()

	for opt in "${left_out[@]}"; do
		hooks+=(--dpkgopt="$opt")
	done
	# Boots from a 9p directory; the small initrd is quick to unpack.
	cat >"$work/setup" <<-END
	#!/bin/sh
	mkdir -p "\$1/var/cache/apt/archives" "\$1/etc/initramfs-tools/conf.d"
	cp "$work"/debs/*.deb "\$1/var/cache/apt/archives"
	printf '%s\n' 9p 9pnet_virtio virtio_pci >"\$1/etc/initramfs-tools/modules"
	printf '%s\n' MODULES=list COMPRESS=gzip >"\$1/etc/initramfs-tools/conf.d/cmx"
	END
	chmod +x "$work/setup"
	mmdebstrap --mode=root --variant=apt --format=directory "${hooks[@]}" \
		--dpkgopt=force-confold --skip=essential/unlink \
		--setup-hook="$work/setup" \
		--include="$(IFS=,; echo "${packages[*]}")" \
		"$own" "$1" "$work/sources" </dev/null >"$work/log" 2>&1
}

[ "$(id -u)" = 0 ] || die 3 "only root can make a root directory"
mkdir -p "$cache"
exec 9>"$cache/fresh.lock"
flock 9
work=$(mktemp -d "$cache/fresh.XXXXXX")
trap 'rm -rf "$work"' EXIT
: >"$work/status"
sources >"$work/sources"
[ -s "$work/sources" ] || die 1 "apt has no source of Debian's $own"
# The image of a container may have no package lists.
closure apt >/dev/null || apt-get -q update >/dev/null 2>&1 || :
old=$(older)
[ -n "$old" ] || die 3 "the archive has no kernel before $kver"
packages+=("linux-headers-$old")
mapfile -t essential < <(apt-cache dumpavail |
	awk '/^Package: / { p = $2 } /^Essential: yes/ { print p }' | sort -u)
base=$(closure "${essential[@]}" apt "${packages[@]}") ||
	die 1 "$(grep -m1 -E '^E:| but ' "$work/log")"
upgrade=$(closure "${essential[@]}" apt "${packages[@]}" \
	"linux-image-$kver" "linux-headers-$kver" |
	grep -vxFf <(echo "$base")) ||
	die 3 "the archive has no kernel $kver any more: apt-get upgrade"
key=$({ echo "$base $upgrade"; declare -p left_out; declare -f root_make; } |
	sha256sum | head -c 12)
dir=$cache/fresh-$key
if [ ! -d "$dir" ]; then
	# Keeps directories that another tree may be using.
	find "$cache" -maxdepth 1 -name 'fresh-*' -mtime +1 -exec rm -rf {} +
	# shellcheck disable=SC2086 # one word each
	debs_get "$work/debs" $base || die 1 "$(grep -m1 '^E:' "$work/log")"
	mkdir "$work/new"
	root_make "$work/new/root" ||
		die 1 "mmdebstrap: $(grep -E '^E:' "$work/log" | tail -n 1)"
	# shellcheck disable=SC2086 # one word each
	debs_get "$work/new/debs" $upgrade || die 1 "$(grep -m1 '^E:' "$work/log")"
	echo "$old" >"$work/new/old"
	mv -T "$work/new" "$dir"
fi
touch "$dir"
echo "$dir"
