# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Properties of the kernel's headers that compat.h needs and that its
# preprocessor cannot test.

# headers_have TEXT,FILE: y if FILE of include/ has TEXT
headers_have = $(if $(shell grep -sF '$(1)' $(srctree)/include/$(2)),y)

ccflags-$(call headers_have,__assign_str(dst),trace/stages/stage6_event_callback.h) \
	+= -DCMX_ASSIGN_STR_DST

ccflags-$(call headers_have,struct fs_struct *userspace_init_fs;,linux/fs_struct.h) \
	+= -DCMX_USERSPACE_INIT_FS

ccflags-$(call headers_have,struct net_device *ib_device_get_netdev,rdma/ib_verbs.h) \
	+= -DCMX_IB_DEVICE_GET_NETDEV

# Came with the event of netlink that any process may listen to
ccflags-$(call headers_have,RDMA_NL_GROUP_NOTIFY,uapi/rdma/rdma_netlink.h) \
	+= -DCMX_NL_GROUP_NOTIFY

# Not by __has_include(), which sparse does not know
headers_file = $(if $(wildcard $(srctree)/include/$(1)),y)

ccflags-$(call headers_file,linux/hex.h) += -DCMX_HEX_H
ccflags-$(call headers_file,net/ipv6_stubs.h) += -DCMX_IPV6_STUBS_H

# A kernel without versions of symbols loads modules of two builds together. The
# name of one symbol is then a checksum of the headers that both modules share.
ifndef CONFIG_MODVERSIONS
shared_headers := $(sort $(foreach dir,.. ../include/rdma ../../uapi/rdma, \
	$(wildcard $(src)/$(dir)/*.h)))
headers_sum := $(firstword $(shell cat $(shared_headers) </dev/null | cksum))
ccflags-y += -DCMX_HEADERS=rdma_cmx_headers_$(headers_sum)
endif
