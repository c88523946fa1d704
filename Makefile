# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# rdma-cmx: kernel modules by Kbuild, user space by plain rules, tests in a VM.
# `make help` lists what there is.

VERSION := 0.1.0

newest_headers = $(notdir $(patsubst %/build,%,$(lastword $(shell ls -d /lib/modules/*/build 2>/dev/null | sort -V))))
KVER ?= $(if $(wildcard /lib/modules/$(shell uname -r)/build),$(shell uname -r),$(newest_headers))
KDIR ?= /lib/modules/$(KVER)/build
# The release that KDIR is for: with KDIR= alone KVER is another's
UTS_H = $(KDIR)/include/generated/utsrelease.h
KREL = $(or $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' $(UTS_H) 2>/dev/null),$(KVER))

CC ?= gcc
CFLAGS ?= -O2 -g
O := build
PREFIX ?= /usr
LIBDIR ?= $(PREFIX)/lib/$(shell $(CC) -print-multiarch)
INSTALL ?= install
UPDATES = $(DESTDIR)/lib/modules/$(KVER)/updates
TESTDIR = $(PREFIX)/lib/rdma-cmx/selftests
# Where modules that use rdma_cmx find its headers; dkms keeps its copy there
KSRCDIR = $(DESTDIR)/usr/src/rdma-cmx-$(VERSION)

.PHONY: all help modules user clean install install-modules install-user \
	uninstall-modules
.DEFAULT_GOAL := all

all: modules user  ## build the modules (for KVER) and user space

help:  ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: KVER=<kernel release> DESTDIR=<folder> T=<test name> BENCH_JSON=<file>"
	@echo "  OFA_DIR=<folder of MLNX_OFED's or DOCA-OFED's headers>, or empty for the kernel's own"

modules:  ## build rdma_cmx.ko and rdma_ucmx.ko for KVER
	@test -d "$(KDIR)" || { echo "no kernel headers in '$(KDIR)': 'make deps' installs Debian's, or set KVER= or KDIR=" >&2; exit 1; }
	ofa=$$(kernel/vendor.sh $(KREL)) && $(MAKE) -C $(KDIR) M=$(CURDIR) \
		$${ofa:+CMX_OFA="$$ofa" KBUILD_EXTRA_SYMBOLS="$$ofa/Module.symvers"} \
		modules

install: install-modules install-user  ## install all below DESTDIR

install-modules: modules
	$(INSTALL) -d $(UPDATES)
	$(INSTALL) -m 644 kernel/core/rdma_cmx.ko kernel/ucmx/rdma_ucmx.ko $(UPDATES)
	$(INSTALL) -d $(KSRCDIR)/kernel/include/rdma $(KSRCDIR)/uapi/rdma
	$(INSTALL) -m 644 kernel/include/rdma/*.h $(KSRCDIR)/kernel/include/rdma
	$(INSTALL) -m 644 uapi/rdma/*.h $(KSRCDIR)/uapi/rdma
	$(INSTALL) -m 644 Module.symvers $(KSRCDIR)
	@test -n "$(DESTDIR)" || depmod $(KVER)

uninstall-modules:  ## remove the modules of `make install`, as before packages
	rm -f $(UPDATES)/rdma_cmx.ko $(UPDATES)/rdma_ucmx.ko
	@test -n "$(DESTDIR)" || depmod $(KVER)

clean:  ## remove what was built
	@test ! -d "$(KDIR)" || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	rm -rf $(O)

# The source package of dkms has the modules alone.
-include user/user.mk
-include Documentation/docs.mk
-include packaging/packaging.mk
-include selftests/selftests.mk
-include selftests/vm/vm.mk
