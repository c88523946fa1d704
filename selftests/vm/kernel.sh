#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Print the newest installed kernel version that can be booted and built for:
# image in /boot, modules and headers in /lib/modules.
for dir in $(printf '%s\n' /lib/modules/*/ | sort -rV); do
	kver=$(basename "$dir")
	if [ -r "/boot/vmlinuz-$kver" ] && [ -e "$dir/build/Makefile" ] &&
	   [ -e "$dir/modules.dep" ]; then
		echo "$kver"
		exit 0
	fi
done
echo "no kernel in /boot has its headers installed: try 'make deps'" >&2
exit 1
