// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names that this process looks up itself, because the kernel does not: in a
 * network or mount namespace or under a root directory of its own, without the
 * name helper, or on request. The answer is handed down to the kernel, which
 * makes the event.
 *
 * Whose names a thread sees is the kernel's to judge, for each call: it
 * answers ENOKEY. Nothing about it is kept here, since each thread may enter
 * another namespace at any time.
 *
 * An asynchronous look-up has a thread of its own, which cannot be stopped:
 * it keeps a job, not the id, and looks under the lock whether there still is
 * one that wants the answer. The lock protects the list of jobs, id->job and
 * id->ask, and keeps handle and channel of an id with a job from changing. It
 * is held over commands that do not wait.
 */
#define _GNU_SOURCE	/* secure_getenv(), unshare() */
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/nameser.h>
#include <resolv.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../names/names.h"
#include "../names/probe.h"
#include "lib.h"

/* Servers that refuse do so at once; libc has waited for silent ones. */
#define PROBE_MS	1000

#define HELPER_CONFIG	"/etc/request-key.d/rdma-cmx.conf"

_Static_assert(CMX_NAMES_ANSWER_MAX <= CMX_NAMES_BUF,
	       "a names answer fits its buffer");

struct cmx_names_job {
	struct cmx_names_job *next;
	struct cmx_id *id;	/* NULL: nobody waits any more */
	sem_t *started;		/* the starter waits for it */
	char node[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cmx_names_job *jobs;

/*
 * Is there a helper, so that it is worth a try? -1: not looked yet. To be
 * wrong about it costs time, the names are right either way.
 */
static int helper = -1;
CMX_MEM_ATOMIC(helper)

void cmx_names_lock(void)
{
	pthread_mutex_lock(&lock);
}

void cmx_names_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Are names looked up here from the start? */
bool cmx_names_own(void)
{
	const char *env = secure_getenv("RDMACMX_NAMES");
	int known;

	if (env && !strcmp(env, "libc"))
		return true;
	known = __atomic_load_n(&helper, __ATOMIC_RELAXED);
	if (known < 0) {
		known = !access(HELPER_CONFIG, F_OK);
		__atomic_store_n(&helper, known, __ATOMIC_RELAXED);
	}
	return !known;
}

/*
 * Ask libc. Returns 0, or an errno of rdma_cmx_names.h. @buf has @len bytes,
 * CMX_NAMES_BUF at least.
 */
int cmx_names_lookup(const char *node, void *buf, size_t *len)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_CANONNAME,
	};
	struct addrinfo *list;
	int ret;

	if (!cmx_names_valid(node))
		return ENOENT;
	/* What an earlier look-up of this thread left would mislead. */
	_res.res_h_errno = 0;
	errno = 0;
	ret = getaddrinfo(node, NULL, &hints, &list);
	if (ret) {
		ret = cmx_names_errno(ret, _res.res_h_errno, errno);
		/* As the name helper does: libc cannot tell a refusal. */
		if (ret == EAGAIN && _res.res_h_errno == TRY_AGAIN &&
		    cmx_probe_ask(node, PROBE_MS) == CMX_PROBE_REFUSED)
			ret = ECONNREFUSED;
		return ret;
	}
	*len = cmx_names_pack(list, buf);
	freeaddrinfo(list);
	return *len ? 0 : ENODATA;
}

/* With the lock. */
static void job_unlink(struct cmx_names_job *job)
{
	struct cmx_names_job **pos;

	for (pos = &jobs; *pos; pos = &(*pos)->next) {
		if (*pos == job) {
			*pos = job->next;
			return;
		}
	}
}

/* With the lock. The thread finds out, and frees the job. */
static void job_cancel(struct cmx_id *id)
{
	if (!id->job)
		return;
	id->job->id = NULL;
	id->job = NULL;
}

/* With the lock; @job is done with. */
static void job_finish(struct cmx_names_job *job, int err, const void *names,
		       size_t len)
{
	struct rdma_cmx_give_names cmd = {
		.size = sizeof(cmd),
		.error = err,
		.names = err ? 0 : (uintptr_t)names,
		.names_len = err ? 0 : len,
	};

	job_unlink(job);
	if (job->id) {
		cmd.id = job->id->handle;
		job->id->job = NULL;
		/* Nothing waits for it after the deadline: no matter. */
		cmx_id_ioctl(job->id, GIVE_NAMES, &cmd);
	}
	free(job);
}

