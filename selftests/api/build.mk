# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# It has functions of libibverbs's names, and is not linked to it.
$(O)/selftests/api/mc: private TEST_FLAGS = -rdynamic
