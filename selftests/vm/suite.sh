#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Packages of another Debian release, unpacked into a separate folder:
#
#	suite.sh SUITES folder NAME PACKAGE...	print the folder, root-NAME, that
#						has them and what they depend on
#	suite.sh SUITES newest PACKAGE SUITE	print the name that this package
#						of names depends on, in SUITE
#
# SUITES are the release and, with commas, others that belong to it.
# apt fetches and verifies them from the mirror of this machine's own sources;
# dpkg -x unpacks. Nothing is installed, and no package's script runs. All is
# below ${XDG_CACHE_HOME:-~/.cache}/rdma-cmx/RELEASE; the lists of packages are a
# day old at most while the mirror can be reached.
#
# Exit status: 1 it went wrong; 3 the mirror has no such release or package.
set -euo pipefail

suites=${1//,/ }
release=${suites%% *}
action=$2
shift 2
base=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx/$release
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# Packages that a folder for builds or for programs does not need
left_out=(initramfs-tools linux-base pahole perl python3 systemd udev)

die() { echo "suite: $2" >&2; exit "$1"; }

# Prints the mirror of the local release, with a slash at the end.
mirror() {
	local own

	own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # apt's own variables
	env -u APT_CONFIG apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' | sed -n "s/^$own //p" | head -n 1
}

# The lists of SUITES, apart from those of the machine
lists_update() {
	local uri suite

	uri=$(mirror)
	[ -n "$uri" ] || die 1 "apt has no source for this machine's release"
	mkdir -p "$base"/{lists/partial,archives/partial}
	for suite in $suites; do
		echo "deb [signed-by=$keyring] $uri $suite main"
	done >"$base/sources.list"
	cat >"$base/apt.conf" <<-END
	Dir::Etc::sourcelist "$base/sources.list";
	Dir::Etc::sourceparts "-";
	Dir::State::lists "$base/lists";
	Dir::Cache "$base";
	Dir::State::status "$base/status";
	APT::Sandbox::User "";
	APT::Get::AllowUnauthenticated "false";
	Acquire::AllowInsecureRepositories "false";
	Acquire::AllowWeakRepositories "false";
	Acquire::AllowDowngradeToInsecureRepositories "false";
	END
	[ -e "$base/status" ] || : >"$base/status"
	[ -z "$(find "$base/updated" -mtime -1 2>/dev/null)" ] || return 0
	if APT_CONFIG=$base/apt.conf apt-get -q update >"$base/log" 2>&1 &&
	   ! grep -qE '^(Err:|E:|W: Failed)' "$base/log"; then
		touch "$base/updated"
	elif grep -qE '404|does not have a Release file' "$base/log"; then
		die 3 "the mirror has no $release: $(grep -m1 -E '^(Err|E):' "$base/log")"
	elif [ ! -e "$base/updated" ]; then
		die 1 "no lists of $release: $(grep -m1 -E '^(Err|E|W):' "$base/log")"
	fi
}

newest() {
	local name

	name=$(apt-cache depends "$1/$2" 2>/dev/null |
		sed -n "s/^ *Depends: \(${1%-*}-[0-9].*\)/\1/p" | head -n 1)
	[ -n "$name" ] || die 3 "there is no $1 in $2"
	echo "$name"
}

# Marks packages as installed; also kernels, on which headers depend.
status_write() {
	local name arch

	arch=$(dpkg --print-architecture)
	for name; do
		[[ $name = linux-headers-* ]] || continue
		apt-cache show "$name" | sed -n 's/^Version: //p' | head -n 1 |
			sed "s/^/${name/headers/image} /"
	done | cat - <(printf '%s 99\n' "${left_out[@]}") | sort -u |
	while read -r name version; do
		printf '%s\n' "Package: $name" "Architecture: $arch" \
			'Status: install ok installed' "Version: $version" \
			'Multi-Arch: allowed' 'Maintainer: none' \
			'Description: none' ''
	done >"$base/status"
}

# Prints PACKAGE=VERSION of all requested packages and their dependencies.
closure() {
	local log

	status_write "$@"
	log=$(apt-get -s --no-install-recommends install "$@" 2>&1) ||
		die 3 "$(grep -m1 -E '^E:| but ' <<<"$log")"
	sed -n 's/^Inst \([^ ]*\) (\([^ ]*\).*/\1=\2/p' <<<"$log" | sort
}

# download PACKAGE=VERSION...: into $base/debs
download() {
	rm -rf "$base/debs"
	mkdir -p "$base/debs"
	(cd "$base/debs" && apt-get -q download "$@") >"$base/log" 2>&1
}

folder() {
	local list root=$base/root-$1 deb

	shift
	list=$(closure base-files "$@")
	if [ "$(cat "$root/.packages" 2>/dev/null)" != "$list" ]; then
		rm -rf "$root.new"
		mkdir -p "$root.new"
		# shellcheck disable=SC2086 # one word each
		if ! download $list; then
			# The mirror may have newer packages than the lists.
			touch -d '2 days ago' "$base/updated"
			lists_update
			list=$(closure base-files "$@")
			download $list ||
				die 1 "download: $(grep -m1 -E '^E:' "$base/log")"
		fi
		for deb in "$base"/debs/base-files_*.deb "$base"/debs/*.deb; do
			dpkg -x "$deb" "$root.new"
		done
		rm -rf "$base/debs"
		echo "$list" >"$root.new/.packages"
		rm -rf "$root"
		mv "$root.new" "$root"
	fi
	echo "$root"
}

mkdir -p "$base"
exec 9>"$base/lock"
flock 9
lists_update
export APT_CONFIG=$base/apt.conf
case $action in
folder | newest) "$action" "$@" ;;
*) die 1 "folder or newest, not '$action'" ;;
esac
