// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * This process looks up names itself if the kernel does not: outside of the
 * initial network and mount namespace and root directory, without the name
 * helper, or on request. It always looks up the port of a service itself. It
 * passes the result to the kernel, which reports the event.
 *
 * The kernel decides for each call which names a thread sees: it returns
 * ENOKEY. The library stores nothing about it, since each thread may enter
 * another namespace at any time.
 *
 * An asynchronous lookup has a private thread, which cannot be stopped. The
 * thread has a job, not the id, and checks under the lock whether an id still
 * waits for the result. The lock guards the list of jobs and the object of
 * id->names, and keeps handle and channel of an id with a job from changing. It
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

#include "../names/lookup.h"
#include "../names/names.h"
#include "../names/probe.h"
#include "lib.h"

/* Servers that refuse respond quickly; libc has waited for silent ones. */
#define PROBE_MS	1000

#define HELPER_CONFIG	"/etc/request-key.d/rdma-cmx.conf"

_Static_assert(CMX_NAMES_ANSWER_MAX <= CMX_NAMES_BUF,
	       "a names answer fits its buffer");

struct cmx_names_job {
	struct cmx_names_job *next;
	struct cmx_id *id;	/* NULL: no waiter */
	sem_t *started;		/* the starter waits for it */
	const char *node;	/* to look up, or NULL */
	const char *service;	/* likewise */
	int transports;		/* of the service */
	char texts[];
};

