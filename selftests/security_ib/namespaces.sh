#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Services of the fabric, and who may see and change them: an ordinary user asks
# where there is a port, and nowhere else, whatever is known there already;
# service records are root's. RAI-01
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

service() {
	/usr/lib/rdma-cmx/selftests/sa/service.helper -C "$(fab_dev 4)" "$@"
}

user() {
	timeout 60 setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}

# As root of user and network namespaces of its own
user_root() {
	user unshare -Urn "$@"
}

asked() {
	sa_requests 0x12 0x0031
}

service -n secret -i 0x5ec2e7 set || fail "no service"

before=$(asked)
out=$(user_root cmx resolve --sa secret 2>&1)
ok "in a network namespace without a port, a service is not found" \
	test $? -ne 0
like "for want of a port" "$out" 'no InfiniBand port'
is "and no SA is asked" "$(asked)" "$before"

out=$(user cmx resolve --sa secret 2>&1)
is "RAI-01: an ordinary user finds it" $? 0
like "RAI-01: by its id" "$out" '0x0*5ec2e7'
out=$(user_root cmx resolve --sa secret 2>&1)
ok "an answer that is kept is not for a namespace without the port" \
	test $? -ne 0
unlike "nothing of it is told" "$out" '5ec2e7'

ok "a host with the second device" host_add a 2
before=$(asked)
out=$(on a timeout 60 cmx resolve --sa secret 2>&1)
is "that host finds the service" $? 0
is "by asking, not from what others have kept" "$(asked)" $((before + 1))
out=$(on a timeout 60 cmx resolve --sa --dev "$(fab_dev 3)" secret 2>&1)
ok "another host's device is not to be had there" test $? -ne 0
unlike "and tells nothing" "$out" '5ec2e7'
ok "no host" host_del a
ok "active again" port_active_wait "$(fab_dev 2)"

# What sets and deletes service records
for file in /dev/infiniband/umad* /dev/infiniband/issm*; do
	for who in user user_root; do
		# shellcheck disable=SC2016 # for the shell that it starts
		ok "$who: $file is root's" \
			$who bash -c '! (: <>"$1") 2>/dev/null' - "$file"
	done
done
ok "the service is there still" test "$(service -n secret count)" = 1
service -n secret -i 0x5ec2e7 delete
finish
