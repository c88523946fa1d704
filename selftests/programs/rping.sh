#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: rping, unmodified, over the shim.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

run="cmx run"

# --- rping -----------------------------------------------------------------

# rping_pair NAME IDS SERVER CLIENT: ten pings, each with a check of its data
rping_pair() {
	pair "$1" "$2" "$3 -V -v -C 10" "$4 -V -v -C 10"
	is "$1: the client has all ten back" "$(lines "$c_out" '^ping data: ')" 10
	is "$1: the server has seen all ten" \
		"$(lines "$s_out" '^server ping data: ')" 10
}
rping_pair "rping" "2 1" "$run rping -s -a $sa -S 4000" \
	"$run rping -c -a $sa -S 4000"
rping_pair "rping, stock server" "0 1" "rping -s -a $sa" "$run rping -c -a $sa"
rping_pair "rping, stock client" "2 0" "$run rping -s -a $sa" "rping -c -a $sa"
rping_pair "rping, IPv6" "2 1" "$run rping -s -a $sa6" "$run rping -c -a $sa6"
rping_pair "rping, a source address" "2 1" "$run rping -s -a $sa" \
	"$run rping -c -a $sa -I $ca"
rping_pair "rping -q, a separate queue pair" "2 1" \
	"$run rping -s -q -a $sa" "$run rping -c -q -a $sa"
swap
rping_pair "rping, the other way" "2 1" "$run rping -s -a $sa" \
	"$run rping -c -a $sa"
swap

# A thread for each client. One after the other, as rping loses a request that
# arrives while it handles another one (on the stock library, too). A pipe has
# room for less than half of the lines of a client, which waits there until they
# are read: at the last one all of them are connected.
serve "$run rping -s -P -S 500 -a $sa"
client "rping -P: five clients at the same time" "
	cd \$(mktemp -d) || exit
	for i in {1..5}; do
		mkfifo \$i || exit
		$run rping -c -V -v -C 300 -S 500 -a $sa >\$i 2>&1 &
		exec {out}<\$i
		outs+=(\$out)
		read -r line <&\$out || exit
		echo \"\$line\"
	done
	echo live \$(cat /sys/module/rdma_ucmx/counters/live_ids)
	for out in \${outs[@]}; do cat <&\$out; done
	wait"
is "rping -P: all five are connected at once" \
	"$(sed -n 's/^live //p' <<<"$c_out")" \
	"$([ $bed = RoCE ] && echo 5 || echo 11)"
is "rping -P: all pings came back" "$(lines "$c_out" '^ping data: ')" 1500
serve_end
ids "rping -P" "6 5"
none_left "rping -P"

# A PD, a CQ, then the queue pair of the id: at some limit of the cgroup each of
# them is the first that is refused.
group=/sys/fs/cgroup/rping
limited="echo \$\$ >$group/cgroup.procs && $run rping -c -V -v -C 10 -a $sa"
queue_pair_refused() {
	local n

	for n in {1..6} {1..6} {1..6}; do
		echo "rxe0 hca_object=$n" >$group/rdma.max || return
		! at "$cl" "$limited" 2>&1 | grep -q '^rdma_create_qp: ' || return 0
	done
	return 1
}
if [ $bed = RoCE ]; then
	echo +rdma >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $group
	serve "$run rping -s -V -v -C 10 -a $sa"
	ok "the rdma cgroup refuses the queue pair of an id" queue_pair_refused
	echo "rxe0 hca_object=max" >$group/rdma.max
	client "rping, without that limit" "$limited"
	served "rping, without that limit"
	rmdir $group
	echo -rdma >/sys/fs/cgroup/cgroup.subtree_control
fi
bed_end
finish
