#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Three containers, each with a network and a mount namespace, a resolv.conf, a
# hosts file and a name server, and a hostile one. Each gets its own responses,
# at the same time. So does the host, for programs and for a kernel consumer,
# whose files are in /etc/netns. GAI-01, GAI-02, RAI-02, KA-01. The host's
# v4only.cmx.test is 10.55.0.2; container N has 198.18.N.1.
. /usr/lib/rdma-cmx/selftests/lib.sh

name=v4only.cmx.test
here=/usr/lib/rdma-cmx/selftests
conf=/etc/request-key.d/rdma-cmx.conf
consumer=/sys/kernel/debug/cmx_consumer
dir=$(mktemp -d) || exit 1
chmod 755 "$dir"
declare -A root server

cleanup() {
	local n

	[ ! -e "$dir/saved.conf" ] || mv "$dir/saved.conf" "$conf"
	rmmod cmx_consumer 2>/dev/null
	rm -rf /etc/netns
	killall -KILL -q cmx cmx-names
	for n in 1 2 3 4; do
		container_end $n
	done
	rm -rf "$dir"
}
trap cleanup EXIT

# in_ N COMMAND...: in container N
in_() {
	local n=$1

	shift
	nsenter -t "${root[$n]}" -n -m "$@"
}

# etc N FILE < TEXT: replaces a file of container N
etc() {
	cat >"$dir/$1.$2" && chmod 644 "$dir/$1.$2"
}

container_start() {
	local n=$1

	rm -f "$dir/$n.ready" "$dir/$n.log"
	ip netns add "box$n" &&
	ip -n "box$n" link set lo up &&
	ip -n "box$n" addr add "198.18.$n.254/24" dev lo &&
	# The other end goes with the namespace.
	ip link add "box$n" type veth peer name up0 netns "box$n" || return
	echo 'nameserver 127.0.0.1' | etc "$n" resolv.conf
	printf '%s\n' '127.0.0.1 localhost' \
		"198.18.$n.2 in-hosts" "198.18.$n.3 only-hosts$n" | etc "$n" hosts
	# shellcheck disable=SC2016 # for the shell that it starts
	nsenter -n"/run/netns/box$n" unshare -m bash -c '
		mount --bind "$1.resolv.conf" /etc/resolv.conf &&
		mount --bind "$1.hosts" /etc/hosts &&
		touch "$1.ready" && exec sleep 1000' - "$dir/$n" \
		</dev/null >/dev/null 2>&1 &
	root[$n]=$!
	nsenter -n"/run/netns/box$n" dnsmasq --keep-in-foreground \
		--conf-file=/dev/null --port=53 --listen-address=127.0.0.1 \
		--bind-interfaces --no-resolv --no-hosts --user=root \
		--pid-file= --log-queries --log-facility="$dir/$n.log" \
		--address=/#/ --local=/cmx.test/ \
		--host-record="$name,198.18.$n.1" \
		--host-record="only$n.cmx.test,198.18.$n.4" \
		--address="/any.cmx.test/198.18.$n.5" \
		</dev/null >/dev/null 2>&1 &
	server[$n]=$!
	wait_for 40 test -e "$dir/$n.ready" &&
	wait_for 40 grep -qs started "$dir/$n.log"
}

container_end() {
	[ -z "${root[$1]}" ] || kill -KILL "${root[$1]}" "${server[$1]}"
	root[$1]=
	ip netns del "box$1" 2>/dev/null
} 2>/dev/null

# Prints the addresses that container N, or the host (0), gets for a name.
addresses() {
	local n=$1 run=

	[ "$n" = 0 ] || run="in_ $n"
	$run timeout 60 cmx resolve "$2" 7471 2>/dev/null |
		sed -n 's/^\([0-9]*\.[0-9.]*\) .*/\1/p'
}

want() {
	[ "$1" = 0 ] && echo 10.55.0.2 || echo "198.18.$1.1"
}

# Four times in a row, since there are four others; prints wrong results
round() {
	local i got

	for i in 1 2 3 4; do
		got=$(addresses "$1" $name)
		# A busy host may stop for longer than the deadlines of names.
		[ -n "$got" ] || got=$(addresses "$1" $name)
		[ "$got" = "$(want "$1")" ] || echo "$1: $got"
	done
}

