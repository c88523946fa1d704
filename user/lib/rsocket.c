// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The stock library has the rsockets: these functions load it and call the same
 * function there, so that a program that uses rsockets only links to this
 * library. A descriptor of an rsocket is a number that the stock library looks
 * up; it is no object of this library, which stores nothing about it.
 *
 * The stock library also owns the ids behind rsockets. The shared library
 * forwards functions that the stock library calls by name, see stock.c. For the
 * static library, the stock library is bound to its functions: a program that
 * exports its symbols must not pass it ids with another layout.
 *
 * Without a stock library, or if it lacks the function: ENOSYS. It is not
 * loaded from another root (root.c): ELIBACC, unless it was loaded before.
 */
#define _GNU_SOURCE	/* RTLD_DEEPBIND */
#include <dlfcn.h>
#include <stdarg.h>

#include <rdma/rsocket.h>

#include "lib.h"

#ifdef CMX_SHARED

static void *stock_load(const char *name)
{
	/* Another thread may do the same. It is never unloaded, see stock.c. */
	if (!cmx_load("librdmacm.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE))
		return NULL;
	return cmx_stock_function(name);
}

static bool stock_loaded(void)
{
	return cmx_stock_function("rsocket");
}

#else

static void *stock_handle;	/* atomic */
CMX_MEM_ATOMIC(stock_handle)

static bool stock_ours;		/* this library loads it; atomic */
CMX_MEM_ATOMIC(stock_ours)

static bool stock_foreign(int flags)
{
	/* Another thread may load it in between. */
	return !__atomic_load_n(&stock_ours, __ATOMIC_ACQUIRE) &&
	       dlopen("librdmacm.so.1", flags | RTLD_NOLOAD) &&
	       !__atomic_load_n(&stock_ours, __ATOMIC_ACQUIRE);
}

/*
 * Only a program that exports its symbols intercepts the calls of the stock
 * library. There RTLD_DEEPBIND prevents it, unless that library was loaded
 * before: then they are already intercepted. Elsewhere RTLD_DEEPBIND would only
 * give it another malloc() than the program's.
 *
 * No lock: a constructor may call this, with the dynamic loader locked. After a
 * failure, as without a free descriptor, the next call retries.
 */
static void *stock_open(void)
{
	int flags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
	void *handle;

	if (dlsym(RTLD_DEFAULT, "rdma_create_id") == (void *)rdma_create_id) {
		if (stock_foreign(flags))
			return NULL;
		flags |= RTLD_DEEPBIND;
	}
	__atomic_store_n(&stock_ours, true, __ATOMIC_RELEASE);
	handle = cmx_load("librdmacm.so.1", flags);
	if (handle)
		__atomic_store_n(&stock_handle, handle, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&stock_ours, false, __ATOMIC_RELEASE);
	return handle;
}

static void *stock_load(const char *name)
{
	void *handle = __atomic_load_n(&stock_handle, __ATOMIC_ACQUIRE);

	if (!handle && !cmx_root_check())
		handle = stock_open();
	return handle ? dlsym(handle, name) : NULL;
}

static bool stock_loaded(void)
{
	return __atomic_load_n(&stock_handle, __ATOMIC_ACQUIRE);
}

#endif

/*
 * @fn: stores the result; every thread would store the same. @self: a copy of
 * this library may have the stock's name, and would call itself endlessly.
 */
static void *stock_get(void **fn, const char *name, const void *self)
{
	void *found = __atomic_load_n(fn, __ATOMIC_ACQUIRE);
	int err = errno;

	if (likely(found))
		return found;
	found = cmx_stock_function(name);
	if (!found)
		found = stock_load(name);
	errno = err;
	if (!found || found == self)
		return NULL;
	__atomic_store_n(fn, found, __ATOMIC_RELEASE);
	return found;
}

static int absent(void)
{
	return !stock_loaded() && cmx_root_check() ? -1 : cmx_err(ENOSYS);
}

#define STOCK(name) ({							\
	static void *stock_##name;					\
									\
	(__typeof__(&name))stock_get(&stock_##name, #name, &name);	\
})

CMX_EXPORT int rsocket(int domain, int type, int protocol)
{
	__typeof__(&rsocket) fn = STOCK(rsocket);

	return fn ? fn(domain, type, protocol) : absent();
}

CMX_EXPORT int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	__typeof__(&rbind) fn = STOCK(rbind);

	return fn ? fn(socket, addr, addrlen) : absent();
}

CMX_EXPORT int rlisten(int socket, int backlog)
{
	__typeof__(&rlisten) fn = STOCK(rlisten);

	return fn ? fn(socket, backlog) : absent();
}

CMX_EXPORT int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	__typeof__(&raccept) fn = STOCK(raccept);

	return fn ? fn(socket, addr, addrlen) : absent();
}

CMX_EXPORT int rconnect(int socket, const struct sockaddr *addr,
			socklen_t addrlen)
{
	__typeof__(&rconnect) fn = STOCK(rconnect);

	return fn ? fn(socket, addr, addrlen) : absent();
}

CMX_EXPORT int rshutdown(int socket, int how)
{
	__typeof__(&rshutdown) fn = STOCK(rshutdown);

	return fn ? fn(socket, how) : absent();
}

