// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: rsockets with librdmacmx alone. Each function of <rdma/rsocket.h> has
 * the effect of the stock library's; a function that an older stock library
 * lacks fails with ENOSYS. An id of this library works at the same time.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rsocket.h>

#include "api.h"

#define RS_PORT	7691
#define LENGTH	1000
#define WAYS	5

static struct sockaddr_in address(void)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(RS_PORT),
	};

	inet_pton(AF_INET, OWN4, &sin.sin_addr);
	return sin;
}

static ssize_t way_send(int fd, char *buf, size_t len, int way)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	switch (way) {
	case 0: return rsend(fd, buf, len, 0);
	case 1: return rwrite(fd, buf, len);
	case 2: return rwritev(fd, &iov, 1);
	case 3: return rsendmsg(fd, &msg, 0);
	default: return rsendto(fd, buf, len, 0, NULL, 0);
	}
}

static ssize_t way_recv(int fd, char *buf, size_t len, int way)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	switch (way) {
	case 0: return rrecv(fd, buf, len, 0);
	case 1: return rread(fd, buf, len);
	case 2: return rreadv(fd, &iov, 1);
	case 3: return rrecvmsg(fd, &msg, 0);
	default: return rrecvfrom(fd, buf, len, 0, NULL, NULL);
	}
}

/* Transfers a whole message, as rsockets are streams. */
static bool whole(int fd, char *buf, int way, ssize_t (*step)(int fd, char *buf,
							      size_t len, int way))
{
	size_t done = 0;
	ssize_t n;

	while (done < LENGTH) {
		n = step(fd, buf + done, LENGTH - done, way);
		if (n <= 0)
			return false;
		done += n;
	}
	return true;
}

static int listen_there(void)
{
	struct sockaddr_in sin = address();
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0)
		return -1;
	if (!rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !rbind(fd, (struct sockaddr *)&sin, sizeof(sin)) &&
	    !rlisten(fd, 1))
		return fd;
	rclose(fd);
	return -1;
}

/* Echoes the received data. Returns its result as a pointer. */
static void *serve(void *arg)
{
	int way, fd, listener = *(int *)arg;
	char buf[LENGTH];

	fd = raccept(listener, NULL, NULL);
	if (fd < 0)
		return "raccept";
	for (way = 0; way < WAYS; way++) {
		if (!whole(fd, buf, way, way_recv))
			return "receive";
		if (!whole(fd, buf, WAYS - 1 - way, way_send))
			return "send";
	}
	/* Until the client has exited */
	if (rrecv(fd, buf, sizeof(buf), 0) > 0)
		return "something more";
	if (rclose(fd))
		return "rclose";
	return NULL;
}

