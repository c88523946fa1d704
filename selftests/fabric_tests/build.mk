# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of cmx_fabric.ko: scripts with the stock tools, and programs that try
# it through libibverbs.

fabric_tests := $(addprefix $(O)/selftests/fabric_tests/,\
	transport transport_stress)
selftest_targets += $(fabric_tests)

$(fabric_tests): $(O)/selftests/%: selftests/%.c \
		selftests/fabric_tests/pair.c selftests/fabric_tests/pair.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-sign-compare -D_GNU_SOURCE -isystem $(KSELFTEST_DIR) \
		-o $@ $(filter %.c,$^) -libverbs -lpthread

.PHONY: install-fabric-tests
install-selftests: install-fabric-tests
install-fabric-tests: $(fabric_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/fabric_tests
	$(INSTALL) -m 755 $(fabric_tests) \
		$(wildcard selftests/fabric_tests/*.sh) \
		$(DESTDIR)$(TESTDIR)/fabric_tests/
	$(INSTALL) -m 644 selftests/fabric_tests/guest \
		selftests/fabric_tests/timeouts \
		$(DESTDIR)$(TESTDIR)/fabric_tests/
