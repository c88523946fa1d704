// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor: checks each step from the modules to a destination, in order. It
 * prints one line for each check, then the first failure and the command that
 * repairs it.
 *
 * Names come from name servers, devices and interfaces from administrators. So
 * no text reaches the terminal with control characters, and no name reaches a
 * command without quotes.
 *
 * The user may be logged in by that interface, and have files behind the
 * driver. So no command disables an interface, removes an address or a route,
 * or unloads a driver. Such a command shows more of the cause, and its comment
 * describes the repair.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx.h"
#include "doctor.h"

void check_add(struct doctor *doctor, enum check_state state, const char *id,
	       const char *format, ...)
{
	struct check *grown;
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	grown = reallocarray(doctor->checks, doctor->count + 1, sizeof(*grown));
	if (grown)
		doctor->checks = grown;
	if (!text || !grown) {
		free(text);
		doctor->memory = true;
		return;
	}
	doctor->checks[doctor->count++] = (struct check) {
		.id = id, .state = state, .text = text,
	};
}

void check_mend(struct doctor *doctor, const char *format, ...)
{
	struct check *check = doctor->checks + doctor->count - 1;
	va_list args;

	if (doctor->memory)
		return;
	va_start(args, format);
	if (vasprintf(&check->mend, format, args) < 0) {
		check->mend = NULL;
		doctor->memory = true;
	}
	va_end(args);
}

static bool is_ascii(const char *text)
{
	while (*text)
		if (*text < 0x20 || *text++ > 0x7e)
			return false;
	return true;
}

/*
 * Quotes one character between '...', or between $'...' for those that the
 * terminal must not get. Returns its length there, at most 4.
 */
static size_t quote(char c, bool escapes, char out[5])
{
	if (!escapes && c == '\'')
		return sprintf(out, "'\\''");
	if (escapes && (c < 0x20 || c > 0x7e || c == '\'' || c == '\\'))
		return sprintf(out, "\\%03o", (unsigned char)c);
	*out = c;
	return 1;
}

const char *quoted(const char *text, char out[QUOTED_MAX])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"_-.:/%@+,";
	size_t at = 0;

	if (*text && *text != '-' && !text[strspn(text, plain)] &&
	    strlen(text) < QUOTED_MAX) {
		strcpy(out, text);
		return out;
	}
	if (!is_ascii(text))
		out[at++] = '$';
	out[at++] = '\'';
	/* Space for the longest piece, the last quote and the end */
	for (; *text && at < QUOTED_MAX - 6; text++)
		at += quote(*text, *out == '$', out + at);
	/* A part of a name may be another name: use a placeholder. */
	if (*text)
		return strcpy(out, "NAME");
	out[at++] = '\'';
	out[at] = '\0';
	return out;
}

/* To be freed; NULL without memory */
static char *path_make(const char *format, va_list args)
{
	char *path;

	return vasprintf(&path, format, args) < 0 ? NULL : path;
}

bool file_line(char *text, size_t size, const char *format, ...)
{
	va_list args;
	FILE *file;
	char *path;
	bool ok;

	va_start(args, format);
	path = path_make(format, args);
	va_end(args);
	file = path ? fopen(path, "re") : NULL;
	free(path);
	if (!file)
		return false;
	ok = fgets(text, size, file);
	fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

bool file_exists(const char *format, ...)
{
	va_list args;
	char *path;
	bool ok;

	va_start(args, format);
	path = path_make(format, args);
	va_end(args);
	ok = path && !access(path, F_OK);
	free(path);
	return ok;
}

/* The inode numbers of the host's namespaces are the same on all kernels. */
static bool in_container(void)
{
	static const char *const hosts[][2] = {
		{ "/proc/self/ns/pid", "pid:[4026531836]" },
		{ "/proc/self/ns/user", "user:[4026531837]" },
	};
	char text[64];
	ssize_t len;
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		len = readlink(hosts[i][0], text, sizeof(text) - 1);
		if (len < 0)
			continue;
		text[len] = '\0';
		if (strcmp(text, hosts[i][1]))
			return true;
	}
	return file_exists("/.dockerenv") || file_exists("/run/.containerenv");
}

