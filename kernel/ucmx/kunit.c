// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Exports functions of this module to the unit tests (selftests/kunit). Built
 * only for kernels with KUnit.
 */
#include <linux/export.h>

#include "any.h"

#define SHOW	EXPORT_SYMBOL_GPL

SHOW(ucmx_addr_get);
SHOW(ucmx_addr_put);
SHOW(ucmx_addrinfo_start);
SHOW(ucmx_any_alloc);
SHOW(ucmx_any_connects);
SHOW(ucmx_any_done);
SHOW(ucmx_any_start);
SHOW(ucmx_any_time);
SHOW(ucmx_any_waited);
SHOW(ucmx_any_waits);
SHOW(ucmx_cm_handler);
SHOW(ucmx_event_add);
SHOW(ucmx_event_advance);
SHOW(ucmx_event_init);
SHOW(ucmx_event_post_conn);
SHOW(ucmx_event_reserve);
SHOW(ucmx_event_unhold);
SHOW(ucmx_event_unlink);
SHOW(ucmx_file_init);
SHOW(ucmx_file_wake);
SHOW(ucmx_file_wake_end);
SHOW(ucmx_file_wake_later);
SHOW(ucmx_fops);
SHOW(ucmx_get_events);
SHOW(ucmx_handle_alloc);
SHOW(ucmx_handle_free);
SHOW(ucmx_handle_get);
SHOW(ucmx_handle_hide);
SHOW(ucmx_handle_show);
SHOW(ucmx_handle_take);
SHOW(ucmx_handles_init);
SHOW(ucmx_id_alloc);
SHOW(ucmx_id_close);
SHOW(ucmx_id_device_gone);
SHOW(ucmx_id_put);
SHOW(ucmx_id_removal_alloc);
SHOW(ucmx_user_get);
SHOW(ucmx_user_put);
SHOW(ucmx_user_wake_exit);
SHOW(ucmx_user_wake_init);
