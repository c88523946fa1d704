// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor: the name helper. request-key(8), its line for the key type, the
 * program in it, its user; then one lookup by the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_cmx_ioctl.h>

#include "cmx.h"
#include "doctor.h"

/* The kernel uses this path. */
#define REQUEST_KEY	"/sbin/request-key"
#define KEY_TYPE	".rdma_cmx_name"
#define CONFIG		"/etc/request-key.d/rdma-cmx.conf"

/* The file may be a conffile, which apt does not restore by default. */
static const char *reinstall(void)
{
	if (file_exists("/var/lib/dpkg/info/rdma-cmx.list"))
		return "apt -o Dpkg::Options::=--force-confmiss install --reinstall rdma-cmx";
	/* Only packages have this list. */
	if (file_exists("/usr/lib/modules-load.d/rdma-cmx.conf") &&
	    (file_exists("/var/lib/rpm") ||
	     file_exists("/usr/lib/sysimage/rpm")))
		return "dnf reinstall rdma-cmx";
	return "make install-user";
}

/* True if request-key takes the line of that type and description. */
static bool line_matches(const char *type, const char *description)
{
	return !strcmp(type, KEY_TYPE) ||
	       (!fnmatch(type, KEY_TYPE, 0) && !strcmp(description, "*"));
}

/* True if the rest of the line has the option --user */
static bool user_given(char **save)
{
	const char *word;

	while ((word = strtok_r(NULL, " \t\n", save)) && strcmp(word, "--"))
		if (!strncmp(word, "--user", 6))
			return true;
	return false;
}

/* The program of a "create" line for the type; NULL: none */
static char *program_read(const char *path, bool *user)
{
	char *line = NULL, *program = NULL, *save, *word[5];
	size_t size = 0, i;
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	while (!program && getline(&line, &size, file) > 0) {
		save = NULL;
		for (i = 0; i < 5; i++) {
			word[i] = strtok_r(i ? NULL : line, " \t\n", &save);
			if (!word[i])
				break;
		}
		if (i == 5 && !strcmp(word[0], "create") &&
		    line_matches(word[1], word[2])) {
			program = strdup(word[4]);
			*user = user_given(&save);
		}
	}
	free(line);
	fclose(file);
	return program;
}

static char *program_find(bool *user)
{
	char *program = NULL;
	glob_t files;
	size_t i;

	if (!glob("/etc/request-key.d/*.conf", 0, NULL, &files)) {
		for (i = 0; i < files.gl_pathc && !program; i++)
			program = program_read(files.gl_pathv[i], user);
		globfree(&files);
	}
	return program ? program : program_read("/etc/request-key.conf", user);
}

/* @user: set to whether the line names the user of the helper */
static bool program_check(struct doctor *doctor, bool *user)
{
	char name[QUOTED_MAX];
	char *program;
	bool ok = false;

	if (access(REQUEST_KEY, X_OK)) {
		check_add(doctor, CHECK_WRONG, "names-request-key",
			  REQUEST_KEY ": %s", strerror(errno));
		check_mend(doctor, file_exists("/etc/debian_version") ?
			   "apt install keyutils" : "dnf install keyutils");
		return false;
	}
	program = program_find(user);
	if (!program) {
		check_add(doctor, CHECK_WRONG, "names-config",
			  "no line of /etc/request-key.d names a program for keys of type "
			  KEY_TYPE);
		check_mend(doctor, "%s", reinstall());
	} else if (access(program, F_OK)) {
		check_add(doctor, CHECK_WRONG, "names-helper", "%s: %s",
			  program, strerror(errno));
		check_mend(doctor, "%s", reinstall());
	} else if (access(program, X_OK)) {
		check_add(doctor, CHECK_WRONG, "names-helper", "%s: %s",
			  program, strerror(errno));
		check_mend(doctor, "chmod 755 -- %s", quoted(program, name));
	} else {
		check_add(doctor, CHECK_OK, "names-helper",
			  "request-key starts %s", program);
		ok = true;
	}
	free(program);
	return ok;
}

/* From the file that the helper reads: no other service counts. */
static bool user_known(void)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user;
	bool known = false;

	if (!file)
		return false;
	while (!known && (user = fgetpwent(file)))
		known = !strcmp(user->pw_name, "rdma-cmx");
	fclose(file);
	return known;
}

static void user_check(struct doctor *doctor)
{
	if (user_known())
		return;
	check_add(doctor, CHECK_WARNING, "names-user",
		  "the user rdma-cmx is missing, so that names are looked up as nobody");
	check_mend(doctor, "systemd-sysusers rdma-cmx.conf");
}

/*
 * Any result except ENOKEY and a malformed one means that the helper has run. A
 * name in /etc/hosts needs no server.
 */
static void lookup_check(struct doctor *doctor)
{
	static const char node[] = "localhost";
	char buf[4096] __attribute__((aligned(8)));
	struct rdma_cmx_getaddrinfo cmd = {
		.size = sizeof(cmd),
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
		.query = {
			.qp_type = IBV_QPT_RC,
			.port_space = RDMA_PS_TCP,
			.timeout_ms = 6000,
			.node = (uintptr_t)node,
			.node_len = sizeof(node) - 1,
		},
	};

	if (!ioctl(doctor->device, RDMA_CMX_IO(GETADDRINFO), &cmd) ||
	    (errno != ENOKEY && errno != EBADMSG && errno != ETIMEDOUT &&
	     errno != EAGAIN)) {
		check_add(doctor, CHECK_OK, "names-run",
			  "the kernel gets an answer from the helper");
		return;
	}
	if (errno == EAGAIN) {
		doctor->busy = true;
		check_add(doctor, CHECK_WARNING, "names-busy",
			  "this user has as many lookups as the limit allows");
		check_mend(doctor, "cmx stat");
		return;
	}
	check_add(doctor, CHECK_WRONG, "names-run",
		  "request-key or the helper gives the kernel no good answer: %s",
		  strerror(errno));
	check_mend(doctor, "journalctl -b -t cmx-names -t request-key");
}

void doctor_names(struct doctor *doctor)
{
	bool user = false;

	/* In other namespaces than the host's the kernel starts no helper. */
	if (doctor->elsewhere) {
		check_add(doctor, CHECK_OK, "names-helper",
			  "in this namespace the library looks up names itself");
		return;
	}
	if (!program_check(doctor, &user))
		return;
	if (!user)
		user_check(doctor);
	if (doctor->device >= 0 && doctor->features)
		lookup_check(doctor);
}
