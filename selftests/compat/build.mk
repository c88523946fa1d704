# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-02, RA-03: programs that use librdmacm's API and nothing else, each built
# in four ways: with either side's headers, linked to either side's library.
#   NAME                both ours
#   NAME_stock          both stock: what the test wants is what stock does
#   NAME_their_headers  a program that is only linked anew
#   NAME_our_headers    one that goes back to the stock library
# NAME_preloaded runs NAME_stock over our library, as it is.

compat_dir := $(O)/selftests/compat
compat_names := conn ep ids mcast ownqp verbs
compat_only_ours := queues requests
compat_ours := $(addprefix $(compat_dir)/,$(compat_names) $(compat_only_ours))
compat_others := $(foreach kind,stock their_headers our_headers, \
	$(patsubst %,$(compat_dir)/%_$(kind),$(compat_names)))
# Without librdmacm-dev there is nothing to compare with.
compat_stock := $(wildcard /usr/include/rdma/rdma_verbs.h)
compat_tests := $(compat_ours) $(if $(compat_stock),$(compat_others))
selftest_targets += $(compat_tests)

compat_src := selftests/compat/pair.c selftests/api/util.c
compat_deps := $(compat_src) selftests/compat/pair.h selftests/api/api.h \
	$(O)/user/lib/librdmacmx.so.1
COMPAT_CC = $(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wno-address \
	-isystem $(KSELFTEST_DIR)
compat_our_headers := -Iuser/include
compat_our_lib = -DCOMPAT_DEVICE='"rdma_cmx"' -L$(O)/user/lib -lrdmacmx
compat_their_lib := -DCOMPAT_DEVICE='"rdma_cm"' -lrdmacm

$(compat_ours): $(compat_dir)/%: selftests/compat/%.c $(compat_deps)
	@mkdir -p $(@D)
	$(COMPAT_CC) $(compat_our_headers) -o $@ $< $(compat_src) \
		$(compat_our_lib) -libverbs -pthread

$(compat_dir)/%_stock: selftests/compat/%.c $(compat_deps)
	@mkdir -p $(@D)
	$(COMPAT_CC) -o $@ $< $(compat_src) $(compat_their_lib) -libverbs -pthread

$(compat_dir)/%_their_headers: selftests/compat/%.c $(compat_deps)
	@mkdir -p $(@D)
	$(COMPAT_CC) -o $@ $< $(compat_src) $(compat_our_lib) -libverbs -pthread

$(compat_dir)/%_our_headers: selftests/compat/%.c $(compat_deps)
	@mkdir -p $(@D)
	$(COMPAT_CC) $(compat_our_headers) -o $@ $< $(compat_src) \
		$(compat_their_lib) -libverbs -pthread

.PHONY: install-compat-tests
install-selftests: install-compat-tests
install-compat-tests: $(compat_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/compat
	$(INSTALL) -m 755 $^ $(DESTDIR)$(TESTDIR)/compat/
	for name in $(if $(compat_stock),$(compat_names)); do \
		$(INSTALL) -m 755 selftests/compat/preloaded.sh \
			$(DESTDIR)$(TESTDIR)/compat/$${name}_preloaded || exit; \
	done
	$(INSTALL) -m 755 selftests/compat/frozen.sh $(DESTDIR)$(TESTDIR)/compat/
	$(INSTALL) -m 644 selftests/compat/timeouts $(DESTDIR)$(TESTDIR)/compat/

# Outside the rooms, since these are no tests of their own
.PHONY: install-frozen
install-selftests: install-frozen
install-frozen:
	selftests/compat/frozen_build.sh $(KVER) $(KDIR) \
		$(DESTDIR)$(PREFIX)/lib/rdma-cmx/frozen
