// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event records as the kernel writes them. Kernel and library may have
 * different versions: each struct in a record has a separate length. Fields
 * that only the library knows are zero; it skips fields and parts that only the
 * kernel knows.
 */
#include <string.h>

#include "lib.h"

/* The first published form of the fixed part is constant. */
#define HEADER_MIN	96

/*
 * Copies the known @size bytes of a struct that has @len bytes in the record.
 */
void cmx_grown_copy(void *to, size_t size, const void *from, size_t len)
{
	if (len > size)
		len = size;
	memcpy(to, from, len);
	memset((char *)to + len, 0, size - len);
}

/* The part at @pos if it is inside of the record, or NULL */
static const void *part(const struct cmx_raw_event *rec, size_t *pos,
			size_t len)
{
	const void *part = (const char *)rec->bytes + *pos;

	if (len > rec->ev.len - *pos)
		return NULL;
	*pos += len;
	return part;
}

static int parts_find(struct cmx_raw_event *rec)
{
	const struct rdma_cmx_event *ev = &rec->ev;
	const void *info = NULL, *group = NULL;
	size_t pos = ev->header_len;

	rec->paths = NULL;
	rec->private_data = NULL;
	if (ev->flags & RDMA_CMX_EVENT_INFO) {
		info = part(rec, &pos, ev->info_len);
		if (!info)
			return -1;
		cmx_grown_copy(&rec->info, sizeof(rec->info), info,
			       ev->info_len);
	}
	if (ev->flags & RDMA_CMX_EVENT_PATHS) {
		rec->paths = part(rec, &pos,
				  ev->num_paths * sizeof(*rec->paths));
		if (!rec->paths)
			return -1;
	}
	if (ev->flags & RDMA_CMX_EVENT_PRIVATE_DATA) {
		rec->private_data = part(rec, &pos,
					 (ev->private_data_len + 7) & ~7);
		if (!rec->private_data)
			return -1;
	}
	if (ev->flags & RDMA_CMX_EVENT_MC_PARAM) {
		group = part(rec, &pos, ev->mc_param_len);
		if (!group)
			return -1;
		cmx_grown_copy(&rec->group, sizeof(rec->group), group,
			       ev->mc_param_len);
	}
	return 0;
}

/* Parses @rec->bytes; -1 with EPROTO if they are malformed. */
int cmx_raw_event_parse(struct cmx_raw_event *rec)
{
	const struct rdma_cmx_event *raw = (const void *)rec->bytes;

	if (raw->len > sizeof(rec->bytes) || raw->header_len > raw->len ||
	    raw->header_len < HEADER_MIN ||
	    (raw->header_len | raw->info_len | raw->mc_param_len) & 7)
		return cmx_err(EPROTO);
	cmx_grown_copy(&rec->ev, sizeof(rec->ev), raw, raw->header_len);
	return parts_find(rec) ? cmx_err(EPROTO) : 0;
}

/*
 * The request of this thread. A signal handler may fork while it waits, and
 * with SA_RESTART the kernel reads the struct again in the child, too. There it
 * must have the child's cookie, or the parent waits for acks of the child.
 */
static __thread struct rdma_cmx_get_events cmd;

/* In the child of fork(): its only thread continues with its request. */
void cmx_raw_event_forked(void)
{
	if (cmd.size)
		cmd.reader = cmx_process_cookie();
}

/* Gets the next event of a file. */
int cmx_raw_event_get(int fd, struct cmx_raw_event *rec)
{
	/* Of the call that a handler has interrupted, if this is within one */
	struct rdma_cmx_get_events outer = cmd;
	int ret;

	cmd = (struct rdma_cmx_get_events){
		.size = sizeof(cmd),
		.max_events = 1,
		.buf = (uintptr_t)rec->bytes,
		.buf_len = sizeof(rec->bytes),
		.reader = cmx_process_cookie(),
	};
	if (!cmd.reader) {
		cmd = outer;
		return cmx_err(ENOMEM);
	}
	ret = ioctl(fd, RDMA_CMX_IO(GET_EVENTS), &cmd);
	cmd = outer;
	if (ret)
		return -1;
	cmx_mem_written(rec->bytes, sizeof(rec->bytes));
	return cmx_raw_event_parse(rec);
}
