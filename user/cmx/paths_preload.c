// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx paths preload: resolves names by rdma_resolve_addrinfo(3), which caches
 * their paths. A limited number of resolutions is outstanding. Each has an id,
 * which the next name reuses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"
#include "paths.h"

/* Maximum outstanding resolutions; the SA has fewer queries of a port. */
#define SLOTS	64

/* Maximum length of a name, as for a resolution */
#define NAME_BYTES	1024
/* Maximum length of a line, whose first word is a name */
#define LINE_BYTES	4096

/* A resolution; unused without a name */
struct slot {
	struct rdma_cm_id *id;
	char *name;
	size_t line;		/* in the file; 0: from the command line */
};

struct work {
	const struct preload *preload;
	struct rdma_event_channel *channel;
	struct slot slots[SLOTS];
	unsigned int outstanding;
	FILE *file;
	char buf[LINE_BYTES];	/* a line, from its first word */
	bool nul;		/* the line has a NUL */
	size_t line;
	char **next;		/* of the command line */
	unsigned long names;
	unsigned long failed;
	unsigned long paths;
};

static void name_failed(struct work *w, const char *name, size_t line,
			const char *why)
{
	w->failed++;
	if (line)
		failure("%s:%zu: %s: %s", w->preload->file, line, name, why);
	else
		failure("%s: %s", name, why);
}

/* The first word of a line; NULL: a comment or empty */
static char *word_of(char *line)
{
	line += strspn(line, " \t\r\n");
	line[strcspn(line, " \t\r\n")] = '\0';
	return *line && *line != '#' ? line : NULL;
}

/* Reads the start of the next line; false: none, or it has no end. */
static bool line_read(struct work *w)
{
	size_t len = 0;
	bool any = false;
	int c;

	w->nul = false;
	while ((c = getc_unlocked(w->file)) != EOF) {
		any = true;
		if (c == '\n')
			break;
		/* The rest behind the first word may be cut. */
		if (!len && strchr(" \t\r", c) && c)
			continue;
		if (!c)
			w->nul = true;
		else if (len < sizeof(w->buf) - 1)
			w->buf[len++] = c;
	}
	w->buf[len] = '\0';
	return any && !ferror(w->file);
}

/* The next name and its line; NULL: none. A malformed one is reported. */
static const char *name_next(struct work *w, size_t *line)
{
	char *name;

	*line = 0;
	if (*w->next) {
		w->names++;
		return *w->next++;
	}
	while (w->file && line_read(w)) {
		*line = ++w->line;
		if (w->nul) {
			w->names++;
			name_failed(w, "-", *line, "the line has a NUL");
			continue;
		}
		name = word_of(w->buf);
		if (!name)
			continue;
		w->names++;
		if (strlen(name) <= NAME_BYTES)
			return name;
		name[32] = '\0';
		name_failed(w, name, *line, "the name is too long");
	}
	return NULL;
}

static const char *status_text(int error)
{
	switch (error) {
	case ENOENT:
		return "there is no such name: check the spelling";
	case ENODATA:
		return "the name exists, but has no address";
	case EAGAIN:
		return "the name server does not respond, or a limit is reached";
	case ETIMEDOUT:
		return "no response before the deadline";
	}
	return strerror(error);
}

static struct slot *slot_free(struct work *w)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		if (!w->slots[i].name)
			return &w->slots[i];
	return NULL;
}

/* True for a limit that allows more when others have ended */
static bool is_limit(int err)
{
	return err == EAGAIN || err == EMFILE;
}

/* Returns an errno. */
static int slot_start(struct work *w, struct slot *slot, const char *name,
		      size_t line)
{
	const struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	int err;

	if (!slot->id && rdma_create_id(w->channel, &slot->id, slot,
					RDMA_PS_TCP)) {
		slot->id = NULL;
		return errno;
	}
	slot->name = strdup(name);
	if (!slot->name)
		return ENOMEM;
	slot->line = line;
	if (!rdma_resolve_addrinfo(slot->id, name, w->preload->service,
				   &hints)) {
		w->outstanding++;
		return 0;
	}
	err = errno;
	free(slot->name);
	slot->name = NULL;
	return err;
}

/* True if the entry's path starts at an InfiniBand port */
static bool entry_on_ib(const struct rdma_addrinfo *ai)
{
	int type;

	return rdmacmx_ai_gid_index(ai, &type) >= 0 &&
	       type == IBV_GID_TYPE_IB;
}

