# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# cmx, the command; its completion; the udev rule; the device for containers;
# the timer that writes its counters.

UNITDIR ?= /usr/lib/systemd/system
cmx_bin := $(O)/user/cmx
user_targets += $(cmx_bin)

$(cmx_bin): $(wildcard user/cmx/*.[ch]) $(wildcard user/include/rdma/*.h) \
		$(wildcard uapi/rdma/*.h) $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(CPPFLAGS) -DCMX_VERSION='"$(VERSION)"' \
		$(LDFLAGS) -o $@ $(filter %.c %.so.1,$^) -libverbs

.PHONY: install-cmx
install-user: install-cmx
install-cmx: $(cmx_bin)
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)/usr/lib/udev/rules.d \
		$(DESTDIR)/etc/cdi $(DESTDIR)$(UNITDIR) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(INSTALL) -m 755 $(cmx_bin) $(DESTDIR)$(PREFIX)/bin/
	$(INSTALL) -m 644 user/udev/60-rdma-cmx.rules \
		$(DESTDIR)/usr/lib/udev/rules.d/
	user/conf.sh $(DESTDIR)/etc/cdi/rdma-cmx.json <user/cdi/rdma-cmx.json
	$(INSTALL) -m 644 user/cmx/cmx.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/cmx
	sed 's|@PREFIX@|$(PREFIX)|' user/systemd/rdma-cmx-stat.service.in \
		>$(DESTDIR)$(UNITDIR)/rdma-cmx-stat.service
	chmod 644 $(DESTDIR)$(UNITDIR)/rdma-cmx-stat.service
	$(INSTALL) -m 644 user/systemd/rdma-cmx-stat.timer \
		$(DESTDIR)$(UNITDIR)/
