# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Test programs and test modules. Each room has a build.mk that adds its
# files to selftest_targets and its rules to install-selftests.

.PHONY: selftests install-selftests
selftest_targets :=
selftest_modules :=

include selftests/common/rules.mk
include $(wildcard selftests/*/build.mk)

selftests: user $(selftest_targets)  ## build test programs and test modules

install-selftests: selftests
