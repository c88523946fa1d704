#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# man finds a page for each exported and each inline function of the library in
# the installed tree. Runs on the host, prints TAP.
set -u
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
lib=${LIB:-$top/build/user/lib/librdmacmx.so.1}
pages=$top/Documentation/man
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
# shellcheck source=selftests/host/tap
. "$here/tap"

exported() {
	readelf --dyn-syms -W "$lib" |
		awk '$4 == "FUNC" && $7 != "UND" { print $8 }' | sed 's/@.*//'
}

inline() {
	grep -hoE '^static inline [^(]*\brdma(cmx)?_[a-z0-9_]+\(' \
		"$top"/user/include/rdma/*.h | grep -oE 'rdma[a-z0-9_]+'
}

# linked_well FILE: is it a page, or a link to one?
linked_well() {
	local page

	[ -s "$1" ] || return
	page=$(sed -n 's|^\.so man3/||p' "$1")
	[ -z "$page" ] || [ -s "${1%/*}/$page" ]
}

echo "TAP version 13"
rst2man=$(command -v rst2man || command -v rst2man.py)
if [ -z "$rst2man" ]; then
	echo "1..0 # SKIP no rst2man (package python3-docutils)"
	exit 0
fi
echo "1..5"

details=$(make -C "$top" -s install-man DESTDIR="$work/root" PREFIX=/usr 2>&1)
result "pages render without a warning, and are installed" $? "$details"
man3=$work/root/usr/share/man/man3

functions=$( (exported; inline) | sort -u)
details=''
for name in $functions; do
	linked_well "$man3/$name.3cmx" || details+="$name "
done
number=$(wc -w <<<"$functions")
[ "$number" -gt 60 ] && [ -z "$details" ]
result "RA-02: each function has a page ($number)" $? "$details"

details=$(comm -13 <(echo "$functions") <(bash "$top/user/man/names.sh" \
	"$pages"/*.3cmx.rst | cut -d ' ' -f 1 | sort -u) | tr '\n' ' ')
[ -z "$details" ]
result "each function that a page describes exists" $? "$details"

details=$(bash "$top/user/man/names.sh" "$pages"/*.3cmx.rst |
	sort | uniq | cut -d ' ' -f 1 | uniq -d | tr '\n' ' ')
[ -z "$details" ]
result "each function has one page" $? "$details"

if ! command -v man >/dev/null; then
	count=$((count + 1))
	echo "ok $count man finds them # SKIP man is not installed"
	exit $failed
fi
# Debian's containers replace man by a notice.
if grep -q 'minimized' "$(command -v man)" 2>/dev/null; then
	count=$((count + 1))
	echo "ok $count man finds them # SKIP man is only a notice here"
	exit $failed
fi
details=''
for name in $functions; do
	for section in 3 3cmx; do
		man -M "$work/root/usr/share/man" -w $section "$name" \
			>/dev/null 2>&1 || details+="$section $name, "
	done
done
[ -z "$details" ]
result "man 3 NAME and man 3cmx NAME find them" $? "$details"
results_end
