// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Init and exit of mcast/.
 */
#include "mcast/mcast.h"

int cmx_mcast_init(void)
{
	int ret;

	ret = cmx_mcast_ip_init();
	if (ret)
		return ret;
	ret = cmx_group_init();
	if (ret)
		goto exit_ip;
	ret = cmx_members_init();
	if (ret)
		goto exit_group;
	cmx_mcast_ib_init();
	return 0;

exit_group:
	cmx_group_exit();
exit_ip:
	cmx_mcast_ip_exit();
	return ret;
}

void cmx_mcast_exit(void)
{
	cmx_members_exit();
	cmx_mcast_ib_exit();
	cmx_group_exit();
	cmx_mcast_ip_exit();
}
