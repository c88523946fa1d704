// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: the open verbs context of a device index of the kernel, its
 * limits and its default protection domain. A device is opened when the first
 * id is bound to it, and stays open: callers may have objects of it after their
 * last id. A removed device is closed with its last id, or when its successor
 * is opened: its objects are unusable.
 *
 * One mutex guards the list and its elements. The fields that a holder of a
 * reference reads without it are constant while there is a reference.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib.h"

struct cmx_device {
	struct cmx_device *next;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	uint64_t guid;
	uint32_t index;
	int max_initiator_depth;
	int max_responder_resources;
	unsigned int refs;	/* ids, and lists of rdma_get_devices() */
	bool dead;		/* removed: not for new references */
};

/* Names are never freed: callers keep pointers to them. */
struct device_name {
	struct device_name *next;
	uint32_t index;
	char name[IBV_SYSFS_NAME_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cmx_device *devices;
static struct device_name *names;
static int holder_cancel;	/* cancel state of the lock's holder */

/*
 * libibverbs and its providers open and close files with the lock held. A
 * thread that is cancelled there would never release it.
 */
void cmx_device_lock(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	holder_cancel = cancel;
}

void cmx_device_unlock(void)
{
	int cancel = holder_cancel;

	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
}

/* Without indices of a kernel or provider only the GUID is compared. */
static bool device_is(uint64_t a_guid, uint32_t a_index, uint64_t guid,
		      uint32_t index)
{
	return a_guid == guid && (a_index == index || a_index == UINT32_MAX);
}

static int max_u8(int value)
{
	return value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value;
}

/*
 * libibverbs loads its providers once. If it fails for lack of descriptors, it
 * finds no device for the rest of the process. So the library calls it only if
 * some are free.
 */
#define FDS_WANTED	8

static int fds_check(void)
{
	int fds[FDS_WANTED], n, err = 0;

	for (n = 0; n < FDS_WANTED; n++) {
		fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fds[n] < 0) {
			err = errno;
			break;
		}
	}
	while (n--)
		close(fds[n]);
	return err == EMFILE || err == ENFILE ? cmx_err(err) : 0;
}

static bool loaded;	/* atomic */
CMX_MEM_ATOMIC(loaded)

static struct ibv_device **device_list_get(int *n)
{
	struct ibv_device **list;

	/* The first device makes libibverbs load the providers, once. */
	if (!__atomic_load_n(&loaded, __ATOMIC_RELAXED) &&
	    (cmx_root_check() || fds_check()))
		return NULL;
	if (cmx_verbs_load())
		return NULL;
	list = ibv_get_device_list(n);
	if (list && list[0])
		__atomic_store_n(&loaded, true, __ATOMIC_RELAXED);
	return list;
}

static struct cmx_device *device_open(struct ibv_device *ibdev)
{
	struct ibv_device_attr attr;
	struct cmx_device *dev;
	int ret;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;

	dev->verbs = ibv_open_device(ibdev);
	if (!dev->verbs)
		goto err_free;

	ret = ibv_query_device(dev->verbs, &attr);
	if (ret) {
		errno = ret;
		goto err_close;
	}
	dev->guid = ibv_get_device_guid(ibdev);
	dev->index = ibv_get_device_index(ibdev);
	dev->max_initiator_depth = max_u8(attr.max_qp_init_rd_atom);
	dev->max_responder_resources = max_u8(attr.max_qp_rd_atom);
	dev->next = devices;
	devices = dev;
	return dev;

err_close:
	ibv_close_device(dev->verbs);
err_free:
	free(dev);
	return NULL;
}

static struct cmx_device *device_find(uint64_t guid, uint32_t index)
{
	struct cmx_device *dev;

	for (dev = devices; dev; dev = dev->next)
		if (!dev->dead && device_is(dev->guid, dev->index, guid, index))
			return dev;
	return NULL;
}

/* Closes a removed device without references. */
static void device_close(struct cmx_device *dev)
{
	struct cmx_device **pos;

	for (pos = &devices; *pos != dev;)
		pos = &(*pos)->next;
	*pos = dev->next;
	if (dev->xrcd)
		ibv_close_xrcd(dev->xrcd);
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	ibv_close_device(dev->verbs);
	free(dev);
}

/*
 * True if another device replaces it. A missing device is not always a removed
 * one: a thread in another network namespace may not see it.
 */
static bool device_replaced(const struct cmx_device *dev,
			    struct ibv_device **list)
{
	bool successor = false;

	for (; *list; list++) {
		uint64_t guid = ibv_get_device_guid(*list);

		if (device_is(dev->guid, dev->index, guid,
			      ibv_get_device_index(*list)))
			return false;
		if (guid == dev->guid)
			successor = true;
	}
	return successor;
}

/* Closes devices that were removed while no id could receive the event. */
static void devices_prune(struct ibv_device **list)
{
	struct cmx_device *dev, *next;

	for (dev = devices; dev; dev = next) {
		next = dev->next;
		if (!device_replaced(dev, list))
			continue;
		dev->dead = true;
		if (!dev->refs)
			device_close(dev);
	}
}

static struct cmx_device *device_find_new(uint64_t guid, uint32_t index)
{
	struct cmx_device *dev = NULL;
	struct ibv_device **list;
	int i;

	list = device_list_get(NULL);
	if (!list)
		return NULL;
	devices_prune(list);
	errno = ENODEV;
	for (i = 0; list[i]; i++) {
		if (device_is(ibv_get_device_guid(list[i]),
			      ibv_get_device_index(list[i]), guid, index)) {
			dev = device_open(list[i]);
			break;
		}
	}
	ibv_free_device_list(list);
	return dev;
}

struct cmx_device *cmx_device_get(uint64_t node_guid, uint32_t index)
{
	struct cmx_device *dev;