# others TITLE: all but the hostile one resolve at the same time, without delay.
# The first time, before there is a hostile one, shows how fast the host is.
usual=''
others() {
	local n pids=() begin=$SECONDS took

	for n in 0 1 2 3; do
		round $n >"$dir/round.$n" &
		pids+=($!)
	done
	wait "${pids[@]}"
	took=$((SECONDS - begin))
	is "$1: the others get their answers" "$(cat "$dir"/round.?)" ""
	: "${usual:=$took}"
	ok "$1: without delay" test $took -lt $((60 + 3 * usual))
}

unload() {
	[ ! -d /sys/module/rdma_ucmx ] || rmmod rdma_ucmx || return
	rmmod rdma_cmx
}

flood_stop() {
	killall -KILL -q cmx
	wait_for 60 no pidof cmx
}

dns_up
# Nothing here depends on the usual 4 s, and a failure is cached.
names_wait 20
for n in 1 2 3 4; do
	container_start $n || { fail "container $n starts"; finish; }
done

# --- Each gets its own responses ---------------------------------------------

is "GAI-01: the host's answer" "$(addresses 0 $name)" 10.55.0.2
others "GAI-01, together"
for n in 1 2 3; do
	is "GAI-01: container $n has the hosts file's address" \
		"$(addresses $n in-hosts)" "198.18.$n.2"
	is "GAI-01: and its own name" "$(addresses $n only$n.cmx.test)" \
		"198.18.$n.4"
	is "GAI-01: and none of its neighbour's" \
		"$(addresses $n only$((n % 3 + 1)).cmx.test)$(
		   addresses $n only-hosts$((n % 3 + 1)))" ""
done
is "GAI-01: the host has none of theirs" \
	"$(addresses 0 in-hosts)$(addresses 0 only1.cmx.test)" ""
addresses 1 fresh$$.any.cmx.test >/dev/null
is "GAI-01: the host's name server has no query of a container" \
	"$(dns_queries "\\<fresh$$\\.any")" 0
lookups=$(counter name_lookups)
for n in 1 2 3; do
	addresses $n fresh$n.any.cmx.test >/dev/null
done
is "GAI-01: no helper runs for a container" "$(counter name_lookups)" "$lookups"

# --- The hostile one ---------------------------------------------------------

# hostile FILE: sets its resolv.conf
hostile() {
	in_ 4 mount --bind "$1" /etc/resolv.conf
}

mkfifo "$dir/fifo"
chmod 644 "$dir/fifo"
hostile "$dir/fifo"
addresses 4 $name >"$dir/out" &
others "a FIFO"
flood_stop
is "a FIFO: it gets nothing" "$(cat "$dir/out")" ""

echo 'nameserver 127.0.0.1' >"$dir/secret"
chmod 600 "$dir/secret"
yes 'nameserver 127.0.0.1' | head -c 8000000 >"$dir/huge"
chmod 644 "$dir/huge"
hostile "$dir/huge"
addresses 4 $name >"$dir/out" &
others "a huge file"
flood_stop

echo 'nameserver 127.0.0.1' >"$dir/usual"
chmod 644 "$dir/usual"
hostile "$dir/usual"
kill -STOP "${server[4]}"
pids=()
for i in $(seq 16); do
	addresses 4 "silent$i.cmx.test" >/dev/null &
	pids+=($!)
done
wait_for 40 pidof cmx
others "a silent server and a flood"
flood_stop
wait "${pids[@]}" 2>/dev/null
ok "processes that were killed in mid-query leave nothing" \
	wait_for 60 live_none

# Invalid responses: 300 addresses, an invalid canonical name, and truncation
kill -KILL "${server[4]}"
wait "${server[4]}" 2>/dev/null
mkfifo "$dir/started"
nsenter -n/run/netns/box4 "$here/names/tools/dns" -l "$dir/lies" \
	>"$dir/started" 2>/dev/null &
server[4]=$!
read -r _ <"$dir/started"
for lie in many txt nx formerr half-silent dup; do
	addresses 4 $lie.$name >/dev/null &
done
others "a server that lies"
flood_stop

# --- It ends during a query --------------------------------------------------

for i in 1 2 3 4; do
	in_ 4 timeout 60 cmx resolve silent.$i.test 7471 >/dev/null 2>&1 &
done
wait_for 40 pidof cmx
container_end 4
others "a namespace without a name"
flood_stop
ok "the namespace is gone" wait_for 60 test ! -e /sys/class/net/box4
ok "nothing is left of it" wait_for 60 live_none

container_start 4 || fail "container 4 starts again"

# --- Names of kernel consumers -----------------------------------------------

