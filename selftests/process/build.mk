# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of processes that use librdmacmx: fork, threads, signals, limits. And
# probe.helper, which is linked to the stock library and run on both.

process_dir := $(O)/selftests/process
process_tests := $(addprefix $(process_dir)/,$(filter-out util, \
	$(basename $(notdir $(wildcard selftests/process/*.c)))))
process_tool := $(process_dir)/probe.helper
selftest_targets += $(process_tests) $(process_tool)

# The harness's macros are not ours to make clean of warnings.
PROCESS_CFLAGS = $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
	-Iuser/include -Iuapi -isystem $(KSELFTEST_DIR)
PROCESS_UTIL := selftests/process/util.c selftests/api/util.c

$(process_tests): $(process_dir)/%: selftests/process/%.c $(PROCESS_UTIL) \
		selftests/process/process.h selftests/api/api.h \
		$(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(PROCESS_CFLAGS) -o $@ $(filter %.c,$^) \
		-L$(O)/user/lib -lrdmacmx -libverbs -lpthread

$(process_tool): selftests/process/tools/probe.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -Iu%,$(USER_CFLAGS)) -o $@ $< -lrdmacm -libverbs

.PHONY: install-process-tests
install-selftests: install-process-tests
install-process-tests: $(process_tests) $(process_tool)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/process
	$(INSTALL) -m 755 $^ $(wildcard selftests/process/*.sh) \
		$(DESTDIR)$(TESTDIR)/process/
	$(INSTALL) -m 644 $(addprefix selftests/process/,timeouts functions helgrind.supp) \
		$(DESTDIR)$(TESTDIR)/process/
