# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The library for static linking
$(O)/selftests/lib/static: $(O)/user/lib/librdmacmx.a
# The program replaces a function of libibverbs.
$(O)/selftests/lib/lazy: private TEST_FLAGS = -rdynamic
