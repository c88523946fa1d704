# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A kernel without IPv6, ipv6.disable=1: programs at the uAPI, and the command.

no_ipv6_tests := $(patsubst selftests/%.c,$(O)/selftests/%,\
	$(wildcard selftests/no_ipv6/*.c))
selftest_targets += $(no_ipv6_tests)

$(no_ipv6_tests): $(O)/selftests/%: selftests/%.c $(uapi_common)
	$(call uapi_cc)

.PHONY: install-no-ipv6-tests
install-selftests: install-no-ipv6-tests
install-no-ipv6-tests: $(no_ipv6_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/no_ipv6
	$(INSTALL) -m 755 $(no_ipv6_tests) $(wildcard selftests/no_ipv6/*.sh) \
		$(DESTDIR)$(TESTDIR)/no_ipv6/
	$(INSTALL) -m 644 selftests/no_ipv6/guest selftests/no_ipv6/timeouts \
		$(DESTDIR)$(TESTDIR)/no_ipv6/
