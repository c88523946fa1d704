# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02, RA-03: programs that use the API of librdmacm only, built with the
# headers and linked to the library of this project or of rdma-core.
#   NAME                headers and library of this project
#   NAME_stock          stock headers and library: proves what the test expects
#   NAME_their_headers  a program that is linked to this library without a
#                       rebuild
#   NAME_our_headers    a program that is linked to the stock library again
# The last two exist only where a program uses inline functions of the headers.
# All other code is the same, since host/abi.sh compares layouts, values and
# types. NAME_preloaded runs the unchanged NAME_stock over this library.
# NAME_without does so where the device is absent.

compat_dir := $(O)/selftests/compat
compat_ours := $(patsubst selftests/%.c,$(O)/selftests/%,\
	$(filter selftests/compat/%,$(with_main)))
# compat_row KIND: the programs of selftests/tests
compat_row = $(filter compat/%_$(1),$(tests_named))
compat_others := $(foreach kind,stock their_headers our_headers,\
	$(call compat_row,$(kind)))
selftest_others += $(compat_others) $(call compat_row,preloaded) \
	$(call compat_row,without)
selftest_targets += $(compat_others:%=$(O)/selftests/%)

$(compat_ours): private TEST_FLAGS = -DCOMPAT_DEVICE='"rdma_cmx"'

compat_src := selftests/compat/pair.c selftests/common/api.c
COMPAT_CC = $(CC) $(CFLAGS) $(TEST_CFLAGS)
compat_our_lib = -DCOMPAT_DEVICE='"rdma_cmx"' -L$(O)/user/lib -lrdmacmx
compat_their_lib := -DCOMPAT_DEVICE='"rdma_cm"' -lrdmacm

$(compat_dir)/%_stock: COMPAT_HOW = $(compat_their_lib)
$(compat_dir)/%_their_headers: COMPAT_HOW = $(compat_our_lib)
$(compat_dir)/%_our_headers: COMPAT_HOW = $(TEST_HEADERS) $(compat_their_lib)

define compat_rule
$(patsubst %,$(O)/selftests/%,$(call compat_row,$(1))): \
		$(compat_dir)/%_$(1): selftests/compat/%.c $(compat_src) \
		selftests/compat/pair.h $(test_headers) \
		| $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $$(@D)
	$$(COMPAT_CC) -o $$@ $$(filter %.c,$$^) $$(COMPAT_HOW) -libverbs -pthread
endef
$(foreach kind,stock their_headers our_headers,\
	$(eval $(call compat_rule,$(kind))))

# The frozen build lies outside of the directories of tests.
.PHONY: install-compat
install-selftests: install-compat
install-compat: $(compat_others:%=$(O)/selftests/%)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/compat
	$(INSTALL) -m 755 $^ $(DESTDIR)$(TESTDIR)/compat/
	for name in $(call compat_row,preloaded) $(call compat_row,without); do \
		$(INSTALL) -m 755 selftests/compat/tools/$${name##*_}.sh \
			$(DESTDIR)$(TESTDIR)/$$name || exit; \
	done
	selftests/compat/tools/frozen_build.sh $(KVER) $(KDIR) \
		$(DESTDIR)$(PREFIX)/lib/rdma-cmx/frozen
