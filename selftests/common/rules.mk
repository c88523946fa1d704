# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# How test programs at the uAPI are built: with what they share.

uapi_common := $(addprefix selftests/,ioctl/common.c ioctl/common.h \
	common/uapi.c common/uapi.h) uapi/rdma/rdma_cmx_ioctl.h

# uapi_cc OPTIONS: the target, of its prerequisites that are C
define uapi_cc
@mkdir -p $(@D)
$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
	-Wno-sign-compare -fno-strict-aliasing -D_GNU_SOURCE -Iuapi \
	-Iselftests/common -Iselftests/ioctl \
	-isystem $(KSELFTEST_DIR) $(1) -o $@ \
	$(filter %.c,$^) -lpthread
endef
