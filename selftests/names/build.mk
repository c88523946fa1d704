# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The functions of the name helper, whose files define _GNU_SOURCE
$(O)/selftests/names/unit: user/names/names.c user/names/probe.c user/names/netns.c \
	user/names/srv.c \
	$(wildcard user/names/*.h)
$(O)/selftests/names/unit: private TEST_FLAGS = -U_GNU_SOURCE -Iuser/names
# Its own openat() is in the place of libc's.
$(O)/selftests/names/moved: user/names/names.c user/names/netns.c \
	$(wildcard user/names/*.h)
$(O)/selftests/names/moved: private TEST_FLAGS = -U_GNU_SOURCE -Iuser/names \
	-Dopenat=process_openat
