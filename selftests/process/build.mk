# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Linked to the stock library and run with both
$(eval $(call with_stock_library,$(O)/selftests/process/tools/probe))
# The program replaces functions of libibverbs.
$(O)/selftests/process/queue_pair: private TEST_FLAGS = -rdynamic
