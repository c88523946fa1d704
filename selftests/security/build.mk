# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Who may do what: Documentation/security.rst, statement by statement; in
# security_ib on InfiniBand, some of them the same tests with its addresses.

security_tests := $(addprefix $(O)/selftests/security/,handles leaks limits)
security_ib_tests := $(addprefix $(O)/selftests/security_ib/,handles leaks \
	limits)
selftest_targets += $(security_tests) $(security_ib_tests)

$(security_tests): $(O)/selftests/security/%: selftests/security/%.c
$(O)/selftests/security_ib/limits: selftests/security_ib/limits.c
$(filter-out %/limits,$(security_ib_tests)): $(O)/selftests/security_ib/%: \
		selftests/security/%.c
$(security_ib_tests): SECURITY_BED := -DON_INFINIBAND \
	-DADDR_RDMA='"10.66.0.1"'
$(security_tests) $(security_ib_tests): $(uapi_common)
	$(call uapi_cc,$(SECURITY_BED))

.PHONY: install-security-tests
install-selftests: install-security-tests
install-security-tests: $(security_tests) $(security_ib_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/security \
		$(DESTDIR)$(TESTDIR)/security_ib
	$(INSTALL) -m 755 $(security_tests) $(wildcard selftests/security/*.sh) \
		$(DESTDIR)$(TESTDIR)/security/
	$(INSTALL) -m 755 $(security_ib_tests) \
		$(wildcard selftests/security_ib/*.sh) \
		$(DESTDIR)$(TESTDIR)/security_ib/
	$(INSTALL) -m 644 selftests/security_ib/guest \
		selftests/security_ib/timeouts $(DESTDIR)$(TESTDIR)/security_ib/