static const char *const states[] = {
	[CHECK_OK] = "ok",
	[CHECK_WARNING] = "warning",
	[CHECK_WRONG] = "wrong",
};

/* The first failure, or else the first warning; NULL: healthy */
static const struct check *check_worst(const struct doctor *doctor)
{
	enum check_state state;
	size_t i;

	for (state = CHECK_WRONG; state > CHECK_OK; state--)
		for (i = 0; i < doctor->count; i++)
			if (doctor->checks[i].state == state)
				return &doctor->checks[i];
	return NULL;
}

static void print_check(struct json *json, const char *key,
			const struct check *check)
{
	json_open(json, key, '{');
	json_text(json, "id", check->id);
	json_text(json, "state", states[check->state]);
	json_text(json, "text", check->text);
	json_text(json, "mend", check->mend);
	json_close(json, '}');
}

static void print_json(const struct doctor *doctor, const struct check *worst)
{
	static const struct check healthy = {
		.id = "healthy", .text = (char *)"nothing is wrong",
	};
	struct json json = { .file = stdout };
	size_t i;

	json_open(&json, NULL, '{');
	json_text(&json, "node", doctor->node);
	json_text(&json, "service", doctor->service);
	json_open(&json, "checks", '[');
	for (i = 0; i < doctor->count; i++)
		print_check(&json, NULL, &doctor->checks[i]);
	json_close(&json, ']');
	print_check(&json, "verdict", worst ? worst : &healthy);
	json_close(&json, '}');
	putchar('\n');
}

/* JSON has the original texts; a terminal gets cleaned ones. */
static void print_text(const struct doctor *doctor, const struct check *worst)
{
	struct check *check;
	size_t i;

	for (i = 0; i < doctor->count; i++) {
		check = &doctor->checks[i];
		text_clean(check->text);
		printf("%-7s  %-17s  %s\n", states[check->state], check->id,
		       check->text);
	}
	if (!worst) {
		puts("verdict: healthy");
		return;
	}
	printf("verdict: %s\n", worst->id);
	if (worst->mend) {
		text_clean(worst->mend);
		printf("mend: %s\n", worst->mend);
	}
}

static int doctor_run(struct doctor *doctor, bool json)
{
	const struct check *worst;
	size_t i;
	int ret;

	doctor->device = -1;
	doctor->container = in_container();
	doctor->elsewhere = doctor->container;
	doctor_modules(doctor);
	doctor_device(doctor);
	doctor_names(doctor);
	doctor_limits(doctor);
	doctor_ports(doctor);
	doctor_subnet(doctor);
	if (doctor->node)
		doctor_target(doctor);

	worst = check_worst(doctor);
	ret = worst && worst->state == CHECK_WRONG ? CMX_FAILED : CMX_OK;
	if (doctor->memory)
		ret = failure("out of memory");
	else if (json)
		print_json(doctor, worst);
	else
		print_text(doctor, worst);
	for (i = 0; i < doctor->count; i++) {
		free(doctor->checks[i].text);
		free(doctor->checks[i].mend);
	}
	free(doctor->checks);
	for (i = 0; i < doctor->port_count; i++)
		free(doctor->ports[i].gids);
	if (doctor->device >= 0)
		close(doctor->device);
	return ret;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ .name = NULL },
	};
	struct doctor doctor = {};
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, ":j", options, NULL)) != -1) {
		if (option != 'j')
			return misuse_option(option, argv, options);
		json = true;
	}
	if (argc - optind > 2)
		return misuse("'%s' is one argument too many",
			      argv[optind + 2]);
	if (optind < argc) {
		if (!*argv[optind])
			return misuse("an empty text is not a NAME");
		doctor.node = argv[optind];
		doctor.service = argv[optind + 1];
	}
	return doctor_run(&doctor, json);
}
