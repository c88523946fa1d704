# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The static library, whose calls of libc and libibverbs come to mock.c
mocked := $(patsubst %,$(O)/selftests/%,$(filter mocked/%,$(tests_named)))
$(mocked): $(O)/user/lib/librdmacmx.a
$(mocked): private TEST_FLAGS = -Iuser/lib
# It includes a file of the command, which defines _GNU_SOURCE itself.
$(O)/selftests/mocked/join: user/cmx/output.c user/cmx/text.c $(O)/user/cmx
$(O)/selftests/mocked/join: private TEST_FLAGS = -Iuser/lib -U_GNU_SOURCE
