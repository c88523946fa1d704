/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connects that wait for a slot: the fixture, its parameters, a device that a
 * test may remove, a kernel consumer, the check that no slot is lost.
 */
#ifndef ATTACK_CONNECT_RACES_H
#define ATTACK_CONNECT_RACES_H

#include "uapi.h"

#include <sys/mman.h>

#include "harness.h"

#define WINDOW		PARAMETERS "connect_window"
#define QUEUE		PARAMETERS "connect_queue"
#define WAIT_MS		PARAMETERS "connect_wait_ms"
#define REPLY_MS	PARAMETERS "connect_reply_ms"
#define CONSUMER	"/sys/kernel/debug/cmx_consumer/command"
#define DEVICE_ADDR	"10.97.0.1"
#define HOUR_MS		3600000
#define ATTACKERS	3
#define SILENT		22002	/* a port whose listener never accepts */

/* Connects and accepts of all processes of a test */
static _Atomic uint32_t *calls;

static inline void *memory_share(size_t len)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* The CM rejects queue pair numbers of connections in time-wait. */
static inline void param_set(struct rdma_cmx_conn_param *param)
{
	param->qp_num = ++*calls & 0xffffff;
	param->retry_count = 7;
	param->rnr_retry_count = 7;
	param->responder_resources = 1;
	param->initiator_depth = 1;
	param->private_data_len = param->qp_num % 20;
}

static inline int connect_call(int fd, uint32_t id)
{
	struct rdma_cmx_connect arg = { .id = id };

	param_set(&arg.param);
	return call(fd, CONNECT, &arg);
}

static inline int listen_at(int fd, const char *addr, uint16_t port)
{
	uint32_t id;

	return id_create(fd, RDMA_PS_TCP, 1, &id) ?:
	       id_bind(fd, id, addr, port) ?: id_listen(fd, id);
}

static inline int device_add(void)
{
	return system("rdma link add rxe_rm type rxe netdev cmxrm0");
}

static inline int device_del(void)
{
	return system("rdma link del rxe_rm 2>/dev/null");
}

static inline int netdev_add(void)
{
	return system("ip link add cmxrm0 type dummy && "
		      "ip addr add " DEVICE_ADDR "/24 dev cmxrm0 && "
		      "ip link set cmxrm0 up");
}

static inline void text_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

/* A slot stays occupied for an hour, unless it is released. */
static inline void parameters_calm(void)
{
	number_set(WINDOW, 64);
	number_set(QUEUE, 65536);
	number_set(WAIT_MS, HOUR_MS);
	number_set(REPLY_MS, HOUR_MS);
}

FIXTURE(races) {
	long window, queue, wait, reply;
	/* 0: not started */
	pid_t serve, silent, mortal, victim, pids[ATTACKERS];
};

FIXTURE_SETUP(races)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	ASSERT_EQ(0, system("modprobe cmx_consumer"));
	calls = memory_share(sizeof(*calls));
	ASSERT_NE(MAP_FAILED, calls);
	self->window = number_get(WINDOW);
	self->queue = number_get(QUEUE);
	self->wait = number_get(WAIT_MS);
	self->reply = number_get(REPLY_MS);
	parameters_calm();
	ASSERT_EQ(0, netdev_add());
	ASSERT_EQ(0, device_add());
}

FIXTURE_TEARDOWN(races)
{
	pids_kill(self->pids, ATTACKERS);
	pids_kill(&self->victim, 1);
	pids_kill(&self->serve, 1);
	pids_kill(&self->silent, 1);
	pids_kill(&self->mortal, 1);
	system("rmmod cmx_consumer 2>/dev/null");
	EXPECT_TRUE(waits_are(0));
	EXPECT_TRUE(nothing_left());
	EXPECT_TRUE(number_gone(COUNTERS "live_connects"));
	EXPECT_TRUE(number_gone(COUNTERS "live_results"));
	number_set(WINDOW, self->window);
	number_set(QUEUE, self->queue);
	number_set(WAIT_MS, self->wait);
	number_set(REPLY_MS, self->reply);
	device_del();
	EXPECT_EQ(0, system("ip link del cmxrm0"));
}

/* Number of missing slots of the port, or a negative number */
static inline long slots_missing_now(void)
{
	int fd = dev_open(O_NONBLOCK), passive = dev_open(O_NONBLOCK), i, j;
	long missing = -1;
	uint16_t port;
	uint32_t id;

	for (i = 0; i < 5; i++) {
		if (listener_new(passive, 1, &id, &port))
			goto out;
		for (j = 0; j < 7; j++)
			if (active_new(fd, 2, port, &id) ||
			    connect_call(fd, id))
				goto out;
	}
	/* 35 connects for half of 64 slots, and one slot for root */
	missing = number_get(WAITS) - 2;
out:
	close(fd);
	close(passive);
	return waits_are(0) ? missing : -1;
}

/* At times five listeners share the four windows of a set. */
static inline long slots_missing(void)
{
	long missing = 1;
	int i;

	for (i = 0; i < 3 && missing > 0; i++)
		missing = slots_missing_now();
	return missing;
}

#endif /* ATTACK_CONNECT_RACES_H */
