# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests straight at the uAPI: one program a subject, kselftest harness.

KSELFTEST_INC ?= $(KSELFTEST_DIR)
ioctl_names := abi ids owner cm events addrinfo mcast races
ioctl_tests := $(ioctl_names:%=$(O)/selftests/ioctl/%)
selftest_targets += $(ioctl_tests)

$(ioctl_tests): $(O)/selftests/ioctl/%: selftests/ioctl/%.c \
		selftests/ioctl/common.c selftests/ioctl/common.h \
		uapi/rdma/rdma_cmx_ioctl.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-sign-compare -fno-strict-aliasing -D_GNU_SOURCE -Iuapi -I$(KSELFTEST_INC) \
		-o $@ $(filter %.c,$^) -lpthread

# The same as 32-bit programs: the ABI has one layout for both.
ioctl32_names := abi ids owner cm events addrinfo mcast
ioctl32_tests := $(ioctl32_names:%=$(O)/selftests/ioctl32/%)
selftest_targets += $(ioctl32_tests)

$(ioctl32_tests): $(O)/selftests/ioctl32/%: selftests/ioctl/%.c \
		selftests/ioctl/common.c selftests/ioctl/common.h \
		uapi/rdma/rdma_cmx_ioctl.h
	@mkdir -p $(@D)
	$(CC) -m32 -static $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-pointer-to-int-cast \
		-Wno-sign-compare -fno-strict-aliasing -D_GNU_SOURCE -Iuapi -I$(KSELFTEST_INC) \
		-o $@ $(filter %.c,$^) -lpthread

.PHONY: install-ioctl-tests
install-selftests: install-ioctl-tests
install-ioctl-tests: $(ioctl_tests) $(ioctl32_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/ioctl32
	$(INSTALL) -m 755 $(ioctl32_tests) $(DESTDIR)$(TESTDIR)/ioctl32/
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/ioctl
	$(INSTALL) -m 755 $(ioctl_tests) $(wildcard selftests/ioctl/*.sh) \
		$(DESTDIR)$(TESTDIR)/ioctl/
	$(INSTALL) -m 644 selftests/ioctl/timeouts $(DESTDIR)$(TESTDIR)/ioctl/
