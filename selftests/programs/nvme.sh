#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# KA-05 on RoCE: Debian's nvmet-rdma in beta, its nvme-rdma in alpha, found by
# name with cmx nvme: both rails as paths, a file system with fio's
# verification, a rail that fails meanwhile, and a target that moves to another
# address.
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/nvme_functions

names_wait 20

follower='' other=''

at_target() {
	peer "$1"
}

# rail_command ADDRESS PEER: adds a second netdevice between the guests, and a
# device. Not over eth0: its device would own the address, too.
rail_command() {
	echo "modprobe vxlan
		ip link add rail2 type vxlan id 57 dstport 4789 \
			remote $2 &&
		ip link set rail2 up && ip addr add $1/24 dev rail2 &&
		rdma link add rxe_r2 type rxe netdev rail2"
}

rail_del='rdma link del rxe_r2; ip link del rail2'

cleanup() {
	[ -z "$follower" ] || kill "$follower"
	[ -z "$other" ] || kill "$other"
	umount $disk
	nvme disconnect --nqn=$nqn
	target_del
	peer "$rail_del; ip addr del 10.55.0.12/24 dev eth0
		ip addr del 10.58.0.2/24 dev eth0"
	eval "$rail_del; ip addr del 10.58.0.1/24 dev eth0"
	dns_end
	modprobe -r nvme-rdma ext4
} >/dev/null 2>&1
trap cleanup EXIT

paths_left() {
	[ "$(cat /sys/class/nvme/nvme*/subsysnqn | grep -cx $nqn)" = "$1" ]
}

# --- the bed ---

modprobe -a nvme-rdma ext4
dns_begin
ok "a second rail here" eval "$(rail_command 10.57.0.1 10.55.0.2)"
ok "and in the other guest" peer "$(rail_command 10.57.0.2 10.55.0.1)"
ok "a target" target_add
ok "at the first rail" port_add 1 10.55.0.2 4420
ok "at the second rail" port_add 2 10.57.0.2 4420
ok "the rails reach each other" wait_for 60 ping -c 1 -W 2 10.57.0.2

# --- errors ---

is "KA-05: no name" "$(cmx nvme connect --nqn $nqn nosuch.nvme.test 2>&1)" \
	"cmx: nosuch.nvme.test: Name or service not known: run 'cmx doctor' with the name"
name_is 192.168.77.2
is "KA-05: no RDMA device reaches it" \
	"$(cmx nvme connect --nqn $nqn array.nvme.test 2>&1)" \
	"cmx: array.nvme.test: no RDMA device reaches any of its addresses"
name_is 10.55.0.2
like "KA-05: a subsystem that the target does not have" \
	"$(cmx nvme connect --nqn $nqn.other array.nvme.test 4420 \
		"${options[@]}" 2>&1)" \
	"none of its 1 addresses has the subsystem '$nqn.other'"

# --- a secret, and the end of nvme: with a program in its place ---

mkdir -p $dir/bin
cat >$dir/bin/nvme <<END
#!/bin/sh
echo "\$\$ \$*" >$dir/nvme.new && mv $dir/nvme.new $dir/nvme.args
exec sleep 7351
END
chmod 755 $dir/bin/nvme
PATH=$dir/bin:$PATH cmx nvme connect --follow=1 --nqn $nqn.other \
	array.nvme.test 4420 -- --dhchap-secret=DHHC-1:00:secret: --keep=1 \
	>$dir/follow.secret 2>&1 &
follower=$!
ok "nvme is started" wait_for 60 test -e $dir/nvme.args
like "with its options" "$(cat $dir/nvme.args)" \
	' --host-traddr=10\.55\.0\.1 --dhchap-secret=DHHC-1:00:secret: --keep=1$'
seen=$(setpriv --reuid 65534 --regid 65534 --clear-groups \
	cat /proc/$follower/cmdline | tr '\0' ' ')
like "other users see the command" "$seen" 'connect --follow=1 .* -- '
unlike "but not the secret" "$seen" 'dhchap|DHHC|secret'
kill -HUP "$follower"
kill "$follower"
ok "a signal ends a follower that waits for nvme" \
	wait_for 60 no grep -q connect /proc/$follower/cmdline
kill -KILL "$follower" 2>/dev/null
wait "$follower"
is "with success" "$?" 0
read -r pid _ <$dir/nvme.args
ok "and ends nvme" test ! -e "/proc/$pid"
is "without a message" "$(cat $dir/follow.secret)" ""

# --- a signal in a removal: with files in the place of the controllers ---

