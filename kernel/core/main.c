// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module entry of rdma_cmx: the rooms are opened here, closed in reverse. */
#include <linux/module.h>

static int __init cmx_init(void)
{
	return 0;
}
module_init(cmx_init);

static void __exit cmx_exit(void)
{
}
module_exit(cmx_exit);

MODULE_DESCRIPTION("RDMA address resolution and multicast joins");
MODULE_LICENSE("Dual BSD/GPL");