/* Counts the paths of a result; a missing path is a failure. */
static void result_take(struct work *w, const struct slot *slot)
{
	struct rdma_addrinfo *list, *ai;
	char text[ADDR_TEXT_MAX], why[ADDR_TEXT_MAX + 64];
	bool found = false, lost = false;

	if (rdma_query_addrinfo(slot->id, &list)) {
		name_failed(w, slot->name, slot->line, strerror(errno));
		return;
	}
	for (ai = list; ai; ai = ai->ai_next) {
		if (!entry_on_ib(ai))
			continue;
		found = true;
		if (ai->ai_route_len) {
			w->paths++;
		} else if (!lost) {
			lost = true;
			snprintf(why, sizeof(why), "no path to %s: see 'cmx "
				 "doctor'", addr_text(ai->ai_dst_addr, text));
			name_failed(w, slot->name, slot->line, why);
		}
	}
	if (!found)
		name_failed(w, slot->name, slot->line,
			    "no InfiniBand port reaches it");
	rdma_freeaddrinfo(list);
}

/*
 * Waits until a resolution ends: each has a deadline. Returns 0, or a message.
 */
static int slot_wait(struct work *w)
{
	struct rdma_cm_event *event;
	struct slot *slot;
	int type, status;

	if (rdma_get_cm_event(w->channel, &event))
		return failure("cannot wait for the resolutions: %s",
			       strerror(errno));
	slot = event->id->context;
	type = event->event;
	status = event->status;
	rdma_ack_cm_event(event);
	if (!slot->name)
		return 0;
	if (type == RDMA_CM_EVENT_ADDRINFO_RESOLVED)
		result_take(w, slot);
	else
		name_failed(w, slot->name, slot->line, status_text(-status));
	free(slot->name);
	slot->name = NULL;
	w->outstanding--;
	return 0;
}

static int name_start(struct work *w, const char *name, size_t line)
{
	int err, ret;

	do {
		err = w->outstanding == SLOTS ? EAGAIN :
		      slot_start(w, slot_free(w), name, line);
		if (is_limit(err) && w->outstanding) {
			ret = slot_wait(w);
			if (ret)
				return ret;
			continue;
		}
		if (err)
			name_failed(w, name, line, status_text(err));
		return 0;
	} while (true);
}

static int work_run(struct work *w)
{
	const char *name;
	size_t line;
	int ret;

	while ((name = name_next(w, &line))) {
		ret = name_start(w, name, line);
		if (ret)
			return ret;
	}
	if (w->file && ferror(w->file)) {
		w->failed++;
		failure("%s: cannot be read to its end", w->preload->file);
	}
	while (w->outstanding) {
		ret = slot_wait(w);
		if (ret)
			return ret;
	}
	return 0;
}

static void work_print(const struct work *w)
{
	struct json json = { .file = stdout };

	if (w->preload->json) {
		json_open(&json, NULL, '{');
		json_number(&json, "names", w->names);
		json_number(&json, "failed", w->failed);
		json_number(&json, "paths", w->paths);
		json_close(&json, '}');
		putchar('\n');
		return;
	}
	printf("%lu %s, %lu failed, %lu %s\n", w->names,
	       w->names == 1 ? "name" : "names", w->failed, w->paths,
	       w->paths == 1 ? "path" : "paths");
}

static void work_end(struct work *w)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		if (w->slots[i].id)
			rdma_destroy_id(w->slots[i].id);
		free(w->slots[i].name);
	}
	if (w->channel)
		rdma_destroy_event_channel(w->channel);
	if (w->file && w->file != stdin)
		fclose(w->file);
}

int paths_preload(const struct preload *preload)
{
	struct work w = { .preload = preload, .next = preload->names };
	int ret = CMX_FAILED;

	if (device_check())
		return CMX_FAILED;
	if (preload->file) {
		w.file = strcmp(preload->file, "-") ?
			 fopen(preload->file, "re") : stdin;
		if (!w.file)
			return failure("%s: %s", preload->file,
				       strerror(errno));
	}
	w.channel = rdma_create_event_channel();
	if (w.channel)
		ret = work_run(&w);
	else
		failure("%s", strerror(errno));
	if (!ret) {
		work_print(&w);
		ret = w.failed ? CMX_FAILED : CMX_OK;
	}
	work_end(&w);
	return ret;
}
