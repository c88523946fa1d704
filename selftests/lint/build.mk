# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# `make lint`: static checks, which `make check` runs, too.

# One tool or several; all when empty
TOOL ?=

.PHONY: lint
lint: deps-lint  ## static checks of kernel and user space, or those named TOOL="a b"
	@KVER=$(VM_KVER) selftests/lint/lint.sh $(TOOL)

# The folders of the modules, for lint.sh
.PHONY: lint-modules
lint-modules:
	@echo $(sort $(dir $(selftest_modules)))

# For lint.sh: what is compiled of user space. The static library has the objects
# of the shared one but where the source says so.
.PHONY: lint-user
lint-user: $(filter-out %.a $(man_pages) $(man_links),$(user_targets)) \
	$(patsubst user/%.c,$(lib_dir)/obj/%.o,\
		$(shell grep -l CMX_SHARED user/lib/*.c))