# controller NAME ADDRESS: its removal waits until someone reads from the pipe
controller() {
	mkdir -p "$dir/class/$1" && cd "$dir/class/$1" || return
	echo rdma >transport
	echo $nqn.files >subsysnqn
	echo live >state
	echo "traddr=$2,trsvcid=4420,host_traddr=10.55.0.1" >address
	ln -s $dir/pipe delete_controller
}
removal_waits() {
	local file

	# Before, it is a copy of this shell, with the same files.
	grep -q connect /proc/"$follower"/cmdline || return
	for file in /proc/"$follower"/fd/*; do
		[ ! "$file" -ef $dir/pipe ] || return 0
	done
	return 1
}
mkfifo $dir/pipe
exec 5<>$dir/pipe
ok "a full pipe" eval "timeout 60 head -c 65536 /dev/zero >&5"
for number in 2 31 32 33; do
	ok "a controller of files" controller nvme$number 10.55.0.$number
done
# shellcheck disable=SC2016 # for the inner shell
unshare -m sh -c 'mount --bind "$1/class" /sys/class/nvme && shift && exec "$@"' \
	sh $dir cmx nvme connect --follow=1 --nqn $nqn.files 10.55.0.2 \
	>$dir/follow.files 2>&1 5>&- &
follower=$!
ok "a follower removes a controller" wait_for 60 removal_waits
kill "$follower"
head -c 65536 <&5 >/dev/null
ok "a signal ends it" \
	wait_for 60 no grep -q connect /proc/$follower/cmdline
kill -KILL "$follower" 2>/dev/null
wait "$follower"
is "with success" "$?" 0
is "after that removal" "$(grep -c '^disconnected nvme3' $dir/follow.files)" 1
exec 5>&-

# --- both rails ---

# No host has the first one.
name_is 10.55.0.9 10.55.0.2 10.57.0.2
connected=$(cmx nvme connect --nqn $nqn _nvme._tcp.nvme.test "${options[@]}" \
	2>&1)
diag "$connected"
is "KA-05: a path for each rail, by an SRV name" "$(paths live)" \
	"10.55.0.2 4420,10.57.0.2 4420"
is "KA-05: by the device of each" \
	"$(awk '$2 == "live" { print $3, $6 }' <<<"$connected" | sort | paste -sd,)" \
	"10.55.0.2 rxe0/1,10.57.0.2 rxe_r2/1"
like "KA-05: an address that does not answer is reported" "$connected" \
	'^cmx: 10\.55\.0\.9 4420: nvme connect has failed$'
name_is 10.55.0.2 10.57.0.2
count=$(cmx nvme connect -j --nqn $nqn array.nvme.test "${options[@]}" |
	grep -o '"state": "live"' | wc -l)
is "KA-05: what is connected is not connected twice" "$count" 2
# A follower of one device keeps the paths of the other one.
cmx nvme connect --follow=1 --dev rxe0 --nqn $nqn array.nvme.test \
	"${options[@]}" >$dir/follow.dev 2>&1 &
follower=$!
rounds() {
	[ "$(</sys/module/rdma_ucmx/counters/requests)" -ge $((before + 4)) ]
}
rounds_more() {
	local before

	before=$(</sys/module/rdma_ucmx/counters/requests)
	wait_for 60 rounds
}
ok "KA-05: a follower of one device" rounds_more
kill "$follower"
wait "$follower"
is "KA-05: leaves the paths of the other" "$(paths live)" \
	"10.55.0.2 4420,10.57.0.2 4420"
# The second rail gets another subnet, and the first one again.
subnet='ip addr add 10.58.0.NR/24 dev rail2'
ok "KA-05: another subnet of a device" \
	eval "${subnet/NR/1} && peer '${subnet/NR/2}' && port_add 3 10.58.0.2 4420"
cmx nvme connect --follow=1 --dev rxe_r2 --nqn $nqn array.nvme.test \
	"${options[@]}" >>$dir/follow.dev 2>&1 &
follower=$!
ok "KA-05: a follower of that device" rounds_more
name_is 10.55.0.2 10.58.0.2
ok "KA-05: removes the path in the old subnet" wait_for 120 paths_are \
	"10.55.0.2 4420,10.58.0.2 4420"
name_is 10.55.0.2 10.57.0.2
ok "KA-05: and back" wait_for 120 paths_are "10.55.0.2 4420,10.57.0.2 4420"
# The subnet moves to the first rail, whose device has a follower, too.
move=${subnet/add /del }
subnet=${subnet/rail2/eth0}
move="$move && $subnet"
ok "KA-05: the subnet moves to another device" eval "port_del 3 &&
	${move//NR/1} && peer '${move//NR/2}' && port_add 3 10.58.0.2 4420"
cmx nvme connect --follow=1 --dev rxe0 --nqn $nqn array.nvme.test \
	"${options[@]}" >$dir/follow.other 2>&1 &
other=$!
name_is 10.55.0.2 10.57.0.2 10.58.0.2
ok "KA-05: which connects" wait_for 120 \
	grep -q '^connected .* 10\.58\.0\.2 4420$' $dir/follow.other
ok "KA-05: more rounds of both" eval "rounds_more && rounds_more && rounds_more"
is "KA-05: the path stays" "$(paths live)" \
	"10.55.0.2 4420,10.57.0.2 4420,10.58.0.2 4420"
is "KA-05: the first follower has removed only its own" \
	"$(grep -c '^disconnected .* 10\.58\.' $dir/follow.dev)" 1
name_is 10.55.0.2 10.57.0.2
ok "KA-05: the follower of its device removes it" wait_for 120 paths_are \
	"10.55.0.2 4420,10.57.0.2 4420"
kill "$follower" "$other"
wait "$follower"
wait "$other"
other=''
like "KA-05: and reports it" "$(cat $dir/follow.other)" \
	'^disconnected .* 10\.58\.0\.2 4420$'
diag "$(cat $dir/follow.dev $dir/follow.other)"
subnet=${subnet/add /del }
ok "KA-05: the subnet goes" \
	eval "port_del 3; ${subnet/NR/1} && peer '${subnet/NR/2}'"
node=''
wait_for 60 disk_there
ok "KA-05: one disk" test -b "$node"
ok "KA-05: a file system" mkfs.ext4 -q -F "$node"
ok "KA-05: mounted" mount -t ext4 "$node" $disk
ok "KA-05: written and verified" fio_run first
cp /usr/bin/bash $disk/copy
ok "KA-05: unmounted" umount $disk
ok "KA-05: mounted again" mount -t ext4 "$node" $disk
ok "KA-05: the same data" cmp /usr/bin/bash $disk/copy
ok "KA-05: verified again" fio_run again --verify_only

# --- a rail fails ---

# writes_at ADDRESS: how many writes have gone by that path
writes_at() {
	local ctrl

	for ctrl in /sys/class/nvme/nvme*; do
		! grep -q "^traddr=$1," "$ctrl/address" ||
			awk '{ print $5 }' "$ctrl"/nvme*c*n*/stat
	done
}
writes_more() {
	[ "$(writes_at 10.57.0.2)" -gt "$before" ]
}
# By default a disk uses one path only.
ok "KA-05: both rails are used" eval "echo round-robin >$(dirname \
	"$(realpath "/sys/class/block/${node##*/}")")/iopolicy"
