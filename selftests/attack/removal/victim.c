// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pages of a victim block a copy by userfaultfd, which a parameter allows
 * to users; FUSE needs none.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

#define USER		1000

int victim_pages(struct victim *v)
{
	v->arg = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (v->arg == MAP_FAILED)
		return -errno;
	v->buf = v->arg + PAGE;
	memset(v->arg, 0, 2 * PAGE);
	return 0;
}

int protect(struct victim *v, void *page, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)page, PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(v->uffd, UFFDIO_WRITEPROTECT, &wp);
}

int stop_set(struct victim *v, enum stop stop)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = {
		.range = { (uintptr_t)v->arg, 2 * PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING |
			UFFDIO_REGISTER_MODE_WP,
	};

	v->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (v->uffd < 0 || ioctl(v->uffd, UFFDIO_API, &api) ||
	    ioctl(v->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	if (stop == READ_BUF)
		return madvise(v->buf, PAGE, MADV_DONTNEED);
	return protect(v, stop == WRITE_ARG ? v->arg : v->buf, true);
}

bool stopped(struct victim *v)
{
	struct pollfd pfd = { v->uffd, POLLIN, 0 };
	struct uffd_msg msg;

	for (;;) {
		if (poll(&pfd, 1, 10) == 1 &&
		    read(v->uffd, &msg, sizeof(msg)) == sizeof(msg))
			return true;
		if (v->ended)
			return false;
	}
}

static void *victim_run(void *arg)
{
	struct victim *v = arg;

	ioctl(v->fd, v->ioctl, v->arg);
	v->ended = 1;
	return NULL;
}

static int victim_prepare(struct victim *v, const struct command *cmd)
{
	int ret = victim_pages(v);

	if (ret)
		return ret;
	v->fd = v->other = dev_open(O_NONBLOCK);
	if (v->fd < 0)
		return -errno;
	ret = id_create(v->fd, RDMA_PS_UDP, 1, &v->id) ?:
	      id_bind(v->fd, v->id, DEVICE_ADDR, 0);
	v->free = v->id;
	return ret ?: cmd->prepare(v) ?: stop_set(v, cmd->stop);
}

static void say(int to, char what)
{
	if (write(to, &what, 1) != 1)
		_exit(1);
}

/*
 * Runs one command. Writes 's' when its copy is blocked, and 'f' when another
 * command on the id was not. Then the copy continues up to the next one, if
 * there is one, and this repeats.
 */
void victim_main(const struct command *cmd, int to)
{
	struct victim v = {};
	pthread_t thread;
	int round;

	if ((!cmd->admin && user_become(USER)) || victim_prepare(&v, cmd) ||
	    pthread_create(&thread, NULL, victim_run, &v))
		_exit(1);
	for (round = 0; round < 2 && stopped(&v); round++) {
		say(to, 's');
		/* The command may have ended already. */
		id_write_event(v.other, v.free, 0, 2);
		say(to, 'f');
		if (round || cmd->stop == READ_BUF)
			break;
		protect(&v, cmd->stop == WRITE_ARG ? v.arg : v.buf, false);
		protect(&v, cmd->stop == WRITE_ARG ? v.arg : v.buf, true);
	}
	say(to, 'd');
	for (;;)
		pause();
}
