# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# What there is to run, and in which guest. Sourced when the image is built and
# in the guests.
# shellcheck shell=bash

# room_guest FOLDER ROOM: what its file `guest` says, else alpha
room_guest() {
	local guest=alpha

	[ ! -e "$1/$2/guest" ] || read -r guest <"$1/$2/guest"
	echo "$guest"
}

# test_named NAME PREFIXES: does it begin with one of them? They have commas in
# between; without any, each test is meant.
test_named() {
	local prefix prefixes

	IFS=, read -ra prefixes <<<"$2"
	[ ${#prefixes[@]} != 0 ] || return 0
	for prefix in "${prefixes[@]}"; do
		case $1 in "$prefix"*) return 0 ;; esac
	done
	return 1
}

# test_debug NAME FILE: is it named in the list of what the debug kernel runs?
# Prints the word behind it; "yes" if there is none.
test_debug() {
	awk -v name="$1" '
		/^#/ || !NF { next }
		$1 == name || ($1 ~ /\/$/ && index(name, $1) == 1) {
			word = NF > 1 ? $2 : word ? word : "yes"
		}
		END { if (word) print word; exit !word }' "$2"
}

# test_here NAME KERNEL FILE: does it run on this one, stock or debug?
test_here() {
	local word

	word=$(test_debug "$1" "$3")
	case $2,$word in
	debug,?* | stock, | stock,yes) return 0 ;;
	*) return 1 ;;
	esac
}

# tests_list FOLDER KERNEL FILE: the tests below FOLDER, in their order, as
# "GUEST NAME"; FILE is selftests/vm/debug/tests
tests_list() {
	local file name guest guests=''

	# The fuzzer comes after the others: now and then no MAD gets through its
	# soft-RoCE device any more, until that is made anew.
	for file in $(printf '%s\n' "$1"/*/* | grep -v /fuzz/) "$1"/fuzz/*; do
		name=${file#"$1"/}
		[ -f "$file" ] && [ -x "$file" ] || continue
		case $name in demo/* | bench/* | *.helper) continue ;; esac
		test_here "$name" "$2" "$3" || continue
		guest=$(room_guest "$1" "${name%/*}")
		echo "$guest $name"
		case " $guests " in *" $guest "*) ;; *) guests+=" $guest" ;; esac
	done
	# Last of all: the modules go and come back.
	for guest in $guests; do
		echo "$guest vm/unload_$guest"
	done
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

# programs_list FOLDER: those that there are, as "GUEST MODE"
programs_list() {
	local mode guest

	for mode in demo bench; do
		for guest in alpha gamma; do
			[ ! -x "$1/$(program_of $mode $guest)" ] ||
				echo "$guest $mode"
		done
	done
}
