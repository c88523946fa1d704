// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx run: starts a program on librdmacmx in place of librdmacm, by LD_PRELOAD,
 * after a check for conditions that make the preload fail, or the loader ignore
 * it silently.
 */
#define _GNU_SOURCE	/* dladdr() */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cmx.h"

#define PRELOAD		"LD_PRELOAD"
#define LIBRARY		"librdmacmx.so"

/* Exit codes as of env(1), which differ from those of the program. */
enum {
	RUN_FAILED = 125,
	RUN_NOT_EXECUTABLE = 126,
	RUN_NOT_FOUND = 127,
};

/*
 * The library that this command uses: the program will find it there, too. The
 * list's separators must not be part of its name.
 */
static bool library_find(char path[PATH_MAX], Dl_info *info)
{
	if (!dladdr(dlsym(RTLD_DEFAULT, "rdmacmx_ai_device"), info) ||
	    !realpath(info->dli_fname, path)) {
		failure(LIBRARY ".1 is not found: install the project's library, and run ldconfig");
		return false;
	}
	if (strpbrk(path, ": ")) {
		failure("%s: a path with a space or a colon cannot be preloaded: install the library elsewhere",
			path);
		return false;
	}
	return true;
}

/* True if the list already has the library */
static bool preload_has(const char *list)
{
	const char *at = list;
	size_t len, i, base;

	for (; *at; at += len + !!at[len]) {
		len = strcspn(at, ": ");
		for (i = 0, base = 0; i < len; i++)
			if (at[i] == '/')
				base = i + 1;
		if (!strncmp(at + base, LIBRARY, strlen(LIBRARY)))
			return true;
	}
	return false;
}

/*
 * Behind the present entries: some libraries have to be the first, and none of
 * them requires to be behind librdmacm.
 */
static bool preload_set(const char *library)
{
	const char *old = getenv(PRELOAD);
	char *list;
	int ret;

	if (!old || !*old) {
		ret = setenv(PRELOAD, library, 1);
	} else if (preload_has(old)) {
		ret = 0;
	} else if (asprintf(&list, "%s:%s", old, library) < 0) {
		ret = -1;
	} else {
		ret = setenv(PRELOAD, list, 1);
		free(list);
	}
	if (ret)
		failure("out of memory");
	return !ret;
}

/* 0, or the errno of the best match: EACCES has precedence over absence. */
static int program_try(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return access(path, X_OK) ? errno : 0;
}

/* Searches like execvp(); 0 or an errno. */
static int program_find(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");
	int err, worst = ENOENT;
	size_t len;

	if (strchr(name, '/')) {
		if (strlen(name) >= PATH_MAX)
			return ENAMETOOLONG;
		strcpy(path, name);
		return program_try(path);
	}
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;; dirs += len + 1) {
		len = strcspn(dirs, ":");
		if (snprintf(path, PATH_MAX, "%.*s/%s", len ? (int)len : 1,
			     len ? dirs : ".", name) < PATH_MAX) {
			err = program_try(path);
			if (!err)
				return 0;
			if (err == EACCES)
				worst = err;
		}
		if (!dirs[len])
			return worst;
	}
}

static int program_failure(const char *name, int err)
{
	if (err == ENOENT || err == ENOTDIR) {
		failure("%s: there is no such program%s", name,
			strchr(name, '/') ? "" : " in PATH");
		return RUN_NOT_FOUND;
	}
	failure("%s: it cannot be executed: %s", name, strerror(err));
	return RUN_NOT_EXECUTABLE;
}

static void warn_ignored(const char *path, const char *why, const char *remedy)
{
	failure("warning: %s %s, so that nothing can be preloaded: it runs without librdmacmx. %s",
		path, why, remedy);
}

static bool elf_has_loader(int fd, const ElfW(Ehdr) *head)
{
	ElfW(Phdr) part;
	unsigned int i;

	for (i = 0; i < head->e_phnum; i++)
		if (pread(fd, &part, sizeof(part), head->e_phoff +
			  (off_t)i * head->e_phentsize) != sizeof(part) ||
		    part.p_type == PT_INTERP)
			return true;
	return false;
}

/* The loader ignores the preload for a file with privileges. */
static bool program_privileged(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	       ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
		st.st_gid != getgid()) ||
	       (getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/*
 * Reports conditions that the file shows. It does not check scripts, and leaves
 * an unreadable file to the loader.
 */
static void program_check(const char *path, const ElfW(Ehdr) *library)
{
	ElfW(Ehdr) head;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, &head, sizeof(head)) == sizeof(head) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
		if (head.e_ident[EI_CLASS] != library->e_ident[EI_CLASS] ||
		    head.e_machine != library->e_machine)
			warn_ignored(path, "is for another architecture",
				     "Build the library for that, too.");
		else if (!elf_has_loader(fd, &head))
			warn_ignored(path, "is linked statically",
				     "Link it with librdmacmx.");
		else if (program_privileged(fd))
			warn_ignored(path,
				     "gets privileges by its file (setuid, setgid or capabilities)",
				     "Start it as a user who has them, or link it with librdmacmx.");
	}
	close(fd);
}

int cmd_run(int argc, char **argv)
{
	char library[PATH_MAX], path[PATH_MAX];
	Dl_info info;
	int err;

	argv++;
	if (*argv && !strcmp(*argv, "--"))
		argv++;
	else if (*argv && **argv == '-')
		return misuse("run has no option '%s'", *argv);
	if (!*argv || !**argv)
		return misuse("run needs a PROGRAM");

	err = program_find(*argv, path);
	if (err)
		return program_failure(*argv, err);
	if (!library_find(library, &info))
		return RUN_FAILED;
	/* Without the device, the library uses librdmacm for the program. */
	if (!device_absent() && device_check() != CMX_OK)
		return RUN_FAILED;
	if (!preload_set(library))
		return RUN_FAILED;
	program_check(path, info.dli_fbase);
	/* As in a shell: a file that the kernel does not run is a script. */
	execvp(path, argv);
	err = errno;
	if (err == ENOENT) {
		failure("%s: the interpreter or loader that it names is not there",
			path);
		return RUN_NOT_FOUND;
	}
	return program_failure(path, err);
}
