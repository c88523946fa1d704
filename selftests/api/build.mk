# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The program replaces functions of libibverbs, so it is not linked to it.
$(O)/selftests/api/mc: private TEST_FLAGS = -rdynamic
