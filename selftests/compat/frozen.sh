#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The user ABI holds both ways: the published library (frozen_build.sh) works on
# today's modules, and today's library on the published modules. Test programs
# of that time say what worked, and today's grown.c of what was added since.
. /usr/lib/rdma-cmx/selftests/lib.sh

frozen=/usr/lib/rdma-cmx/frozen
device=/dev/infiniband/rdma_cmx

# abi_version: what GET_INFO returns
abi_version() {
	cmx --version | sed -n 's/^kernel: ABI \([0-9]*\),.*/\1/p'
}

parameters() {
	grep -r . /sys/module/rdma_{,u}cmx/parameters | sort
}

# The file of a process that has ended may still be on its way out.
modules_gone() {
	[ ! -d /sys/module/rdma_ucmx ] || rmmod rdma_ucmx || return
	[ ! -d /sys/module/rdma_cmx ] || rmmod rdma_cmx
}

device_there() {
	wait_for 40 test -c $device
}

# The file has the next test begin with today's modules, if this one is killed.
modules_frozen() {
	touch /run/modules-frozen
	wait_for 40 modules_gone && insmod $frozen/rdma_cmx.ko &&
		insmod $frozen/rdma_ucmx.ko && device_there
}

modules_today() {
	wait_for 40 modules_gone && modprobe rdma_ucmx && device_there &&
		rm -f /run/modules-frozen
}

# library_is FILE: do all programs load that one?
library_is() {
	local file got

	for file in "$frozen"/programs/*; do
		got=$(LD_TRACE_LOADED_OBJECTS=1 "$file" |
			sed -n 's/^\tlibrdmacmx.so.1 => \(.*\) (.*/\1/p')
		[ "$got" -ef "$1" ] ||
			{ echo "$file loads '$got'"; return 1; }
	done
}

# program_end FILE: its children have separate process groups.
program_end() {
	local exe

	for exe in /proc/[0-9]*/exe; do
		[ ! "$exe" -ef "$1" ] || kill -KILL "${exe//[!0-9]/}"
	done
}

# program_run FILE: prints its output. None that hangs keeps the modules.
program_run() {
	local status

	timeout 200 "$1" >program.log 2>&1
	status=$?
	[ $status = 0 ] || program_end "$1"
	cat program.log
	return $status
}

# programs_run WHAT: a result for each
programs_run() {
	local file

	for file in "$frozen"/programs/*; do
		ok "$1: ${file##*/}" program_run "$file"
	done
}

[ ! -e $frozen/reason ] || plan_skip "$(<$frozen/reason)"
[ "$(modinfo -F vermagic $frozen/rdma_cmx.ko | cut -d' ' -f1)" = "$(uname -r)" ] ||
	plan_skip "the published modules were built for another kernel"
diag "frozen: $(<$frozen/commit)"
abi=$(abi_version)
parameters=$(parameters)

export LD_LIBRARY_PATH=$frozen
ok "the programs load the frozen library" library_is $frozen/librdmacmx.so.1
programs_run "frozen library, today's modules"
unset LD_LIBRARY_PATH

trap modules_today EXIT
ok "the frozen modules replace today's" modules_frozen
is "GET_INFO: both have the same ABI" "$(abi_version)" "${abi:-a number}"
ok "the programs load today's library" \
	library_is "$(ls /usr/lib/*/librdmacmx.so.1)"
programs_run "today's library, frozen modules"
ok "today's library, frozen modules: grown" \
	program_run /usr/lib/rdma-cmx/selftests/compat/grown

ok "today's modules are loaded again" modules_today
trap - EXIT
is "GET_INFO as before" "$(abi_version)" "${abi:-a number}"
is "their parameters are as before" "$(parameters)" "${parameters:-some}"
finish
