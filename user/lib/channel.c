// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event channels and their files. A channel is one open file of the device.
 * Calls without a channel share one file, which is opened when first needed and
 * never closed.
 *
 * Programs close a channel that still has ids, so each id holds the channel's
 * memory by a reference. The fd is -1 after the close.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static int shared_fd = -1;
static dev_t shared_rdev;	/* its device, by shared_lock */
CMX_MEM_ATOMIC(shared_fd)

struct cmx_channel {
	struct rdma_event_channel channel;
	bool sync;		/* private to an id, not the program's */
	unsigned int refs;	/* one of the program, one of each id, atomic */
};

void cmx_file_lock(void)
{
	pthread_mutex_lock(&shared_lock);
}

void cmx_file_unlock(void)
{
	pthread_mutex_unlock(&shared_lock);
}

int cmx_file_open(void)
{
	int fd, cancel;

	cmx_fork_init();
	/* open() and close() may end the thread, which may hold a lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC);
	/* The device appeared after the stock library was chosen. */
	if (fd >= 0 && !cmx_stock_unwanted()) {
		close(fd);
		fd = cmx_err(ENODEV);
	}
	pthread_setcancelstate(cancel, NULL);
	return fd;
}

/* With shared_lock. True if @fd is closed, or another file. */
static bool file_lost(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISCHR(st.st_mode) ||
	       st.st_rdev != shared_rdev;
}

static int file_open_shared(void)
{
	struct stat st;
	int fd = cmx_file_open();

	if (fd >= 0 && !fstat(fd, &st))
		shared_rdev = st.st_rdev;
	return fd;
}

/*
 * The shared file, or -1 with errno. @again: the last one did not work, as
 * after a program has closed all its files. That one is not closed here:
 * another file may have the number now. It may also be that of the next one,
 * which another thread has opened.
 */
int cmx_file_shared(bool again)
{
	int fd = __atomic_load_n(&shared_fd, __ATOMIC_ACQUIRE);

	if (likely(fd >= 0 && !again))
		return fd;

	/* Before the handlers are registered, a child inherits a held lock. */
	cmx_fork_init();
	pthread_mutex_lock(&shared_lock);
	fd = shared_fd;
	if (fd < 0 || (again && file_lost(fd))) {
		fd = file_open_shared();
		__atomic_store_n(&shared_fd, fd, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&shared_lock);
	return fd;
}

/* close() may end the thread, and leave the file open. */
static void fd_close(int fd)
{
	syscall(SYS_close, fd);
}

struct rdma_event_channel *cmx_channel_open(bool sync)
{
	struct cmx_channel *new = malloc(sizeof(*new));

	if (!new)
		return NULL;
	new->sync = sync;
	new->refs = 1;
	new->channel.fd = cmx_file_open();
	if (new->channel.fd < 0)
		goto err_free;
	if (cmx_own_add(&new->channel, CMX_CHANNEL))
		goto err_close;
	return &new->channel;

err_close:
	fd_close(new->channel.fd);
	errno = ENOMEM;
err_free:
	free(new);
	return NULL;
}

void cmx_channel_get(struct rdma_event_channel *channel)
{
	struct cmx_channel *c = (struct cmx_channel *)channel;

	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
}

void cmx_channel_put(struct rdma_event_channel *channel)
{
	struct cmx_channel *c = (struct cmx_channel *)channel;

	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	cmx_own_del(channel, CMX_CHANNEL);
	free(c);
}

/* Once: ids may hold a channel that was closed before. */
void cmx_channel_close(struct rdma_event_channel *channel)
{
	int fd;

	cmx_names_cancel_channel(channel);
	fd = __atomic_exchange_n(&channel->fd, -1, __ATOMIC_ACQ_REL);
	if (fd < 0)
		return;
	fd_close(fd);
	cmx_channel_put(channel);
}

static struct rdma_event_channel *stock_channel(void)
{
	__typeof__(&rdma_create_event_channel) fn =
		cmx_stock_function("rdma_create_event_channel");

	return fn ? fn() : NULL;
}

CMX_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *channel;

	if (cmx_called_by_stock(true))
		return stock_channel();
	channel = cmx_channel_open(false);
	if (unlikely(!channel) && cmx_stock_instead())
		return stock_channel();
	return channel;
}

CMX_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	if (unlikely(!cmx_channel_ours(channel))) {
		if (cmx_stocks(channel))
			CMX_STOCK_VOID(rdma_destroy_event_channel, channel);
		return;
	}
	if (!((struct cmx_channel *)channel)->sync)
		cmx_channel_close(channel);
}
