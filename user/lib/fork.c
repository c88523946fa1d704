// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fork() while other threads are in the library: it waits until no thread holds
 * a global lock, so that the child finds each lock free and its data
 * consistent. The first calls register the handlers. Order: names, device,
 * file, stock, copies.
 *
 * The handlers do not take the locks of ids, of which there may be thousands. A
 * child initialises the lock of an inherited id before it takes it first: only
 * a thread of the parent can have held it. That thread changes the memberships
 * in single steps, so that the list is complete in the child, except for a JOIN
 * that has not returned.
 *
 * An inherited object refers to the record of the process that created it.
 * Process numbers do not identify it: another PID namespace has others, the
 * same ones for other processes, and does not see all. The record of the
 * process itself is behind a pointer on a page that the kernel clears in a
 * child (MADV_WIPEONFORK), also in a child of clone(), without the handlers. A
 * child of fork() also gets a pidfd of its parent, which shows in each
 * namespace whether the parent exists. Records are never freed.
 *
 * In the kernel an id has the cookie of the process that created it. If two
 * children of a process that is gone both destroy their copies of its id,
 * another id may have its handle when the second one does. The cookie protects
 * that id.
 */
#define _GNU_SOURCE	/* F_SETSIG */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

struct cmx_process {
	struct cmx_process *next;
	uint64_t cookie;	/* the owner of an id in the kernel */
	int pidfd;		/* of another process; -1: none */
	unsigned int objects;	/* ids, memberships, and copies; atomic */
};

static struct cmx_process *processes;	/* newest first; atomic */
static struct cmx_process *unwiped;
static struct cmx_process **self = &unwiped;
static bool forked;		/* a child may share a channel; atomic */
static bool registered;		/* the handlers, here or in the parent */
CMX_MEM_ATOMIC(forked)
CMX_MEM_ATOMIC(registered)
CMX_MEM_ATOMIC(processes)
CMX_MEM_ATOMIC(unwiped)
CMX_MEM_ATOMIC(self)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cmx_process *process_self(void)
{
	return __atomic_load_n(__atomic_load_n(&self, __ATOMIC_ACQUIRE),
			       __ATOMIC_ACQUIRE);
}

/*
 * The program may close a pidfd of this file and have another file with its
 * number, also a pidfd. This signal, which the kernel never sends, marks those
 * of this file, even after the process has ended. SIGRTMAX may change at run
 * time: libc reserves signals.
 */
#define PIDFD_SIGNAL	(_NSIG - 1)

/* One that cannot be marked would stay open. */
static int pidfd_open(void)
{
	int fd = syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0 || !fcntl(fd, F_SETSIG, PIDFD_SIGNAL))
		return fd;
	/* close() may end the thread. */
	syscall(SYS_close, fd);
	return -1;
}

static bool is_pidfd(int fd)
{
	return fd >= 0 && fcntl(fd, F_GETSIG) == PIDFD_SIGNAL &&
	       (!syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) ||
		errno != EBADF);
}

/* With the copies' lock. Others with this number have been closed. */
static void pidfd_replaced(int fd)
{
	struct cmx_process *process;

	for (process = __atomic_load_n(&processes, __ATOMIC_ACQUIRE); process;
	     process = process->next)
		if (process->pidfd == fd)
			process->pidfd = -1;
}

/*
 * Takes the locks. Opens the pidfd only if there is something to inherit;
 * -1: the child cannot check.
 */
static void prepare(void)
{
	struct cmx_process *process;

	cmx_names_jobs_lock();
	cmx_device_lock();
	cmx_file_lock();
	cmx_stock_lock();
	pthread_mutex_lock(&copies_lock);
	__atomic_store_n(&forked, true, __ATOMIC_RELEASE);
	process = process_self();
	if (process && __atomic_load_n(&process->objects, __ATOMIC_RELAXED)) {
		int fd = pidfd_open();

		if (fd >= 0)
			pidfd_replaced(fd);
		process->pidfd = fd;
	}
}

static void unlock(void)
{
	pthread_mutex_unlock(&copies_lock);
	cmx_stock_unlock();
	cmx_file_unlock();
	cmx_device_unlock();
	cmx_names_jobs_unlock();
}

static void parent(void)
{
	struct cmx_process *process = process_self();

	if (process && process->pidfd >= 0) {
		/* close() may end the thread. */
		syscall(SYS_close, process->pidfd);
		process->pidfd = -1;
	}
	unlock();
}

static void child(void)
{
	__atomic_store_n(&registered, true, __ATOMIC_RELAXED);
	/* Otherwise wiped: a handler before this one may have set it since. */
	if (self == &unwiped)
		__atomic_store_n(self, NULL, __ATOMIC_RELEASE);
	cmx_raw_event_forked();
	cmx_names_forked();
	cmx_cookie_forked();
	unlock();
}

static void init(void)
{
	size_t size = sysconf(_SC_PAGESIZE);
	void *page;

	/* pthread_once() starts over in a child if it had not ended. */
	if (__atomic_load_n(&registered, __ATOMIC_RELAXED))
		return;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED) {
		if (madvise(page, size, MADV_WIPEONFORK)) {
			munmap(page, size);
		} else {
			cmx_mem_atomic(page, size);
			__atomic_store_n(&self, page, __ATOMIC_RELEASE);
		}
	}
	/* A child of clone() runs no handler that would set it. */
	__atomic_store_n(&registered, !pthread_atfork(prepare, parent, child),
			 __ATOMIC_RELAXED);
}

void cmx_fork_init(void)
{
	pthread_once(&once, init);
}

