#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# libFuzzer for the parsers in user space, with the address and undefined
# behaviour sanitizers: a fixed seed and number of inputs each, without a
# corpus, as TAP. FUZZ_SEED=N and FUZZ_INPUTS=N change them.
top=$(cd "${0%/*}/../.." && pwd)
seed=${FUZZ_SEED:-20240611} inputs=${FUZZ_INPUTS:-200000}
targets=(library names)
n=0 failed=0

echo "TAP version 13"
echo "1..${#targets[@]}"
make -C "$top" -s --no-print-directory fuzz-targets 2>&1 || exit
for target in "${targets[@]}"; do
	n=$((n + 1))
	# The input of a failure is stored beside the target.
	if timeout 1800 "$top/build/selftests/fuzz/$target.llvm" \
		-seed="$seed" -runs="$inputs" -timeout=60 \
		-dict="$top/selftests/fuzz/host/words.dict" \
		-artifact_prefix="$top/build/selftests/fuzz/$target." 2>&1; then
		echo "ok $n $target: $inputs inputs of seed $seed"
	else
		echo "not ok $n $target: $inputs inputs of seed $seed"
		failed=1
	fi
done
exit $failed
