# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Programs of the demonstration. call and echo are built twice from one source:
# with this project's library, and (-stock) with the stock librdmacm.

demo_dir := $(O)/selftests/demo
demo_bins := $(addprefix $(demo_dir)/,call call-stock echo echo-stock async)
selftest_targets += $(demo_bins)

$(demo_dir)/%-stock: selftests/demo/%.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -Iu%,$(USER_CFLAGS)) -o $@ $< -lrdmacm -libverbs

$(demo_dir)/%: selftests/demo/%.c $(O)/user/lib/librdmacmx.so.1
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -o $@ $^ -libverbs

.PHONY: install-demo
install-selftests: install-demo
install-demo: $(demo_bins)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/demo
	$(INSTALL) -m 755 $(demo_bins) selftests/demo/demo.sh \
		selftests/demo/fabric.sh $(DESTDIR)$(TESTDIR)/demo/
	$(INSTALL) -m 644 selftests/demo/show.sh $(DESTDIR)$(TESTDIR)/demo/
