# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Functions that show a step of a demonstration, run its commands and check
# them. Sourced after lib.sh; ends with demo_end.
# shellcheck shell=bash

shopt -s extglob
tests=/usr/lib/rdma-cmx/selftests
here=$tests/demo
steps=0 checks=0 broken=0 out='' status=0

# title TITLE LINES...: the next step, and a description of it
title() {
	steps=$((steps + 1))
	printf '\n=== %d. %s\n' "$steps" "$1"
	shift
	for line; do
		printf '    %s\n' "$line"
	done
	echo
}

# show HOST COMMAND: shows a command line, with short names of the tests'
# programs, and its output
show() {
	printf '  %s$ %s\n' "$1" "${2//$tests\/*([a-z])\//}"
	[ -z "$out" ] || sed 's/^/    /' <<<"$out"
}

# Runs a command line and shows it; sets $out and $status.
run() {
	out=$(timeout -k 1 90 bash -c "$1" 2>&1)
	status=$?
	show "$(hostname)" "$1"
}

# check TEXT COMMAND...
check() {
	local text=$1

	shift
	checks=$((checks + 1))
	if "$@" >/dev/null 2>&1; then
		echo "  [ok] $text"
	else
		broken=$((broken + 1))
		echo "  [FAILED] $text"
	fi
}

# Does a line of the last output match?
said() {
	grep -qE -e "$1" <<<"$out"
}

# Line N of the last output
line() {
	sed -n "$1p" <<<"$out"
}

line_said() {
	grep -qE -e "$2" <<<"$(line "$1")"
}

succeeded() {
	[ "$status" = 0 ]
}

# Did the program report an error, without a crash or a result?
error_reported() {
	[ "$status" = 1 ]
}

crash_text() {
	if [ "$status" -gt 128 ]; then
		echo "(stock: killed by signal $((status - 128)))"
	else
		echo "(stock: exit code $status)"
	fi
}

# Prints the result: status 1 when any check failed
demo_end() {
	echo
	if [ $broken = 0 ]; then
		echo "demo: $steps steps, all $checks checks passed"
		exit 0
	fi
	echo "demo: $broken of $checks checks FAILED"
	exit 1
}
