#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03, MC-12: the programs of the newest rdma-core, that of Debian's testing,
# unmodified, over the shim, with the C library, librdmacm and provider of that
# release. They are below /testing (vm/image.sh), with a copy of the project's
# library and command.
. /usr/lib/rdma-cmx/selftests/lib.sh

root=/testing
[ ! -e $root/why ] || plan_skip "$(tail -n 1 $root/why)"
[ -d $root ] || plan_skip "this image has no programs of Debian's testing"
. /usr/lib/rdma-cmx/selftests/programs/functions

# A function that is nowhere ends the program at its start.
run="LD_BIND_NOW=1 chroot $root cmx run"
. /usr/lib/rdma-cmx/selftests/programs/each_functions

mounts="for dir in dev proc sys; do mount --bind /\$dir $root/\$dir || exit; done"
mounts_end() {
	local side

	for side in "$sv" "$cl"; do
		at "$side" "umount $root/dev $root/proc $root/sys"
	done
} 2>/dev/null
trap mounts_end EXIT

diag "$(xargs -a $root/.packages)"
ok "a root directory on the server" at "$sv" "$mounts"
ok "a root directory on the client" at "$cl" "$mounts"

ping="-V -v -C 10"
serve "$run rping -s $ping -a $sa"
maps=$(job_at "cat /proc/\$(pidof rping)/maps")
for file in libc.so.6 librdmacm.so.1 libibverbs.so.1 librxe-rdmav librdmacmx.so.1; do
	like "rping: $file is that of the folder" "$maps" " $root/usr/lib/.*/$file"
done
client "rping" "$run rping -c $ping -a $sa"
served "rping"
ids "rping" "2 1"
none_left "rping"
is "rping: the client has all ten back" "$(lines "$c_out" '^ping data: ')" 10
# Not cmtime: that of rdma-core 65 has other options.
rdmacm_each
stream "rstream" rstream -S 5000 -C 5 -I 10 -T v
bed_end
finish