/* Not a secret, but unique among processes. Never 0. */
static uint64_t cookie_make(void)
{
	struct timespec now;
	uint64_t cookie;

	if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) !=
	    sizeof(cookie)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		cookie = now.tv_sec * 1000000000ULL + now.tv_nsec;
		cookie ^= (uint64_t)getpid() << 40;
	}
	return cookie | !cookie;
}

/* Creates the record of this process, unless another thread is first. */
static struct cmx_process *process_make(void)
{
	struct cmx_process *process = NULL, *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->pidfd = -1;
	new->cookie = cookie_make();
	cmx_mem_atomic(new, sizeof(*new));
	if (!__atomic_compare_exchange_n(self, &process, new, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		free(new);
		return process;
	}
	new->next = __atomic_load_n(&processes, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&processes, &new->next, new, false,
					    __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	return new;
}

/* This process's record, which is never freed; NULL without memory */
struct cmx_process *cmx_process_have(void)
{
	struct cmx_process *process = process_self();

	if (likely(process))
		return process;
	/* The static library comes here first: the page must exist before. */
	cmx_fork_init();
	process = process_self();
	return process ? process : process_make();
}

/* This process's record for a new object; NULL without memory. */
struct cmx_process *cmx_process_get(void)
{
	struct cmx_process *process = cmx_process_have();

	if (process)
		__atomic_add_fetch(&process->objects, 1, __ATOMIC_RELAXED);
	return process;
}

/* The cookie of this process for the kernel; 0 without memory. */
uint64_t cmx_process_cookie(void)
{
	struct cmx_process *process = cmx_process_have();

	return process ? process->cookie : 0;
}

/* The same for the process that created the id */
uint64_t cmx_id_owner(const struct cmx_id *id)
{
	return id->process->cookie;
}

void cmx_process_put(struct cmx_process *process)
{
	if (__atomic_sub_fetch(&process->objects, 1, __ATOMIC_ACQ_REL) ||
	    process == process_self())
		return;
	/* close() may end the thread. */
	if (is_pidfd(process->pidfd))
		syscall(SYS_close, process->pidfd);
	process->pidfd = -1;
}

/* True if another process created it, and this is a copy */
bool cmx_id_inherited(const struct cmx_id *id)
{
	return unlikely(id->process != process_self());
}

/* True if the other process still exists, or this is unknown */
bool cmx_process_alive(const struct cmx_process *process)
{
	struct pollfd pfd = { .fd = process->pidfd, .events = POLLIN };
	int ready, cancel;

	if (!is_pidfd(pfd.fd))
		return true;
	/* poll() may end the thread, which may hold a lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ready = poll(&pfd, 1, 0);
	pthread_setcancelstate(cancel, NULL);
	return ready <= 0 || !(pfd.revents & POLLIN);
}

/*
 * The same for the process that created the inherited id. The last close of the
 * file destroys the id in any case, but a destroyed id cannot be restored.
 */
bool cmx_id_cared_for(const struct cmx_id *id)
{
	return cmx_process_alive(id->process);
}

/*
 * The first lock of a copy in this process. Without memory nothing changes. No
 * lock: handlers of the program may run before that of the library, which
 * releases the locks. One thread initialises the mutex, and marks this by an
 * address in its process's record. A child that is forked meanwhile has another
 * record, and does so again.
 */
static void lock_renew(struct cmx_id *id)
{
	struct cmx_process *process = cmx_process_have(), *marked, *locker;

	if (!process)
		return;
	marked = (struct cmx_process *)((char *)process + 1);
	locker = __atomic_load_n(&id->locker, __ATOMIC_ACQUIRE);
	while (locker != process) {
		if (locker == marked) {
			sched_yield();
			locker = __atomic_load_n(&id->locker, __ATOMIC_ACQUIRE);
		} else if (__atomic_compare_exchange_n(&id->locker, &locker,
						       marked, false,
						       __ATOMIC_ACQ_REL,
						       __ATOMIC_ACQUIRE)) {
			id->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
			__atomic_store_n(&id->locker, process,
					 __ATOMIC_RELEASE);
			return;
		}
	}
}

/* Locks the id. In a child a thread of the parent may hold its lock. */
void cmx_id_lock(struct cmx_id *id)
{
	if (unlikely(__atomic_load_n(&id->locker, __ATOMIC_ACQUIRE) !=
		     process_self()))
		lock_renew(id);
	pthread_mutex_lock(&id->lock);
}

/*
 * With the id's lock, before its threads are counted: those that a copy counts
 * exist only in the process that was forked.
 */
void cmx_id_adopt(struct cmx_id *id)
{
	struct cmx_process *process = cmx_process_have();

	if (likely(id->user == process) || !process)
		return;
	id->user = process;
	id->waiters = 0;
	id->shared = false;
	id->joining = NULL;
	id->busy = false;
}

/*
 * Destroying an id does not wait for readers of other processes' events, that of
 * a copy for none. So readers hold this lock from the lookup of the id until
 * they are counted. A process without copies does not take it.
 */
bool cmx_copies_lock(void)
{
	struct cmx_process *newest = __atomic_load_n(&processes,
						     __ATOMIC_ACQUIRE);

	if (likely(!__atomic_load_n(&forked, __ATOMIC_ACQUIRE) &&
		   (!newest || (newest == process_self() && !newest->next))))
		return false;
	pthread_mutex_lock(&copies_lock);
	return true;
}

void cmx_copies_unlock(bool locked)
{
	if (locked)
		pthread_mutex_unlock(&copies_lock);
}