/* State of an id that has looked up a name */
struct cmx_id_names {
	struct cmx_ai_request *req;	/* to retry, or NULL */
	struct cmx_names_job *job;	/* outstanding, or NULL */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cmx_names_job *jobs;

/*
 * True if there is a helper; -1: not checked yet. A wrong value only costs
 * time.
 */
static int helper = -1;
CMX_MEM_ATOMIC(helper)

void cmx_names_jobs_lock(void)
{
	pthread_mutex_lock(&lock);
}

void cmx_names_jobs_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* True if this process looks up the name from the start */
bool cmx_names_own(const struct cmx_ai_request *req)
{
	const char *env = req->env ? secure_getenv("RDMACMX_NAMES") : NULL;
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
 * Looks up a name with libc. Returns 0, or an errno of rdma_cmx_names.h. @buf
 * has @len bytes, at least CMX_NAMES_BUF.
 */
int cmx_libc_lookup(const char *node, void *buf, size_t *len)
{
	int err = cmx_names_lookup(node, buf, len), cancel;

	/* As in the name helper: libc does not report a refusal. */
	if (err == EAGAIN && _res.res_h_errno == TRY_AGAIN) {
		/* Sockets would stay open. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		if (cmx_probe_query(node, PROBE_MS) == CMX_PROBE_REFUSED)
			err = ECONNREFUSED;
		pthread_setcancelstate(cancel, NULL);
	}
	return err;
}

/* With the lock */
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

/* With the lock. The thread notices it, and frees the job. */
static void job_cancel(struct cmx_id *id)
{
	if (!id->names->job)
		return;
	id->names->job->id = NULL;
	id->names->job = NULL;
}

/* With the lock. @job has ended. */
static void job_finish(struct cmx_names_job *job,
		       struct rdma_cmx_give_names *cmd)
{
	job_unlink(job);
	if (job->id) {
		cmd->size = sizeof(*cmd);
		cmd->id = job->id->handle;
		job->id->names->job = NULL;
		/* It fails after the deadline, which is harmless. */
		if (cmx_id_ioctl(job->id, GIVE_NAMES, cmd) &&
		    errno == ENOMEM) {
			*cmd = (struct rdma_cmx_give_names){
				.size = sizeof(*cmd),
				.id = job->id->handle,
				.error = ENOMEM,
			};
			cmx_id_ioctl(job->id, GIVE_NAMES, cmd);
		}
	}
	free(job);
}

/* The service first: without a port the addresses are useless. */
static int job_lookup(const struct cmx_names_job *job, void *buf, size_t len,
		      struct rdma_cmx_give_names *cmd)
{
	struct cmx_port port;
	int err;

	if (job->service) {
		err = cmx_service_lookup(job->service, job->transports, &port);
		/* The errno of the API for a service that is not found */
		if (err)
			return err == CMX_ESERVICE ? EINVAL : err;
		cmd->flags = RDMA_CMX_GIVE_PORT;
		cmd->port = port.port;
		cmd->qp_type = port.qp_type;
	}
	if (job->node) {
		err = cmx_libc_lookup(job->node, buf, &len);
		if (err)
			return err;
		cmd->names = (uintptr_t)buf;
		cmd->names_len = len;
	}
	return 0;
}

static void *job_thread(void *arg)
{
	struct cmx_names_job *job = arg;
	uint64_t buf[CMX_NAMES_BUF / sizeof(uint64_t)];
	struct rdma_cmx_give_names cmd = {};
	int err;

	/*
	 * The thread has the starter's namespaces, and shares its root
	 * directory. From here on the starter may change its root directory,
	 * and enter a mount namespace, which sharing would prevent.
	 */
	unshare(CLONE_FS);
	sem_post(job->started);
	err = job_lookup(job, buf, sizeof(buf), &cmd);
	if (err)
		cmd = (struct rdma_cmx_give_names){ .error = err };
	pthread_mutex_lock(&lock);
	job_finish(job, &cmd);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Starts the thread with the program's signals blocked. */
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
	/* A signal or a cancellation must not end the wait. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, job_thread, job);
	/* The thread uses the stack until then. */
	if (!err)
		while (sem_wait(&started))
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setcancelstate(cancel, NULL);
	sem_destroy(&started);
	pthread_attr_destroy(&attr);
	return err;
}

/* The size in bytes for request_texts() */
static size_t request_room(const struct cmx_ai_request *req)
{
	return req->query.node_len + 1 +
	       (req->service ? strlen(req->service) + 1 : 0);
}

/*
 * Copies the node to zeroed @to, and the service behind it. Returns the copy of
 * the service, or NULL.
 */
static const char *request_texts(const struct cmx_ai_request *req, char *to)
{
	if (req->query.node_len)
		memcpy(to, (const char *)(uintptr_t)req->query.node,
		       req->query.node_len);
	if (!req->service)
		return NULL;
	return strcpy(to + req->query.node_len + 1, req->service);
}

/* @own: this process looks up the name. */
static struct cmx_names_job *job_alloc(const struct cmx_ai_request *req,
				       bool own)
{
	struct cmx_names_job *job = calloc(1, sizeof(*job) + request_room(req));

	if (!job)
		return NULL;
	job->service = request_texts(req, job->texts);
	job->transports = req->transports;
	job->node = own ? job->texts : NULL;
	return job;
}

/*
 * With the lock. Sends the request to the kernel. With @job a thread passes its
 * result later. The thread takes the job, or it is freed.
 */
static int resolve_locked(struct cmx_id *id, const struct cmx_ai_request *req,
			  struct cmx_names_job *job)
{
	struct rdma_cmx_resolve_addrinfo cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
		.query = req->query,
	};
	int err;

	if (job && job->node)
		cmd.query.flags |= RDMA_CMX_AIQ_NAMES_LATER;
	if (cmx_id_ioctl(id, RESOLVE_ADDRINFO, &cmd)) {
		err = errno;
		free(job);
		return cmx_err(err);
	}
	/* A job that outlived its deadline must not complete this query. */
	job_cancel(id);
	if (!job)
		return 0;

	job->id = id;
	job->next = jobs;
	jobs = job;
	id->names->job = job;
	err = job_thread_start(job);
	if (err) {
		struct rdma_cmx_give_names failed = {
			.error = err == EAGAIN ? EAGAIN : ENOMEM,
		};

		job_finish(job, &failed);
	}
	return 0;
}

/* A copy to retry the request, when the caller's texts are gone */
static struct cmx_ai_request *request_dup(struct cmx_ai_request *req)
{
	struct cmx_ai_request *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *req;
	copy->texts = calloc(1, request_room(req));
	if (!copy->texts) {
		free(copy);
		return NULL;
	}
	copy->service = request_texts(req, copy->texts);
	copy->query.node = (uintptr_t)copy->texts;
	if (copy->query.dev_len)
		copy->query.dev = (uintptr_t)copy->device;
	return copy;
}

static void request_replace(struct cmx_id *id, struct cmx_ai_request *req)
{
	if (id->names->req) {
		cmx_ai_request_clear(id->names->req);
		free(id->names->req);
	}
	id->names->req = req;
}

static bool names_known(const struct cmx_id *id)
{
	return __atomic_load_n(&id->names, __ATOMIC_ACQUIRE);
}

/* With the lock. -1: no memory. Freed with the id. */
static int names_make(struct cmx_id *id)
{
	struct cmx_id_names *names;

	if (names_known(id))
		return 0;
	names = calloc(1, sizeof(*names));
	if (!names)
		return -1;
	__atomic_store_n(&id->names, names, __ATOMIC_RELEASE);
	return 0;
}

/* For an id that no thread uses */
void cmx_names_free(struct cmx_id *id)
{
	if (!names_known(id))
		return;
	request_replace(id, NULL);
	free(id->names);
}

/*
 * In the child of fork(), with the lock: the threads exist in the parent, which
 * still passes their results to the kernel.
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

/* Starts a resolution. @own: this process looks up the name. */
int cmx_names_resolve(struct cmx_id *id, struct cmx_ai_request *req, bool own)
{
	struct cmx_names_job *job = NULL;
	struct cmx_ai_request *copy = NULL;
	int ret, err;

	if (own || req->service) {
		job = job_alloc(req, own);
		if (!job)
			return -1;
	}
	if (!own && req->named) {
		copy = request_dup(req);
		if (!copy) {
			free(job);
			return -1;
		}
	}

	pthread_mutex_lock(&lock);
	ret = names_make(id);
	if (ret)
		free(job);
	else
		ret = resolve_locked(id, req, job);
	err = errno;
	if (!ret) {
		/* The copy has the route now. */
		if (copy)
			req->route = NULL;
		request_replace(id, copy);
		copy = NULL;
	}
	pthread_mutex_unlock(&lock);

	if (copy) {
		free(copy->texts);
		free(copy);
	}
	return ret ? cmx_err(err) : 0;
}

/* True if this thread sees the names that the kernel would look up */
static bool names_initial(struct cmx_id *id)
{
	struct rdma_cmx_get_info cmd = { .size = sizeof(cmd) };

	return !cmx_id_ioctl(id, GET_INFO, &cmd) &&
	       (cmd.features & RDMA_CMX_FEATURE_NAMES);
}

/*
 * The kernel found no name helper. True: this process looks up the name now,
 * and another event follows. The requesting thread saw the initial namespaces,
 * or the kernel would not have tried; the thread that takes the event may be in
 * others.
 */
bool cmx_names_retry(struct cmx_id *id)
{
	struct cmx_names_job *job;
	bool again = false;

	pthread_mutex_lock(&lock);
	if (names_known(id) && id->names->req && names_initial(id)) {
		job = job_alloc(id->names->req, true);
		again = job && !resolve_locked(id, id->names->req, job);
		request_replace(id, NULL);
	}
	pthread_mutex_unlock(&lock);
	return again;
}

/*
 * Threads of the id's user started all of the id's lookups. One of them may
 * wait for its result. Another may be about to retry: it finds nothing to
 * retry.
 */
void cmx_names_cancel(struct cmx_id *id)
{
	if (!names_known(id))
		return;
	pthread_mutex_lock(&lock);
	job_cancel(id);
	request_replace(id, NULL);
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
