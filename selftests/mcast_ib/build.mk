# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Multicast on the simulated InfiniBand fabric: shell tests that use cmx join,
# mc.helper of the API tests and the in-kernel consumer.

mcast_ib_dir := selftests/mcast_ib

.PHONY: install-selftests-mcast-ib
install-selftests: install-selftests-mcast-ib
install-selftests-mcast-ib:
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/mcast_ib
	$(INSTALL) -m 755 $(wildcard $(mcast_ib_dir)/*.sh) \
		$(DESTDIR)$(TESTDIR)/mcast_ib/
	$(INSTALL) -m 644 $(mcast_ib_dir)/guest $(mcast_ib_dir)/timeouts \
		$(mcast_ib_dir)/functions $(DESTDIR)$(TESTDIR)/mcast_ib/
