# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Fuzzers: of the uAPI in a guest (ioctl), and on the host of what parses
# text and answers in user space (host/).

fuzz_test := $(O)/selftests/fuzz/ioctl
fuzz_host := $(O)/selftests/fuzz/library.host $(O)/selftests/fuzz/names.host
selftest_targets += $(fuzz_test) $(fuzz_host)

$(fuzz_test): $(wildcard selftests/fuzz/*.c) selftests/fuzz/fuzz.h \
		selftests/ioctl/common.c selftests/ioctl/common.h \
		uapi/rdma/rdma_cmx_ioctl.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-sign-compare -fno-strict-aliasing -D_GNU_SOURCE -Iuapi \
		-o $@ $(filter %.c,$^) -lpthread

.PHONY: install-fuzz
install-selftests: install-fuzz
install-fuzz: $(fuzz_test)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/fuzz
	$(INSTALL) -m 755 $(fuzz_test) $(DESTDIR)$(TESTDIR)/fuzz/
	$(INSTALL) -m 644 selftests/fuzz/timeouts $(DESTDIR)$(TESTDIR)/fuzz/

fuzz_library := selftests/fuzz/host/library.c $(wildcard user/lib/*.c) \
	user/names/names.c
fuzz_names := selftests/names/fuzz.c user/names/names.c user/names/probe.c
fuzz_driver := selftests/fuzz/host/driver.c selftests/fuzz/host/words.c
FUZZ_CFLAGS := -g -O1 -std=gnu11 -D_GNU_SOURCE -w -Iuapi -Iuser/include \
	-Iuser/lib -Iuser/names -Iselftests/fuzz/host \
	-fno-sanitize-recover=all

$(O)/selftests/fuzz/library.host: $(fuzz_library) $(fuzz_driver)
$(O)/selftests/fuzz/names.host: $(fuzz_names) $(fuzz_driver)
$(fuzz_host): selftests/fuzz/host/host.h $(wildcard user/lib/*.h user/names/*.h)
	@mkdir -p $(@D)
	$(CC) $(FUZZ_CFLAGS) -fsanitize=address,undefined -o $@ \
		$(filter %.c,$^) -libverbs -lpthread

# With libFuzzer, which goes on from what is new to it; needs clang.
fuzz_llvm := $(O)/selftests/fuzz/library.llvm $(O)/selftests/fuzz/names.llvm
$(O)/selftests/fuzz/library.llvm: $(fuzz_library)
$(O)/selftests/fuzz/names.llvm: $(fuzz_names)
$(fuzz_llvm):
	@mkdir -p $(@D)
	clang $(FUZZ_CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^ \
		-libverbs -lpthread

# For as long as asked: boots of FUZZ_BOOT seconds of calls, each with the next
# seed, which is printed. A boot ends like a run of make check, and the first
# bad one ends all.
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= $(shell date +%s)
FUZZ_BOOT ?= 300
.PHONY: fuzz fuzz-host
fuzz: KERNEL = stock
fuzz: deps  ## fuzz the uAPI in a guest: FUZZ_SECONDS=3600 FUZZ_SEED=N
	@seed=$(FUZZ_SEED); end=$$(($$(date +%s) + $(FUZZ_SECONDS))); \
	while [ $$(date +%s) -lt $$end ]; do \
		echo "FUZZ_SEED=$$seed"; \
		FUZZ=$$seed:$(FUZZ_BOOT) $(VM_RUN) check fuzz/ioctl || exit; \
		seed=$$((seed + 1)); \
	done

fuzz-host: $(fuzz_llvm)  ## libFuzzer on what parses in user space; needs clang
	for target in $^; do \
		mkdir -p $$target.corpus && \
		$$target -max_total_time=$(FUZZ_SECONDS) -seed=$(FUZZ_SEED) \
			$$target.corpus || exit; \
	done
