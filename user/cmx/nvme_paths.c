// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx nvme: controllers in sysfs, and nvme-cli, which creates them
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvme.h"

#define CONTROLLERS	"/sys/class/nvme"

extern char **environ;

/* Opens the directory of a controller; -1: it was removed. */
static int controller_open(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), CONTROLLERS "/%s", name);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Reads one line of a file of the controller @dir; false: it was removed. */
static bool file_read(int dir, const char *file, char *text, size_t size)
{
	ssize_t len;
	int fd;

	fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	if (len < 0)
		return false;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

/* Gets the value of @key in "key=value,key=value"; false: none, or too long. */
static bool value_get(const char *list, const char *key, char *value,
		      size_t size)
{
	size_t len = strlen(key), n;

	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		if (strncmp(list, key, len) || list[len] != '=')
			continue;
		list += len + 1;
		n = strcspn(list, ",");
		if (n >= size)
			return false;
		memcpy(value, list, n);
		value[n] = '\0';
		return true;
	}
	return false;
}

/*
 * The text as addr_text() has it: the kernel keeps that of who connected, and
 * an IPv6 address has several.
 */
static void addr_normalize(char text[ADDR_TEXT_MAX])
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *list;

	if (getaddrinfo(text, NULL, &hints, &list))
		return;
	addr_text(list->ai_addr, text);
	freeaddrinfo(list);
}

static bool controller_read(int dir, const char *nqn, struct nvme_path *path)
{
	char text[512];

	if (!file_read(dir, "transport", text, sizeof(text)) ||
	    strcmp(text, "rdma") ||
	    !file_read(dir, "subsysnqn", text, sizeof(text)) ||
	    strcmp(text, nqn) ||
	    !file_read(dir, "address", text, sizeof(text)) ||
	    !value_get(text, "traddr", path->addr, sizeof(path->addr)) ||
	    !value_get(text, "trsvcid", path->port, sizeof(path->port)))
		return false;
	if (!value_get(text, "host_traddr", path->source,
		       sizeof(path->source)))
		path->source[0] = '\0';
	addr_normalize(path->addr);
	addr_normalize(path->source);
	path->device[0] = '\0';
	return file_read(dir, "state", path->state, sizeof(path->state));
}

static bool controller_get(const char *name, const char *nqn,
			   struct nvme_path *path)
{
	bool found;
	int dir;

	if (strlen(name) >= sizeof(path->name))
		return false;
	dir = controller_open(name);
	if (dir < 0)
		return false;
	strcpy(path->name, name);
	found = controller_read(dir, nqn, path);
	close(dir);
	return found;
}

void nvme_controllers(const char *nqn, struct nvme_paths *paths)
{
	DIR *dir = opendir(CONTROLLERS);
	struct dirent *entry;

	paths->count = 0;
	if (!dir)
		return;
	while (paths->count < NVME_CONTROLLERS_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    controller_get(entry->d_name, nqn,
				   &paths->path[paths->count]))
			paths->count++;
	closedir(dir);
}

bool nvme_path_same(const struct nvme_path *a, const struct nvme_path *b)
{
	return !strcmp(a->addr, b->addr) && !strcmp(a->port, b->port) &&
	       (!*a->source || !*b->source || !strcmp(a->source, b->source));
}

const struct nvme_path *nvme_path_find(const struct nvme_paths *paths,
				       const struct nvme_path *path)
{
	size_t i;

	for (i = 0; i < paths->count; i++)
		if (nvme_path_same(&paths->path[i], path))
			return &paths->path[i];
	return NULL;
}

/* Opens the directory of the controller @path if it is live; else -1. */
static int controller_live(const struct nvme_path *path, const char *nqn)
{
	int dir = controller_open(path->name);
	struct nvme_path now;

	if (dir < 0)
		return -1;
	if (controller_read(dir, nqn, &now) && nvme_path_same(&now, path) &&
	    !strcmp(now.state, "live"))
		return dir;
	close(dir);
	return -1;
}

/*
 * "nvme0c2n1" is namespace 1 of subsystem 0 at controller 2. Without multipath
 * it is "nvme2n1", a disk of this controller only.
 */
static bool namespace_parse(const char *text, unsigned int *subsys,
			    unsigned int *number)
{
	unsigned int ctrl;
	int len = 0;

	if (sscanf(text, "nvme%uc%un%u%n", subsys, &ctrl, number, &len) == 3 &&
	    !text[len])
		return true;
	return false;
}

static bool is_namespace(const char *text)
{
	unsigned int ctrl, number;
	int len = 0;

	return sscanf(text, "nvme%un%u%n", &ctrl, &number, &len) == 2 &&
	       !text[len];
}

/*
 * True if the controller is live and has that namespace, with access. Its
 * state may have changed since @path: a removal takes up to a minute.
 */
