# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmx-names, the name helper. Bound at start (-z now): its signal handler may
# not enter the dynamic linker.

names_bin := $(O)/user/cmx-names
user_targets += $(names_bin)

$(names_bin): $(wildcard user/names/*.[ch]) uapi/rdma/rdma_cmx_names.h
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(CPPFLAGS) -fstack-protector-strong -fPIE -pie \
		-Wl,-z,relro,-z,now,--as-needed $(LDFLAGS) -o $@ \
		$(filter %.c,$^) -lkeyutils

.PHONY: install-names
install-user: install-names
install-names: $(names_bin)
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/libexec/rdma-cmx $(DESTDIR)/etc/request-key.d \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d
	$(INSTALL) -m 755 $(names_bin) $(DESTDIR)$(PREFIX)/libexec/rdma-cmx/
	sed 's|@PREFIX@|$(PREFIX)|' user/names/rdma-cmx.conf.in | \
		user/conf.sh $(DESTDIR)/etc/request-key.d/rdma-cmx.conf
	$(INSTALL) -m 644 user/names/rdma-cmx.sysusers \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/rdma-cmx.conf
	@test -n "$(DESTDIR)" || ! command -v systemd-sysusers >/dev/null || \
		systemd-sysusers rdma-cmx.conf
