# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A program for flags.sh, built from one source with librdmacm and with the
# flags of pkg-config for an installed librdmacmx; a library for nvme_follow.sh

programs_tools := $(O)/selftests/programs/tools
programs_stage := $(O)/selftests/programs/stage
programs_bin := $(addprefix $(programs_tools)/,echo_stock echo_cmx echo_mix \
	echo_both echo_static answers.so)
selftest_targets += $(programs_bin)
selftest_others += programs/tools/echo

PROGRAMS_CC = $(CC) $(CFLAGS) -std=gnu11 -Wall -Werror

$(programs_tools)/echo_stock: selftests/programs/tools/echo.c
	@mkdir -p $(@D)
	$(PROGRAMS_CC) -o $@ $< $$(pkg-config --cflags --libs librdmacm) -libverbs

$(programs_tools)/echo_mix: selftests/programs/tools/echo.c
	@mkdir -p $(@D)
	$(PROGRAMS_CC) -DRSOCKETS -o $@ $< \
		$$(pkg-config --cflags --libs librdmacm) -libverbs

# Installed into a separate directory, as the flags name installed files
$(programs_stage)/done: $(lib_so) $(lib_a) $(lib_pc) \
		$(wildcard user/include/rdma/*.h)
	@mkdir -p $(@D)
	rm -rf $(programs_stage)
	$(MAKE) -s --no-print-directory install-lib DESTDIR=$(abspath $(programs_stage))
	@touch $@

# The output of pkg-config with these options
programs_flags = $$(PKG_CONFIG_SYSROOT_DIR=$(abspath $(programs_stage)) \
	PKG_CONFIG_PATH=$(abspath $(programs_stage))$(LIBDIR)/pkgconfig \
	pkg-config $(1) rdmacmx)

$(programs_tools)/echo_cmx: selftests/programs/tools/echo.c $(programs_stage)/done
	$(PROGRAMS_CC) -o $@ $< $(call programs_flags,--cflags --libs) -libverbs

# With rsockets, and without naming librdmacm
$(programs_tools)/echo_both: selftests/programs/tools/echo.c $(programs_stage)/done
	$(PROGRAMS_CC) -DRSOCKETS -o $@ $< \
		$(call programs_flags,--cflags --libs) -libverbs

$(programs_tools)/echo_static: selftests/programs/tools/echo.c \
		$(programs_stage)/done
	$(PROGRAMS_CC) -DRSOCKETS -o $@ $< $(call programs_flags,--cflags) \
		$(programs_stage)$(LIBDIR)/librdmacmx.a -libverbs -pthread

$(programs_tools)/answers.so: selftests/programs/tools/answers.c \
		$(wildcard user/include/rdma/*.h)
	@mkdir -p $(@D)
	$(PROGRAMS_CC) -Iuapi -Iuser/include -fPIC -shared -o $@ $<

.PHONY: install-programs
install-selftests: install-programs
install-programs: $(programs_bin)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/programs/tools
	$(INSTALL) -m 755 $^ $(DESTDIR)$(TESTDIR)/programs/tools/
