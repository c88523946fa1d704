# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Resolution by the subnet administrator: tests through librdmacmx, and tools
# on libibumad (NAME.helper): one sets services, one plays a hostile SA.

sa_dir := $(O)/selftests/sa
sa_names := $(filter-out mad util,$(basename $(notdir $(wildcard selftests/sa/*.c))))
sa_tests := $(addprefix $(sa_dir)/,$(sa_names))
sa_tools := $(sa_dir)/service.helper $(sa_dir)/fake.helper
selftest_targets += $(sa_tests) $(sa_tools)

$(sa_dir)/service.helper: $(wildcard selftests/sa/service/*.c) \
		selftests/sa/mad.c selftests/sa/mad.h
$(sa_dir)/fake.helper: $(wildcard selftests/sa/fake/*.c) \
		selftests/sa/mad.c selftests/sa/mad.h selftests/sa/fake/fake.h
$(sa_tools):
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -o $@ $(filter %.c,$^) -libumad

# The harness's macros are not ours to make clean of warnings.
$(sa_tests): $(sa_dir)/%: selftests/sa/%.c selftests/sa/util.c \
		selftests/sa/sa.h selftests/api/util.c selftests/api/api.h \
		$(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
		-Iuser/include -Iuapi -Iselftests/api -isystem $(KSELFTEST_DIR) \
		-o $@ $(filter %.c,$^) -L$(O)/user/lib -lrdmacmx -libverbs \
		-lpthread

.PHONY: install-sa-tests
install-selftests: install-sa-tests
install-sa-tests: $(sa_tests) $(sa_tools)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/sa
	$(INSTALL) -m 755 $^ $(wildcard selftests/sa/*.sh) \
		$(DESTDIR)$(TESTDIR)/sa/
	$(INSTALL) -m 644 selftests/sa/guest selftests/sa/timeouts \
		$(DESTDIR)$(TESTDIR)/sa/
