#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The project as it was when each version of its user ABI was published, for
# frozen.sh: frozen_build.sh KVER KDIR FOLDER builds, for each file uapi/ABI.N,
# the commit that added it, and puts into FOLDER/N
#	rdma_cmx.ko rdma_ucmx.ko	for the kernel KVER
#	librdmacmx.so.1
#	programs/DIR_NAME		test programs linked to it
#	commit
# or, where the sources have no history with that commit, only
#	reason				why there is nothing
#
# frozen.N.patch, if there is one, makes the programs of that commit wait as the
# present ones do. FROZEN_COMMIT= names the only commit instead, which is not
# changed; it is in FOLDER/commit.
#
# The builds stay outside the tree:
#	${XDG_CACHE_HOME:-~/.cache}/rdma-cmx/frozen-COMMIT-HASH/
# where HASH stands for the kernel, the compiler, this script and the patch.
# Runs at the same time wait for the one that builds.
set -euo pipefail
# The make of the other tree must not inherit options of the calling make.
unset MAKEFLAGS MFLAGS MAKELEVEL

kver=$1 kdir=$2 to=$3
top=$(cd "${0%/*}/../../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
commit='' patch='' reason='' tmp=''

# The programs are from that tree, too: the current ones may need later fixes.
programs=(
	compat/{conn,ep,ids,mcast,ownqp,queues,requests,verbs}
	api/{rai,mc}
)

die() { echo "frozen: $*" >&2; exit 1; }

# The user may build a tree of another owner.
repo() {
	git -C "$top" -c safe.directory='*' "$@"
}

# At the end of a shallow clone all files look added.
is_cut_off() {
	local file

	file=$(repo rev-parse --path-format=absolute --git-path shallow)
	[ -e "$file" ] && { [ -z "$1" ] || grep -qx "$1" "$file"; }
}

# commit_find VERSION: sets commit and patch, or reason
commit_find() {
	commit='' patch='' reason=''
	if [ ! -e "$top/.git" ]; then
		reason="the sources are not a git checkout, so there is no history"
		return
	fi
	command -v git >/dev/null || die "git is not installed: try 'make deps'"
	if [ -n "${FROZEN_COMMIT:-}" ]; then
		commit=$(repo rev-parse --verify "$FROZEN_COMMIT^{commit}")
		return
	fi
	commit=$(repo log --diff-filter=A --format=%H -- "uapi/ABI.$1" |
		tail -n 1)
	if is_cut_off "$commit"; then
		commit=''
		reason="the clone is shallow, without the commit that added uapi/ABI.$1"
	elif [ -z "$commit" ]; then
		reason="no commit of the history adds uapi/ABI.$1"
	fi
	patch=$top/selftests/compat/tools/frozen.$1.patch
	[ -e "$patch" ] || patch=''
}

name_get() {
	local hash

	hash=$({
		echo "$kver"
		cat "$kdir/Module.symvers" "$0" ${patch:+"$patch"}
		gcc --version
	} | sha256sum)
	echo "frozen-${commit:0:12}-${hash:0:12}"
}

frozen_make() {
	KCFLAGS=-g0 CFLAGS=-O2 nice make -C "$tmp/src" -s -j"$(nproc)" \
		KVER="$kver" KDIR="$kdir" "$@" >>"$tmp/log" 2>&1 || {
		tail -n 30 "$tmp/log" >&2
		die "commit $commit could not be built, see above"
	}
}

frozen_build() {
	local src=$tmp/src new=$tmp/new name

	mkdir -p "$src" "$new/programs"
	repo archive "$commit" | tar -C "$src" -x
	# Files outside of any repository, also if the cache is in one
	[ -z "$patch" ] || GIT_CEILING_DIRECTORIES=$tmp \
		git -C "$src" apply "$patch" ||
		die "$patch does not fit commit $commit"
	frozen_make modules
	frozen_make build/user/lib/librdmacmx.so.1 \
		"${programs[@]/#/build/selftests/}"
	cp "$src"/kernel/{core/rdma_cmx,ucmx/rdma_ucmx}.ko "$new/"
	cp "$src/build/user/lib/librdmacmx.so.1" "$new/"
	for name in "${programs[@]}"; do
		cp "$src/build/selftests/$name" "$new/programs/${name/\//_}"
	done
	repo log -1 --format='%H %s' "$commit" >"$new/commit"
}

cleanup() {
	[ -z "$tmp" ] || rm -rf "$tmp"
}

# frozen_put VERSION
frozen_put() {
	local dir to=$to/$1

	mkdir -p "$to"
	commit_find "$1"
	if [ -n "$reason" ]; then
		echo "$reason" >"$to/reason"
		return
	fi
	dir=$cache/$(name_get)
	if [ ! -e "$dir" ]; then
		tmp=$(mktemp -d "$cache/frozen.XXXXXX")
		frozen_build
		mv -T "$tmp/new" "$dir"
		cleanup
		tmp=''
	fi
	cp -R "$dir/." "$to/"
}

trap cleanup EXIT
trap 'exit 130' INT TERM HUP
rm -rf "$to"
mkdir -p "$cache"
exec 9>"$cache/frozen.lock"
flock 9
if [ -n "${FROZEN_COMMIT:-}" ]; then
	frozen_put commit
else
	for file in "$top"/uapi/ABI.*; do
		frozen_put "${file##*.}"
	done
fi
