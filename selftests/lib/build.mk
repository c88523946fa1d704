# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of librdmacmx as a stand-in for librdmacm. abi.sh runs on the host.

lib_test := $(O)/selftests/lib/sync
selftest_targets += $(lib_test)

$(lib_test): selftests/lib/sync.c selftests/api/util.c selftests/api/api.h \
		$(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
		-Iuser/include -Iuapi -isystem $(KSELFTEST_DIR) -o $@ \
		$(filter %.c,$^) -L$(O)/user/lib -lrdmacmx -libverbs -pthread

.PHONY: install-lib-tests
install-selftests: install-lib-tests
install-lib-tests: $(lib_test)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/lib
	$(INSTALL) -m 755 $(lib_test) selftests/lib/preload.sh \
		$(DESTDIR)$(TESTDIR)/lib/
	$(INSTALL) -m 644 selftests/lib/timeouts $(DESTDIR)$(TESTDIR)/lib/
