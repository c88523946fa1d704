#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The name helper against real name servers, in a private network and with a
# private resolv.conf: a distinct error for every failure (GAI-02), all
# addresses (GAI-01), the canonical name (GAI-11). No key is touched; keys.sh
# does that. Needs root, unshare(1), ip(8). Prints TAP.
# usage: dns.sh [CMX_NAMES [DNS]] (helper and test server, else the installed ones)

if [ -z "$CMX_DNS_SH" ]; then
	[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
	CMX_DNS_SH=1 exec unshare -nm sh "$0" "$@"
fi

names=${1:-/usr/libexec/rdma-cmx/cmx-names}
dns=${2:-$(dirname "$0")/tools/dns}
dir=$(mktemp -d) || exit 1
servers=
# shellcheck source-path=SCRIPTDIR source=functions
. "$(dirname "$0")/functions"

finish()
{
	for pid in $servers; do
		kill "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap finish EXIT

# server ADDRESS [OPTIONS]: returns when the server accepts queries
server()
{
	a=$1
	shift
	mkfifo "$dir/ready"
	"$dns" -a "$a" -l "$dir/log" "$@" >"$dir/ready" &
	servers="$servers $!"
	read -r _ <"$dir/ready"
	rm "$dir/ready"
}

resolv()
{
	printf '%s\n' "$@" >"$dir/resolv.conf"
}

hosts_line()
{
	printf 'hosts: %s\n' "$1" >"$dir/nsswitch.conf"
}

# expect TITLE WANTED [ARGUMENTS] : compares the output, in one line. A busy
# host may stop until the alarm of the helper after 4 s: then another attempt.
expect()
{
	title=$1
	want=$2
	shift 2
	for more in '' '' 1; do
		got=$("$names" --print ${more:+--timeout 20} "$@" 2>&1 |
			tr '\n' ' ')
		got=${got% }
		if [ "$got" = "$want" ] || [ "$got" != 'error ETIMEDOUT' ]; then
			break
		fi
	done
	if [ "$got" = "$want" ]; then
		ok "$title"
	else
		not_ok "$title" "wanted: $want" "got:    $got"
	fi
}

# expect_quiet TITLE WANTED NAME : and no name server receives a query
expect_quiet()
{
	: >"$dir/log"
	expect "$1" "$2" -- "$3"
	if [ -s "$dir/log" ]; then
		not_ok "$1: no query is sent" "$(cat "$dir/log")"
	else
		ok "$1: no query is sent"
	fi
}

# status_is LINE TITLE FILE: checks a file that waiting() copied
status_is()
{
	if grep -q "$1" "$dir/$3"; then
		ok "$2"
	else
		not_ok "$2" "$(cat "$dir/$3")"
	fi
}

ip link set lo up
for f in resolv.conf nsswitch.conf hosts passwd; do
	: >"$dir/$f"
	mount --bind "$dir/$f" "/etc/$f" || exit 1
done
chmod 755 "$dir"
chmod 644 "$dir"/*
echo '192.0.2.99 here.t alias-of-here' >"$dir/hosts"
echo 'rdma-cmx:x:4711:4712::/:/bin/false' >"$dir/passwd"

echo "TAP version 13"
server 127.0.0.1
server 127.0.0.2 -m refused
server 127.0.0.3 -m servfail
server 127.0.0.4 -m silent

resolv 'nameserver 127.0.0.1'
for hosts in 'files dns' 'dns files'; do
	hosts_line "$hosts"
	expect "GAI-01 IPv4 only ($hosts)" 'address 192.0.2.1 canonical a.t' a.t
	expect "GAI-01 IPv6 only ($hosts)" \
		'address 2001:db8::1 canonical aaaa.t' aaaa.t
	expect "GAI-11 canonical name ($hosts)" \
		'address 192.0.2.1 canonical real.t' alias.t
	expect "GAI-02 no such name ($hosts)" 'error ENOENT' nx.t
	expect "GAI-02 no address ($hosts)" 'error ENODATA' txt.t
	expect "GAI-02 SERVFAIL ($hosts)" 'error EAGAIN' servfail.t
	expect "GAI-02 REFUSED ($hosts)" 'error ECONNREFUSED' refused.t
	expect "GAI-02 FORMERR ($hosts)" 'error ECONNREFUSED' formerr.t
	expect "GAI-02 NOTIMP ($hosts)" 'error ECONNREFUSED' notimp.t
	expect "GAI-02 silence ($hosts)" 'error ETIMEDOUT' \
		--timeout 2 silent.t
done

hosts_line 'files dns'
sorted=$("$names" --print --timeout 60 both.t | sort | tr '\n' ' ')
want='address 192.0.2.1 address 192.0.2.2 address 2001:db8::1'
want="$want address 2001:db8::2 canonical both.t "
if [ "$sorted" = "$want" ]; then
	ok "GAI-01 every address"
else
	not_ok "GAI-01 every address" "$sorted"
fi
count=$("$names" --print --timeout 60 dup.t | grep -c '^address')
if [ "$count" = 3 ]; then
	ok "GAI-01 no address twice"
else
	not_ok "GAI-01 no address twice" "wanted 3, got $count"
fi
count=$("$names" --print --timeout 60 many.t | grep -c '^address')
if [ "$count" = 256 ]; then
	ok "GAI-01 of 300 addresses 256"
else
	not_ok "GAI-01 of 300 addresses 256" "got $count"
fi
expect "GAI-01 a server that fails for IPv6" \
	'address 192.0.2.1 canonical half-servfail.t' half-servfail.t
expect "GAI-01 a server that is silent for IPv6" \
	'address 192.0.2.1 canonical half-silent.t' half-silent.t

hosts_line files
expect_quiet "GAI-01 /etc/hosts" \
	'address 192.0.2.99 canonical here.t' alias-of-here
expect_quiet "GAI-02 not in /etc/hosts" 'error ENOENT' refused.t
hosts_line 'files dns'

label=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123
expect_quiet "GAI-02 no name" 'error ENOENT' ''
expect_quiet "GAI-02 an address is no name" 'error ENOENT' 192.0.2.1
expect_quiet "GAI-02 nor is a short one" 'error ENOENT' 127.1
expect_quiet "GAI-02 nor is a hexadecimal one" 'error ENOENT' 0x7f000001
expect_quiet "GAI-02 label too long" 'error ENOENT' "${label}4.t"
expect_quiet "GAI-02 name too long" 'error ENOENT' \
	"$label.$label.$label.${label%3}.t"
expect_quiet "GAI-02 a shell's words" 'error ENOENT' 'a.t;reboot'
expect_quiet "GAI-02 a macro" 'error ENOENT' '%k'
expect_quiet "GAI-02 a name with a dash" 'error ENOENT' '--ttl'
expect "GAI-01 underscore" 'error ENOENT' _no_such.t
expect "GAI-01 absolute name" 'address 192.0.2.1 canonical a.t' a.t.

resolv 'nameserver 127.0.0.4' 'nameserver 127.0.0.1'
expect "GAI-02 first of two servers silent" \
	'address 192.0.2.1 canonical a.t' a.t
resolv 'nameserver 127.0.0.4' 'nameserver 127.0.0.4' 'nameserver 127.0.0.1'
expect "GAI-02 two of three servers silent" \
	'address 192.0.2.1 canonical a.t' a.t
resolv 'nameserver 127.0.0.2' 'nameserver 127.0.0.1'
expect "GAI-02 first of two servers refuses" \
	'address 192.0.2.1 canonical a.t' a.t
resolv 'nameserver 127.0.0.2' 'nameserver 127.0.0.2'
expect "GAI-02 both servers refuse" 'error ECONNREFUSED' a.t
resolv 'nameserver 127.0.0.2' 'nameserver 127.0.0.3'
expect "GAI-02 one refuses, one fails" 'error EAGAIN' a.t
resolv 'nameserver 127.0.0.2' 'nameserver 127.0.0.9'
expect "GAI-02 one refuses, one is down" 'error EAGAIN' a.t
resolv 'nameserver 127.0.0.2' 'nameserver 127.0.0.4'
expect "GAI-02 one refuses, one is silent" 'error ETIMEDOUT' a.t
resolv 'nameserver 127.0.0.9'
expect "GAI-02 no server at the port" 'error EAGAIN' a.t
resolv 'nameserver 198.51.100.1'
expect "GAI-02 no route to the server" 'error EAGAIN' a.t
resolv 'nameserver ::1'
expect "GAI-02 no server at the IPv6 port" 'error EAGAIN' a.t
resolv 'nameserver 127.0.0.1' 'search t'
: >"$dir/log"
expect "GAI-02 refused by search domain" 'error ECONNREFUSED' refused
if [ "$(tail -n 1 "$dir/log")" = 'refused.t 1' ]; then
	ok "GAI-02 the closer look is at the name in the domain"
else
	not_ok "GAI-02 the closer look is at the name in the domain" \
		"$(cat "$dir/log")"
fi

resolv 'nameserver 127.0.0.1'
echo 'nx a.t' >"$dir/aliases"
chmod 644 "$dir/aliases"
export HOSTALIASES="$dir/aliases" LOCALDOMAIN=t RES_OPTIONS=ndots:5
: >"$dir/log"
expect "the environment is ignored" 'error ENOENT' nx
if grep -qE '^(nx|nx\.t|a\.t) ' "$dir/log" && ! grep -q '\.t ' "$dir/log"; then
	ok "the environment is ignored: the query is for nx only"
else
	not_ok "the environment is ignored: the query is for nx only" \
		"$(cat "$dir/log")"
fi
unset HOSTALIASES LOCALDOMAIN RES_OPTIONS

# A user with lower limits than the helper
helper=$names
names=$dir/limited
printf '#!/bin/sh\nulimit -n 32\nexec setpriv %s "%s" "$@"\n' \
	'--reuid=4715 --regid=4715 --clear-groups' "$helper" >"$names"
chmod 755 "$names"
expect "a user with few files" 'address 192.0.2.1 canonical a.t' a.t
names=$helper

# child_of PID: the process that resolves, after it has dropped its privileges
child_of()
{
	for file in $(grep -ls "^PPid:	$1\$" /proc/[0-9]*/status); do
		if grep -qs '^NoNewPrivs:	1' "$file"; then
			file=${file%/status}
			echo "${file#/proc/}"
		fi
	done
}

