# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of the command cmx, and the JSON checker for them.

cmx_json := $(O)/selftests/cmx/json.helper
selftest_targets += $(cmx_json)

$(cmx_json): selftests/cmx/json.c
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -o $@ $<

.PHONY: install-selftests-cmx
install-selftests: install-selftests-cmx
install-selftests-cmx: $(cmx_json)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/cmx
	$(INSTALL) -m 755 $(cmx_json) $(wildcard selftests/cmx/*.sh) \
		$(DESTDIR)$(TESTDIR)/cmx/
	$(INSTALL) -m 644 selftests/cmx/functions $(DESTDIR)$(TESTDIR)/cmx/
