# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Who may do what: Documentation/security.rst, statement by statement.

security_tests := $(addprefix $(O)/selftests/security/,handles leaks limits)
selftest_targets += $(security_tests)

$(security_tests): $(O)/selftests/security/%: selftests/security/%.c \
		selftests/ioctl/common.c selftests/ioctl/common.h \
		uapi/rdma/rdma_cmx_ioctl.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-sign-compare -fno-strict-aliasing -D_GNU_SOURCE -Iuapi \
		-Iselftests/ioctl -isystem $(KSELFTEST_DIR) \
		-o $@ $(filter %.c,$^) -lpthread

.PHONY: install-security-tests
install-selftests: install-security-tests
install-security-tests: $(security_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/security
	$(INSTALL) -m 755 $(security_tests) $(wildcard selftests/security/*.sh) \
		$(DESTDIR)$(TESTDIR)/security/
