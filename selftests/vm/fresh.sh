#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Print a folder with a fresh Debian:
#	root/	apt, systemd, DKMS with a compiler, rdma-core and keyutils, and
#		the older kernel with its headers, if there is one; made by
#		mmdebstrap, each package's scripts ran
#	debs/	what apt installs with the newer kernel and its headers
#	old	the release of the older kernel, or nothing
#	new	that of the newer one
#
# fresh.sh KVER		this machine's release: KVER, and no older kernel
# fresh.sh RELEASE	that one (trixie): its own kernel, and that of its
#			backports. The lists are those of suite.sh.
#
# apt fetches and verifies the packages from this machine's own sources, or
# takes them from its cache. All is below ${XDG_CACHE_HOME:-~/.cache}/rdma-cmx,
# made anew when a package has a new version.
#
# Exit status: 1 it went wrong; 3 the archive has not these kernels. Needs root.
set -euo pipefail

here=$(cd "${0%/*}" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
packages=(systemd systemd-sysv udev dbus kmod iproute2 initramfs-tools
	dkms gcc make libc6-dev
	keyutils librdmacm1 libibverbs1 ibverbs-providers rdma-core)
# Debian's kernel has 4000 drivers. The guest needs few of them; the rest costs
# time and memory.
left_out=(path-exclude='/usr/share/locale/*'
	path-exclude='*/lib/modules/*/kernel/drivers/*'
	path-exclude='*/lib/modules/*/kernel/sound/*'
	path-include='*/lib/modules/*/kernel/drivers/infiniband/*'
	path-include='*/lib/modules/*/kernel/drivers/virtio/*'
	path-include='*/lib/modules/*/kernel/drivers/net/dummy.ko*')

die() { echo "fresh: $2" >&2; exit "$1"; }

# Prints the lines of a sources.list, for Debian's $release only.
sources() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format \
		'$(ORIGIN) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' |
		grep -E "^Debian $release(-updates|-security)? " |
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
		"$release" "$1" "$work/sources" </dev/null >"$work/log" 2>&1
}

# own KVER: the kernel and the lists of this machine's release
own() {
	old='' new=$1
	sources >"$work/sources"
	[ -s "$work/sources" ] || die 1 "apt has no source of Debian's $release"
	# The image of a container may have no package lists.
	closure apt >/dev/null || apt-get -q update >/dev/null 2>&1 || :
	kernels=("linux-image-$new" "linux-headers-$new")
}

# other RELEASE: those of another release. The kernel of the backports needs a
# newer linux-base as well.
other() {
	local headers suites

	release=$1
	suites=$release,$release-backports
	headers=linux-headers-$(dpkg --print-architecture)
	old=$("$here/suite.sh" "$suites" newest "$headers" "$release") || exit
	new=$("$here/suite.sh" "$suites" newest "$headers" \
		"$release-backports") || exit
	old=${old#linux-headers-} new=${new#linux-headers-}
	export APT_CONFIG=$cache/$release/apt.conf
	cp "$cache/$release/sources.list" "$work/sources"
	kernels=("linux-image-$new" "linux-headers-$new"
		"linux-base/$release-backports")
	packages+=("linux-headers-$old")
}

[ "$(id -u)" = 0 ] || die 3 "only root can make a root directory"
mkdir -p "$cache"
exec 9>"$cache/fresh.lock"
flock 9
work=$(mktemp -d "$cache/fresh.XXXXXX")
trap 'rm -rf "$work"' EXIT
: >"$work/status"
case $1 in
[0-9]*) own "$1" ;;
*) other "$1" ;;
esac
mapfile -t essential < <(apt-cache dumpavail |
	awk '/^Package: / { p = $2 } /^Essential: yes/ { print p }' | sort -u)
base=$(closure "${essential[@]}" apt "${packages[@]}") ||
	die 1 "$(grep -m1 -E '^E:| but ' "$work/log")"
upgrade=$(closure "${essential[@]}" apt "${packages[@]}" "${kernels[@]}" |
	grep -vxFf <(echo "$base")) ||
	die 3 "the archive has no kernel $new any more: apt-get upgrade"
key=$({ echo "$base $upgrade"; declare -p left_out; declare -f root_make; } |
	sha256sum | head -c 12)
dir=$cache/fresh-$release-$key
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
	echo "$new" >"$work/new/new"
	mv -T "$work/new" "$dir"
fi
touch "$dir"
echo "$dir"
