# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The library for static linking
$(O)/selftests/lib/static: $(O)/user/lib/librdmacmx.a
# It has a function of libibverbs's name.
$(O)/selftests/lib/lazy: private TEST_FLAGS = -rdynamic
