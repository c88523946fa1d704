# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of the name helper, and the DNS server that misbehaves for them.

names_tests := $(O)/selftests/names/unit $(O)/selftests/names/dns.helper
selftest_targets += $(names_tests)

$(O)/selftests/names/unit: selftests/names/unit.c user/names/names.c \
		user/names/probe.c $(wildcard user/names/*.h) \
		uapi/rdma/rdma_cmx_names.h
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -Iuser/names -o $@ $(filter %.c,$^)

$(O)/selftests/names/dns.helper: selftests/names/dns.c
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -o $@ $<

.PHONY: install-names-tests
install-selftests: install-names-tests
install-names-tests: $(names_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/names
	$(INSTALL) -m 755 $(names_tests) selftests/names/dns.sh \
		selftests/names/keys.sh $(DESTDIR)$(TESTDIR)/names/