# kernel_start N QUERY: a query of a kernel consumer in container N, or the host
kernel_start() {
	local n=$1 words="$2 1 qp=2 timeout=30000"

	if [ "$n" = 0 ]; then
		echo "start $words" >$consumer/command
	else
		# shellcheck disable=SC2016 # for the shell that it starts
		nsenter -t "${root[$n]}" -n bash -c 'echo "$1" >"$2"' - \
			"start $words own-net" $consumer/command
	fi
}

# kernel N NAME: addresses, or error=NUMBER
kernel() {
	kernel_start "$1" "$2"
	echo wait >$consumer/command
	sed -n 's/.* dst=\([0-9.]*\):.*/\1/p; /^error/p' $consumer/result
}

# A name that is not cached
has_names() {
	[ "$(kernel "$1" $name)" != error=-95 ]
}

# conf_of N < TEXT: sets the resolv.conf of a namespace, as root of the host
conf_of() {
	mkdir -p "/etc/netns/box$1"
	rm -rf "/etc/netns/box$1/resolv.conf"
	cat >"/etc/netns/box$1/resolv.conf"
}

cp "$conf" "$dir/saved.conf"
modprobe cmx_consumer
is "a namespace without a resolv.conf: EOPNOTSUPP" "$(kernel 1 $name)" \
	"error=-95"
is "the container's own file is not read" "$(kernel 2 $name)" "error=-95"

# --- Namespaces without files, or without a name -----------------------------

# Failures are cached for seconds: each name here is new.
default_names() {
	sed "s|--ttl [0-9]*|& --default-netns $1|" "$dir/saved.conf" >"$conf"
}

default_names others
is "no files of that name: EOPNOTSUPP" "$(kernel 3 a.any.cmx.test)" "error=-95"
mkdir -p /etc/netns/others
echo 'nameserver 127.0.0.1' >/etc/netns/others/resolv.conf
echo '198.18.0.9 in-others' >/etc/netns/others/hosts
echo 'nameserver 127.0.0.1' | conf_of 1
is "the default files are those of a namespace without" \
	"$(kernel 2 b.any.cmx.test) $(kernel 2 in-others)" "198.18.2.5 198.18.0.9"
is "a namespace with a resolv.conf has its own files" \
	"$(kernel 1 b.any.cmx.test) $(kernel 1 in-others)" "198.18.1.5 error=-2"
ip netns del box3
ip netns del box4
is "a namespace without a name is found by its processes" \
	"$(kernel 3 b.any.cmx.test) $(kernel 4 b.any.cmx.test)" \
	"198.18.3.5 198.18.4.5"
is "neither the container's hosts file nor the host's is read" \
	"$(kernel 3 in-hosts) $(kernel 3 storage-in-hosts)" "error=-2 error=-2"
chmod 666 /etc/netns/others/resolv.conf
is "default files that others may write: EIO" "$(kernel 3 c.any.cmx.test)" \
	"error=-5"
default_names ../others
is "a path is no name: EIO" "$(kernel 3 d.any.cmx.test)" "error=-5"
cp "$dir/saved.conf" "$conf"
is "without the option such a namespace has no names" \
	"$(kernel 4 e.any.cmx.test)" "error=-95"
kernel 0 $name >/dev/null
for n in 3 4; do
	container_end $n
	wait_for 60 test ! -e /sys/class/net/box$n
	container_start $n || fail "container $n starts again"
done

# The cache keeps responses longer than this part takes, so that a response of
# another namespace would show.
sed 's/--ttl [0-9]*/--ttl 600/' "$dir/saved.conf" >"$conf"
for n in 1 2 3 4; do
	echo 'nameserver 127.0.0.1' | conf_of $n
done
cp "$dir/1.hosts" /etc/netns/box1/hosts
got='' hits=$(counter name_hits)
for n in 0 1 2 3 1 0 3 2; do
	wait_for 60 has_names $n
	got="$got $(kernel $n $name)"
done
is "GAI-01: a kernel consumer gets the namespace's answers" "$got" \
	" 10.55.0.2 198.18.1.1 198.18.2.1 198.18.3.1 198.18.1.1 10.55.0.2 198.18.3.1 198.18.2.1"
ok "GAI-01: the cache has them" test "$(counter name_hits)" -ge $((hits + 8))
is "GAI-01: its hosts file is the namespace's" "$(kernel 1 in-hosts)" \
	198.18.1.2
is "GAI-01: where there is none it is not the host's" \
	"$(kernel 0 storage-in-hosts) $(kernel 2 storage-in-hosts)" \
	"10.55.0.2 error=-2"
is "GAI-01: the user's answers are the same" \
	"$(addresses 2 $name) $(addresses 0 $name)" "198.18.2.1 10.55.0.2"

