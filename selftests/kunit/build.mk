# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Unit tests in the kernel. The module cmx_kunit.ko is built for kernels that
# have KUnit: selftests/vm/debug builds one, and the module with it.

.PHONY: install-kunit-tests
install-selftests: install-kunit-tests
install-kunit-tests:
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/kunit
	$(INSTALL) -m 755 $(wildcard selftests/kunit/*.sh) \
		$(DESTDIR)$(TESTDIR)/kunit/
