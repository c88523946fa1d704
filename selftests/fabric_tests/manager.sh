#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Subnet managers: one restarts; two do a handover.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

first=$(fab_dev 1) second=$(fab_dev 2) third=$(fab_dev 3)

lids() {
	local dev

	for dev in $(fab_list); do dev_lid "$dev"; done
}

sm_lid_is() {
	[ "$(($(dev_file "$1" ports/1/sm_lid)))" = "$(dev_lid "$2")" ]
}

sm_master_is() {
	[ "$(sm_master "$third")" = "$(dev_guid "$1")" ]
}

sm_state_is() {
	sminfo -C "$1" -D 0 | grep -q "SMINFO_$2"
}

# Restart
ok "a host with IPoIB" host_add three 3
ok "it answers" wait_for 60 ping -c 1 -W 5 10.66.0.3
before=$(lids)
sm_stop
is "no manager: ports stay ACTIVE" "$(dev_state "$second")" ACTIVE
ok "no manager: the SA does not answer" no sa_query --timeout 300 CPI
ok "no manager: IPoIB still works" wait_for 60 ping -c 1 -W 5 10.66.0.3
ok "it starts again" sm_start
ok "ports are ACTIVE" port_active_wait
is "with the LIDs they had" "$(lids)" "$before"
ip neigh flush dev "$(dev_netdev "$first")"
ok "IPoIB has joined again: a neighbour is found" wait_for 60 ping -c 1 -W 5 10.66.0.3
ok "the host ends" host_del three
sm_pause
ok "stopped: the SA does not answer" no sa_query --timeout 300 CPI
sm_resume
ok "continued: it does" wait_for 90 sa_query CPI

# Handover: the standby polls the master each half second.
cat >conf <<-'END'
	sminfo_polling_timeout 500
	polling_retry_number 2
END
sm_stop
ok "a manager with default priority" sm_start "$first" -F conf
ok "it is master" wait_for 120 sm_master_is "$first"
ok "a second one with more" sm_start "$second" -p 14 -F conf
ok "is master soon" wait_for 120 sm_master_is "$second"
ok "the first stands by" wait_for 120 sm_state_is "$first" STANDBY
ok "a third port has its LID" wait_for 120 sm_lid_is "$third" "$second"
ok "the SA responds" wait_for 90 sa_query CPI
sm_stop "$second"
ok "the second dies: the first is master" wait_for 120 sm_master_is "$first"
ok "a third port has the LID of the first" wait_for 120 sm_lid_is "$third" "$first"
ok "the SA of the first responds" wait_for 90 sa_query CPI
finish