# refused TITLE: the file is rejected, and the other namespaces still resolve
refused() {
	names=$((names + 1))
	is "$1: EIO" "$(kernel 4 "x$names.any.cmx.test")" "error=-5"
	is "$1: the next namespace's name" \
		"$(kernel 3 "x$names.any.cmx.test")" 198.18.3.5
}

file=/etc/netns/box4/resolv.conf
names=0
rm $file
mkfifo -m 644 $file
refused "a FIFO"
ln -sf "$dir/secret" $file
refused "a link"
rm $file
cp "$dir/huge" $file
refused "a huge file"
echo 'nameserver 127.0.0.1' | conf_of 4
chmod 666 $file
refused "a file that others may write"
chmod 600 $file
refused "a file that the helper may not read"
chown 1000 $file
chmod 644 $file
refused "a file that is not root's"
rm $file
mkdir $file
refused "a directory"
echo 'nameserver 127.0.0.1' | conf_of 4
is "a file as it should be" "$(kernel 4 good.any.cmx.test)" 198.18.4.5

# The state of the child during a lookup
kill -STOP "${server[4]}"
kernel_start 4 confined.cmx.test
child_of() {
	local pid

	for pid in $(pidof cmx-names); do
		grep -qs '^NoNewPrivs:	1' "/proc/$pid/status" || continue
		readlink "/proc/$pid/ns/net" | grep -qF "$1" || continue
		status=$(cat "/proc/$pid/status")
		exe=$(readlink "/proc/$pid/exe")
		return 0
	done
	return 1
}
status='' exe=''
# Not by ok, whose command has separate variables
wait_for 40 child_of "$(stat -Lc %i /run/netns/box4)"
is "the helper's child is in the namespace" $? 0
like "it is not root" "$status" \
	'^Uid:	[1-9][0-9]*	[1-9][0-9]*	[1-9][0-9]*	[1-9]'
like "it has no capabilities" "$status" \
	'^CapPrm:	0000000000000000'
is "its program is the host's" "$exe" \
	"$(readlink -f /usr/libexec/rdma-cmx/cmx-names)"
echo wait >$consumer/command
like "a silent server: a timeout, or later" "$(cat $consumer/result)" \
	'error=-(110|11)$'
kernel_start 4 silent.cmx.test
is "the host's name meanwhile" "$(addresses 0 meanwhile.any.cmx.test)" 10.55.0.2
others "a kernel query of a silent server"
echo cancel >$consumer/command

# The namespace is deleted during a query; another one gets the same name.
kernel_start 4 gone.cmx.test
container_end 4
echo wait >$consumer/command
like "the namespace goes in mid-query: an error" "$(cat $consumer/result)" \
	'^error=-'
# The consumer keeps its last query, which references the namespace.
kernel 0 $name >/dev/null
ok "the namespace is gone" wait_for 60 test ! -e /sys/class/net/box4
was=$(kernel 3 $name)
kernel 0 $name >/dev/null
container_end 3
ok "so is the third" wait_for 60 test ! -e /sys/class/net/box3
container_start 3
kill -STOP "${server[3]}"
echo 'nameserver 127.0.0.1' | conf_of 3
echo "198.18.3.9 $name" >/etc/netns/box3/hosts
is "one of the same name has no answer of the last one" \
	"$was $(kernel 3 $name)" "198.18.3.1 198.18.3.9"

kernel_start 3 unload.cmx.test
wait_for 40 pidof cmx-names
ok "the consumer is unloaded in mid-query" rmmod cmx_consumer
ok "so are the modules" wait_for 120 unload
modprobe rdma_ucmx
wait_for 40 test -c /dev/infiniband/rdma_cmx
mv "$dir/saved.conf" "$conf"
container_end 3
wait_for 60 test ! -e /sys/class/net/box3
container_start 3 || fail "container 3 starts again"
container_end 4

# --- Unload ------------------------------------------------------------------

container_start 4 || fail "container 4 starts for the last time"
kill -STOP "${server[4]}"
in_ 4 timeout 100 cmx resolve last.cmx.test 7471 >/dev/null 2>&1 &
wait_for 40 pidof cmx
flood_stop
container_end 4
ok "the modules are unloaded" wait_for 120 unload
modprobe rdma_ucmx
ok "they are loaded again" wait_for 40 test -c /dev/infiniband/rdma_cmx
others "after that"
cleanup
trap - EXIT
ok "no namespace stays" wait_for 60 test ! -e /sys/class/net/box1
ok "no object stays" wait_for 60 live_none
finish
