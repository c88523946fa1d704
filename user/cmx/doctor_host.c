// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor: the host. The modules and their origin, the device file, limits,
 * and the stock library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rdma/rdma_cmx_ioctl.h>

#include "cmx.h"
#include "doctor.h"

/* A shell in a container cannot do it. */
#define CONTAINER_MEND	"podman run --device /dev/infiniband --device rdma-cmx/cm=all IMAGE"

enum installed {
	NOT_KNOWN,	/* no list of modules here, as in a container */
	NOT_THERE,
	OF_KERNEL,
	OF_OTHERS,	/* below updates, extra, ...: of a vendor, or of DKMS */
};

/*
 * The place where modprobe would find a module. @where: NULL, or for the
 * path below /lib/modules/RELEASE, of @room bytes.
 */
static enum installed module_find(const char *module, char *where,
				  size_t room)
{
	enum installed found = NOT_THERE;
	char *line = NULL, *base, *end, *path;
	size_t size = 0, len = strlen(module);
	struct utsname uts;
	FILE *file;

	if (uname(&uts) || asprintf(&path, "/lib/modules/%s/modules.dep",
				    uts.release) < 0)
		return NOT_KNOWN;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return NOT_KNOWN;
	while (found == NOT_THERE && getline(&line, &size, file) > 0) {
		end = strchr(line, ':');
		if (!end)
			continue;
		*end = '\0';
		base = strrchr(line, '/');
		base = base ? base + 1 : line;
		if (!strncmp(base, module, len) &&
		    !strncmp(base + len, ".ko", 3)) {
			found = strncmp(line, "kernel/", 7) ? OF_OTHERS :
							     OF_KERNEL;
			if (where)
				snprintf(where, room, "%s", line);
		}
	}
	free(line);
	fclose(file);
	return found;
}

/* False: part of the kernel, or absent */
static bool module_tainted(const char *module)
{
	char text[32];

	return file_line(text, sizeof(text), "/sys/module/%s/taint", module) &&
	       strchr(text, 'O');
}

static void vendor_check(struct doctor *doctor)
{
	static const char *const others[] = { "ib_cm", "iw_cm", "rdma_cm" };
	/* The network and the disks of the host may depend on these modules. */
	const char *mend = file_exists("/etc/init.d/openibd") ?
		"modinfo -n ib_core rdma_cm    # then restart openibd or the host, when nothing uses them" :
		"modinfo -n ib_core rdma_cm    # then restart the host, when nothing uses them";
	bool vendor = module_tainted("ib_core");
	enum installed disk = module_find("ib_core", NULL, 0);
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!file_exists("/sys/module/%s/taint", others[i]) ||
		    module_tainted(others[i]) == vendor)
			continue;
		check_add(doctor, CHECK_WRONG, "vendor-mix",
			  "ib_core is %s and %s is not", vendor ?
			  "a vendor's" : "the kernel's own", others[i]);
		check_mend(doctor, "%s", mend);
		return;
	}
	if (file_exists("/sys/module/ib_core/taint") &&
	    (disk == OF_KERNEL || disk == OF_OTHERS) &&
	    vendor != (disk == OF_OTHERS)) {
		check_add(doctor, CHECK_WRONG, "vendor-mix",
			  "%s ib_core is loaded, and %s is installed",
			  vendor ? "a vendor's" : "the kernel's own",
			  vendor ? "the kernel's own" : "a vendor's");
		check_mend(doctor, "%s", mend);
		return;
	}
	check_add(doctor, CHECK_OK, "vendor-mix", "the RDMA stack is %s",
		  vendor ? "a vendor's" : "the kernel's own");
}

