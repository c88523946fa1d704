# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The tests and their guests, from the rows of selftests/tests. Sourced on the
# host and in the guests.
# shellcheck shell=bash

# tests_list TABLE KERNEL [PREFIXES [QUICK]]: prints its tests, in the order of
# the table, as "GUEST NAME SECONDS"; with QUICK only those that are marked
# quick. KERNEL may be several kernels of the table, with commas. The last test
# of each guest is included if there is another one.
tests_list() {
	awk -v kernel="$2" -v prefixes="${3:-}" -v quick="${4:-}" '
		function among(list,  n, word) {
			for (n = split(list, word, ","); n > 0; n--)
				if (word[n] in kernels || word[n] == "all")
					return 1
			return 0
		}
		function named(name,  n, word) {
			n = split(prefixes, word, ",")
			if (!n)
				return 1
			for (; n > 0; n--)
				if (index(name, word[n]) == 1)
					return 1
			return 0
		}
		BEGIN {
			for (i = split(kernel, name, ","); i > 0; i--)
				kernels[name[i]]
		}
		/^#/ || !NF { next }
		$1 == "vm/leaks" ? !($2 in wanted) : !named($1) { next }
		$1 ~ /^vm\// && !($2 in wanted) && prefixes == "" { next }
		among(quick ? $5 : $3) || ($1 ~ /^vm\// && among($3)) {
			wanted[$2]
			print $2, $1, $4
		}' "$1"
}

# guest_tests GUEST FILE: prints the part of the guest
guest_tests() {
	awk -v guest="$1" '$1 == guest' "$2"
}

# tests_check FOLDER SELFTESTS: do the table and the files in FOLDER match?
# Tools are in separate folders.
tests_check() {
	local wrong

	wrong=$(
		awk '!/^#/ && NF { print ($2 == "host" ? "host" : "guest"), $1 }' \
			"$2/tests" | grep -v ' vm/' | sort -u >"$1/.named"
		{
			cd "$1" && find . -mindepth 2 -maxdepth 2 -type f -perm -u+x \
				! -path './demo/*' ! -path './bench/*' -printf 'guest %P\n'
			cd "$2" && find host -name '*.sh' -printf 'host %p\n'
		} | sort >"$1/.found"
		comm -13 "$1/.named" "$1/.found" |
			sed 's|.* \(.*\)|no row in selftests/tests names \1|'
		comm -23 "$1/.named" "$1/.found" |
			sed 's|.* \(.*\)|selftests/tests names \1, which does not exist|'
		awk '!/^#/ && NF && ($2 !~ /^(alpha|gamma|delta|host)$/ ||
				$4 !~ /^[0-9]+$/ || NF > 5) {
			print "selftests/tests:" NR ": not DIR/NAME GUEST KERNELS SECONDS [QUICK]"
		}
		!/^#/ && NF && seen[$1, $2]++ {
			print "selftests/tests:" NR ": a second row of " $1 " in " $2
		}' "$2/tests"
	)
	rm -f "$1/.named" "$1/.found"
	[ -z "$wrong" ] || { echo "image: $wrong" >&2; return 1; }
}

# program_of MODE GUEST: the program of a demo or a bench below the folder
program_of() {
	case $1,$2 in
	demo,alpha) echo demo/demo.sh ;;
	demo,gamma) echo demo/fabric.sh ;;
	bench,alpha) echo bench/run ;;
	bench,gamma) echo bench/fabric ;;
	esac
}

# programs_list FOLDER: prints the existing ones, as "GUEST MODE"
programs_list() {
	local mode guest

	for mode in demo bench; do
		for guest in alpha gamma; do
			[ ! -x "$1/$(program_of $mode $guest)" ] ||
				echo "$guest $mode"
		done
	done
}