static void *job_thread(void *arg)
{
	struct cmx_names_job *job = arg;
	uint64_t buf[CMX_NAMES_BUF / sizeof(uint64_t)];
	size_t len = sizeof(buf);
	int err;

	/*
	 * The namespaces are the starter's already. So is the root directory,
	 * which is shared: the starter is free to change its own from here,
	 * and to enter a mount namespace, which sharing would forbid.
	 */
	unshare(CLONE_FS);
	sem_post(job->started);
	err = cmx_names_lookup(job->node, buf, &len);
	pthread_mutex_lock(&lock);
	job_finish(job, err, buf, len);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* The program's signals are not for this thread. */
static int job_thread_start(struct cmx_names_job *job)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	sem_t started;
	int err, cancel;

	err = pthread_attr_init(&attr);
	if (err)
		return err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sem_init(&started, 0, 0);
	job->started = &started;
	/* The wait must not end early, by a signal or by cancellation. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, job_thread, job);
	if (!err)
		sem_wait(&started);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setcancelstate(cancel, NULL);
	sem_destroy(&started);
	pthread_attr_destroy(&attr);
	return err;
}

static struct cmx_names_job *job_alloc(const char *node, size_t len)
{
	struct cmx_names_job *job = calloc(1, sizeof(*job) + len + 1);

	if (job)
		memcpy(job->node, node, len);
	return job;
}

/*
 * With the lock. Ask the kernel; with @job the names come later, from a
 * thread. The job is the thread's, or freed.
 */
static int resolve_locked(struct cmx_id *id, const struct cmx_ask *ask,
			  struct cmx_names_job *job)
{
	struct rdma_cmx_resolve_addrinfo cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
		.query = ask->query,
	};
	int err;

	if (job)
		cmd.query.flags |= RDMA_CMX_AIQ_NAMES_LATER;
	if (cmx_id_ioctl(id, RESOLVE_ADDRINFO, &cmd)) {
		err = errno;
		free(job);
		return cmx_err(err);
	}
	/* One that outlived its deadline may not answer this question. */
	job_cancel(id);
	if (!job)
		return 0;

	job->id = id;
	job->next = jobs;
	jobs = job;
	id->job = job;
	err = job_thread_start(job);
	if (err)
		job_finish(job, err == EAGAIN ? EAGAIN : ENOMEM, NULL, 0);
	return 0;
}

/* A copy for asking again, when the caller's texts are gone. */
static struct cmx_ask *ask_dup(struct cmx_ask *ask)
{
	struct cmx_ask *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *ask;
	copy->node = strndup((const char *)(uintptr_t)ask->query.node,
			     ask->query.node_len);
	if (!copy->node) {
		free(copy);
		return NULL;
	}
	copy->query.node = (uintptr_t)copy->node;
	return copy;
}

static void ask_replace(struct cmx_id *id, struct cmx_ask *ask)
{
	if (id->ask) {
		cmx_ask_clear(id->ask);
		free(id->ask);
	}
	id->ask = ask;
}

/*
 * In the child of fork(), with the lock: the threads are the parent's, which
 * still gives their answers to the kernel.
 */
void cmx_names_forked(void)
{
	struct cmx_names_job *job;

	while ((job = jobs)) {
		jobs = job->next;
		if (job->id)
			job_cancel(job->id);
		free(job);
	}
}

/* Start a resolution; @own: this process looks up the name. */
int cmx_names_resolve(struct cmx_id *id, struct cmx_ask *ask, bool own)
{
	struct cmx_names_job *job = NULL;
	struct cmx_ask *copy = NULL;
	int ret, err;

	if (own) {
		job = job_alloc((const char *)(uintptr_t)ask->query.node,
				ask->query.node_len);
		if (!job)
			return -1;
	} else if (ask->named) {
		copy = ask_dup(ask);
		if (!copy)
			return -1;
	}

	pthread_mutex_lock(&lock);
	__atomic_store_n(&id->asked, true, __ATOMIC_RELAXED);
	ret = resolve_locked(id, ask, job);
	err = errno;
	if (!ret) {
		/* The copy has the route now. */
		if (copy)
			ask->route = NULL;
		ask_replace(id, copy);
		copy = NULL;
	}
	pthread_mutex_unlock(&lock);

	if (copy) {
		free(copy->node);
		free(copy);
	}
	return ret ? cmx_err(err) : 0;
}

/* Does this thread see the names that the kernel would look up? */
static bool names_initial(struct cmx_id *id)
{
	struct rdma_cmx_get_info cmd = { .size = sizeof(cmd) };

	return !cmx_id_ioctl(id, GET_INFO, &cmd) &&
	       (cmd.features & RDMA_CMX_FEATURE_NAMES);
}

/*
 * The kernel found no name helper. True: the name is looked up here now, and
 * another event will come. Who asked saw the initial namespaces, or the kernel
 * would not have tried; the thread that takes the event may be elsewhere.
 */
bool cmx_names_retry(struct cmx_id *id)
{
	struct cmx_names_job *job;
	bool again = false;

	pthread_mutex_lock(&lock);
	if (id->ask && names_initial(id)) {
		job = job_alloc(id->ask->node, strlen(id->ask->node));
		again = job && !resolve_locked(id, id->ask, job);
		ask_replace(id, NULL);
	}
	pthread_mutex_unlock(&lock);
	return again;
}

/*
 * All of the id's look-ups were started by threads of the id's user. One of
 * them may wait for its answer. Another may be about to retry: it finds nothing
 * to retry any more.
 */
void cmx_names_cancel(struct cmx_id *id)
{
	if (!__atomic_load_n(&id->asked, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	job_cancel(id);
	ask_replace(id, NULL);
	pthread_mutex_unlock(&lock);
}

void cmx_names_cancel_channel(struct rdma_event_channel *channel)
{
	struct cmx_names_job *job;

	pthread_mutex_lock(&lock);
	for (job = jobs; job; job = job->next)
		if (job->id && job->id->id.channel == channel)
			job_cancel(job->id);
	pthread_mutex_unlock(&lock);
}
