# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests that need several programs, both guests, or the name server's controls.

system_tests := $(wildcard selftests/system/*.sh)

.PHONY: install-selftests-system
install-selftests: install-selftests-system
install-selftests-system:
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/system
	$(INSTALL) -m 755 $(system_tests) $(DESTDIR)$(TESTDIR)/system/
	$(INSTALL) -m 644 selftests/system/timeouts $(DESTDIR)$(TESTDIR)/system/
