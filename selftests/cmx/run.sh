#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, OPS-02: cmx run starts a program on librdmacmx and returns its status.
# On a failure it prints the cause and the remedy.
. /usr/lib/rdma-cmx/selftests/cmx/functions

library=$(realpath "$(ls /usr/lib/*/librdmacmx.so.1)")
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# The program
run cmx run bash -c 'echo "$0,$1,$2"; exit 7' 'a b' '' -x
is "the status is the program's" "$status" 7
is "the arguments are the program's" "$out" "a b,,-x"
is "nothing else is printed" "$err" ""
run cmx run -- bash -c 'kill -TERM $$'
is "a signal ends the program, not a wrapper" "$status" 143
run cmx run bash -c 'echo $LD_PRELOAD'
is "the library is preloaded, by its path" "$out" "$library"
# Busybox, which has most commands here, is linked statically; bash is not.
run cmx run bash -c 'grep -q librdmacmx /proc/$$/maps; exit $?'
is "the program maps the library" "$status" 0
run env LD_PRELOAD=libdl.so.2 cmx run bash -c 'echo $LD_PRELOAD'
is "the library follows earlier preloads" "$out" "libdl.so.2:$library"
run env LD_PRELOAD="libdl.so.2 librdmacmx.so.1" cmx run bash -c 'echo $LD_PRELOAD'
is "it is not preloaded twice" "$out" "libdl.so.2 librdmacmx.so.1"
before=$(counter ids)
run cmx run rping -c -a 10.55.0.2 -p 9
is "rping without a server fails as it does by itself" "$status" \
	"$(rping -c -a 10.55.0.2 -p 9 >/dev/null 2>&1; echo $?)"
ok "it has made its id at the device" test "$(counter ids)" -gt "$before"
is "no file of cmx is open in the program" \
	"$(cmx run bash -c 'ls -l /proc/$$/fd' | grep -c rdma_cmx)" 0

# The search for the program
mkdir /tmp/test/bin
printf '#!/bin/bash\necho script "$@"\n' >/tmp/test/bin/prog
cp /tmp/test/bin/prog /tmp/test/locked
chmod 755 /tmp/test/bin/prog
chmod 644 /tmp/test/locked
run env PATH="/nosuch:/tmp/test/bin:$PATH" cmx run prog 1 2
is "found in PATH, a script" "$out,$status,$err" "script 1 2,0,"
fails "no such program" 127 'nosuch: there is no such program in PATH' \
	cmx run nosuch
fails "no such file" 127 '/nosuch/x: there is no such program$' \
	cmx run /nosuch/x
fails "not executable" 126 'locked: .*Permission denied' \
	"${nobody[@]}" cmx run /tmp/test/locked
fails "a folder" 126 '/tmp: .*directory' cmx run /tmp
printf '#!/nosuch/interpreter\n' >/tmp/test/lost
chmod 755 /tmp/test/lost
fails "an interpreter that is not there" 127 'lost: the interpreter' \
	cmx run /tmp/test/lost
fails "no program" 2 'needs a PROGRAM' cmx run
fails "no program, but --" 2 'needs a PROGRAM' cmx run --
fails "an option that it has not" 2 "no option '-C'" cmx run -C true

# Programs that ignore a preload
run cmx run busybox echo static
is "a static program runs" "$out" static
like "a static program is warned of" "$err" 'warning: .*busybox is linked stat'
cp /usr/bin/setpriv /tmp/test/setuid
chmod 4755 /tmp/test/setuid
run "${nobody[@]}" cmx run /tmp/test/setuid --dump
is "a setuid program runs" "$status" 0
like "a setuid program is warned of" "$err" 'warning: .*setuid gets privileges'
run cmx run /tmp/test/setuid --dump
is "root gets no warning of a setuid program" "$err" ""
cp /usr/bin/setpriv /tmp/test/other
printf '\x01' | dd of=/tmp/test/other bs=1 seek=4 conv=notrunc 2>/dev/null
run cmx run /tmp/test/other --dump
like "a program of another architecture is warned of" "$err" \
	'warning: .*other is for another architecture'

# The library, at a path that LD_PRELOAD cannot contain
mkdir "/tmp/test/a b"
cp "$library" "/tmp/test/a b/"
fails "a library below a name with a space" 125 'cannot be preloaded' \
	env LD_LIBRARY_PATH="/tmp/test/a b" cmx run true
