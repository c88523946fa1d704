# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Real programs over the shim: the same tests on RoCE and, as programs_ib, on
# InfiniBand. A program of our own is built with librdmacm and, of the same
# source, with what pkg-config says about an installed librdmacmx.

programs_dir := $(O)/selftests/programs
programs_stage := $(programs_dir)/stage
programs_sh := $(wildcard selftests/programs/*.sh)
programs_bin := $(addprefix $(programs_dir)/,echo_stock.helper echo_cmx.helper \
	echo_mix.helper)
selftest_targets += $(programs_bin)

PROGRAMS_CC = $(CC) $(CFLAGS) -std=gnu11 -Wall -Werror

$(programs_dir)/echo_stock.helper: selftests/programs/echo.c
	@mkdir -p $(@D)
	$(PROGRAMS_CC) -o $@ $< $$(pkg-config --cflags --libs librdmacm) -libverbs

$(programs_dir)/echo_mix.helper: selftests/programs/echo.c
	@mkdir -p $(@D)
	$(PROGRAMS_CC) -DRSOCKETS -o $@ $< \
		$$(pkg-config --cflags --libs librdmacm) -libverbs

# Installed into a folder of its own, as the flags name installed files.
$(programs_dir)/echo_cmx.helper: selftests/programs/echo.c $(lib_so) $(lib_pc) \
		$(wildcard user/include/rdma/*.h)
	rm -rf $(programs_stage)
	$(MAKE) -s --no-print-directory install-lib DESTDIR=$(abspath $(programs_stage))
	$(PROGRAMS_CC) -o $@ $< \
		$$(PKG_CONFIG_SYSROOT_DIR=$(abspath $(programs_stage)) \
		   PKG_CONFIG_PATH=$(abspath $(programs_stage))$(LIBDIR)/pkgconfig \
		   pkg-config --cflags --libs rdmacmx) -libverbs

.PHONY: install-programs-tests
install-selftests: install-programs-tests
install-programs-tests: $(programs_bin)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/programs $(DESTDIR)$(TESTDIR)/programs_ib
	$(INSTALL) -m 755 $(programs_sh) $(programs_bin) \
		$(DESTDIR)$(TESTDIR)/programs/
	$(INSTALL) -m 644 selftests/programs/functions selftests/programs/timeouts \
		$(DESTDIR)$(TESTDIR)/programs/
	$(INSTALL) -m 755 $(programs_sh) $(DESTDIR)$(TESTDIR)/programs_ib/
	$(INSTALL) -m 644 selftests/programs/timeouts \
		$(DESTDIR)$(TESTDIR)/programs_ib/
	echo gamma >$(DESTDIR)$(TESTDIR)/programs_ib/guest
