#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Print line coverage: coverage.sh AREA BUILD LOGS [WHAT], where AREA is kernel
# (the modules, of a debug run) or user (the library, of the tests in sanitize),
# BUILD holds the .gcno files as they were built and in .from the folder where
# that was, LOGS/**/gcov-* the .gcda files that the guests brought. WHAT says
# which tests ran, if not all of them did: if they did, less than the floor makes
# the status 1.
# A line counts as run if it ran anywhere. LOGS/uncovered-AREA lists the others.
set -euo pipefail

area=$1
build=$2
logs=$3
what=${4:-}
# floor: per cent
case $area in
kernel) floor=92 title='kernel/, on the debug kernel' ;;
user) floor=88 title='the library, in sanitize' ;;
esac
[ -z "$what" ] || floor=0
src=$(cat "$build/.from")
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-gcov.XXXXXX")
trap 'rm -rf "$work"' EXIT

# gcov_run GCDA GCNO NUMBER: leaves *.gcov in $work/NUMBER
gcov_run() {
	local name=${1##*/} dir=$work/$3

	mkdir -p "$dir"
	cp "$1" "$2" "$dir/"
	(cd "$dir" && gcov -p "$name" >>"$work/log" 2>&1) ||
		echo "coverage: gcov fails on $1" >&2
}

n=0
while read -r file; do
	gcno=$build/${file##*"$src/"}
	gcno=${gcno%.gcda}.gcno
	# Otherwise it belongs to the other area.
	[ -e "$gcno" ] || continue
	n=$((n + 1))
	gcov_run "$file" "$gcno" $n &
	[ $((n % $(nproc))) != 0 ] || wait
done < <(find "$logs" -path '*/gcov-*' -name '*.gcda')
wait

[ $n != 0 ] || [ -z "$what" ] || exit 0
echo "Line coverage of $title (${what:-all tests})"
: >"$logs/uncovered-$area"
find "$work" -name '*.gcov' -exec cat {} + |
awk -F: -v src="$src/" -v area="$area/" -v floor="$floor" \
		-v list="$logs/uncovered-$area" '
	$2 + 0 == 0 && $3 == "Source" {
		file = index($4, src) == 1 ? substr($4, length(src) + 1) : ""
		next
	}
	$2 + 0 == 0 || index(file, area) != 1 || $1 ~ /-/ { next }
	{
		key = file SUBSEP $2 + 0
		if (!(key in seen)) {
			seen[key] = 1
			lines[file]++
			text[key] = substr($0, index($0, $3))
		}
		if ($1 !~ /[#=]/ && !(key in run)) {
			run[key] = 1
			hit[file]++
		}
	}
	function row(name, n, of) {
		return sprintf("%-40s %5d of %5d lines  %5.1f %%", name, n, of,
			of ? 100 * n / of : 0)
	}
	END {
		sort = "sort"
		for (file in lines) {
			print row(file, hit[file], lines[file]) | sort
			n += hit[file]
			of += lines[file]
		}
		close(sort)
		sort = "sort -t: -k1,1 -k2,2n >" list
		for (key in seen)
			if (!(key in run)) {
				split(key, part, SUBSEP)
				print part[1] ":" part[2] ": " text[key] | sort
			}
		close(sort)
		print row("coverage of " area, n, of)
		exit floor && (!of || 100 * n / of < floor)
	}'
