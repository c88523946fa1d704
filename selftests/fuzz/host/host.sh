#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The fuzzing targets of user space, built with the sanitizers: a fixed seed and
# number of inputs each, as TAP. FUZZ_SEED=N and FUZZ_INPUTS=N are others.
top=$(cd "${0%/*}/../../.." && pwd)
seed=${FUZZ_SEED:-20240611} inputs=${FUZZ_INPUTS:-300000}
n=0 failed=0

echo "TAP version 13"
echo 1..2
for target in library names; do
	n=$((n + 1))
	# The sanitizers say on stderr what is wrong
	if timeout 500 "$top/build/selftests/fuzz/$target.host" -s "$seed" \
		-n "$inputs" 2>&1; then
		echo "ok $n $target: $inputs inputs of seed $seed"
	else
		echo "not ok $n $target: $inputs inputs of seed $seed"
		failed=1
	fi
done
exit $failed
