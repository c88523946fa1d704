# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of librdmacmx as a stand-in for librdmacm. abi.sh runs on the host.

.PHONY: install-lib-tests
install-selftests: install-lib-tests
install-lib-tests:
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/lib
	$(INSTALL) -m 755 selftests/lib/preload.sh $(DESTDIR)$(TESTDIR)/lib/
	$(INSTALL) -m 644 selftests/lib/timeouts $(DESTDIR)$(TESTDIR)/lib/
