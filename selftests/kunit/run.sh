#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The unit tests of cmx_kunit.ko run when it is loaded, and print their results
# to the kernel log. Each case, and each parameter of a case, becomes a result
# here. The logs in debugfs are incomplete: kernel 6.1 truncates those of a
# case.
. /usr/lib/rdma-cmx/selftests/lib.sh

mark="cmx-kunit: begin $$"

# Prints the log of the run in KTAP, without timestamps; what is left if the
# beginning is lost.
ktap() {
	dmesg | awk -v mark="$mark" '
		index($0, mark) { n = 0; next }
		{ sub(/^\[[^]]*\] /, ""); line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
}

# Prints "ok NAME", "not ok NAME" or "skip NAME" for each, with comments after
# "# ".
results() {
	awk '
	function result(text, name,    how) {
		how = "ok"
		if (text ~ /^ *not ok/) how = "not ok"
		else if (toupper(text) ~ /# *SKIP/) how = "skip"
		if (how == "not ok") bad++
		print how, name
	}
	function name_of(text) {
		sub(/^ *(not )?ok [0-9]+ -? */, "", text)
		sub(/ *# *SKIP.*/, "", text)
		return text
	}
	/^        # Subtest: / { case_ = $3; params = bad_params = 0; next }
	/^    # Subtest: / { suite = $3; bad = 0; params = 0; next }
	/^        (not )?ok [0-9]+ / {
		params++
		bad_params += ($1 == "not")
		result($0, suite ": " case_ ": " name_of($0))
		next
	}
	/^    (not )?ok [0-9]+ / {
		# A case with parameters has a result only if it fails without a
		# failed parameter
		if (!params || ($1 == "not" && !bad_params))
			result($0, suite ": " name_of($0))
		params = 0
		next
	}
	/^(not )?ok [0-9]+ / {
		if ($1 == "not" && !bad)
			result($0, suite ": as a whole")
		print "suite", name_of($0)
		next
	}
	/^ *(KTAP version|1\.\.)/ { next }
	/^ / { print "#", $0 }'
}

suites_of() {
	local dir

	for dir in /sys/kernel/debug/kunit/{,u}cmx_*; do
		echo "${dir##*/}"
	done | sort
}

[ -d /sys/kernel/debug/kunit ] || plan_skip "this kernel has no KUnit"
# The suites register devices, and test which addresses they reach.
ok "no other device" rdma link del rxe0
echo "$mark" >/dev/kmsg
ok "modprobe cmx_kunit" modprobe cmx_kunit
while read -r how name; do
	case $how in
	ok) pass "$name" ;;
	not) fail "${name#ok }" ;;
	skip) skip "$name" "by itself" ;;
	'#') echo "# $name" ;;
	esac
done < <(ktap | results)

# The log must be complete.
is "all suites have ended" "$(ktap | results | sed -n 's/^suite //p' | sort)" \
	"$(suites_of)"
ok "rmmod cmx_kunit" rmmod cmx_kunit
rdma link add rxe0 type rxe netdev eth0
ok "the device is back" wait_for 40 \
	sh -c 'rdma link show rxe0/1 | grep -q "state ACTIVE"'
finish
