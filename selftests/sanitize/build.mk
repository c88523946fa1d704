# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A second build of the library, with the address and undefined behaviour
# sanitizers, and the tests of the library linked to it: DIR_NAME from
# selftests/DIR/NAME.c. A report of a sanitizer ends its test.

san_dir := $(O)/sanitize
san_lib := $(san_dir)/lib/librdmacmx.so.1
SAN_FLAGS := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer

# selftests/tests lists them: sanitize/DIR_NAME. Not api/gai_memory, which
# replaces the allocator like the sanitizer; nor api/destroyed, which waits for
# the reuse of memory that the sanitizer keeps; nor compat/ep, whose clients do
# not free the objects of a failure.
san_tests := $(patsubst sanitize/%,$(san_dir)/%,$(filter sanitize/%,$(tests_named)))
selftest_targets += $(san_tests)
selftest_others += sanitize/%
comma := ,

# gcov's: a .gcno lies beside each object, and says where the source was; the
# tests write a .gcda for each in the guest (dump.c).
san_obj := $(patsubst user/%.c,$(san_dir)/obj/%.o,$(lib_src))
SAN_COVERAGE := --coverage -fprofile-update=atomic

$(san_obj): $(san_dir)/obj/%.o: user/%.c $(wildcard user/lib/*.h) \
		$(wildcard user/names/*.h user/include/rdma/*.h) \
		$(wildcard uapi/rdma/*.h) selftests/sanitize/build.mk
	@mkdir -p $(@D)
	$(CC) $(filter-out -O%,$(USER_CFLAGS)) $(SAN_FLAGS) $(SAN_COVERAGE) \
		-DCMX_SHARED -fPIC -fvisibility=hidden -pthread -c -o $(abspath $@) $(CURDIR)/$<

# Objects beside those of the library; calls go through inject.c
san_extra := $(san_dir)/obj/dump.o $(san_dir)/obj/inject.o
san_wrapped := $(shell awk -F', *' '/^WRAP/ { print $$2 }' \
	selftests/sanitize/inject.c) cmx_own_add cmx_own_reserve

$(san_extra): $(san_dir)/obj/%.o: selftests/sanitize/%.c \
		selftests/sanitize/inject.h
	@mkdir -p $(@D)
	$(CC) $(SAN_FLAGS) -std=gnu11 -Wall -fPIC -fvisibility=hidden -c -o $@ $<

$(san_lib): $(san_obj) $(san_extra) user/lib/librdmacmx.map \
		selftests/sanitize/exports.map
	@mkdir -p $(@D)
	$(CC) $(SAN_FLAGS) -pthread -shared -Wl,-soname,librdmacmx.so.1 \
		$(addprefix -Wl$(comma)--wrap=,$(san_wrapped)) \
		$(addprefix -Wl$(comma)--version-script=,$(filter %.map,$^)) \
		-Wl,-Bsymbolic-functions,-z,nodelete -o $@ \
		$(filter %.o,$^) --coverage -libverbs

SAN_LINK = -Wl,--wrap=_exit -Wl,-rpath,$(TESTDIR)/sanitize/lib

# -O1 finds warnings in the macros of the harness, which is not ours.
SAN_CC = $(CC) $(filter-out -O%,$(CFLAGS)) $(TEST_CFLAGS) $(TEST_HEADERS) \
	$(SAN_FLAGS) -DCOMPAT_DEVICE='"rdma_cmx"'
san_common := $(patsubst %,$(san_dir)/obj/%.o,\
	sanitize/leaks common/api common/process compat/pair)
san_headers := $(test_headers) $(wildcard selftests/sanitize/*.h) \
	selftests/compat/pair.h

$(san_common): $(san_dir)/obj/%.o: selftests/%.c $(san_headers)
	@mkdir -p $(@D)
	$(SAN_CC) -c -o $@ $<

san_link = $(SAN_CC) $(SAN_LINK) -o $@ $(filter %.c %.o %.1,$^) -libverbs \
	-lpthread -ldl

# san_rule DIR: DIR/NAME as DIR_NAME
define san_rule
$(filter $(san_dir)/$(1)_%,$(san_tests)): $(san_dir)/$(1)_%: \
		selftests/$(1)/%.c $(san_common) $(san_headers) $(san_lib)
	$$(san_link)
endef
$(foreach name,api compat lib process,$(eval $(call san_rule,$(name))))

$(filter $(san_dir)/faults%,$(san_tests)): $(san_dir)/%: \
		selftests/sanitize/%.c $(san_common) $(san_headers) $(san_lib)
	$(san_link)

.PHONY: sanitize install-sanitize
sanitize: user $(san_tests)  ## build the library and its tests with ASan and UBSan

install-selftests: install-sanitize
install-sanitize: $(san_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/sanitize/lib
	$(INSTALL) -m 755 $(san_tests) $(DESTDIR)$(TESTDIR)/sanitize/
	$(INSTALL) -m 644 $(san_lib) $(DESTDIR)$(TESTDIR)/sanitize/lib/
