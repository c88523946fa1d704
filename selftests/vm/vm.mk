# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Targets that boot virtual machines. Each one first installs missing
# dependencies (a check takes 0.1 s).

# kselftest.h and kselftest_harness.h, unpacked by `make deps`
CMX_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rdma-cmx
KSELFTEST_DIR := $(CMX_CACHE)/linux-source-6.1/tools/testing/selftests

# The kernel to boot, unless KVER= was given
VM_KVER = $(if $(filter command%,$(origin KVER)),$(KVER),$(shell selftests/vm/kernel.sh))
VM_RUN = KVER=$(VM_KVER) GUEST=$(GUEST) KERNEL=$(KERNEL) KERNELS=$(KERNELS) selftests/vm/run.sh

.PHONY: deps deps-lint check check-all check-quick check-stock check-debug check-6.12 \
	check-newest coverage demo bench shell

deps:  ## install what building and testing need (Debian 12)
	@selftests/vm/deps.sh

deps-lint:
	@selftests/vm/deps.sh lint

check: deps-lint  ## the tests, or those named T=prefix,...; GUEST=gamma; KERNELS=6.12: all on it
	@$(VM_RUN) check $(T)

check-all: deps-lint  ## also those that take long
	@ALL=1 $(VM_RUN) check

check-quick: deps  ## before each commit: the tests that find most for their time
	@QUICK=1 $(VM_RUN) check $(T)

check-stock: KERNEL = stock
check-stock: deps-lint  ## those on Debian's kernel alone
	@$(VM_RUN) check $(T)

check-debug: KERNEL = debug
check-debug: deps  ## those on the debug kernel, which is built when missing
	@$(VM_RUN) check $(T)

check-6.12 check-newest: KERNEL = $(@:check-%=%)
check-6.12: deps  ## those on the kernel of Debian 13, with its user space
	@$(VM_RUN) check $(T)

check-newest: deps  ## those on the newest kernel of Debian 13, likewise
	@$(VM_RUN) check $(T)

coverage:  ## line coverage of modules and library in the last runs of them
	@cat build/coverage-* 2>/dev/null || \
		{ echo "nothing has been run yet: make check" >&2; exit 1; }

demo: deps  ## boot the guests and show what the project does
	@$(VM_RUN) demo

bench: deps deps-simulate  ## measure beside the stock stack; BENCH_JSON=file keeps figures; T=scale, devices, names, storm, job, move: that part
	@BENCH_JSON=$(BENCH_JSON) $(VM_RUN) bench $(T)

shell: deps  ## a shell in a guest with everything installed; GUEST=gamma
	@$(VM_RUN) shell
