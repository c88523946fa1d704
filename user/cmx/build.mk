# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmx, the command; its completion; the udev rule; all manual pages.

cmx_bin := $(O)/user/cmx
user_targets += $(cmx_bin)

$(cmx_bin): $(wildcard user/cmx/*.[ch]) $(wildcard user/include/rdma/*.h) \
		$(wildcard uapi/rdma/*.h) $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(CPPFLAGS) -DCMX_VERSION='"$(VERSION)"' \
		$(LDFLAGS) -o $@ $(filter %.c %.so.1,$^) -libverbs

# Without rst2man (package python3-docutils) there are no manual pages.
rst2man := $(firstword $(shell command -v rst2man rst2man.py 2>/dev/null))
man_pages := $(if $(rst2man),$(patsubst Documentation/man/%.rst,\
	$(O)/man/%,$(wildcard Documentation/man/*.rst)))
user_targets += $(man_pages)

$(O)/man/%: Documentation/man/%.rst
	@mkdir -p $(@D)
	$(rst2man) --strict $< $@

.PHONY: install-cmx install-man
install-user: install-cmx install-man
install-cmx: $(cmx_bin)
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)/lib/udev/rules.d \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(INSTALL) -m 755 $(cmx_bin) $(DESTDIR)$(PREFIX)/bin/
	$(INSTALL) -m 644 user/udev/60-rdma-cmx.rules $(DESTDIR)/lib/udev/rules.d/
	$(INSTALL) -m 644 user/cmx/cmx.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/cmx

install-man: $(man_pages)
	$(foreach page,$(man_pages),$(INSTALL) -D -m 644 $(page) \
		$(DESTDIR)$(PREFIX)/share/man/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page));)
