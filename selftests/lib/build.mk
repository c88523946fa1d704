# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of librdmacmx as a stand-in for librdmacm. abi.sh runs on the host.

lib_test := $(O)/selftests/lib/sync $(O)/selftests/lib/records
lib_static := $(O)/selftests/lib/static
lib_helper := $(O)/selftests/lib/resolve.helper
selftest_targets += $(lib_test) $(lib_static) $(lib_helper)

LIB_TEST_CFLAGS = $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
	-Iuser/include -Iuapi -isystem $(KSELFTEST_DIR)

$(lib_test): $(O)/selftests/lib/%: selftests/lib/%.c selftests/api/util.c \
		selftests/api/api.h $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) -o $@ $(filter %.c,$^) \
		-L$(O)/user/lib -lrdmacmx -libverbs -pthread

$(lib_static): selftests/lib/static.c selftests/api/util.c \
		selftests/api/api.h $(O)/user/lib/librdmacmx.a
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) -o $@ $(filter %.c %.a,$^) \
		-libverbs -pthread

$(lib_helper): selftests/lib/resolve.c $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -o $@ $< -L$(O)/user/lib -lrdmacmx -libverbs

.PHONY: install-lib-tests
install-selftests: install-lib-tests
install-lib-tests: $(lib_test) $(lib_static) $(lib_helper)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/lib
	$(INSTALL) -m 755 $^ selftests/lib/no_helper.sh \
		$(DESTDIR)$(TESTDIR)/lib/
	$(INSTALL) -m 644 selftests/lib/timeouts $(DESTDIR)$(TESTDIR)/lib/