# waiting [OPTIONS]: starts a helper that waits for a server; sets pid and child
waiting()
{
	: >"$dir/log"
	"$names" --print --timeout 15 "$@" silent.t >"$dir/out" &
	pid=$!
	tries=0
	while ! [ -s "$dir/log" ] && [ $tries -lt 300 ]; do
		tries=$((tries + 1))
		sleep 0.05
	done
	child=$(child_of $pid)
	for f in status limits; do
		cat "/proc/$child/$f" >"$dir/$f"
	done
	cat "/proc/$pid/status" >"$dir/parent"
	mem=$(stat -c %u "/proc/$child/mem")
}

timed_out()
{
	wait $pid
	if [ "$(cat "$dir/out")" = 'error ETIMEDOUT' ]; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$dir/out")"
	fi
}

# The state of the helper while it waits for a server
waiting
status_is '^Uid:	4711	4711	4711	4711' \
	"it runs as a separate user" status
status_is '^Gid:	4712	4712	4712	4712' "its group is that user's" \
	status
status_is '^Groups:[ 	]*$' "it has no other groups" status
status_is '^CapPrm:	0000000000000000' "it has no capabilities" \
	status
status_is '^NoNewPrivs:	1' "it cannot gain privileges" status
status_is '^Max core file size  *0  *0' "it dumps no core" limits
status_is '^Max file size  *0  *0' "it writes no file" limits
status_is '^Max processes  *0  *0' "it starts no process" limits
if [ "$mem" = 0 ]; then
	ok "no other process of its user can inspect it"
