#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The command of containers.rst for Podman, which reads the CDI file itself. An
# unmodified program connects by rdma_cmx in a container with the device of that
# file, and by librdmacm in one without it. Podman comes from the host's /usr, as
# it has 33 MB; what it runs is the guest's.
# RA-03, RAI-02
. /usr/lib/rdma-cmx/selftests/lib.sh
. /usr/lib/rdma-cmx/selftests/programs/functions

device=/dev/infiniband/rdma_cmx
usr=/run/host-usr
stock="--device /dev/infiniband/uverbs0 --device /dev/infiniband/rdma_cm"
cdi="$stock --device rdma-cmx/cm=all"
cgroups=/sys/fs/cgroup
controllers=$(<$cgroups/cgroup.subtree_control)
box=$(mktemp -d) || exit 1

cleanup() {
	local name

	umount "$box/rootfs/usr"
	# If that has failed it is still the guest's.
	mountpoint -q "$box/rootfs/usr" || rm -rf "$box"
	umount $usr
	find $cgroups/libpod_parent -depth -type d -exec rmdir {} +
	for name in $(<$cgroups/cgroup.subtree_control); do
		[[ " $controllers " = *" $name "* ]] ||
			echo "-$name" >$cgroups/cgroup.subtree_control
	done
} 2>/dev/null
trap cleanup EXIT

if ! usr_mount $usr 2>/dev/null || [ ! -x $usr/bin/podman ]; then
	plan_skip "the host has no Podman for this guest"
fi

# rootfs_make: the guest's programs, and a copy of its configuration
rootfs_make() {
	local dir

	mkdir -p "$box"/rootfs/{usr,dev,proc,sys,tmp,run,var} &&
		mount --bind /usr "$box/rootfs/usr" || return
	for dir in bin sbin lib lib64; do
		ln -s usr/$dir "$box/rootfs/$dir"
	done
	cp -a /etc "$box/rootfs/etc"
}

# A guest's root file system cannot be moved, and no network is made here.
libraries=$(echo $usr/lib/*-linux-gnu)
ln -s /bin/true "$box/netavark"
cat >"$box/containers.conf" <<-END
	[containers]
	log_driver = "k8s-file"
	[engine]
	no_pivot_root = true
	cgroup_manager = "cgroupfs"
	events_logger = "none"
	runtime = "crun"
	conmon_path = ["$usr/bin/conmon"]
	conmon_env_vars = ["PATH=/usr/bin", "LD_LIBRARY_PATH=$libraries"]
	helper_binaries_dir = ["$box"]
END
podman="LD_LIBRARY_PATH=$libraries CONTAINERS_CONF=$box/containers.conf"
podman+=" $usr/bin/podman --root $box/store --runroot $box/run"
podman+=" --storage-driver vfs run --rm --network host"
podman+=" --env RDMACMX_VERBOSE=1"

# inside DEVICES COMMAND: the line that runs it in a container with these. Each
# container takes seconds, so it does several things.
inside() {
	echo "$podman $1 --rootfs $box/rootfs bash -c '
		echo /dev/infiniband/*; $2'"
}

bed_begin
ok "a root for the containers" rootfs_make
ping="cmx run rping -c -C 3 -v -a $sa"
pair "the device of the CDI file" "0 1" "rping -s -C 3 -a $sa" \
	"$(inside "$cdi" "cmx resolve storage.cmx.test 7471 && $ping")"
like "the device of the CDI file: it is there beside the stock ones" "$c_out" \
	'^/dev/infiniband/rdma_cm /dev/infiniband/rdma_cmx /dev/infiniband/uverbs0$'
like "the device of the CDI file: a name and its device" "$c_out" \
	'^10\.55\.0\.2 +10\.55\.0\.1 +7471 .* rxe0/1 '
unlike "the device of the CDI file: rdma_cmx serves it" "$c_out" librdmacmx
pair "no device" "0 0" "rping -s -C 3 -a $sa" "$(inside "$stock" "$ping")"
like "no device: the container has the stock ones alone" "$c_out" \
	'^/dev/infiniband/rdma_cm /dev/infiniband/uverbs0$'
like "no device: librdmacm serves it, which is reported" "$c_out" \
	"$device is not here: librdmacm serves this process"
like "a device that the CDI file does not have" \
	"$(at "$cl" "$(inside "--device rdma-cmx/cm=none" true) 2>&1")" \
	'rdma-cmx/cm=none'
bed_end
finish