static void module_check(struct doctor *doctor, const char *module,
			 const char *id)
{
	struct utsname uts;
	char name[QUOTED_MAX];

	if (file_exists("/sys/module/%s", module)) {
		check_add(doctor, CHECK_OK, id, "%s is loaded", module);
		return;
	}
	if (module_find(module, NULL, 0) == NOT_THERE && !uname(&uts)) {
		check_add(doctor, CHECK_WRONG, "module-missing",
			  "%s is not installed for the kernel %s", module,
			  uts.release);
		check_mend(doctor, "dkms autoinstall -k %s && modprobe rdma_ucmx",
			   quoted(uts.release, name));
		return;
	}
	check_add(doctor, CHECK_WRONG, id, "%s is not loaded%s", module,
		  doctor->container ? " on the host" : "");
	check_mend(doctor, "modprobe rdma_ucmx");
}

/* depmod prefers updates/, of `make install`, to updates/dkms/. */
static void copies_check(struct doctor *doctor, const char *module)
{
	char where[256], path[512], name[QUOTED_MAX];
	struct utsname uts;
	glob_t files;

	if (uname(&uts) ||
	    module_find(module, where, sizeof(where)) != OF_OTHERS ||
	    !strncmp(where, "updates/dkms/", 13))
		return;
	snprintf(path, sizeof(path), "/lib/modules/%s/updates/dkms/%s.ko*",
		 uts.release, module);
	if (!glob(path, 0, NULL, &files)) {
		snprintf(path, sizeof(path), "/lib/modules/%s/%s", uts.release,
			 where);
		check_add(doctor, CHECK_WARNING, "module-copies",
			  "%s is used, and not the module of DKMS", path);
		check_mend(doctor, "rm %s && depmod    # then load it again, when nothing uses it",
			   quoted(path, name));
	}
	globfree(&files);
}

void doctor_modules(struct doctor *doctor)
{
	vendor_check(doctor);
	module_check(doctor, "rdma_cmx", "module-core");
	module_check(doctor, "rdma_ucmx", "module-user");
	copies_check(doctor, "rdma_cmx");
	copies_check(doctor, "rdma_ucmx");
}

static void abi_check(struct doctor *doctor)
{
	const uint64_t known = RDMA_CMX_FEATURE_SA | RDMA_CMX_FEATURE_MCAST;
	struct rdma_cmx_get_info info = { .size = sizeof(info) };

	if (ioctl(doctor->device, RDMA_CMX_IO(GET_INFO), &info)) {
		check_add(doctor, CHECK_WRONG, "abi",
			  RDMA_CMX_DEVICE ": GET_INFO: %s", strerror(errno));
	} else if (info.abi_version < RDMA_CMX_ABI_VERSION ||
		   (info.features & known) != known) {
		check_add(doctor, CHECK_WRONG, "abi",
			  "the loaded modules are older than this library (ABI %u, this is %u)",
			  info.abi_version, RDMA_CMX_ABI_VERSION);
	} else {
		doctor->features = info.features;
		doctor->elsewhere |= !(info.features & RDMA_CMX_FEATURE_NAMES);
		check_add(doctor, CHECK_OK, "abi",
			  "ABI %u of the modules, %u of the library",
			  info.abi_version, RDMA_CMX_ABI_VERSION);
		return;
	}
	check_mend(doctor, "modprobe -r rdma_ucmx && modprobe rdma_ucmx");
}

/* True if the file is that of the loaded module. A copied one is not. */
static bool device_number(const struct stat *st)
{
	unsigned int major, minor;
	char text[32];

	if (!S_ISCHR(st->st_mode))
		return false;
	/* Without sysfs the open decides. */
	return !file_line(text, sizeof(text), "/sys/class/misc/rdma_cmx/dev") ||
	       sscanf(text, "%u:%u", &major, &minor) != 2 ||
	       st->st_rdev == makedev(major, minor);
}