CMX_EXPORT int rclose(int socket)
{
	__typeof__(&rclose) fn = STOCK(rclose);

	return fn ? fn(socket) : absent();
}

CMX_EXPORT ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	__typeof__(&rrecv) fn = STOCK(rrecv);

	return fn ? fn(socket, buf, len, flags) : absent();
}

CMX_EXPORT ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
			     struct sockaddr *src_addr, socklen_t *addrlen)
{
	__typeof__(&rrecvfrom) fn = STOCK(rrecvfrom);

	return fn ? fn(socket, buf, len, flags, src_addr, addrlen) : absent();
}

CMX_EXPORT ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	__typeof__(&rrecvmsg) fn = STOCK(rrecvmsg);

	return fn ? fn(socket, msg, flags) : absent();
}

CMX_EXPORT ssize_t rread(int socket, void *buf, size_t count)
{
	__typeof__(&rread) fn = STOCK(rread);

	return fn ? fn(socket, buf, count) : absent();
}

CMX_EXPORT ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	__typeof__(&rreadv) fn = STOCK(rreadv);

	return fn ? fn(socket, iov, iovcnt) : absent();
}

CMX_EXPORT ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	__typeof__(&rsend) fn = STOCK(rsend);

	return fn ? fn(socket, buf, len, flags) : absent();
}

CMX_EXPORT ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
			   const struct sockaddr *dest_addr, socklen_t addrlen)
{
	__typeof__(&rsendto) fn = STOCK(rsendto);

	return fn ? fn(socket, buf, len, flags, dest_addr, addrlen) : absent();
}

CMX_EXPORT ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	__typeof__(&rsendmsg) fn = STOCK(rsendmsg);

	return fn ? fn(socket, msg, flags) : absent();
}

CMX_EXPORT ssize_t rwrite(int socket, const void *buf, size_t count)
{
	__typeof__(&rwrite) fn = STOCK(rwrite);

	return fn ? fn(socket, buf, count) : absent();
}

CMX_EXPORT ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	__typeof__(&rwritev) fn = STOCK(rwritev);

	return fn ? fn(socket, iov, iovcnt) : absent();
}

CMX_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	__typeof__(&rpoll) fn = STOCK(rpoll);

	return fn ? fn(fds, nfds, timeout) : absent();
}

CMX_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds,
		       fd_set *exceptfds, struct timeval *timeout)
{
	__typeof__(&rselect) fn = STOCK(rselect);

	return fn ? fn(nfds, readfds, writefds, exceptfds, timeout) : absent();
}

CMX_EXPORT int repoll_create(int flags)
{
	__typeof__(&repoll_create) fn = STOCK(repoll_create);

	return fn ? fn(flags) : absent();
}

CMX_EXPORT int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	__typeof__(&repoll_ctl) fn = STOCK(repoll_ctl);

	return fn ? fn(epfd, op, fd, event) : absent();
}

CMX_EXPORT int repoll_wait(int epfd, struct epoll_event *events, int maxevents,
			   int timeout)
{
	__typeof__(&repoll_wait) fn = STOCK(repoll_wait);

	return fn ? fn(epfd, events, maxevents, timeout) : absent();
}

CMX_EXPORT int rgetpeername(int socket, struct sockaddr *addr,
			    socklen_t *addrlen)
{
	__typeof__(&rgetpeername) fn = STOCK(rgetpeername);

	return fn ? fn(socket, addr, addrlen) : absent();
}

CMX_EXPORT int rgetsockname(int socket, struct sockaddr *addr,
			    socklen_t *addrlen)
{
	__typeof__(&rgetsockname) fn = STOCK(rgetsockname);

	return fn ? fn(socket, addr, addrlen) : absent();
}

CMX_EXPORT int rsetsockopt(int socket, int level, int optname,
			   const void *optval, socklen_t optlen)
{
	__typeof__(&rsetsockopt) fn = STOCK(rsetsockopt);

	return fn ? fn(socket, level, optname, optval, optlen) : absent();
}

CMX_EXPORT int rgetsockopt(int socket, int level, int optname, void *optval,
			   socklen_t *optlen)
{
	__typeof__(&rgetsockopt) fn = STOCK(rgetsockopt);

	return fn ? fn(socket, level, optname, optval, optlen) : absent();
}

/* As in fcntl() the command determines whether there is an argument. */
CMX_EXPORT int rfcntl(int socket, int cmd, ...)
{
	__typeof__(&rfcntl) fn = STOCK(rfcntl);
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	return fn ? fn(socket, cmd, arg) : absent();
}

CMX_EXPORT off_t riomap(int socket, void *buf, size_t len, int prot, int flags,
			off_t offset)
{
	__typeof__(&riomap) fn = STOCK(riomap);

	return fn ? fn(socket, buf, len, prot, flags, offset) : absent();
}

CMX_EXPORT int riounmap(int socket, void *buf, size_t len)
{
	__typeof__(&riounmap) fn = STOCK(riounmap);

	return fn ? fn(socket, buf, len) : absent();
}

CMX_EXPORT size_t riowrite(int socket, const void *buf, size_t count,
			   off_t offset, int flags)
{
	__typeof__(&riowrite) fn = STOCK(riowrite);

	return fn ? fn(socket, buf, count, offset, flags) :
		    (size_t)absent();
}
