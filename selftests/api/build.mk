# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Tests of librdmacmx through its public API, one program a subject, and the
# helper programs (tools/, installed as NAME.helper) of the system tests.

api_dir := $(O)/selftests/api
api_names := $(filter-out util,$(basename $(notdir $(wildcard selftests/api/*.c))))
api_tests := $(addprefix $(api_dir)/,$(api_names))
api_tools := $(patsubst selftests/api/tools/%.c,$(api_dir)/%.helper, \
	$(wildcard selftests/api/tools/*.c))
selftest_targets += $(api_tests) $(api_tools)

# The harness's macros are not ours to make clean of warnings.
API_CFLAGS = $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
	-fno-builtin-malloc -Iuser/include -Iuapi -isystem $(KSELFTEST_DIR)
API_LIBS = -L$(O)/user/lib -lrdmacmx -libverbs -lpthread -ldl

$(api_tests): $(api_dir)/%: selftests/api/%.c selftests/api/util.c \
		selftests/api/api.h $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(API_CFLAGS) -o $@ $< selftests/api/util.c $(API_LIBS)

$(api_tools): $(api_dir)/%.helper: selftests/api/tools/%.c \
		$(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(API_CFLAGS) -Wextra -o $@ $< $(API_LIBS)

.PHONY: install-selftests-api
install-selftests: install-selftests-api
install-selftests-api: $(api_tests) $(api_tools)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/api
	$(INSTALL) -m 755 $^ $(DESTDIR)$(TESTDIR)/api/
	$(INSTALL) -m 644 selftests/api/timeouts $(DESTDIR)$(TESTDIR)/api/