mkdir /tmp/test/else
cp "$library" /tmp/test/else/
run env LD_LIBRARY_PATH=/tmp/test/else cmx run bash -c \
	'unset LD_LIBRARY_PATH
	exec bash -c "grep -q test/else /proc/\$\$/maps; exit \$?"'
is "a library elsewhere is found there by the program" "$status" 0

# The device
chmod 0600 $device
fails "permission denied" 125 'Permission denied.*udev' \
	"${nobody[@]}" cmx run true
chmod 0666 $device
run "${nobody[@]}" cmx run bash -c :
is "everybody may use it" "$status,$err" "0,"
mv $device $device.away
run cmx run bash -c 'echo $LD_PRELOAD'
is "no device: the program runs, preloaded" "$status,$out,$err" "0,$library,"
before=$(counter ids)
run env RDMACMX_VERBOSE=1 cmx run rping -c -a 10.55.0.2 -p 9
like "no device: rping fails as it does by itself" "$err" REJECTED
is "no device: librdmacm serves it, which is reported once" \
	"$(grep librdmacmx <<<"$err")" \
	"librdmacmx: $device is not here: librdmacm serves this process"
run cmx run rping -c -a 10.55.0.2 -p 9
like "no device: it fails so again" "$err" REJECTED
unlike "no device: no unrequested report" "$err" \
	librdmacmx
is "no device: no id is made" "$(counter ids)" "$before"

# Incomplete setups. An engine creates a directory for a missing volume, and an
# image may have a file with that name.
mkdir $device
fails "a folder in place of the device" 125 'rdma_cmx: Is a directory' \
	cmx run true
run env LD_PRELOAD="$library" timeout 120 rping -c -a 10.55.0.2 -p 9
ok "a folder in place of the device: a preloaded program fails" \
	test "$status" != 0
unlike "a folder in place of the device: and not on librdmacm" "$err" REJECTED
rmdir $device
: >$device
chmod 666 $device
fails "a file in place of the device" 125 'rdma_cmx is not the device of' \
	cmx run true
run env LD_PRELOAD="$library" timeout 120 rping -c -a 10.55.0.2 -p 9
ok "a file in place of the device: a preloaded program fails" \
	test "$status" != 0
unlike "a file in place of the device: and not on librdmacm" "$err" REJECTED
rm $device
mknod $device c 1 3
chmod 666 $device
fails "another device of that name" 125 'rdma_cmx is not the device of' \
	cmx run true
rm $device
mv $device.away $device

chmod 0600 $device
run "${nobody[@]}" env LD_PRELOAD="$library" timeout 120 \
	rping -c -a 10.55.0.2 -p 9
ok "permission denied: a preloaded program fails" test "$status" != 0
like "permission denied: it prints the reason" "$err" 'Permission denied'
chmod 0666 $device

# A container without permission for the device: EPERM of its cgroup
group=/tmp/test/group
mkdir $group
if mount -t cgroup -o devices none $group; then
	mkdir $group/pod
	echo "c $((0x$(stat -c %t $device))):$((0x$(stat -c %T $device))) rwm" \
		>$group/pod/devices.deny
	# shellcheck disable=SC2016 # for the shell that it starts
	run bash -c 'echo $$ >"$1"/cgroup.procs
		RDMACMX_VERBOSE=1 exec cmx run rping -c -a 10.55.0.2 -p 9' - \
		$group/pod
	like "no right by the cgroup: librdmacm serves it" "$err" REJECTED
	like "no right by the cgroup: which is reported" "$err" \
		'librdmacm serves this process'
	rmdir $group/pod
	umount $group
else
	skip "no right by the cgroup" "no devices controller"
fi

# The device without the devices of verbs: names resolve, an id gets no device.
mkdir /tmp/test/uverbs
mv /dev/infiniband/uverbs* /tmp/test/uverbs/
run timeout 120 cmx resolve 10.55.0.2 7471
is "no uverbs: cmx resolve works" "$status" 0
like "no uverbs: with the address" "$out" '10\.55\.0\.2'
run timeout 120 cmx run rping -c -a 10.55.0.2 -p 9
like "no uverbs: rping fails, in time and by itself" "$status" '^(1|255)$'
mv /tmp/test/uverbs/* /dev/infiniband/
run cmx run rping -c -a 10.55.0.2 -p 9
like "they are back: it reaches the peer" "$err" REJECTED
ok "nothing is left" wait_for 40 live_none
finish
