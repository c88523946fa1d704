# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# For cmx/trace.sh, which checks the scripts for bpftrace
.PHONY: install-trace
install-selftests: install-trace
install-trace:
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/cmx/trace
	$(INSTALL) -m 644 Documentation/trace/*.bt $(DESTDIR)$(TESTDIR)/cmx/trace
