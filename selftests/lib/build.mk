# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The library for static linking
$(O)/selftests/lib/static: $(O)/user/lib/librdmacmx.a
# The program replaces a function of libibverbs.
$(O)/selftests/lib/lazy: private TEST_FLAGS = -rdynamic
# A 32-bit program with 64-bit time_t, as all of some architectures
selftest_others += lib/wait32
selftest_targets += $(O)/selftests/lib/wait32
$(O)/selftests/lib/wait32: selftests/lib/wait32.c user/lib/wait.c \
		user/lib/lib.h $(test_headers)
	@mkdir -p $(@D)
	$(TEST_CC) -m32 -static -D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64 \
		-Iuser/lib -Wno-pointer-to-int-cast -o $@ \
		$(filter %.c,$^) -lpthread

.PHONY: install-wait32
install-selftests: install-wait32
install-wait32: $(O)/selftests/lib/wait32
	$(INSTALL) -D -m 755 $< $(DESTDIR)$(TESTDIR)/lib/wait32
