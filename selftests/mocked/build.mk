# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The static library, whose calls of libc and libibverbs come to mock.c
mocked := $(patsubst %,$(O)/selftests/%,$(filter mocked/%,$(tests_named)))
$(mocked): $(O)/user/lib/librdmacmx.a
$(mocked): private TEST_FLAGS = -Iuser/lib
# They include a file of the command, which defines _GNU_SOURCE itself.
mocked_cmx := $(addprefix $(O)/selftests/mocked/,join nvme_records nvme_remove)
$(mocked_cmx): user/cmx/output.c user/cmx/text.c $(O)/user/cmx
$(mocked_cmx): private TEST_FLAGS = -Iuser/lib -Iuser/cmx -U_GNU_SOURCE
