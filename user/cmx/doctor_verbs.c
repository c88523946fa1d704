// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* cmx doctor: the device files of libibverbs */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmx.h"
#include "doctor.h"

/* Gets the directory of uverbsN of a device in sysfs; false: it has none. */
static bool verbs_find(const glob_t *files, const char *device, size_t *i)
{
	char text[64];

	for (*i = 0; *i < files->gl_pathc; ++*i)
		if (file_line(text, sizeof(text), "%s/ibdev",
			      files->gl_pathv[*i]) && !strcmp(text, device))
			return true;
	return false;
}

/* Writes the name of the device file. Returns 0 or an errno. */
static int verbs_open(const glob_t *files, size_t i, char path[64])
{
	snprintf(path, 64, "/dev/infiniband/%s",
		 strrchr(files->gl_pathv[i], '/') + 1);
	return access(path, R_OK | W_OK) ? errno : 0;
}

/* A container sees all devices of the host, and may have files of some. */
static bool verbs_any(const glob_t *files)
{
	char path[64];
	size_t i;

	for (i = 0; i < files->gl_pathc; i++)
		if (!verbs_open(files, i, path))
			return true;
	return false;
}

static void verbs_mend(struct doctor *doctor, const char *dir,
		       const char *path, int err)
{
	char number[32], name[QUOTED_MAX];
	unsigned int major, minor;

	if (doctor->container)
		check_mend(doctor, "podman run --device %s --device rdma-cmx/cm=all IMAGE",
			   quoted(path, name));
	else if (err == ENOENT &&
		 file_line(number, sizeof(number), "%s/dev", dir) &&
		 sscanf(number, "%u:%u", &major, &minor) == 2)
		check_mend(doctor, "mknod -m 666 %s c %u %u",
			   quoted(path, name), major, minor);
	else
		check_mend(doctor, "udevadm trigger %s", quoted(path, name));
}

/* uverbsN of a device; without the file no program can open it. */
void doctor_verbs(struct doctor *doctor, const char *device)
{
	char path[64], name[QUOTED_MAX];
	glob_t files;
	size_t i;
	int err;

	if (glob("/sys/class/infiniband_verbs/uverbs*", 0, NULL, &files))
		files.gl_pathc = 0;
	if (!verbs_find(&files, device, &i)) {
		check_add(doctor, CHECK_WRONG, "verbs-file",
			  "%s: it has no file for verbs: ib_uverbs is not loaded",
			  quoted(device, name));
		check_mend(doctor, "modprobe ib_uverbs");
		globfree(&files);
		return;
	}
	err = verbs_open(&files, i, path);
	if (!err) {
		check_add(doctor, CHECK_OK, "verbs-file",
			  "%s: %s can be opened", device, path);
	} else if (doctor->container && verbs_any(&files)) {
		check_add(doctor, CHECK_OK, "verbs-file",
			  "%s: this container was not given %s", device, path);
	} else {
		check_add(doctor, CHECK_WRONG, "verbs-file", "%s: %s: %s",
			  device, path, strerror(err));
		verbs_mend(doctor, files.gl_pathv[i], path, err);
	}
	globfree(&files);
}
