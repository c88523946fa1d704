# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The simulation of a job start, and its unit tests. Both run on the host.

simulate_dir := $(O)/selftests/simulate
simulate_bins := $(simulate_dir)/simulate $(simulate_dir)/units
simulate_src := $(filter-out %/main.c %/units.c,\
	$(wildcard selftests/simulate/*.c))
selftest_targets += $(simulate_bins)
selftest_others += simulate/%

$(simulate_dir)/simulate: selftests/simulate/main.c
$(simulate_dir)/units: selftests/simulate/units.c
$(simulate_bins): $(simulate_src) $(wildcard selftests/simulate/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -o $@ $(filter %.c,$^)

.PHONY: simulate deps-simulate
simulate: $(simulate_dir)/simulate deps-simulate  ## job start on 1 to 10,000 nodes: tables, and drawings in Documentation
	@selftests/simulate/run $< Documentation

# Drawings are skipped without it.
deps-simulate:
	@selftests/vm/deps.sh simulate || true
