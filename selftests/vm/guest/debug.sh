# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Reports of the debug kernel at the end of a run: leaks and coverage. Sourced
# in the guests.
# shellcheck shell=bash

# faults_quiet: no kernel log for a failure that a test injects
faults_quiet() {
	local file

	for file in /sys/kernel/debug/fail*/verbose; do
		[ ! -e "$file" ] || echo 0 >"$file"
	done
}

# leaks_find: prints unreferenced objects of kmemleak, with backtraces. An
# object must be 5 s old, and the same in two scans: an object that moves
# between lists during one scan only looks lost. A leak of the kernel itself is
# left out: IPoIB's list of groups in debugfs, which the tests read, leaks its
# iterator when it is read in parts.
leaks_find() {
	local known='ipoib_mcast_iter_init' found=''
	local file=/sys/kernel/debug/kmemleak

	for _ in 1 2 3 4; do
		sleep 6
		echo scan >$file
		echo scan >$file
		found=$(leaks_read)
		[ -n "$found" ] || return 0
	done
	printf '%s\n' "$found"
}

leaks_read() {
	awk -v known="$known" '
		function flush() {
			if (block != "" && block !~ known)
				printf "%s", block
			block = ""
		}
		/^unreferenced object/ { flush() }
		{ block = block $0 "\n" }
		END { flush() }' $file | sed 200q
}

# coverage_save FOLDER: the counts of gcov, which outlive an unloaded module. In
# debugfs, files have no size: only cat reads them.
coverage_save() {
	local from=/sys/kernel/debug/gcov file

	[ -d $from ] || return 0
	find $from -name '*.gcda' | while read -r file; do
		mkdir -p "$1$(dirname "${file#"$from"}")"
		cat "$file" >"$1${file#"$from"}"
	done
}