static bool namespace_served(const struct nvme_path *path, const char *nqn,
			     unsigned int subsys, unsigned int number)
{
	int dir = controller_live(path, nqn);
	char file[96], state[32];
	unsigned int ctrl;
	bool served;

	if (dir < 0)
		return false;
	if (sscanf(path->name, "nvme%u", &ctrl) != 1) {
		close(dir);
		return false;
	}
	snprintf(file, sizeof(file), "nvme%uc%un%u/size", subsys, ctrl, number);
	served = file_read(dir, file, state, sizeof(state));
	snprintf(file, sizeof(file), "nvme%uc%un%u/ana_state", subsys, ctrl,
		 number);
	if (served && file_read(dir, file, state, sizeof(state)))
		served = !strcmp(state, "optimized") ||
			 !strcmp(state, "non-optimized");
	close(dir);
	return served;
}

static bool namespace_served_by(const struct nvme_paths *by, const char *nqn,
				unsigned int subsys, unsigned int number)
{
	size_t i;

	for (i = 0; i < by->count; i++)
		if (namespace_served(&by->path[i], nqn, subsys, number))
			return true;
	return false;
}

static bool any_live(const struct nvme_paths *paths, const char *nqn)
{
	size_t i;
	int dir;

	for (i = 0; i < paths->count; i++) {
		dir = controller_live(&paths->path[i], nqn);
		if (dir < 0)
			continue;
		close(dir);
		return true;
	}
	return false;
}

bool nvme_served(const struct nvme_path *path, const char *nqn,
		 const struct nvme_paths *by)
{
	unsigned int subsys, number;
	struct dirent *entry;
	char name[300];
	bool served;
	DIR *dir;

	served = any_live(by, nqn);
	snprintf(name, sizeof(name), CONTROLLERS "/%s", path->name);
	dir = served ? opendir(name) : NULL;
	if (!dir)
		return false;
	while (served && (entry = readdir(dir))) {
		if (namespace_parse(entry->d_name, &subsys, &number))
			served = namespace_served_by(by, nqn, subsys, number);
		else if (is_namespace(entry->d_name))
			served = false;
	}
	closedir(dir);
	return served;
}

/* Returns 0 or an errno. nvme gets the signals that the command waits for. */
static int nvme_start(char *const argv[], bool quiet, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	/* It prints the controller's name. The command prints more. */
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (quiet)
		posix_spawn_file_actions_adddup2(&actions, 1, 2);
	err = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return err;
}

static bool nvme_wait(pid_t pid)
{
	int status;

	return child_wait(pid, &status) && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

static void start_failure(int err)
{
	if (err == ENOENT)
		failure("there is no program nvme in PATH: install nvme-cli");
	else
		failure("nvme cannot be started: %s", strerror(err));
}

/* "--@key=@value": no value of a name server makes two options of it. */
static char *option_make(const char *key, const char *value)
{
	char *text;

	return asprintf(&text, "--%s=%s", key, value) < 0 ? NULL : text;
}

static int connect_start(const struct nvme_path *path, const char *nqn,
			 char *const options[], bool quiet, pid_t *pid)
{
	char *own[4] = {
		option_make("nqn", nqn),
		option_make("traddr", path->addr),
		option_make("trsvcid", path->port),
		option_make("host-traddr", path->source),
	};
	size_t count, i;
	char **argv;
	int err = ENOMEM;

	for (count = 0; options[count]; count++)
		;
	argv = calloc(3 + 4 + count + 1, sizeof(*argv));
	if (argv && own[0] && own[1] && own[2] && own[3]) {
		argv[0] = "nvme";
		argv[1] = "connect";
		argv[2] = "--transport=rdma";
		memcpy(argv + 3, own, sizeof(own));
		memcpy(argv + 7, options, count * sizeof(*argv));
		err = nvme_start(argv, quiet, pid);
	}
	free(argv);
	for (i = 0; i < 4; i++)
		free(own[i]);
	return err;
}

bool nvme_connect(const struct nvme_paths *paths, const char *nqn,
		  char *const options[], bool quiet)
{
	pid_t pid[NVME_PATHS_MAX];
	size_t i, started;
	int err = 0;

	/* In parallel: a dead address takes seconds. */
	for (started = 0; started < paths->count && !signals_ended();
	     started++) {
		err = connect_start(&paths->path[started], nqn, options, quiet,
				    &pid[started]);
		if (err)
			break;
	}
	for (i = 0; i < started; i++)
		if (!nvme_wait(pid[i]) && !quiet && !signals_ended())
			failure("%s %s: nvme connect has failed",
				paths->path[i].addr, paths->path[i].port);
	if (err)
		start_failure(err);
	return !err;
}

/*
 * As nvme disconnect does, but to the controller that was examined: others may
 * have removed it meanwhile, and names are reused. Its directory is not.
 */
bool nvme_disconnect(const struct nvme_path *path, const char *nqn)
{
	int dir = controller_open(path->name), fd = -1;
	struct nvme_path now;
	bool done;

	if (dir < 0)
		return false;
	if (controller_read(dir, nqn, &now) && nvme_path_same(&now, path))
		fd = openat(dir, "delete_controller", O_WRONLY | O_CLOEXEC);
	close(dir);
	if (fd < 0)
		return false;
	done = write(fd, "1", 1) == 1;
	close(fd);
	return done;
}
