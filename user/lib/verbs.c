// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libibverbs, loaded with the list of devices. A process that has the library
 * by LD_PRELOAD and opens no device does not pay for it: it and what it needs
 * itself are three quarters of the cost of the load.
 *
 * The functions below stand for those of libibverbs in all files of the shared
 * library, and in the inline functions of its header. They are hidden. A
 * caller has an object of a device, and so comes after the load.
 *
 * The static library is linked with libibverbs as usual.
 */
#define _GNU_SOURCE	/* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stddef.h>

#include "lib.h"

#ifdef CMX_SHARED

#define VERBS_LIBRARY	"libibverbs.so.1"

#define VERBS(X)							       \
	X(struct ibv_device **, get_device_list, (int *n), (n))		       \
	X(void, free_device_list, (struct ibv_device **list), (list))	       \
	X(const char *, get_device_name, (struct ibv_device *dev), (dev))      \
	X(int, get_device_index, (struct ibv_device *dev), (dev))	       \
	X(__be64, get_device_guid, (struct ibv_device *dev), (dev))	       \
	X(struct ibv_context *, open_device, (struct ibv_device *dev), (dev))  \
	X(int, close_device, (struct ibv_context *context), (context))	       \
	X(int, query_device, (struct ibv_context *context,		       \
			      struct ibv_device_attr *attr), (context, attr))  \
	X(struct ibv_pd *, alloc_pd, (struct ibv_context *context), (context)) \
	X(int, dealloc_pd, (struct ibv_pd *pd), (pd))			       \
	X(struct ibv_comp_channel *, create_comp_channel,		       \
	  (struct ibv_context *context), (context))			       \
	X(int, destroy_comp_channel, (struct ibv_comp_channel *channel),       \
	  (channel))							       \
	X(struct ibv_cq *, create_cq, (struct ibv_context *context, int size,  \
				       void *cq_context,		       \
				       struct ibv_comp_channel *channel,       \
				       int vector),			       \
	  (context, size, cq_context, channel, vector))			       \
	X(int, destroy_cq, (struct ibv_cq *cq), (cq))			       \
	X(struct ibv_srq *, create_srq, (struct ibv_pd *pd,		       \
					 struct ibv_srq_init_attr *attr),      \
	  (pd, attr))							       \
	X(int, destroy_srq, (struct ibv_srq *srq), (srq))		       \
	X(struct ibv_qp *, create_qp, (struct ibv_pd *pd,		       \
				       struct ibv_qp_init_attr *attr),	       \
	  (pd, attr))							       \
	X(int, destroy_qp, (struct ibv_qp *qp), (qp))			       \
	X(int, modify_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr,	       \
			   int mask), (qp, attr, mask))			       \
	X(int, query_ece, (struct ibv_qp *qp, struct ibv_ece *ece), (qp, ece)) \
	X(int, set_ece, (struct ibv_qp *qp, struct ibv_ece *ece), (qp, ece))   \
	X(int, attach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid,     \
			      uint16_t lid), (qp, gid, lid))		       \
	X(int, detach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid,     \
			      uint16_t lid), (qp, gid, lid))

#define VERB_FUNCTION(type, name, params, args)				       \
static __typeof__(ibv_##name) *verbs_##name;				       \
									       \
type ibv_##name params							       \
{									       \
	return __atomic_load_n(&verbs_##name, __ATOMIC_RELAXED) args;	       \
}

VERBS(VERB_FUNCTION)

#define VERB_SYMBOL(type, name, params, args)				       \
	{ "ibv_" #name, (void **)&verbs_##name },

static const struct {
	const char *name;
	void **function;
} symbols[] = { VERBS(VERB_SYMBOL) };

/*
 * A function that the process already has comes first, as if the library were
 * linked: programs that measure verbs put their own in front.
 */
static void *symbol_find(void *handle, const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	return function ? function : dlsym(handle, name);
}

static bool loaded;	/* atomic */
CMX_MEM_ATOMIC(loaded)

/*
 * Two threads may do this at a time: both store the same. There is no lock that
 * a child of fork() could inherit.
 */
int cmx_verbs_load(void)
{
	void *handle, *function;
	size_t i;

	if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE))
		return 0;
	handle = dlopen(VERBS_LIBRARY, RTLD_NOW | RTLD_NODELETE);
	if (!handle)
		return cmx_err(ELIBACC);
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		function = symbol_find(handle, symbols[i].name);
		if (!function)
			return cmx_err(ELIBACC);
		__atomic_store_n(symbols[i].function, function,
				 __ATOMIC_RELAXED);
	}
	__atomic_store_n(&loaded, true, __ATOMIC_RELEASE);
	return 0;
}

#endif
