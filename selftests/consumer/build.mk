# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmx_consumer.ko: the kernel API, driven from a test through debugfs.

selftest_modules += selftests/consumer/cmx_consumer.ko

.PHONY: consumer-module install-consumer
selftests: consumer-module
consumer-module: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR)/selftests/consumer \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/Module.symvers modules

install-selftests: install-consumer
install-consumer: consumer-module
	$(INSTALL) -d $(UPDATES) $(DESTDIR)$(TESTDIR)/consumer
	$(INSTALL) -m 644 selftests/consumer/cmx_consumer.ko $(UPDATES)
	$(INSTALL) -m 755 $(wildcard selftests/consumer/*.sh) \
		$(DESTDIR)$(TESTDIR)/consumer/
	@test -n "$(DESTDIR)" || depmod $(KVER)
