// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module entry of rdma_ucmx: the device node comes last and goes first. */
#include <linux/module.h>

static int __init ucmx_init(void)
{
	return 0;
}
module_init(ucmx_init);

static void __exit ucmx_exit(void)
{
}
module_exit(ucmx_exit);

MODULE_DESCRIPTION("User access to rdma_cmx");
MODULE_LICENSE("Dual BSD/GPL");
