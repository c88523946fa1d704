// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libibverbs, loaded with the list of devices. A process that has the library
 * by LD_PRELOAD and opens no device does not pay for it: libibverbs with its
 * dependencies is four fifths of the cost of the load.
 *
 * The functions below replace those of libibverbs in all files of the shared
 * library, and in the inline functions of its header. They are hidden. Nearly
 * every caller has an object of a device, and so runs after the load.
 *
 * The static library is linked with libibverbs as usual.
 */
#define _GNU_SOURCE	/* RTLD_DEFAULT, dlvsym() */
#include <dlfcn.h>
#include <stddef.h>

#include "lib.h"

#ifdef CMX_SHARED

#define VERBS_LIBRARY	"libibverbs.so.1"

/* X(version of the symbol, type, name, parameters, arguments) */
#define VERBS(X)							\
	X("1.1", struct ibv_device **, get_device_list,			\
	  (int *n), (n))						\
	X("1.1", void, free_device_list,				\
	  (struct ibv_device **list), (list))				\
	X("1.1", const char *, get_device_name,				\
	  (struct ibv_device *dev), (dev))				\
	X("1.9", int, get_device_index,					\
	  (struct ibv_device *dev), (dev))				\
	X("1.1", __be64, get_device_guid,				\
	  (struct ibv_device *dev), (dev))				\
	X("1.1", struct ibv_context *, open_device,			\
	  (struct ibv_device *dev), (dev))				\
	X("1.1", int, close_device,					\
	  (struct ibv_context *context), (context))			\
	X("1.1", int, query_device,					\
	  (struct ibv_context *context, struct ibv_device_attr *attr),	\
	  (context, attr))						\
	X("1.1", struct ibv_pd *, alloc_pd,				\
	  (struct ibv_context *context), (context))			\
	X("1.1", int, dealloc_pd,					\
	  (struct ibv_pd *pd), (pd))					\
	X("1.0", struct ibv_comp_channel *, create_comp_channel,	\
	  (struct ibv_context *context), (context))			\
	X("1.0", int, destroy_comp_channel,				\
	  (struct ibv_comp_channel *channel), (channel))		\
	X("1.1", struct ibv_cq *, create_cq,				\
	  (struct ibv_context *context, int size, void *cq_context,	\
	   struct ibv_comp_channel *channel, int vector),		\
	  (context, size, cq_context, channel, vector))			\
	X("1.1", int, destroy_cq,					\
	  (struct ibv_cq *cq), (cq))					\
	X("1.1", struct ibv_srq *, create_srq,				\
	  (struct ibv_pd *pd, struct ibv_srq_init_attr *attr),		\
	  (pd, attr))							\
	X("1.1", int, destroy_srq,					\
	  (struct ibv_srq *srq), (srq))					\
	X("1.1", struct ibv_qp *, create_qp,				\
	  (struct ibv_pd *pd, struct ibv_qp_init_attr *attr),		\
	  (pd, attr))							\
	X("1.1", int, destroy_qp,					\
	  (struct ibv_qp *qp), (qp))					\
	X("1.1", int, modify_qp,					\
	  (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask),	\
	  (qp, attr, mask))						\
	X("1.10", int, query_ece,					\
	  (struct ibv_qp *qp, struct ibv_ece *ece), (qp, ece))		\
	X("1.10", int, set_ece,						\
	  (struct ibv_qp *qp, struct ibv_ece *ece), (qp, ece))		\
	X("1.1", int, attach_mcast,					\
	  (struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid),	\
	  (qp, gid, lid))						\
	X("1.1", int, detach_mcast,					\
	  (struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid),	\
	  (qp, gid, lid))

/* A program may have a queue pair that this library did not create. */
#define VERB_FUNCTION(version, type, name, params, args)		\
static __typeof__(ibv_##name) *verbs_##name;				\
									\
type ibv_##name params							\
{									\
	if (unlikely(!__atomic_load_n(&verbs_##name, __ATOMIC_RELAXED)))\
		cmx_verbs_load();					\
	return __atomic_load_n(&verbs_##name, __ATOMIC_RELAXED) args;	\
}

VERBS(VERB_FUNCTION)

#define VERB_SYMBOL(version, type, name, params, args)			\
	{ "ibv_" #name, "IBVERBS_" version, (void **)&verbs_##name },

static const struct {
	const char *name, *version;
	void **function;
} symbols[] = { VERBS(VERB_SYMBOL) };

static bool loaded;	/* atomic */
CMX_MEM_ATOMIC(loaded)

/*
 * The list of devices is read with their lock held, which fork() takes, so that
 * no child has a library that is half loaded. Two threads at a time would store
 * the same. A constructor that opens a device, with the dynamic loader locked,
 * waits for ever for a thread that loads; as in libibverbs, which loads its
 * providers with a lock held.
 *
 * A function that the process already has comes first, as if the library was
 * linked, and the library is loaded globally: programs that measure verbs
 * interpose their functions, and find the next one by RTLD_NEXT.
 */
int cmx_verbs_load(void)
{
	void *handle, *function;
	size_t i;

	if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE))
		return 0;
	handle = cmx_load(VERBS_LIBRARY, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
	if (!handle)
		return -1;
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		function = dlsym(RTLD_DEFAULT, symbols[i].name);
		if (function == dlsym(handle, symbols[i].name))
			function = dlvsym(handle, symbols[i].name,
					  symbols[i].version);
		if (!function)
			return cmx_err(ELIBACC);
		__atomic_store_n(symbols[i].function, function,
				 __ATOMIC_RELAXED);
	}
	__atomic_store_n(&loaded, true, __ATOMIC_RELEASE);
	return 0;
}

#endif
