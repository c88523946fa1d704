# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Results of a script on the host as TAP.
# shellcheck shell=bash
count=0
failed=0

# result NAME STATUS [DETAILS]
result() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count $1"
	else
		echo "not ok $count $1"
		failed=1
		[ -z "${3:-}" ] || printf '%s\n' "$3" | sed 's/^/# /'
	fi
}

# The last line of a script
results_end() {
	exit "$failed"
}
