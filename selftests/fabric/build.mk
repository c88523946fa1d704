# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmx_fabric.ko: InfiniBand devices and their switch in software, and programs
# that try it through libibverbs.

selftest_modules += selftests/fabric/cmx_fabric.ko

.PHONY: fabric-module install-fabric
selftests: fabric-module
fabric-module:
	$(MAKE) -C $(KDIR) M=$(CURDIR)/selftests/fabric modules

fabric_tests := $(addprefix $(O)/selftests/fabric/,transport transport_stress)
selftest_targets += $(fabric_tests)

$(fabric_tests): $(O)/selftests/fabric/%: selftests/fabric/%.c \
		selftests/fabric/pair.c selftests/fabric/pair.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-sign-compare -D_GNU_SOURCE -isystem $(KSELFTEST_DIR) \
		-o $@ $(filter %.c,$^) -libverbs -lpthread

install-selftests: install-fabric
install-fabric: fabric-module $(fabric_tests)
	$(INSTALL) -d $(UPDATES) $(DESTDIR)$(TESTDIR)/fabric
	$(INSTALL) -m 644 selftests/fabric/cmx_fabric.ko $(UPDATES)
	$(INSTALL) -m 755 $(fabric_tests) $(DESTDIR)$(TESTDIR)/fabric/
	for file in $(wildcard selftests/fabric/*.sh); do \
		$(INSTALL) -m 755 $$file $(DESTDIR)$(TESTDIR)/fabric/ || exit; \
	done
	for file in $(wildcard selftests/fabric/guest selftests/fabric/timeouts); do \
		$(INSTALL) -m 644 $$file $(DESTDIR)$(TESTDIR)/fabric/ || exit; \
	done
	@test -n "$(DESTDIR)" || depmod $(KVER)