	cmx_device_lock();
	dev = device_find(node_guid, index);
	if (!dev)
		dev = device_find_new(node_guid, index);
	if (dev && !dev->pd) {
		dev->pd = ibv_alloc_pd(dev->verbs);
		if (!dev->pd)
			dev = NULL;
	}
	if (dev)
		dev->refs++;
	cmx_device_unlock();
	return dev;
}

/* True with the GUID of the device with that index; false with errno */
static bool device_guid(uint32_t index, uint64_t *guid)
{
	struct cmx_device *dev;
	struct ibv_device **list;
	bool found = false;
	int i;

	/* The kernel never reuses an index. A list takes system calls. */
	for (dev = devices; dev; dev = dev->next) {
		if (!dev->dead && dev->index == index) {
			*guid = dev->guid;
			return true;
		}
	}
	list = device_list_get(NULL);
	if (!list)
		return false;
	for (i = 0; list[i] && !found; i++) {
		found = (uint32_t)ibv_get_device_index(list[i]) == index;
		*guid = ibv_get_device_guid(list[i]);
	}
	ibv_free_device_list(list);
	errno = ENODEV;
	return found;
}

/* Of a candidate. A provider without indices has none. */
struct cmx_device *cmx_device_get_index(uint32_t index)
{
	uint64_t guid;
	bool found;

	cmx_device_lock();
	found = device_guid(index, &guid);
	cmx_device_unlock();
	return found ? cmx_device_get(guid, index) : NULL;
}

static void device_put(struct cmx_device *dev)
{
	if (!--dev->refs && dev->dead)
		device_close(dev);
}

void cmx_device_put(struct cmx_device *dev)
{
	cmx_device_lock();
	device_put(dev);
	cmx_device_unlock();
}

void cmx_device_dead(struct cmx_device *dev)
{
	cmx_device_lock();
	dev->dead = true;
	cmx_device_unlock();
}

struct ibv_context *cmx_device_verbs(struct cmx_device *dev)
{
	return dev->verbs;
}

struct ibv_pd *cmx_device_pd(struct cmx_device *dev)
{
	return dev->pd;
}

struct ibv_xrcd *cmx_device_xrcd(struct cmx_device *dev)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	cmx_device_lock();
	if (!dev->xrcd)
		dev->xrcd = ibv_open_xrcd(dev->verbs, &attr);
	xrcd = dev->xrcd;
	cmx_device_unlock();
	return xrcd;
}

uint8_t cmx_device_max_initiator_depth(const struct cmx_device *dev)
{
	return dev->max_initiator_depth;
}

uint8_t cmx_device_max_responder_resources(const struct cmx_device *dev)
{
	return dev->max_responder_resources;
}

static struct device_name *name_add(uint32_t index, const char *text)
{
	struct device_name *name = calloc(1, sizeof(*name));

	if (!name)
		return NULL;
	name->index = index;
	snprintf(name->name, sizeof(name->name), "%s", text);
	name->next = names;
	names = name;
	return name;
}

static struct device_name *name_find_new(uint32_t index)
{
	struct device_name *name = NULL;
	struct ibv_device **list;
	int i;

	list = device_list_get(NULL);
	if (!list)
		return NULL;
	errno = ENODEV;
	for (i = 0; list[i]; i++) {
		if ((uint32_t)ibv_get_device_index(list[i]) == index) {
			name = name_add(index, ibv_get_device_name(list[i]));
			break;
		}
	}
	ibv_free_device_list(list);
	return name;
}

/*
 * The name of the device with that index, NULL with errno if it is absent. The
 * kernel never reuses an index, so a name stays valid unless the device is
 * renamed.
 */
const char *cmx_device_name(uint32_t index)
{
	struct device_name *name;

	cmx_device_lock();
	for (name = names; name; name = name->next)
		if (name->index == index)
			break;
	if (!name)
		name = name_find_new(index);
	cmx_device_unlock();
	return name ? name->name : NULL;
}

CMX_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **result = NULL;
	struct cmx_device *dev;
	struct ibv_device **list;
	int i, n, count = 0;

	/* The contexts must be those of the library that creates the ids. */
	if (cmx_called_by_stock(true) ||
	    (cmx_file_shared(false) < 0 && cmx_stock_instead())) {
		__typeof__(&rdma_get_devices) fn =
			cmx_stock_function(__func__);

		return fn ? fn(num_devices) : NULL;
	}
	if (num_devices)
		*num_devices = 0;
	cmx_device_lock();
	list = device_list_get(&n);
	if (!list)
		goto unlock;
	result = n ? calloc(n + 1, sizeof(*result)) : NULL;
	if (!result) {
		errno = n ? ENOMEM : ENODEV;
		goto free_list;
	}
	for (i = 0; i < n; i++) {
		dev = device_find(ibv_get_device_guid(list[i]),
				  ibv_get_device_index(list[i]));
		if (!dev)
			dev = device_open(list[i]);
		if (!dev)
			continue;
		dev->refs++;
		result[count++] = dev->verbs;
	}
	if (num_devices)
		*num_devices = count;
free_list:
	ibv_free_device_list(list);
unlock:
	cmx_device_unlock();
	return result;
}

CMX_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	struct cmx_device *dev;
	int i;

	if (cmx_called_by_stock(false)) {
		CMX_STOCK_VOID(rdma_free_devices, list);
		return;
	}
	if (!list)
		return;
	cmx_device_lock();
	for (i = 0; list[i]; i++) {
		for (dev = devices; dev; dev = dev->next)
			if (dev->verbs == list[i])
				break;
		if (dev)
			device_put(dev);
	}
	cmx_device_unlock();
	free(list);
}