else
	not_ok "no other process of its user can inspect it"
fi
status_is '^Uid:	0	0	0	0' "its parent is root" parent
timed_out "an alarm ends it"

waiting
kill -STOP "$child"
timed_out "an alarm ends it, though it is stopped"
# Its parent has killed it, and did not wait for its end.
tries=0
while grep -qs '^State:	[^ZX]' "/proc/$child/status" && [ $tries -lt 300 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
if ! grep -qs '^State:	[^ZX]' "/proc/$child/status"; then
	ok "no process is left of it"
else
	not_ok "no process is left of it" "$(cat "/proc/$child/status")"
fi

waiting --timeout 60
kill -SEGV "$child"
wait $pid
if [ "$(cat "$dir/out")" = 'error EIO' ]; then
	ok "one that fails is an error"
else
	not_ok "one that fails is an error" "$(cat "$dir/out")"
fi

waiting --timeout 60 --user 4713:4714
status_is '^Uid:	4713	4713	4713	4713' "it is --user" status
kill "$child"
wait $pid
echo 'root:x:0:0::/:/bin/sh' >"$dir/passwd"
waiting --timeout 60
status_is '^Uid:	65534	65534	65534	65534' \
	"the user nobody, where it has no user" status
kill "$child"
wait $pid

# Another user's limit: root has none.
got=$(prlimit --nproc=1 setpriv --reuid 64999 --regid 64999 --clear-groups \
	"$names" --print a.t 2>/dev/null)
if [ "$got" = "error EAGAIN" ]; then
	ok "no process can be started (GAI-02)"
else
	not_ok "no process can be started (GAI-02)" "$got"
fi

refuse()
{
	what=$1
	shift
	if out=$("$names" "$@" 2>&1); then
		not_ok "refused: $*" "$out"
	elif echo "$out" | grep -qF -- "$what"; then
		ok "refused with the reason: $*"
	else
		not_ok "refused with the reason: $*" "$out"
	fi
}

refuse "'1'" --print --ttl 1 a.t
refuse "'1'" --print --negative-ttl 1 a.t
refuse "'5s'" --print --ttl 5s a.t
refuse "'61'" --print --timeout 61 a.t
refuse "'0:0'" --print --user 0:0 a.t
refuse "'1000'" --print --user 1000 a.t
refuse "'nobody:nogroup'" --print --user nobody:nogroup a.t
refuse "--wrong" --print --wrong a.t
refuse "--ttl needs a value" --print --ttl
refuse "one name expected" --print
refuse "one name expected" --print a.t b.t
refuse "'x'" x a.t
refuse "no authority over key 1" 1 a.t
refuse "a key and a name expected" 1

echo "1..$n"
[ "$failed" = 0 ]
