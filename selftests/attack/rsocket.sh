#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# SEC-01: no bytes of a peer determine the type of an object. rsocket programs
# under cmx run, and socket programs with librspreload, have a peer that sends
# private data where the library once searched for its mark. They end as on the
# stock library: by a signal, by exit, or never.
. /usr/lib/rdma-cmx/selftests/lib.sh
peer=/usr/lib/rdma-cmx/selftests/attack/tools/rsocket_peer
echo=/usr/lib/rdma-cmx/selftests/attack/tools/tcp_echo
rspreload=$(ls /usr/lib/*/rsocket/librspreload.so)
own=10.55.0.1
port=7480

# listens PORT
listens() {
	rdma resource show cm_id | grep -qE "LISTEN .*src-addr [^ ]*:$1( |\$)"
}

ended() {
	! kill -0 "$1" 2>/dev/null
}

# how STATUS: by exit, by which signal, or never? The exit status depends on how
# much the program received before the peer ended, on any library.
how() {
	if [ "$1" -gt 128 ] && [ "$1" -lt 193 ]; then
		echo "signal $(($1 - 128))"
	elif [ "$1" = 124 ]; then
		echo never
	else
		echo exit
	fi
}

# ends PID: how, or "never"
ends() {
	# Most never end, on either library, so the test waits for the whole
	# time.
	if wait_for 10 ended "$1"; then
		wait "$1"
		how $?
	else
		kill -KILL "$1"
		echo never
	fi
}

# server PORT COMMAND...: how a server with a hostile client ends
server() {
	local port=$1 pid

	shift
	"$@" -b $own -p "$port" >"server.$port" 2>&1 &
	pid=$!
	wait_for 40 listens "$port" || diag "no listener"
	timeout 60 $peer client $own "$port" >/dev/null 2>&1
	ends $pid
}

# meets PORT COMMAND...: how the client of a hostile server ends; its status is
# 0 if the server had a request
meets() {
	local port=$1 hostile

	shift
	timeout 60 $peer server $own "$port" >/dev/null 2>&1 &
	hostile=$!
	wait_for 40 listens "$port" || diag "no listener"
	timeout 60 "$@" >"client.$port" 2>&1
	how $?
	wait $hostile
}

# client PORT COMMAND...
client() {
	local port=$1

	shift
	meets "$port" "$@" -s $own -p "$port"
}

# All run at once, since the test waits the whole time for most of them.
pids=()
for program in rstream riostream; do
	for side in server client; do
		for run in "" "cmx run "; do
			port=$((port + 1))
			# shellcheck disable=SC2086 # a command and its arguments
			$side $port $run$program -S 1000 -C 2 -I 2 \
				>"$side.$run$program" &
			pids+=($!)
		done
	done
done
wait "${pids[@]}"
for program in rstream riostream; do
	for side in server client; do
		is "SEC-01: $program, $side: ends as on the stock library" \
			"$(<"$side.cmx run $program")" "$(<"$side.$program")"
	done
done

if [ -z "$rspreload" ]; then
	skip "librspreload is not installed"
	finish
fi
port=$((port + 1))
LD_PRELOAD=$rspreload cmx run $echo server $own $port >server.log 2>&1 &
pid=$!
ok "librspreload: the server listens on the device" wait_for 40 listens $port
unlike "librspreload: it does not listen on TCP" "$(cat /proc/net/tcp)" \
	"$(printf ':%04X ' $port)"
for _ in 1 2 3; do
	timeout 60 $peer client $own $port >/dev/null 2>&1
done
is "SEC-01: librspreload: the server survives hostile clients" \
	"$(LD_PRELOAD=$rspreload timeout 60 cmx run $echo client $own $port \
		2>&1; echo $?)" 0
# Not in a subshell: the server is a child of this shell.
wait_for 60 ended "$pid" || kill -KILL "$pid"
wait "$pid"
is "SEC-01: librspreload: the server exits with 0" $? 0
diag "$(cat server.log)"

# env: cmx run adds a library to LD_PRELOAD.
port=$((port + 2))
meets $((port - 1)) env "LD_PRELOAD=$rspreload" $echo client $own \
	$((port - 1)) >preloaded.stock &
stock=$!
meets $port env "LD_PRELOAD=$rspreload" cmx run $echo client $own $port \
	>preloaded.run
is "SEC-01: librspreload: the client connects to a hostile server" $? 0
wait $stock
is "SEC-01: librspreload, client: ends as on the stock library" \
	"$(<preloaded.run)" "$(<preloaded.stock)"
ok "SEC-01: no object is left" wait_for 90 live_none
finish
