# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Addresses, paths and connections on InfiniBand through librdmacmx, and a
# helper that prints paths (tools/NAME.c, installed as NAME.helper).

ib_dir := $(O)/selftests/ib
ib_tests := $(addprefix $(ib_dir)/,$(basename $(notdir $(wildcard selftests/ib/*.c))))
ib_tools := $(patsubst selftests/ib/tools/%.c,$(ib_dir)/%.helper, \
	$(wildcard selftests/ib/tools/*.c))
selftest_targets += $(ib_tests) $(ib_tools)

# The harness's macros are not ours to make clean of warnings.
IB_CFLAGS = $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
	-Iuser/include -Iuapi -Iselftests/api -Iselftests/sa \
	-isystem $(KSELFTEST_DIR)
IB_LIBS = -L$(O)/user/lib -lrdmacmx -libverbs -lpthread
IB_UTIL = selftests/sa/util.c selftests/api/util.c

$(ib_tests): $(ib_dir)/%: selftests/ib/%.c $(IB_UTIL) selftests/sa/sa.h \
		selftests/api/api.h $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(IB_CFLAGS) -o $@ $(filter %.c,$^) $(IB_LIBS)

$(ib_tools): $(ib_dir)/%.helper: selftests/ib/tools/%.c \
		$(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(IB_CFLAGS) -Wextra -o $@ $< $(IB_LIBS)

.PHONY: install-ib-tests
install-selftests: install-ib-tests
install-ib-tests: $(ib_tests) $(ib_tools)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/ib
	$(INSTALL) -m 755 $^ $(wildcard selftests/ib/*.sh) \
		$(DESTDIR)$(TESTDIR)/ib/
	$(INSTALL) -m 644 selftests/ib/guest $(DESTDIR)$(TESTDIR)/ib/
