#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The user ABI is compatible in both directions: the library of each published
# version (frozen_build.sh) works on the current modules, and the current library
# on the modules of that version. Published test programs report what works, and
# the current grown.c reports what is newer.
. /usr/lib/rdma-cmx/selftests/lib.sh

frozen=''
device=/dev/infiniband/rdma_cmx

# abi_version: the version of GET_INFO
abi_version() {
	cmx --version | sed -n 's/^kernel: ABI \([0-9]*\),.*/\1/p'
}

parameters() {
	grep -r . /sys/module/rdma_{,u}cmx/parameters | sort
}

# The file of an ended process may still be open for a moment.
modules_gone() {
	[ ! -d /sys/module/rdma_ucmx ] || rmmod rdma_ucmx || return
	[ ! -d /sys/module/rdma_cmx ] || rmmod rdma_cmx
}

device_there() {
	wait_for 40 test -c $device
}

# The file makes the next test load the current modules, if this one is killed.
modules_frozen() {
	touch /run/modules-frozen
	wait_for 40 modules_gone && insmod "$frozen/rdma_cmx.ko" &&
		insmod "$frozen/rdma_ucmx.ko" && device_there
}

modules_today() {
	wait_for 40 modules_gone && modprobe rdma_ucmx && device_there &&
		rm -f /run/modules-frozen
}

# library_is FILE: do all programs load this library?
library_is() {
	local file got

	for file in "$frozen"/programs/*; do
		got=$(LD_TRACE_LOADED_OBJECTS=1 "$file" |
			sed -n 's/^\tlibrdmacmx.so.1 => \(.*\) (.*/\1/p')
		[ "$got" -ef "$1" ] ||
			{ echo "$file loads '$got'"; return 1; }
	done
}

# program_end FILE: the children of a program have separate process groups.
program_end() {
	local exe

	for exe in /proc/[0-9]*/exe; do
		[ ! "$exe" -ef "$1" ] || kill -KILL "${exe//[!0-9]/}"
	done
}

# program_run FILE: prints its output. Ends a program that hangs, since it uses
# the modules.
program_run() {
	local status

	timeout 200 "$1" >program.log 2>&1
	status=$?
	[ $status = 0 ] || program_end "$1"
	cat program.log
	return $status
}

# programs_run WHAT: a result for each program
programs_run() {
	local file

	for file in "$frozen"/programs/*; do
		ok "$1: ${file##*/}" program_run "$file"
	done
}

# frozen_check VERSION: in both directions, with $frozen
frozen_check() {
	if [ -e "$frozen/reason" ]; then
		skip "version $1" "$(<"$frozen/reason")"
		return
	fi
	if [ "$(modinfo -F vermagic "$frozen/rdma_cmx.ko" | cut -d' ' -f1)" != \
		"$(uname -r)" ]; then
		skip "version $1" "its modules were built for another kernel"
		return
	fi
	diag "version $1: $(<"$frozen/commit")"
	export LD_LIBRARY_PATH=$frozen
	ok "$1: the programs load the frozen library" \
		library_is "$frozen/librdmacmx.so.1"
	programs_run "$1: frozen library, today's modules"
	unset LD_LIBRARY_PATH

	trap modules_today EXIT
	ok "$1: the frozen modules replace today's" modules_frozen
	# FROZEN_COMMIT= may have any version.
	[ "$1" = commit ] ||
		is "$1: GET_INFO of the frozen modules" "$(abi_version)" "$1"
	ok "$1: the programs load today's library" \
		library_is "$(ls /usr/lib/*/librdmacmx.so.1)"
	programs_run "$1: today's library, frozen modules"
	ok "$1: today's library, frozen modules: grown" \
		program_run /usr/lib/rdma-cmx/selftests/compat/grown

	ok "$1: today's modules are loaded again" modules_today
	trap - EXIT
	is "$1: GET_INFO as before" "$(abi_version)" "${abi:-a number}"
	is "$1: their parameters are as before" "$(parameters)" \
		"${parameters:-some}"
}

abi=$(abi_version)
parameters=$(parameters)
versions=(/usr/lib/rdma-cmx/frozen/*)
ok "there are published versions" test -d "${versions[0]}"
for frozen in "${versions[@]}"; do
	frozen_check "${frozen##*/}"
done
finish
