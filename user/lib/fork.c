// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fork() while other threads are in the library: it waits until none holds a
 * lock that is everybody's, so that the child finds each free and what it
 * protects whole. Set up by the first calls. Order: names, device, file, stock.
 *
 * Locks of single ids are left alone: which of them another thread held is
 * for the program to know.
 *
 * What a child inherits is known by the number of the process that made it.
 */
#include <signal.h>
#include <unistd.h>

#include "lib.h"

/* Changes in a child only, when that has no other thread. */
pid_t cmx_process;
CMX_MEM_ATOMIC(cmx_process)

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
	cmx_names_lock();
	cmx_device_lock();
	cmx_file_lock();
	cmx_stock_lock();
}

static void parent(void)
{
	cmx_stock_unlock();
	cmx_file_unlock();
	cmx_device_unlock();
	cmx_names_unlock();
}

static void child(void)
{
	cmx_process = getpid();
	cmx_names_forked();
	parent();
}

static void init(void)
{
	cmx_process = getpid();
	pthread_atfork(prepare, parent, child);
}

/* Is the process that made the inherited id there to look after it? */
bool cmx_id_cared_for(const struct cmx_id *id)
{
	return !kill(id->process, 0) || errno == EPERM;
}

void cmx_fork_init(void)
{
	pthread_once(&once, init);
}
