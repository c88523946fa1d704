# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests that let each allocation and each copy from or to user space fail. They
# need the debug kernel.

faults_dir := $(O)/selftests/faults
faults_names := id conn ai mc kernel load work
faults_tests := $(faults_names:%=$(faults_dir)/%)
faults_ib_tests := $(O)/selftests/faults_ib/work
selftest_targets += $(faults_tests) $(faults_ib_tests)

$(faults_tests) $(faults_ib_tests): $(O)/selftests/%: selftests/%.c \
		selftests/faults/faults.c $(wildcard selftests/faults/*.h) \
		$(uapi_common)
	$(call uapi_cc)

.PHONY: install-faults-tests
install-selftests: install-faults-tests
install-faults-tests: $(faults_tests) $(faults_ib_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/faults $(DESTDIR)$(TESTDIR)/faults_ib
	$(INSTALL) -m 755 $(faults_tests) $(DESTDIR)$(TESTDIR)/faults/
	$(INSTALL) -m 644 selftests/faults/timeouts $(DESTDIR)$(TESTDIR)/faults/
	$(INSTALL) -m 755 $(faults_ib_tests) $(DESTDIR)$(TESTDIR)/faults_ib/
	$(INSTALL) -m 644 selftests/faults_ib/guest selftests/faults_ib/timeouts \
		$(DESTDIR)$(TESTDIR)/faults_ib/
