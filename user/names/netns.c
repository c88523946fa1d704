// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A network namespace is not a file system: a bare one has no resolv.conf. The
 * root of a container controls the container's files, and may have made its
 * resolv.conf a FIFO or a link to a file that only the host's root may read. So
 * no file of a container is read here. The files of a namespace with a name in
 * /run/netns are those in /etc/netns/NAME. If there are none, and for a
 * namespace without a name, they are those of the name that the host's root has
 * configured. A namespace without a name is found by a process in it, of which
 * only the namespace is used.
 *
 * The number of a namespace may be reused after its end; its cookie is not. One
 * thread, no locks.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "netns.h"

#define NETNS_DIR	"/run/netns"
#define NETNS_ETC	"/etc/netns"
#define NSFS_MAGIC	0x6e736673
#define FILE_MAX	(64 << 10)

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE	71
#endif

static bool number(const char *text, const char *end, unsigned long long max,
		   unsigned long long *value)
{
	unsigned long long v = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		unsigned int digit = *text - '0';

		if (digit > 9 || v > (max - digit) / 10)
			return false;
		v = 10 * v + digit;
	}
	*value = v;
	return true;
}

bool cmx_netns_parse(char *name, struct cmx_netns *ns)
{
	char *at = strchr(name, '@'), *colon;
	unsigned long long inum;

	memset(ns, 0, sizeof(*ns));
	if (!at)
		return true;
	colon = strchr(at, ':');
	if (!colon || !number(at + 1, colon, UINT_MAX, &inum) || !inum ||
	    !number(colon + 1, strchr(colon, 0), ULLONG_MAX, &ns->cookie))
		return false;
	ns->inum = inum;
	*at = 0;
	return true;
}

/* Opens a file of the namespace. -1 and errno; ENOENT if there is none. */
static int file_open(const char *ns, const char *file, const char **what)
{
	/* No links: they might lead into a container. */
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	char path[NAME_MAX + 16];
	struct stat st;
	int dir, fd;

	dir = open(NETNS_ETC, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	*what = "open the namespace's file";
	snprintf(path, sizeof(path), "%s/%s", ns, file);
	fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	close(dir);
	if (fd < 0)
		return -1;
	*what = "use the namespace's file: it has to be a regular file of root's that all may read and nobody else may write, of 64 KiB at most";
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_uid &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)) && (st.st_mode & S_IROTH) &&
	    st.st_size <= FILE_MAX)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Mounts @fd over a file in this process's mount namespace, and closes it. */
static bool file_mount(int fd, const char *path)
{
	char from[32];
	int err;

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	err = mount(from, path, NULL, MS_BIND, NULL) ? errno : 0;
	close(fd);
	errno = err;
	return !err;
}

/* Enters the namespace's files, and hides the host's */
static bool files_enter(const char *ns, int resolv, const char **what)
{
	int hosts = file_open(ns, "hosts", what);

	if (hosts < 0 && errno != ENOENT)
		return false;
	*what = "mount over /etc/resolv.conf";
	if (!file_mount(resolv, "/etc/resolv.conf"))
		return false;
	if (hosts < 0)
		hosts = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*what = "mount over /etc/hosts";
	/* A host without that file has nothing to hide. */
	return hosts >= 0 && (file_mount(hosts, "/etc/hosts") ||
			      (errno == ENOENT && access("/etc/hosts", F_OK)));
}

static bool cookie_is(unsigned long long want)
{
	unsigned long long cookie = 0;
	socklen_t len = sizeof(cookie);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool same;

	same = fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie,
				      &len) &&
	       cookie == want;
	close(fd);
	return same;
}

int cmx_netns_open(int dir, const char *name, const struct cmx_netns *ns)
{
	struct statfs fs;
	struct stat st;
	int fd;

	/* A name may be root's link to /proc/PID/ns/net. */
	if (fstatat(dir, name, &st, 0) ||
	    (!ns->name && st.st_ino != ns->inum))
		return -1;
	fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	/* A process may have moved to another namespace meanwhile. */
	if (!fstatfs(fd, &fs) && fs.f_type == NSFS_MAGIC && !fstat(fd, &st) &&
	    (ns->name || st.st_ino == ns->inum))
		return fd;
	close(fd);
	return -1;
}

static bool ns_named(const struct cmx_netns *ns, const char *name)
{
	return ns->name ? !strcmp(name, ns->name) : name[0] != '.';
}

/* The location of descriptors of namespaces: @path/NAME@below */
struct place {
	const char *path, *below;
	bool (*named)(const struct cmx_netns *ns, const char *name);
};

static bool is_process(const struct cmx_netns *ns, const char *name)
{
	return !ns->name && *name >= '1' && *name <= '9';
}

static const struct place names = { NETNS_DIR, "", ns_named };
static const struct place processes = { "/proc", "/ns/net", is_process };

/*
 * Returns a descriptor of the namespace, or -1 and errno. The resolv.conf is
 * that of @etc or, if @etc is NULL, that of the namespace's name, which is
 * stored in @name. A namespace may have several names, not all of them with
 * that file.
 */
static int ns_find(const struct place *place, const struct cmx_netns *ns,
		   const char *etc, char name[NAME_MAX + 1], int *resolv,
		   const char **what)
{
	DIR *dir = opendir(place->path);
	char path[NAME_MAX + 16];
	struct dirent *entry;
	int fd, err = ENOENT;

	if (!dir)
		return -1;
	while (err == ENOENT && (entry = readdir(dir))) {
		if (!place->named(ns, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s%s", entry->d_name,
			 place->below);
		fd = cmx_netns_open(dirfd(dir), path, ns);
		if (fd < 0)
			continue;
		snprintf(name, NAME_MAX + 1, "%s", etc ? etc : entry->d_name);
		*resolv = file_open(name, "resolv.conf", what);
		if (*resolv >= 0) {
			closedir(dir);
			return fd;
		}
		err = errno;
		close(fd);
		/* Equal for each one that is found */
		if (etc)
			break;
	}
	closedir(dir);
	errno = err;
	return -1;
}

/* By its name; else with the files for namespaces without a name */
static int ns_find_any(const struct cmx_netns *ns, char name[NAME_MAX + 1],
		       int *resolv, const char **what)
{
	int fd = ns_find(&names, ns, NULL, name, resolv, what);

	if (fd >= 0 || errno != ENOENT || !ns->etc)
		return fd;
	fd = ns_find(&names, ns, ns->etc, name, resolv, what);
	if (fd >= 0 || errno != ENOENT || ns->name)
		return fd;
	return ns_find(&processes, ns, ns->etc, name, resolv, what);
}

int cmx_netns_enter(const struct cmx_netns *ns, const char **what)
{
	char name[NAME_MAX + 1];
	int fd, resolv = -1;

	/* First: only files that are opened inside can be mounted there. */
	*what = "make a mount namespace";
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return EIO;
	*what = "find the network namespace";
	fd = ns_find_any(ns, name, &resolv, what);
	if (fd < 0)
		return errno == ENOENT ? EOPNOTSUPP : EIO;
	*what = "enter the network namespace";
	if (setns(fd, CLONE_NEWNET))
		return EIO;
	close(fd);
	/* Another namespace with a reused number */
	if (!ns->name && !cookie_is(ns->cookie))
		return EOPNOTSUPP;
	return files_enter(name, resolv, what) ? 0 : EIO;
}
