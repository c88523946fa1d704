# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Races and faults: C programs at the uAPI, and shell tests that let
# load.helper work while something goes away.

races_dir := selftests/races
races_names := commands events many
races_tests := $(races_names:%=$(O)/$(races_dir)/%)
races_helpers := $(O)/$(races_dir)/load.helper $(O)/$(races_dir)/hoard.helper
selftest_targets += $(races_tests) $(races_helpers)

races_cc = $(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
	-Wno-sign-compare -fno-strict-aliasing -D_GNU_SOURCE -Iuapi -I$(KSELFTEST_INC) \
	-o $@ $(filter %.c,$^) -lpthread

$(races_tests): $(O)/$(races_dir)/%: $(races_dir)/%.c selftests/ioctl/common.c \
		selftests/ioctl/common.h $(races_dir)/pair.h \
		uapi/rdma/rdma_cmx_ioctl.h
	@mkdir -p $(@D)
	$(races_cc)

$(races_helpers): $(O)/$(races_dir)/%.helper: $(races_dir)/%.c selftests/ioctl/common.c \
		selftests/ioctl/common.h uapi/rdma/rdma_cmx_ioctl.h
	@mkdir -p $(@D)
	$(races_cc)

.PHONY: install-races-tests
install-selftests: install-races-tests
install-races-tests: $(races_tests) $(races_helpers)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/races
	$(INSTALL) -m 755 $(races_tests) $(races_helpers) \
		$(wildcard $(races_dir)/*.sh) $(DESTDIR)$(TESTDIR)/races/
	$(INSTALL) -m 644 $(races_dir)/timeouts $(races_dir)/functions \
		$(DESTDIR)$(TESTDIR)/races/