before=$(writes_at 10.57.0.2)
fio_run rail --time_based --runtime=20 --verify_backlog=64 &
writer=$!
ok "KA-05: fio writes by the second one" wait_for 60 writes_more
ok "KA-05: which fails" port_del 2
ok "KA-05: a path is left" wait_for 60 paths_are "10.55.0.2 4420"
ok "KA-05: which serves" dd if=/usr/bin/bash of=$disk/rail bs=4k count=16 \
	oflag=direct
kill -0 $writer || diag "fio ended before the rail failed: the host is slow"
wait $writer
is "KA-05: no write has failed" "$?" 0
is "KA-05: and no byte is wrong" \
	"$(grep -o '"error" : [0-9]*' $dir/fio.rail)" '"error" : 0'
diag "the longest write took $(fio_stall rail) ms"
ok "KA-05: the rail is back" port_add 2 10.57.0.2 4420
ok "KA-05: and its path" wait_for 120 paths_are \
	"10.55.0.2 4420,10.57.0.2 4420"

# --- the target moves ---

# removed_are ADDRESSES: has the follower reported that it has removed these?
removed_are() {
	[ "$(grep ^disconnected $dir/follow | awk '{ print $3 }' | sort |
		paste -sd,)" = "$1" ]
}

cmx nvme connect --follow=1 --nqn $nqn _nvme._tcp.nvme.test "${options[@]}" \
	>$dir/follow 2>&1 &
follower=$!
fio_run moving --time_based --runtime=20 --verify_backlog=64 &
writer=$!
# Like another host with the same data: no part of the old one is left, and its
# controllers have other ids.
ok "KA-05: the target goes" eval "port_del 1 && port_del 2"
ok "KA-05: and comes with another address" \
	peer "echo 1000 >$target/subsystems/$nqn/attr_cntlid_min &&
		ip addr add 10.55.0.12/24 dev eth0"
ok "KA-05: which it listens at" port_add 3 10.55.0.12 4420
name_is 10.55.0.12
ok "KA-05: the path is the new one" wait_for 120 paths_are "10.55.0.12 4420"
ok "KA-05: the old ones are gone" wait_for 60 paths_left 1
wait $writer
is "KA-05: no write has failed" "$?" 0
is "KA-05: and no byte is wrong" \
	"$(grep -o '"error" : [0-9]*' $dir/fio.moving)" '"error" : 0'
stall=$(fio_stall moving)
diag "the longest write took $stall ms"
ok "KA-05: no write has waited longer than the move may take" \
	test "$stall" -lt 120000
ok "KA-05: the follower reports the new path" wait_for 60 \
	grep -qE '^connected nvme[0-9]+ 10\.55\.0\.12 4420$' $dir/follow
ok "KA-05: and those that it has removed" \
	wait_for 60 removed_are 10.55.0.2,10.57.0.2
ok "KA-05: unmounted" umount $disk
kill "$follower"
wait "$follower"
is "KA-05: a follower that is ended ends well" "$?" 0
is "KA-05: and leaves the connections" "$(paths live)" "10.55.0.12 4420"
finish
