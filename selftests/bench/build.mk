# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The benchmark, from one source: on this project's library, and (-stock) on
# the stock librdmacm.

bench_dir := $(O)/selftests/bench
bench_bins := $(bench_dir)/bench $(bench_dir)/bench-stock
bench_src := $(wildcard selftests/bench/*.c)
bench_stock_src := $(filter-out %/sa.c,$(bench_src))
selftest_targets += $(bench_bins)

$(bench_dir)/bench: $(bench_src) selftests/bench/bench.h \
		$(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -DBENCH_PROJECT -o $@ $(filter-out %.h,$^) -libverbs

$(bench_dir)/bench-stock: $(bench_stock_src) selftests/bench/bench.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -Iu%,$(USER_CFLAGS)) -o $@ $(bench_stock_src) \
		-lrdmacm -libverbs

.PHONY: install-bench
install-selftests: install-bench
install-bench: $(bench_bins) $(O)/selftests/simulate/simulate
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/bench
	$(INSTALL) -m 755 $(bench_bins) $(O)/selftests/simulate/simulate \
		selftests/bench/run selftests/bench/fabric \
		$(DESTDIR)$(TESTDIR)/bench/
	$(INSTALL) -m 644 selftests/bench/fabric_job selftests/bench/fabric_mcast \
		selftests/bench/fabric_services selftests/bench/fabric_storm \
		selftests/bench/run_devices \
		selftests/bench/run_idle selftests/bench/run_move \
		selftests/bench/run_names \
		selftests/bench/run_programs selftests/bench/run_scale \
		selftests/bench/run_storm \
		$(DESTDIR)$(TESTDIR)/bench/