void doctor_device(struct doctor *doctor)
{
	struct stat st;
	int err;

	if (!file_exists("/sys/module/rdma_ucmx"))
		return;
	if (stat(RDMA_CMX_DEVICE, &st)) {
		check_add(doctor, CHECK_WRONG, "device-file",
			  RDMA_CMX_DEVICE ": %s", strerror(errno));
		check_mend(doctor, doctor->container ? CONTAINER_MEND :
			   "modprobe -r rdma_ucmx && modprobe rdma_ucmx");
		return;
	}
	if (!device_number(&st)) {
		check_add(doctor, CHECK_WRONG, "device-stale", RDMA_CMX_DEVICE
			  " is not the device of the loaded module");
		check_mend(doctor, doctor->container ? CONTAINER_MEND :
			   "rm " RDMA_CMX_DEVICE
			   " && modprobe -r rdma_ucmx && modprobe rdma_ucmx");
		return;
	}
	doctor->device = open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC);
	err = errno;
	if (doctor->device < 0) {
		check_add(doctor, CHECK_WRONG,
			  err == EACCES || err == EPERM ? "device-rights" :
			  "device-stale", RDMA_CMX_DEVICE ": %s",
			  strerror(err));
		/* The device list of a container returns EPERM. */
		if (err == EPERM)
			check_mend(doctor, CONTAINER_MEND);
		else if (err == EACCES)
			check_mend(doctor, "udevadm trigger " RDMA_CMX_DEVICE);
		else
			check_mend(doctor, "modprobe -r rdma_ucmx && modprobe rdma_ucmx");
		return;
	}
	check_add(doctor, CHECK_OK, "device-file", RDMA_CMX_DEVICE
		  " can be opened");
	abi_check(doctor);
}

/* CAP_IPC_LOCK of the host, not that of a user namespace */
static bool memlock_free(void)
{
	unsigned long long caps;
	char line[128], user[64];
	bool free_ = false;
	ssize_t len;
	FILE *file;

	len = readlink("/proc/self/ns/user", user, sizeof(user) - 1);
	if (len < 0)
		return false;
	user[len] = '\0';
	file = fopen("/proc/self/status", "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			free_ = caps & 1ULL << 14;
	fclose(file);
	return free_ && !strcmp(user, "user:[4026531837]");
}

static void memlock_check(struct doctor *doctor)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || memlock_free()) {
		check_add(doctor, CHECK_OK, "memlock-limit",
			  "this user may lock any amount of memory");
		return;
	}
	/* The kernel's default is 8 MiB; older ones had 64 KiB. */
	check_add(doctor, limit.rlim_cur < 8 << 20 ? CHECK_WRONG : CHECK_OK,
		  "memlock-limit", "this user may lock %llu KiB of memory",
		  (unsigned long long)limit.rlim_cur >> 10);
	if (limit.rlim_cur < 8 << 20)
		check_mend(doctor, doctor->container ?
			   "podman run --ulimit memlock=-1:-1 IMAGE" :
			   "groupadd -f rdma && usermod -aG rdma USER && echo '@rdma - memlock unlimited' >>/etc/security/limits.d/rdma.conf");
}

static void rsocket_check(struct doctor *doctor)
{
	void *library = dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!library) {
		check_add(doctor, CHECK_WARNING, "rsocket-library",
			  "rsockets need the stock librdmacm.so.1, which cannot be loaded");
		check_mend(doctor, file_exists("/etc/debian_version") ?
			   "apt install librdmacm1" : "dnf install librdmacm");
		return;
	}
	dlclose(library);
	/* A container may have chosen not to give it. */
	if (!doctor->container && !file_exists("/dev/infiniband/rdma_cm")) {
		check_add(doctor, CHECK_WARNING, "rsocket-device",
			  "rsockets need /dev/infiniband/rdma_cm, which is not there");
		check_mend(doctor, "modprobe rdma_ucm");
		return;
	}
	check_add(doctor, CHECK_OK, "rsocket-library",
		  "librdmacm.so.1 is there for rsockets");
}

void doctor_limits(struct doctor *doctor)
{
	memlock_check(doctor);
	rsocket_check(doctor);
}
