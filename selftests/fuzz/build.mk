# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# libFuzzer on the host: the parsers in user space. Not part of `make
# selftests`, since it needs clang.
fuzz_library := selftests/fuzz/host/library.c $(wildcard user/lib/*.c) \
	$(addprefix user/names/,lookup.c names.c probe.c srv.c)
fuzz_names := selftests/fuzz/host/names.c \
	$(addprefix user/names/,names.c probe.c srv.c)
fuzz_llvm := $(O)/selftests/fuzz/library.llvm $(O)/selftests/fuzz/names.llvm
FUZZ_CFLAGS := -g -O1 -std=gnu11 -D_GNU_SOURCE -w -Iuapi -Iuser/include \
	-Iuser/lib -Iuser/names -Iselftests/fuzz/host \
	-fno-sanitize-recover=all -fsanitize=fuzzer,address,undefined

.PHONY: fuzz-targets
fuzz-targets: $(fuzz_llvm)
$(O)/selftests/fuzz/library.llvm: $(fuzz_library)
$(O)/selftests/fuzz/names.llvm: $(fuzz_names)
$(fuzz_llvm): selftests/fuzz/host/host.h $(wildcard user/lib/*.h user/names/*.h)
	@mkdir -p $(@D)
	clang $(FUZZ_CFLAGS) -o $@ $(filter %.c,$^) -libverbs -lpthread

# For FUZZ_SECONDS: boots of FUZZ_BOOT seconds of calls, each with the next
# seed, which is printed. A boot ends like a run of make check, and the first
# failure ends all.
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

fuzz-host: deps-lint  ## libFuzzer on what parses in user space: FUZZ_SECONDS=3600
	@$(MAKE) --no-print-directory -s fuzz-targets
	for target in $(fuzz_llvm); do \
		mkdir -p $$target.corpus && \
		$$target -max_total_time=$(FUZZ_SECONDS) -seed=$(FUZZ_SEED) \
			-dict=selftests/fuzz/host/words.dict \
			$$target.corpus || exit; \
	done
