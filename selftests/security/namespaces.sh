#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Permissions for services of the fabric: an ordinary user resolves them only in
# a network namespace with a port, whatever the cache has; only root changes
# service records. RAI-01
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

# A host that stops for some seconds ends no query.
param sa_timeout_ms 1500
param query_timeout_ms 60000

service() {
	/usr/lib/rdma-cmx/selftests/sa/tools/service -C "$(fab_dev 4)" "$@"
}

user() {
	timeout 120 setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}

# As root of private user and network namespaces
user_root() {
	user unshare -Urn "$@"
}

queries() {
	sa_requests 0x12 0x0031
}

service -n secret -i 0x5ec2e7 set || fail "no service"

before=$(queries)
out=$(user_root cmx resolve --sa secret 2>&1)
ok "a network namespace without a port finds no service" \
	test $? -ne 0
like "the error names the missing port" "$out" 'no InfiniBand port'
is "no SA query is sent" "$(queries)" "$before"

out=$(user cmx resolve --sa secret 2>&1)
is "RAI-01: an ordinary user finds the service" $? 0
like "RAI-01: the result has its id" "$out" '0x0*5ec2e7'
out=$(user_root cmx resolve --sa secret 2>&1)
ok "a namespace without the port gets no cached response" \
	test $? -ne 0
unlike "the output has nothing of it" "$out" '5ec2e7'

ok "a host gets the second device" host_add a 2
before=$(queries)
out=$(on a timeout 120 cmx resolve --sa secret 2>&1)
is "that host finds the service" $? 0
# One query, and its retries
ok "it sends a query, and uses no cached response of others" \
	test "$(queries)" -gt "$before"
out=$(on a timeout 120 cmx resolve --sa --dev "$(fab_dev 3)" secret 2>&1)
ok "the host cannot use another host's device" test $? -ne 0
unlike "the output has nothing of the service" "$out" '5ec2e7'
ok "the host is removed" host_del a
ok "the port is active again" port_active_wait "$(fab_dev 2)"

# Programs set and delete service records by these devices.
for file in /dev/infiniband/umad* /dev/infiniband/issm*; do
	for who in user user_root; do
		# shellcheck disable=SC2016 # for the shell that it starts
		ok "$who: $file is root's" \
			$who bash -c '! (: <>"$1") 2>/dev/null' - "$file"
	done
done
ok "the service still exists" test "$(service -n secret count)" = 1
service -n secret -i 0x5ec2e7 delete
finish
