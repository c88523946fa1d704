// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event channels and the files behind them. A channel is one open file of the
 * device; calls without a channel share one file, opened when first needed
 * and never closed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib.h"

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static int shared_fd = -1;
CMX_MEM_ATOMIC(shared_fd)

int cmx_file_open(void)
{
	return open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC);
}

/*
 * The shared file, -1 with errno when there is none. @again: the last one
 * does not work, as after a program has closed all its files. That one is not
 * closed here: the number may be another file's by now.
 */
int cmx_file_shared(bool again)
{
	int fd = __atomic_load_n(&shared_fd, __ATOMIC_ACQUIRE);

	if (likely(fd >= 0 && !again))
		return fd;

	pthread_mutex_lock(&shared_lock);
	if (shared_fd == fd) {
		fd = cmx_file_open();
		__atomic_store_n(&shared_fd, fd, __ATOMIC_RELEASE);
	} else {
		fd = shared_fd;
	}
	pthread_mutex_unlock(&shared_lock);
	return fd;
}

struct rdma_event_channel *cmx_channel_open(void)
{
	struct rdma_event_channel *channel = malloc(sizeof(*channel));

	if (!channel)
		return NULL;
	channel->fd = cmx_file_open();
	if (channel->fd < 0) {
		free(channel);
		return NULL;
	}
	return channel;
}

void cmx_channel_close(struct rdma_event_channel *channel)
{
	cmx_names_cancel_channel(channel);
	close(channel->fd);
	free(channel);
}

CMX_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	if (cmx_called_by_stock(true)) {
		__typeof__(&rdma_create_event_channel) fn =
			cmx_stock_function(__func__);

		return fn ? fn() : NULL;
	}
	return cmx_channel_open();
}

CMX_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	if (cmx_called_by_stock(false)) {
		CMX_STOCK_VOID(rdma_destroy_event_channel, channel);
		return;
	}
	if (channel)
		cmx_channel_close(channel);
}
