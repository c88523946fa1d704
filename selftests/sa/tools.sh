#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The tools of this directory, against a real SA and each other: a test of the
# project can rely on their output only if it is right.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

here=/usr/lib/rdma-cmx/selftests/sa
client=$(fab_dev 2)
server=$(fab_dev 3)
fake_dev=$(fab_dev 4)
gid=$(dev_gid "$server")

service() {
	"$here/tools/service" "$@"
}

is "the SA has no service at first" "$(service -C "$client" count)" 0
ok "set" service -C "$server" -n svc -i 0x1234 -d c0ffee set
is "found by name" "$(service -C "$client" -n svc count)" 1
is "found by id" "$(service -C "$client" -i 0x1234 count)" 1
is "not found by another id" "$(service -C "$client" -i 0x1235 count)" 0
is "found by the GID of the node" "$(service -C "$client" -g "$gid" count)" 1
read -r id _ pkey lease name data < <(service -C "$client" -n svc list)
is "list: id" "$id" 0x0000000000001234
is "list: P_Key, lease, name, data" "$pkey $lease $name $data" \
	"0xffff 4294967295 svc c0ffee"
like "saquery finds it, too" "$(sa_query SR)" 'ServiceName\.+svc$'
ok "delete" service -C "$server" -i 0x1234 delete
is "the service is deleted" "$(service -C "$client" count)" 0

ok "200 services are set at once" service -C "$server" -n many -i 0x10000 -c 200 set
is "200 services are found, by RMPP" "$(service -C "$client" -n many count)" 200
ok "200 services are deleted" service -C "$server" -i 0x10000 -c 200 delete
ok "200 services with names are set" service -C "$server" -n 'n-%u' -i 0x10000 -c 200 set
is "each has a different name" "$(service -C "$client" -n n-199 count)" 1
ok "200 services are deleted again" service -C "$server" -i 0x10000 -c 200 delete
ok "a service with a short lease is set" service -C "$server" -n short -i 0x77 -l 2 set
expired() {
	[ "$(service -C "$client" -n short count)" = 0 ]
}
ok "the lease expires" wait_for 90 expired
like "the time of a query" "$(service -C "$client" -n svc -c 5 time)" \
	'^[0-9]+\.[0-9]+$'

# The fake SA serves the client's port only, while the SM is paused.
fake() {
	# The log of the previous one
	rm -f fake.log
	"$here/tools/fake" -C "$fake_dev" -V "$client" "$@" >fake.log 2>&1 &
	fake=$!
	wait_for 90 grep -q ready fake.log || fail "fake $*: $(cat fake.log)"
}

fake_end() {
	kill "$fake"
	wait "$fake" || fail "fake: exit code $?"
}

ok "the real SA has a service" service -C "$server" -n real -i 0x99 set
sm_pause
fake -n 3 good
is "the fake SA returns its records" "$(service -C "$client" -n svc count)" 3
is "it returns its records by id" "$(service -C "$client" -i 5 count)" 3
# A request that takes longer than a second is sent again.
ok "it logs each request" test "$(grep -c '^0x12 0x0031$' fake.log)" -ge 2
fake_end
fake -n 300 duplicate=2
is "300 records come in duplicate segments" "$(service -C "$client" -n svc count)" 300
fake_end
fake -n 20 reorder
is "20 records come in reverse order" "$(service -C "$client" -n svc count)" 20
fake_end
fake -n 3 stride=3
is "records come with a larger stride" "$(service -C "$client" -n svc count)" 3
fake_end
fake status=0x0700
like "the tool reports a status" "$(service -C "$client" -n svc count 2>&1)" '0x700'
fake_end
fake -t 2 silent
is "the tool retries after two lost responses" "$(service -C "$client" -n svc count)" 3
fake_end
sm_resume
is "the real SA responds again" "$(service -C "$client" -n real count)" 1
ok "its service is deleted" service -C "$server" -i 0x99 delete
finish
