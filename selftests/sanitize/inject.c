// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Part of the library for the tests with sanitizers: external calls of the
 * library go through this file (ld's --wrap, see build.mk), and fail without an
 * effect if the test requests it. Close and destroy calls do not fail.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "inject.h"

#define EXPORT	__attribute__((visibility("default")))

static __thread unsigned int left;	/* calls until one fails; 0: none */
static __thread int failed;

EXPORT void fault_arm(unsigned int n)
{
	left = n;
	failed = 0;
}

EXPORT int fault_disarm(void)
{
	left = 0;
	return failed;
}

static int fails(int err)
{
	if (!left || --left)
		return 0;
	failed = err;
	errno = err;
	return err;
}

#define WRAP(type, name, err, result, params, ...)			\
	type __real_##name params;					\
	type __wrap_##name params;					\
	type __wrap_##name params					\
	{								\
		return fails(err) ? (result) : __real_##name(__VA_ARGS__); \
	}

WRAP(void *, malloc, ENOMEM, NULL, (size_t size), size)
WRAP(void *, calloc, ENOMEM, NULL, (size_t n, size_t size), n, size)
WRAP(char *, strndup, ENOMEM, NULL, (const char *s, size_t n), s, n)
WRAP(int, open, EMFILE, -1, (const char *path, int flags, int mode),
     path, flags, mode)
WRAP(int, ioctl, EIO, -1, (int fd, unsigned long cmd, void *arg),
     fd, cmd, arg)
WRAP(int, pthread_create, EAGAIN, EAGAIN,
     (pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
      void *arg), thread, attr, fn, arg)

/*
 * The library's set of objects (own.c) keeps its memory. So allocations of an
 * addition do not count; otherwise the n-th call would differ each time. The
 * reservation for an event or an id counts.
 */
int __real_cmx_own_add(void *obj, int kind);
int __wrap_cmx_own_add(void *obj, int kind);
int __wrap_cmx_own_add(void *obj, int kind)
{
	unsigned int later = left;
	int ret;

	left = 0;
	ret = __real_cmx_own_add(obj, kind);
	left = later;
	return ret;
}

void *__real_cmx_own_reserve(void *obj);
void *__wrap_cmx_own_reserve(void *obj);
void *__wrap_cmx_own_reserve(void *obj)
{
	unsigned int later;
	void *place;

	if (fails(ENOMEM))
		return NULL;
	later = left;
	left = 0;
	place = __real_cmx_own_reserve(obj);
	left = later;
	return place;
}

/* libibverbs: some functions return an error number, the others set errno. */
WRAP(void *, ibv_get_device_list, ENOMEM, NULL, (int *n), n)
WRAP(void *, ibv_open_device, ENOMEM, NULL, (void *device), device)
WRAP(int, ibv_query_device, EIO, EIO, (void *verbs, void *attr), verbs, attr)
WRAP(void *, ibv_alloc_pd, ENOMEM, NULL, (void *verbs), verbs)
WRAP(void *, ibv_create_comp_channel, EMFILE, NULL, (void *verbs), verbs)
WRAP(void *, ibv_create_cq, ENOMEM, NULL,
     (void *verbs, int size, void *context, void *channel, int vector),
     verbs, size, context, channel, vector)
WRAP(void *, ibv_create_qp, ENOMEM, NULL, (void *pd, void *attr), pd, attr)
WRAP(void *, ibv_create_srq, ENOMEM, NULL, (void *pd, void *attr), pd, attr)
WRAP(int, ibv_modify_qp, EIO, EIO, (void *qp, void *attr, int mask),
     qp, attr, mask)
WRAP(int, ibv_query_ece, EIO, EIO, (void *qp, void *ece), qp, ece)
WRAP(int, ibv_set_ece, EIO, EIO, (void *qp, void *ece), qp, ece)
WRAP(int, ibv_attach_mcast, EIO, EIO, (void *qp, void *gid, int lid),
     qp, gid, lid)
