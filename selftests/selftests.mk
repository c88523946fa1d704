# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Test programs and test modules. The file `tests` has the tests; what is built
# is found in the directories:
#	DIR/NAME.c with a main()	the test DIR/NAME
#	DIR/NAME/*.c			likewise, of several files
#	DIR/tools/NAME.c, tools/NAME/	a program of the tests: DIR/tools/NAME
#	other DIR/*.c, tools/*.c	linked into each program of the same folder
#	common/*.c			linked into those that use them
#	DIR/*.sh			a test; other files are installed beside it
# The build.mk of a directory has what is special: flags and libraries, or rules.

.PHONY: selftests install-selftests test-modules
# Set by a build.mk: targets, and programs that the rule below does not build
selftest_targets :=
selftest_others := bench/% demo/% host/%
selftest_modules := selftests/consumer/cmx_consumer.ko \
	selftests/fabric/cmx_fabric.ko \
	selftests/storage/cmx_target.ko selftests/storage/cmx_initiator.ko

tests_named := $(shell awk '/^[a-z]/ { print $$1 }' selftests/tests | sort -u)
with_main := $(shell grep -lE '^int main\>|TEST_HARNESS_MAIN' \
	selftests/*/*.c selftests/*/tools/*.c)

# -Wno-*: warnings in the macros of the harness, which is not ours. Debug
# information would take a quarter of the time to compile them.
TEST_CFLAGS = -g0 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter \
	-Wno-sign-compare -Wno-missing-field-initializers -Wno-address \
	-fno-strict-aliasing -fno-builtin-malloc \
	-Iuapi -Iselftests/common -isystem $(KSELFTEST_DIR)
TEST_HEADERS = -Iuser/include
TEST_LIBS = -L$(O)/user/lib -Wl,--as-needed -lrdmacmx -libverbs -libumad \
	-lpthread -ldl
TEST_FLAGS =
TEST_CC = $(CC) $(CFLAGS) $(TEST_CFLAGS) $(TEST_HEADERS) $(TEST_FLAGS)
# A program that is linked to the stock librdmacm
define with_stock_library
$(1): private TEST_HEADERS =
$(1): private TEST_LIBS = -lrdmacm -libverbs -lpthread
endef

test_headers := $(wildcard selftests/common/*.h uapi/rdma/*.h \
	user/include/rdma/*.h)
common_obj := $(patsubst selftests/%.c,$(O)/selftests/%.o,\
	$(wildcard selftests/common/*.c))
# Tests at the uAPI use one part of common, tests of the library the other: both
# parts define id_bind(), with a handle or a struct rdma_cm_id.
common_uapi := $(addprefix $(O)/selftests/common/,ioctl.o uapi.o)
common_libs := $(O)/selftests/common/uapi.a $(O)/selftests/common/library.a
of_library := $(shell grep -lE '^\#include "(api|process|sa)\.h"' selftests/*/*.c)

include $(wildcard selftests/*/build.mk)

programs := $(filter-out $(selftest_others),\
	$(patsubst selftests/%.c,%,$(with_main)) \
	$(patsubst selftests/%/,%,$(wildcard selftests/*/tools/*/)))
# The programs in selftests/tests have to be built, too.
programs += $(filter-out %.sh vm/% $(selftest_others) $(programs),$(tests_named))
test_scripts := $(filter-out $(selftest_others:%=selftests/%) selftests/lint/% \
	selftests/vm/%,$(wildcard selftests/*/*.sh))
test_data := $(wildcard selftests/*/functions selftests/*/*_functions \
	selftests/*/*.supp)

$(common_obj): $(O)/selftests/%.o: selftests/%.c $(test_headers)
	@mkdir -p $(@D)
	$(TEST_CC) -c -o $@ $<

$(O)/selftests/common/uapi.a: $(common_uapi)
$(O)/selftests/common/library.a: $(filter-out $(common_uapi),$(common_obj))
$(common_libs):
	@rm -f $@
	$(AR) rcs $@ $^

# sources_of NAME: its sources, and the shared ones of its folder
sources_of = $(wildcard selftests/$(1).c selftests/$(1)/*.c) \
	$(filter-out $(with_main),$(wildcard selftests/$(dir $(1))*.c))

# common_of SOURCES
common_of = $(O)/selftests/common/$(if \
	$(filter $(of_library),$(1)),library,uapi).a

.SECONDEXPANSION:
$(programs:%=$(O)/selftests/%): $(O)/selftests/%: $$(call sources_of,$$*) \
		$$(call common_of,$$(call sources_of,$$*)) \
		$$(wildcard selftests/$$(dir $$*)*.h selftests/$$*/*.h) \
		$(test_headers) \
		| $(O)/user/lib/librdmacmx.so.1
	@test -n "$(filter %.c,$^)" || { echo \
		"selftests/tests: $* has no selftests/$*.c" >&2; exit 1; }
	@mkdir -p $(@D)
	$(TEST_CC) -o $@ $(filter %.c,$^) $(filter %.a,$^) $(TEST_LIBS)

# Kbuild does not see that the versions of the symbols have changed.
test-modules: modules
	for module in $(selftest_modules); do \
		[ $${module%/*}/Module.symvers -nt Module.symvers ] || \
			rm -f $${module%/*}/Module.symvers; \
		$(MAKE) -C $(KDIR) M=$(CURDIR)/$${module%/*} \
			KBUILD_EXTRA_SYMBOLS=$(CURDIR)/Module.symvers modules || exit; \
	done

selftest_targets += $(programs:%=$(O)/selftests/%)
# For lint.sh: programs, no modules
.PHONY: lint-tests
lint-tests: lint-user $(selftest_targets)

selftests: user test-modules $(selftest_targets)  ## build test programs and test modules

install-selftests: selftests
	$(INSTALL) -d $(UPDATES) $(DESTDIR)$(TESTDIR)
	$(INSTALL) -m 644 $(selftest_modules) $(UPDATES)
	@test -n "$(DESTDIR)" || depmod $(KVER)
	for name in $(programs); do \
		$(INSTALL) -D -m 755 $(O)/selftests/$$name \
			$(DESTDIR)$(TESTDIR)/$$name || exit; \
	done
	for name in $(test_scripts:selftests/%=%); do \
		$(INSTALL) -D -m 755 selftests/$$name \
			$(DESTDIR)$(TESTDIR)/$$name || exit; \
	done
	for name in $(test_data:selftests/%=%); do \
		$(INSTALL) -D -m 644 selftests/$$name \
			$(DESTDIR)$(TESTDIR)/$$name || exit; \
	done
