# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmx_fabric.ko: InfiniBand devices and their switch in software.

selftest_modules += selftests/fabric/cmx_fabric.ko

.PHONY: fabric-module install-fabric
selftests: fabric-module
fabric-module:
	$(MAKE) -C $(KDIR) M=$(CURDIR)/selftests/fabric modules

install-selftests: install-fabric
install-fabric: fabric-module
	$(INSTALL) -d $(UPDATES)
	$(INSTALL) -m 644 selftests/fabric/cmx_fabric.ko $(UPDATES)
	@test -n "$(DESTDIR)" || depmod $(KVER)
