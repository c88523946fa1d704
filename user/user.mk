# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# User space: the library, the command, the name helper. Parts below add
# their files to user_targets and their rules to install-user.

user_targets :=
USER_CFLAGS = $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
	-Wmissing-prototypes -Wstrict-prototypes -Iuapi -Iuser/include

include $(wildcard user/*/build.mk)

user: $(user_targets)  ## build librdmacmx, cmx and the name helper

install-user: user
