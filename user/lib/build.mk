# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# librdmacmx: shared and static library, pkg-config file. It contains the name
# helper's code for names, too.

lib_dir := $(O)/user/lib
lib_so := $(lib_dir)/librdmacmx.so.1
lib_a := $(lib_dir)/librdmacmx.a
lib_pc := $(lib_dir)/rdmacmx.pc
lib_src := $(wildcard user/lib/*.c) $(addprefix user/names/, \
	lookup.c names.c probe.c srv.c)
lib_pic := $(patsubst user/%.c,$(lib_dir)/pic/%.o,$(lib_src))
lib_obj := $(patsubst user/%.c,$(lib_dir)/obj/%.o,$(lib_src))
user_targets += $(lib_so) $(lib_a) $(lib_pc)

LIB_CFLAGS = $(USER_CFLAGS) -fvisibility=hidden -pthread -MMD -MP

$(lib_dir)/pic/%.o: user/%.c
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) $(CPPFLAGS) -DCMX_SHARED -fPIC -c -o $@ $<

$(lib_dir)/obj/%.o: user/%.c
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) $(CPPFLAGS) -c -o $@ $<

# Calls inside stay inside, and a thread may outlive dlclose().
$(lib_so): $(lib_pic) user/lib/librdmacmx.map
	$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-soname,librdmacmx.so.1 \
		-Wl,--version-script=user/lib/librdmacmx.map \
		-Wl,-Bsymbolic-functions,-z,nodelete,-z,defs,-z,relro,-z,now \
		-o $@ $(lib_pic) -pthread
	ln -sf librdmacmx.so.1 $(lib_dir)/librdmacmx.so

$(lib_a): $(lib_obj)
	rm -f $@
	$(AR) rcs $@ $(lib_obj)

$(lib_pc): user/lib/rdmacmx.pc.in Makefile
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' $< > $@

-include $(lib_pic:.o=.d) $(lib_obj:.o=.d)

.PHONY: install-lib
install-user: install-lib
install-lib: $(lib_so) $(lib_a) $(lib_pc)
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig \
		$(DESTDIR)$(PREFIX)/include/rdma-cmx/rdma
	$(INSTALL) -m 644 $(lib_so) $(lib_a) $(DESTDIR)$(LIBDIR)
	ln -sf librdmacmx.so.1 $(DESTDIR)$(LIBDIR)/librdmacmx.so
	$(INSTALL) -m 644 $(lib_pc) $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 user/include/rdma/*.h uapi/rdma/rdma_cmx_*.h \
		$(DESTDIR)$(PREFIX)/include/rdma-cmx/rdma
