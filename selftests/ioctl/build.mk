# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The same tests as 32-bit programs: the ABI has one layout for both.
ioctl32_tests := $(filter ioctl32/%,$(tests_named))
selftest_others += $(ioctl32_tests)
selftest_targets += $(ioctl32_tests:%=$(O)/selftests/%)

$(ioctl32_tests:%=$(O)/selftests/%): $(O)/selftests/ioctl32/%: \
		selftests/ioctl/%.c selftests/common/ioctl.c $(test_headers) \
		$(wildcard selftests/ioctl/*.h)
	@mkdir -p $(@D)
	$(TEST_CC) -m32 -static -Wno-pointer-to-int-cast -o $@ \
		$(filter %.c,$^) -lpthread

.PHONY: install-ioctl32
install-selftests: install-ioctl32
install-ioctl32: $(ioctl32_tests:%=$(O)/selftests/%)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/ioctl32
	$(INSTALL) -m 755 $^ $(DESTDIR)$(TESTDIR)/ioctl32/
