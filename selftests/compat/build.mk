# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02, RA-03: programs that use librdmacm's API and nothing else, built with
# either side's headers, linked to either side's library.
#   NAME                both ours
#   NAME_stock          both stock: what the test wants is what stock does
#   NAME_their_headers  a program that is only linked anew
#   NAME_our_headers    one that goes back to the stock library
# The last two only where a program has inline functions of the headers: all
# else is the same code, since host/abi.sh compares layouts, values and types.
# NAME_preloaded runs NAME_stock over our library, as it is; NAME_without does so
# where our device is absent.

compat_dir := $(O)/selftests/compat
compat_ours := $(patsubst selftests/%.c,$(O)/selftests/%,\
	$(filter selftests/compat/%,$(with_main)))
# compat_row KIND: those that the table names
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

# The frozen form lies outside the rooms: it is no test.
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
