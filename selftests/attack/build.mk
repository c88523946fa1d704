# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
$(eval $(call with_stock_library,$(patsubst selftests/%.c,$(O)/selftests/%,\
	$(wildcard selftests/attack/tools/*.c))))