/* Reads an rsocket that exists, and its state. */
static void state_check(struct __test_metadata *_metadata, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	struct timeval timeout = { .tv_sec = 60 };
	struct sockaddr_in sin, peer = address();
	socklen_t len = sizeof(sin);
	int error = -1;
	fd_set fds;

	ASSERT_EQ(1, rpoll(&pfd, 1, 60000));
	EXPECT_EQ(POLLOUT, pfd.revents);
	FD_ZERO(&fds);
	FD_SET(fd, &fds);
	EXPECT_EQ(1, rselect(fd + 1, NULL, &fds, NULL, &timeout));
	EXPECT_TRUE(FD_ISSET(fd, &fds));

	EXPECT_EQ(0, rgetpeername(fd, (struct sockaddr *)&sin, &len));
	EXPECT_EQ(peer.sin_port, sin.sin_port);
	EXPECT_EQ(peer.sin_addr.s_addr, sin.sin_addr.s_addr);
	len = sizeof(sin);
	EXPECT_EQ(0, rgetsockname(fd, (struct sockaddr *)&sin, &len));
	EXPECT_EQ(peer.sin_addr.s_addr, sin.sin_addr.s_addr);
	len = sizeof(error);
	EXPECT_EQ(0, rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	EXPECT_EQ(0, error);

	EXPECT_EQ(0, rfcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(O_NONBLOCK, rfcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(0, rfcntl(fd, F_SETFL, 0));
}

TEST(every_way)
{
	struct sockaddr_in sin = address();
	char out[LENGTH], in[LENGTH];
	struct rdma_cm_id *id;
	int listener, fd, way;
	pthread_t server;
	void *how;

	memset(out, 0x5a, sizeof(out));
	listener = listen_there();
	ASSERT_LE(0, listener);
	ASSERT_EQ(0, pthread_create(&server, NULL, serve, &listener));
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, (struct sockaddr *)&sin, 30000));

	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rconnect(fd, (struct sockaddr *)&sin, sizeof(sin)));
	for (way = 0; way < WAYS; way++) {
		out[0] = way;
		ASSERT_TRUE(whole(fd, out, way, way_send));
		ASSERT_TRUE(whole(fd, in, WAYS - 1 - way, way_recv));
		EXPECT_EQ(0, memcmp(in, out, LENGTH));
	}
	state_check(_metadata, fd);
	EXPECT_EQ(0, rshutdown(fd, SHUT_RDWR));
	EXPECT_EQ(0, rclose(fd));
	ASSERT_EQ(0, pthread_join(server, &how));
	EXPECT_EQ(NULL, how)
		TH_LOG("the server: %s", (char *)how);
	EXPECT_EQ(0, rclose(listener));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The errors of the stock library are returned. */
TEST(errors)
{
	static char page[4096];
	int fd;

	errno = 0;
	EXPECT_EQ(-1, rsocket(AF_UNIX, SOCK_STREAM, 0));
	EXPECT_EQ(ENOTSUP, errno);
	EXPECT_NE(0, rclose(900));

	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, riomap(fd, page, sizeof(page), PROT_NONE, 0, -1));
	EXPECT_NE(ENOSYS, errno);
	EXPECT_EQ(-1, riounmap(fd, page, sizeof(page)));
	EXPECT_NE(ENOSYS, errno);
	EXPECT_EQ(0, riowrite(fd, page, 0, 0, 0));
	EXPECT_EQ(0, rclose(fd));
}

/* Not in librdmacm before version 65 of rdma-core */
TEST(newest)
{
	void *stock = dlopen("librdmacm.so.1", RTLD_LAZY);
	struct epoll_event event = { .events = EPOLLIN };
	bool old;
	int epfd;

	ASSERT_NE(NULL, stock);
	old = !dlsym(stock, "repoll_create");
	errno = 0;
	epfd = repoll_create(0);
	if (old) {
		EXPECT_EQ(-1, epfd);
		EXPECT_EQ(ENOSYS, errno);
	} else {
		ASSERT_LE(0, epfd);
	}
	errno = 0;
	EXPECT_EQ(-1, repoll_ctl(epfd, EPOLL_CTL_ADD, -1, &event));
	EXPECT_EQ(old, errno == ENOSYS);
	errno = 0;
	EXPECT_EQ(old ? -1 : 0, repoll_wait(epfd, &event, 1, 0));
	EXPECT_EQ(old, errno == ENOSYS);
	if (!old)
		rclose(epfd);
	dlclose(stock);
}

/*
 * In another root a function that the loaded stock library lacks returns
 * ENOSYS, and an rsocket still works. lib/lazy tests that root without a stock
 * library.
 */
TEST(newest_in_another_root)
{
	char root[] = "/tmp/rsockets.XXXXXX";
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), epfd, err, one = 1;
	int back = open("/", O_PATH | O_DIRECTORY);
	void *stock;
	bool old;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, back);
	stock = dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_NOLOAD);
	ASSERT_NE(NULL, stock);
	old = !dlsym(stock, "repoll_create");
	ASSERT_NE(NULL, mkdtemp(root));
	ASSERT_EQ(0, chroot(root));
	ASSERT_EQ(0, chdir("/"));
	errno = 0;
	epfd = repoll_create(0);
	err = errno;
	EXPECT_EQ(old, epfd < 0);
	EXPECT_EQ(old, err == ENOSYS)
		TH_LOG("%s", strerror(err));
	if (epfd >= 0)
		rclose(epfd);
	EXPECT_EQ(0, rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one,
				 sizeof(one)));
	EXPECT_EQ(0, rclose(fd));
	/* The leak checker at the end of the process reads /proc. */
	ASSERT_EQ(0, fchdir(back));
	ASSERT_EQ(0, chroot("."));
}

TEST_HARNESS_MAIN
