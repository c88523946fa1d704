# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Races and faults: C programs at the uAPI, and shell tests that let
# load.helper work while something goes away.

races_dir := selftests/races
races_names := commands events many
races_tests := $(races_names:%=$(O)/$(races_dir)/%)
races_helpers := $(O)/$(races_dir)/load.helper $(O)/$(races_dir)/hoard.helper
selftest_targets += $(races_tests) $(races_helpers)

$(races_tests): $(O)/$(races_dir)/%: $(races_dir)/%.c $(races_dir)/pair.h \
		$(uapi_common)
	$(call uapi_cc)

$(races_helpers): $(O)/$(races_dir)/%.helper: $(races_dir)/%.c $(uapi_common)
	$(call uapi_cc)

.PHONY: install-races-tests
install-selftests: install-races-tests
install-races-tests: $(races_tests) $(races_helpers)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/races
	$(INSTALL) -m 755 $(races_tests) $(races_helpers) \
		$(wildcard $(races_dir)/*.sh) $(DESTDIR)$(TESTDIR)/races/
	$(INSTALL) -m 644 $(races_dir)/timeouts $(races_dir)/functions \
		$(DESTDIR)$(TESTDIR)/races/
