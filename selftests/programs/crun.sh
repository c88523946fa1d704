#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A container of a real runtime, crun, from an OCI bundle with the content that
# an engine takes from the CDI file: private mount, PID and IPC namespaces, a
# read-only root, no capability, a private /dev, and a cgroup that allows only
# the devices in it. An unmodified program connects by rdma_cmx with the device
# of the CDI file, by librdmacm without it, and by librdmacm if the file exists
# and the cgroup denies it. The doctor finds nothing. RA-03, RAI-02, OPS-02
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

names_wait 20

cdi=/etc/cdi/rdma-cmx.json
device=/dev/infiniband/rdma_cmx
stock=(/dev/infiniband/uverbs0 /dev/infiniband/rdma_cm)
box=$(mktemp -d) || exit 1

type -P crun >/dev/null || plan_skip "crun is not installed"

cleanup() {
	crun --root "$box/state" delete -f box
	umount "$box/rootfs"
	# After a failure there is still the root of the guest.
	rmdir "$box/rootfs"
	rm -rf "$box/state" "$box/config.json"
	rmdir "$box"
} 2>/dev/null
trap cleanup EXIT

# cdi_value KEY: its value for the one device in the file
cdi_value() {
	sed -n "s/^.*\"$1\": \"\\([^\"]*\\)\".*/\\1/p" $cdi
}

# node FILE: prints it for linux.devices, as on the host
node() {
	printf '{"path": "%s", "type": "c", "major": %d, "minor": %d,
		"fileMode": 438, "uid": 0, "gid": 0}' "$1" \
		$((16#$(stat -c %t "$1"))) $((16#$(stat -c %T "$1")))
}

# rule FILE ACCESS: prints it for linux.resources.devices
rule() {
	printf '{"allow": true, "type": "c", "major": %d, "minor": %d,
		"access": "%s"}' \
		$((16#$(stat -c %t "$1"))) $((16#$(stat -c %T "$1"))) "$2"
}

# bundle NODES RULES COMMAND: a container that runs the command
bundle() {
	cat >"$box/config.json" <<-END
	{ "ociVersion": "1.0.2",
	  "process": {
	    "user": { "uid": 0, "gid": 0 }, "cwd": "/",
	    "args": [ "bash", "-c", "$3" ],
	    "env": [ "PATH=/usr/bin:/usr/sbin", "RDMACMX_VERBOSE=1" ],
	    "noNewPrivileges": true },
	  "root": { "path": "rootfs", "readonly": true },
	  "mounts": [
	    { "destination": "/proc", "type": "proc", "source": "proc" },
	    { "destination": "/dev", "type": "tmpfs", "source": "tmpfs",
	      "options": [ "nosuid", "mode=755" ] },
	    { "destination": "/sys", "type": "none", "source": "/sys",
	      "options": [ "rbind", "ro" ] },
	    { "destination": "/tmp", "type": "tmpfs", "source": "tmpfs" } ],
	  "linux": {
	    "cgroupsPath": "/box",
	    "namespaces": [ { "type": "mount" }, { "type": "pid" },
	      { "type": "ipc" }, { "type": "uts" } ],
	    "devices": [ $1 ],
	    "resources": { "devices": [
	      { "allow": false, "access": "rwm" }, $2 ] } } }
	END
}

# --no-pivot: the root file system of a guest cannot be pivoted.
run="crun --root $box/state --cgroup-manager=cgroupfs run --no-pivot -b $box box"

bed_begin
mkdir "$box/rootfs"
ok "a root for the container" mount --bind / "$box/rootfs"
is "the CDI file names the device" "$(cdi_value path)" $device
nodes=$(node "${stock[0]}"),$(node "${stock[1]}")
rules=$(rule "${stock[0]}" rw),$(rule "${stock[1]}" rw)
cdi_node=$(node "$(cdi_value path)")
cdi_rule=$(rule "$(cdi_value path)" "$(cdi_value permissions)")

bundle "$nodes" "$rules" 'cd /dev && echo infiniband/*; cat /proc/self/status'
inside=$($run 2>&1)
like "without: the container has the stock devices alone" "$inside" \
	'^infiniband/rdma_cm infiniband/uverbs0$'
like "without: it has no capability" "$inside" '^CapEff:	0+$'

ping="cmx run rping -c -C 3 -v -a $sa"
bundle "$nodes,$cdi_node" "$rules,$cdi_rule" "$ping"
pair "the device of the CDI file" "0 1" "rping -s -C 3 -a $sa" "$run"
unlike "the device of the CDI file: rdma_cmx serves it" "$c_out" librdmacmx
bundle "$nodes,$cdi_node" "$rules,$cdi_rule" "cmx resolve storage.cmx.test 7471"
like "the device of the CDI file: a name and its device" "$($run 2>&1)" \
	'^10\.55\.0\.2 +10\.55\.0\.1 +7471 .* rxe0/1 '
bundle "$nodes,$cdi_node" "$rules,$cdi_rule" "cmx doctor storage.cmx.test"
content() {
	inside=$($run 2>&1)
	grep -qx 'verdict: healthy' <<<"$inside"
}
wait_for 70 content
is "the device of the CDI file: the doctor has no false alarm" \
	"$(grep -v '^ok ' <<<"$inside")" "verdict: healthy"
bundle "$nodes" "$rules" "$ping"
pair "no device" "0 0" "rping -s -C 3 -a $sa" "$run"
like "no device: librdmacm serves it, which is reported" "$c_out" \
	"$device is not here: librdmacm serves this process"
bundle "$nodes,$cdi_node" "$rules" "$ping"
pair "the cgroup refuses the device" "0 0" "rping -s -C 3 -a $sa" "$run"
like "the cgroup refuses the device: librdmacm serves it" "$c_out" \
	"librdmacm serves this process"
bundle "$nodes,$cdi_node" "$rules,$cdi_rule" \
	"LD_PRELOAD=librdmacmx.so.1 rping -c -C 3 -v -a $sa"
pair "preloaded without cmx" "0 1" "rping -s -C 3 -a $sa" "$run"
bed_end
finish
