#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-03: cmx stat --prometheus: its format, its values, and the atomic
# replacement of its file.
. /usr/lib/rdma-cmx/selftests/cmx/functions

file=/tmp/test/rdma-cmx.prom

# Each metric has HELP, TYPE and its samples, once. Names and labels follow the
# format. Only counters end with _total. Prints each violation.
format_check() {
	awk '
	/^# HELP [a-z_][a-z0-9_]* [^ ].*$/ {
		if (wanted) print NR ": HELP without TYPE before"
		name = $3; wanted = "TYPE"
		if (seen[name]++) print NR ": a second " name
		next
	}
	/^# TYPE [a-z_][a-z0-9_]* (counter|gauge)$/ {
		if (wanted != "TYPE" || $3 != name) print NR ": TYPE of another"
		if (($4 == "counter") != (name ~ /_total$/))
			print NR ": " name " is no " $4
		wanted = "sample"
		next
	}
	/^[a-z_][a-z0-9_]*\{module="rdma_u?cmx"\} [0-9]+$/ {
		split($0, part, "{")
		if (part[1] != name || wanted == "TYPE")
			print NR ": a sample of another"
		if (name !~ /^rdma_cmx_/) print NR ": not ours"
		if (sample[$1]++) print NR ": a second " $1
		wanted = ""
		next
	}
	{ print NR ": " $0 }
	END { if (wanted) print "the last has no sample"; if (!NR) print "empty" }' "$1"
	[ -z "$(tail -c 1 "$1")" ] || echo "no newline at the end"
}

# value METRIC MODULE
value() {
	sed -n "s/^rdma_cmx_$1{module=\"$2\"} //p" $file
}

run cmx stat --prometheus
is "exit code" "$status" 0
echo "$out" >/tmp/test/out
is "format" "$(format_check /tmp/test/out)" ""
is "as many samples as counters, and one for each module" \
	"$(grep -vc '^#' /tmp/test/out)" \
	$(($(cat /sys/module/rdma_{,u}cmx/counters/* | wc -l) + 2))
is "nothing is written to stderr" "$err" ""

run cmx stat --prometheus --output $file
is "--output: exit code" "$status" 0
is "--output: nothing on standard output" "$out" ""
is "--output: format" "$(format_check $file)" ""
is "--output: others may read it" "$(stat -c %a $file)" 644
is "a loaded module" "$(value loaded rdma_ucmx)" 1
before=$(value requests_total rdma_cmx)
cmx resolve 10.55.0.2 >/dev/null
cmx stat --prometheus --output $file
is "a resolution is counted" "$(value requests_total rdma_cmx)" $((before + 1))
cmx join --source 10.55.0.1 239.55.2.9 >/tmp/test/join &
pid=$!
ok "a member joins" wait_for 40 grep -q Q_Key /tmp/test/join
cmx stat --prometheus --output $file
ok "a gauge of what lives" grep -qE '^rdma_cmx_live_[a-z]+\{.*\} [1-9]' $file
kill $pid
wait $pid

echo -1 >/tmp/test/negative
# shellcheck disable=SC2016 # for the inner shell
out=$(unshare -m bash -c 'mount --bind /tmp/test/negative "$1" && cmx stat -j' \
	bash /sys/module/rdma_cmx/counters/live_lookups)
like "a sum below zero is none" "$out" '"live_lookups": 0[,}]'

# The old file stays until the new one is complete: each time another inode
old=$(stat -c %i $file)
exec 3<$file
cmx stat --prometheus --output $file
ok "the file is replaced, not written to" test "$(stat -c %i $file)" != "$old"
cat <&3 >/tmp/test/old
exec 3<&-
is "who reads the old one reads all of it" "$(format_check /tmp/test/old)" ""
is "no other file stays" "$(ls /tmp/test/rdma-cmx.prom*)" $file
for i in {01..30}; do
	timeout "0.$i" cmx stat --prometheus --output $file
done 2>/dev/null
is "nor after a signal" "$(ls /tmp/test/rdma-cmx.prom*)" $file
mkdir /tmp/test/full
mount -t tmpfs -o size=4k tmpfs /tmp/test/full
dd if=/dev/zero of=/tmp/test/full/zero bs=4k count=1 2>/dev/null
fails "a full disk" 1 'No space' \
	cmx stat --prometheus --output /tmp/test/full/a.prom
is "a full disk: no file" "$(ls /tmp/test/full)" zero
umount /tmp/test/full
mkfifo /tmp/test/pipe
fails "a pipe" 1 'not a regular file' \
	cmx stat --prometheus --output /tmp/test/pipe
ok "the pipe stays" test -p /tmp/test/pipe
fails "no such folder" 1 'No such file' \
	cmx stat --prometheus --output /tmp/test/nosuch/a.prom
ln -s /tmp/test/full /tmp/test/link
fails "root follows no link: the folder" 1 'does not follow links' \
	cmx stat --prometheus --output /tmp/test/link/a.prom
mkdir /tmp/test/full/below
fails "root follows no link: above it" 1 'does not follow links' \
	cmx stat --prometheus --output /tmp/test/link/below/a.prom
is "nothing is written there" "$(find /tmp/test/full -type f)" ""
ln -s $file /tmp/test/a.prom
fails "root follows no link: the file" 1 'not a regular file' \
	cmx stat --prometheus --output /tmp/test/a.prom
chmod 777 /tmp/test/full
ok "another user may have links" setpriv --reuid=12345 --regid=12345 \
	--clear-groups cmx stat --prometheus --output /tmp/test/link/b.prom
ok "that file" test -s /tmp/test/full/b.prom
(cd /tmp/test && cmx stat --prometheus --output c.prom)
ok "a file without a folder" test -s /tmp/test/c.prom
fails "--output alone" 2 'with --prometheus only' cmx stat --output $file
fails "--json too" 2 'once' cmx stat -j --prometheus

ok "no module: rmmod" modprobe -r rdma_ucmx
run cmx stat --prometheus --output $file
is "no module: exit code" "$status" 0
is "no module: format" "$(format_check $file)" ""
is "no module: its metric" "$(value loaded rdma_cmx)$(value loaded rdma_ucmx)" 00
modprobe rdma_ucmx

# The timer's unit runs this command.
unit=/usr/lib/systemd/system/rdma-cmx-stat
read -ra command < <(sed -n 's/^ExecStart=//p' $unit.service)
mkdir -p /var/lib/prometheus/node-exporter
ok "the command of the service" "${command[@]}"
ok "its file" test -s /var/lib/prometheus/node-exporter/rdma-cmx.prom
rm -r /var/lib/prometheus
ok "the timer" grep -q OnUnitActiveSec $unit.timer
finish
