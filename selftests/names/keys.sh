#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The name helper as the kernel starts it: keys instantiated and rejected after
# the privileges are dropped (GAI-02), their life, and names that look like
# options. Keys have type user, so that the test needs no module and can read
# the response. It changes /etc/resolv.conf and /etc/request-key.d, and is for a
# temporary guest only. Needs root, keyutils. Prints TAP. usage: keys.sh
# [CMX_NAMES [DNS]] (helper and test server, else the installed ones)

names=${1:-/usr/libexec/rdma-cmx/cmx-names}
dns=${2:-$(dirname "$0")/tools/dns}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
dir=$(mktemp -d) || exit 1
# shellcheck source-path=SCRIPTDIR source=functions
. "$(dirname "$0")/functions"
me=cmx-names-test

finish()
{
	kill "$server" 2>/dev/null
	rm -rf "$dir" "/etc/request-key.d/$me.conf"
}
trap finish EXIT

# seconds since boot, in hundredths
now()
{
	read -r t _ </proc/uptime
	echo "${t%.*}${t#*.}"
}

# request TITLE ERROR NAME: must fail with this error
request()
{
	got=$(keyctl request2 user "$3" '' @u 2>&1)
	if [ "$got" = "request_key: $2" ]; then
		ok "$1"
	else
		not_ok "$1" "wanted: $2" "got:    $got"
	fi
}

# expiry DESCRIPTION: lifetime in /proc/keys, in seconds or a larger unit
expiry()
{
	awk -v d="$1" '$8 == "user" && index($9, d) == 1 { print $4 }' \
		/proc/keys
}

queries()
{
	grep -c "^$1 1\$" "$dir/log"
}

mkdir -p /etc/request-key.d
cat >/etc/request-key.d/$me.conf <<END
create user *.cmx * $names --ttl 90 --negative-ttl 40 --timeout 60 -- %k %d
create user *.late * $names --ttl 5 --negative-ttl 2 --timeout 2 -- %k %d
create user *.bare * $names --ttl 5 --negative-ttl 2 --timeout 60 %k %d
create user *.short * $names --ttl 5 --negative-ttl 2 --timeout 60 -- %k %d
create user *.badttl * $names --ttl 1 -- %k %d
create user *.badopt * $names --wrong 1 -- %k %d
create user *.args * $names --ttl 5 -- %k %d %d
END
# Stops the name server of the test bed, which restarts it later.
lib=/usr/lib/rdma-cmx/selftests/lib.sh
[ ! -e "$lib" ] || bash -c ". $lib; dns_down"
echo 'nameserver 127.0.0.1' >/etc/resolv.conf
chmod 644 /etc/resolv.conf
mkfifo "$dir/ready"
"$dns" -l "$dir/log" >"$dir/ready" &
server=$!
read -r _ <"$dir/ready"

echo "TAP version 13"

id=$(keyctl request2 user a.cmx '' @u)
got=$(keyctl pipe "$id" | od -An -v -tx1 | tr -d ' \n')
# host byte order, the same on all test hosts
want=$(printf '%s' 01000100050000000200000000000000 c0000201 \
	000000000000000000000000 612e636d78)
if [ "$got" = "$want" ]; then
	ok "GAI-01 the answer is the one that the kernel was promised"
else
	not_ok "GAI-01 the answer is the one that the kernel was promised" \
		"wanted: $want" "got:    $got"
fi
case $(expiry a.cmx) in
[5-9][0-9]s | 1m)
	ok "the life time of a response is that of --ttl"
	;;
*)
	not_ok "the life time of a response is that of --ttl" "$(cat /proc/keys)"
	;;
esac
keyctl request2 user a.cmx '' @u >/dev/null
if [ "$(queries a.cmx)" = 1 ]; then
	ok "an answer is kept"
else
	not_ok "an answer is kept" "$(cat "$dir/log")"
fi

request "GAI-02 no such name" "No such file or directory" nx.cmx
request "GAI-02 and again" "No such file or directory" nx.cmx
if [ "$(queries nx.cmx)" = 1 ]; then
	ok "a failure is kept"
else
	not_ok "a failure is kept" "$(cat "$dir/log")"
fi
case $(expiry nx.cmx) in
[5-9]s | [123][0-9]s | 40s)
	ok "the life time of a failure is that of --negative-ttl"
	;;
*)
	not_ok "the life time of a failure is that of --negative-ttl" \
		"$(cat /proc/keys)"
	;;
esac
request "GAI-02 no address" "No data available" txt.cmx
request "GAI-02 SERVFAIL" "Resource temporarily unavailable" servfail.cmx
request "GAI-02 REFUSED" "Connection refused" refused.cmx
request "GAI-02 silence" "Connection timed out" silent.late
# Several attempts, as a busy host may stop
for i in 1 2 3 4 5; do
	start=$(now)
	keyctl request2 user "silent.$i.late" '' @u >/dev/null 2>&1
	took=$(($(now) - start))
	[ $took -ge 400 ] || break
done
if [ $took -ge 190 ] && [ $took -lt 400 ]; then
	ok "GAI-02 silence ends after --timeout"
else
	not_ok "GAI-02 silence ends after --timeout" "took $took hundredths"
fi

request "a name that looks like an option" "No such file or directory" \
	'--ttl.cmx'
request "the same without -- before it" "No such file or directory" \
	'--help.bare'
request "a name with a space" "No such file or directory" 'a b.cmx'
request "a name that is a macro" "No such file or directory" '%k.cmx'
request "a bad option" "Input/output error" a.badopt
request "a bad number" "Input/output error" a.badttl
request "an argument too many" "Input/output error" a.args

user=$(su -s /bin/sh -c "keyctl request2 user alias.cmx '' @u" nobody 2>&1)
case $user in
[0-9]*)
	ok "a user without rights is answered"
	;;
*)
	not_ok "a user without rights is answered" "$user"
	;;
esac

# Each must be ENOENT at any fraction of the second (ENOKEY would mean that
# there is no helper): over two seconds and at least 40 times.
wrong=
i=0
start=$(now)
while [ $i -lt 40 ] || [ $(($(now) - start)) -lt 200 ]; do
	begin=$(now)
	got=$(keyctl request2 user "n$i.short" '' @u 2>&1)
	# A host that stops for a second lets the key expire before the helper ends.
	[ "$got" = "request_key: No such file or directory" ] ||
		[ $(($(now) - begin)) -ge 100 ] ||
		wrong="$wrong n$i: $got"
	i=$((i + 1))
done
if [ -z "$wrong" ]; then
	ok "GAI-02 no failure is taken for a missing helper ($i names)"
else
	not_ok "GAI-02 no failure is taken for a missing helper" "$wrong"
fi
request "no helper is ENOKEY" "Required key not available" a.unhandled

keyctl request2 user a.short '' @u >/dev/null
before=$(queries a.short)
tries=0
while [ -n "$(expiry a.short)" ] && [ "$(expiry a.short)" != expd ] &&
      [ $tries -lt 300 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
keyctl request2 user a.short '' @u >/dev/null
if [ "$(queries a.short)" = $((before + 1)) ]; then
	ok "a response that has expired is queried again"
else
	not_ok "a response that has expired is queried again" "$(cat "$dir/log")"
fi

echo "1..$n"
[ "$failed" = 0 ]
