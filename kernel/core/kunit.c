// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Exports internal functions to the unit tests (selftests/kunit). Built only
 * for kernels with KUnit.
 */
#include <linux/export.h>
#include <linux/module.h>

#include "advertise/advertise.h"
#include "connect/connect.h"
#include "connect/window.h"
#include "mcast/mcast.h"
#include "resolve/query.h"
#include "sa/internal.h"

#define SHOW	EXPORT_SYMBOL_GPL

/* The module, for its parameters */
struct module *cmx_kunit_module(void);
struct module *cmx_kunit_module(void)
{
	return THIS_MODULE;
}

SHOW(cmx_kunit_module);

SHOW(cmx_addr_is_any);
SHOW(cmx_addr_is_link_local);
SHOW(cmx_addr_is_multicast);
SHOW(cmx_addr_set_port);
SHOW(cmx_addr_size);
SHOW(cmx_answer_check);
SHOW(cmx_answer_copy);
SHOW(cmx_answer_release);
SHOW(cmx_cached_path_query);
SHOW(cmx_candidates_local);
SHOW(cmx_connect_item_init);
SHOW(cmx_connect_users);
SHOW(cmx_connector_put);
SHOW(cmx_deadline_arm);
SHOW(cmx_deadline_granted);
SHOW(cmx_deadline_wait);
SHOW(cmx_deadline_work);
SHOW(cmx_dest_taken);
SHOW(cmx_group_attach);
SHOW(cmx_group_detach);
SHOW(cmx_group_outdate);
SHOW(cmx_hash);
SHOW(cmx_hints_init);
SHOW(cmx_kernel_uid);
SHOW(cmx_mc_param_check);
SHOW(cmx_mcast_ib_start);
SHOW(cmx_mcast_roce_join);
SHOW(cmx_name_valid);
SHOW(cmx_numeric_parse);
SHOW(cmx_path_unpack);
SHOW(cmx_paths_init);
SHOW(cmx_paths_release);
SHOW(cmx_query_alloc);
SHOW(cmx_user_get);
SHOW(cmx_user_run_first);
SHOW(cmx_user_put);
SHOW(cmx_user_run);
SHOW(cmx_race);
SHOW(cmx_race_delay);
SHOW(cmx_race_up);
SHOW(cmx_request_init);
SHOW(cmx_request_parse);
SHOW(cmx_result_build);
SHOW(cmx_route_query_start);
SHOW(cmx_sa_response_alloc);
SHOW(cmx_sa_response_put);
SHOW(cmx_sa_cache_add);
SHOW(cmx_sa_cache_drop);
SHOW(cmx_sa_cache_drop_gid);
SHOW(cmx_sa_paths_drop);
SHOW(cmx_sa_cache_exit);
SHOW(cmx_sa_cache_follow);
SHOW(cmx_sa_cache_generation);
SHOW(cmx_sa_cache_get);
SHOW(cmx_sa_cache_init);
SHOW(cmx_sa_paths_list);
SHOW(cmx_sa_cache_remove);
SHOW(cmx_sa_cache_unfollow);
SHOW(cmx_sa_entries_free);
SHOW(cmx_sa_entry_alloc);
SHOW(cmx_sa_entry_free);
SHOW(cmx_sa_forget);
SHOW(cmx_sa_gid_changed);
SHOW(cmx_sa_has_qos);
SHOW(cmx_sa_held);
SHOW(cmx_sa_info);
SHOW(cmx_sa_info_lookup);
SHOW(cmx_sa_inform_stop);
SHOW(cmx_sa_lock);
SHOW(cmx_sa_lookup);
SHOW(cmx_sa_lookup_response);
SHOW(cmx_sa_lookup_put);
SHOW(cmx_sa_lookups_again);
SHOW(cmx_sa_lookups_fail);
SHOW(cmx_sa_mad_add);
SHOW(cmx_sa_mad_remove);
SHOW(cmx_sa_mads_due);
SHOW(cmx_sa_mads_many);
SHOW(cmx_sa_mads_max);
SHOW(cmx_sa_peek);
SHOW(cmx_sa_port_alloc);
SHOW(cmx_sa_port_generation);
SHOW(cmx_sa_port_get);
SHOW(cmx_sa_port_kick);
SHOW(cmx_sa_port_list);
SHOW(cmx_sa_port_check);
SHOW(cmx_sa_port_check_begin);
SHOW(cmx_sa_port_check_ended);
SHOW(cmx_sa_port_check_timeout);
SHOW(cmx_sa_port_hold);
SHOW(cmx_sa_port_is_source);
SHOW(cmx_sa_port_put);
SHOW(cmx_sa_port_refresh);
SHOW(cmx_sa_port_unlist);
SHOW(cmx_sa_ports_for_each);
SHOW(cmx_sa_read);
SHOW(cmx_sa_request_release);
SHOW(cmx_sa_request_start);
SHOW(cmx_sa_request_stop);
SHOW(cmx_sa_requests_begin);
SHOW(cmx_sa_requests_end);
SHOW(cmx_sa_requests_enter);
SHOW(cmx_sa_unwatch);
SHOW(cmx_sa_walk_begin);
SHOW(cmx_sa_watch);
SHOW(cmx_sa_requests_init);
SHOW(cmx_sa_requests_put);
SHOW(cmx_sa_requests_stop);
SHOW(cmx_sa_services_changed);
SHOW(cmx_sa_share_of);
SHOW(cmx_service_call);
SHOW(cmx_service_callers);
SHOW(cmx_service_lock);
SHOW(cmx_service_query);
SHOW(cmx_slot_get);
SHOW(cmx_slot_release);
SHOW(cmx_slot_tag);
SHOW(cmx_slot_wait);
SHOW(cmx_source_choose);
SHOW(cmx_try_init);
SHOW(cmx_try_path_fits);
SHOW(cmx_watch_changed);
SHOW(cmx_watch_delay);
SHOW(cmx_watch_gone);
SHOW(cmx_watch_set);
SHOW(cmx_window);
SHOW(cmx_window_epoch);
SHOW(cmx_window_find);
SHOW(cmx_window_limit);
SHOW(cmx_window_lock);
SHOW(cmx_window_running);
SHOW(cmx_window_sign);
SHOW(cmx_query_users);
