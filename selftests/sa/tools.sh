#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The tools of this room, against a real SA and each other: what they say must
# be true before a test of the project can rely on it.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/fabric.sh

here=/usr/lib/rdma-cmx/selftests/sa
asker=$(fab_dev 2)
offerer=$(fab_dev 3)
liar=$(fab_dev 4)
gid=$(dev_gid "$offerer")

service() {
	"$here/service.helper" "$@"
}

is "nothing at first" "$(service -C "$asker" count)" 0
ok "set" service -C "$offerer" -n svc -i 0x1234 -d c0ffee set
is "found by name" "$(service -C "$asker" -n svc count)" 1
is "found by id" "$(service -C "$asker" -i 0x1234 count)" 1
is "not by another id" "$(service -C "$asker" -i 0x1235 count)" 0
is "found by the GID of the node" "$(service -C "$asker" -g "$gid" count)" 1
read -r id _ pkey lease name data < <(service -C "$asker" -n svc list)
is "list: id" "$id" 0x0000000000001234
is "list: P_Key, lease, name, data" "$pkey $lease $name $data" \
	"0xffff 4294967295 svc c0ffee"
like "saquery sees it too" "$(sa_query SR)" 'ServiceName\.+svc$'
ok "delete" service -C "$offerer" -i 0x1234 delete
is "gone" "$(service -C "$asker" count)" 0

ok "200 at once" service -C "$offerer" -n many -i 0x10000 -c 200 set
is "200 are there, by RMPP" "$(service -C "$asker" -n many count)" 200
ok "200 deleted" service -C "$offerer" -i 0x10000 -c 200 delete
ok "200 names" service -C "$offerer" -n 'n-%u' -i 0x10000 -c 200 set
is "each its own" "$(service -C "$asker" -n n-199 count)" 1
ok "200 deleted again" service -C "$offerer" -i 0x10000 -c 200 delete
ok "a short lease" service -C "$offerer" -n short -i 0x77 -l 2 set
expired() {
	[ "$(service -C "$asker" -n short count)" = 0 ]
}
ok "runs out" wait_for 40 expired
like "time of a question" "$(service -C "$asker" -n svc -c 5 time)" \
	'^[0-9]+\.[0-9]+$'

# The fake SA answers the asker's port, and no other, while the SM is paused.
fake() {
	# Not to take the last one's word for this one's
	rm -f fake.log
	"$here/fake.helper" -C "$liar" -V "$asker" "$@" >fake.log 2>&1 &
	fake=$!
	wait_for 40 grep -q ready fake.log || fail "fake $*: $(cat fake.log)"
}

fake_end() {
	kill "$fake"
	wait "$fake" || fail "fake: exit code $?"
}

ok "service for all" service -C "$offerer" -n real -i 0x99 set
sm_pause
fake -n 3 good
is "its records" "$(service -C "$asker" -n svc count)" 3
is "its records by id" "$(service -C "$asker" -i 5 count)" 3
is "it says who asked" "$(grep -c '^0x12 0x0031$' fake.log)" 2
fake_end
fake -n 300 duplicate=2
is "300 records in segments twice" "$(service -C "$asker" -n svc count)" 300
fake_end
fake -n 20 reorder
is "20 records backwards" "$(service -C "$asker" -n svc count)" 20
fake_end
fake -n 3 stride=3
is "wider records" "$(service -C "$asker" -n svc count)" 3
fake_end
fake status=0x0700
like "a status" "$(service -C "$asker" -n svc count 2>&1)" '0x700'
fake_end
fake -t 2 silent
is "silent twice" "$(service -C "$asker" -n svc count)" 3
fake_end
sm_resume
is "the real SA again" "$(service -C "$asker" -n real count)" 1
ok "and clean" service -C "$offerer" -i 0x99 delete
finish
