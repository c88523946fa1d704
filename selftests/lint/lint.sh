#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Static checks: lint.sh [--tap] [TOOL...]; tools.sh has the tools. One line
# for each, its findings below it; the status is 1 when there are any.
#
# Works on a copy of the tree in build/lint/tree, so that no build is disturbed
# and nothing built before is taken for new. All that a tool said is in
# build/lint/TOOL.log. --tap prints that for `make check`, whose build of the
# modules is that of the tree.
#
# A finding is a line "FILE:LINE... message" of a file of the project. Those
# that the file `exceptions` names are left out.
set -uo pipefail

here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
kver=${KVER:-$("$top/selftests/vm/kernel.sh")} || exit
kdir=${KDIR:-/lib/modules/$kver/build}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
out=$top/build/lint
tap='' count=0 all=0 words=()

. "$here/../vm/flags.sh"
. "$here/tools.sh"

die() { echo "lint: $*" >&2; exit 2; }

# The sources alone, named in the logs by their place in the tree
tree_copy() {
	rm -rf "$out"
	mkdir -p "$out/tree"
	tar -C "$top" -c --exclude='*.o' --exclude='*.ko' --exclude='*.cmd' \
		--exclude='*.mod' --exclude='*.mod.c' --exclude=joined.c \
		--exclude=.tmp_versions --exclude=Module.symvers --exclude=modules.order \
		--exclude=./build --exclude=./.git . | tar -C "$out/tree" -x
	cd "$out/tree" || exit
	mapfile -t modules < <(make -s --no-print-directory lint-modules |
		tr ' ' '\n' | sed 's:/$::')
}

# Lines of the project's own files, without what is meant
findings() {
	local tool=$1 line name file part reason

	sed -e "s|$out/tree/||g" -e "s|$top/||g" -e 's|^\./||' |
	grep -E '^(kernel|packaging|uapi|user|selftests|Documentation|\.ci|README|CONTRIBUTING)[^ :]*:[0-9]+' |
	grep -v ': note: [^[]*$' |
	sort -u |
	while read -r line; do
		while read -r name file part reason; do
			[ "$name" = "$tool" ] || continue
			# shellcheck disable=SC2053 # a pattern
			[[ ${line%%:*} == $file && $line == *"$part"* ]] || continue
			echo "$name $file $part $reason" >>"$out/used"
			continue 2
		done < <(grep -v '^#' "$here/exceptions")
		echo "$line"
	done
}

exceptions_unused() {
	grep "^$1 " "$here/exceptions" | grep -vxFf "$out/used" |
		sed 's|^|selftests/lint/exceptions: not needed: |'
}

tool_run() {
	local tool=$1 log=$out/$1.log list=$out/$1.findings found status
	local start=$SECONDS

	: >"$out/used"
	: >"$out/broken"
	"tool_${tool//-/_}" >"$log" 2>&1 </dev/null
	status=$?
	findings "$tool" <"$log" >"$list"
	exceptions_unused "$tool" >>"$list"
	if [ "$status" != 0 ] && [ ! -s "$list" ]; then
		echo "$tool: status $status, see $log" >"$list"
		tail -n 20 "$log" | sed 's/^/\t/' >>"$list"
	fi
	found=$(grep -vc $'^\t' "$list")
	all=$((all + found)) count=$((count + 1))
	if [ -n "$tap" ]; then
		[ "$found" = 0 ] || printf 'not '
		echo "ok $count - $tool"
		sed 's/^/# /' "$list"
	else
		printf '%-12s %3d found, %3d s\n' "$tool" "$found" \
			$((SECONDS - start))
		sed 's/^/    /' "$list"
	fi
}

if [ "${1:-}" = --tap ]; then
	tap=1
	shift
fi
words=("${@:-${tools[@]}}")
[ $# = 0 ] && words=("${tools[@]}")
for word in "${words[@]}"; do
	case " ${tools[*]} " in
	*" $word "*) ;;
	*) die "no tool '$word'; there are: ${tools[*]}" ;;
	esac
done
[ -d "$kdir" ] || die "no kernel headers in $kdir"
tree_copy
[ -z "$tap" ] || printf 'TAP version 13\n1..%d\n' ${#words[@]}
for word in "${words[@]}"; do
	tool_run "$word"
done
[ -n "$tap" ] || echo "lint: $all found by $count tools in $SECONDS s"
[ "$all" = 0 ]
