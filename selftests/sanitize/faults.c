// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, GAI-02: each call of the library to libc, to libibverbs and to the
 * kernel fails once in each function of the API (sweep.h). The function returns
 * the errno of the failure, the id can be destroyed, and no memory leaks: the
 * leak checker runs at the end of each test (leaks.c). This file has ids,
 * addresses, devices, queues, names.
 */
#include "sweep.h"

/* Ids before the call */
static int has_id(struct scene *s)
{
	s->id = id_make(s->channel);
	return 0;
}

static int has_sync(struct scene *s)
{
	s->id = id_make(NULL);
	return 0;
}

static int has_bound(struct scene *s)
{
	s->id = id_make(s->channel);
	return id_bind(s->id, OWN4, 0);
}

static int resolve_addr(struct scene *s)
{
	struct sockaddr_storage ss;

	return result(rdma_resolve_addr(s->id, NULL,
					addr_make(&ss, OWN4, PORT_FAULTS),
					5000));
}

static int has_address(struct scene *s)
{
	s->id = id_make(NULL);
	return resolve_addr(s);
}

/* Life of an id */
static int create_channel(struct scene *s)
{
	s->passive = rdma_create_event_channel();
	return result(!s->passive);
}

static int create_id(struct scene *s)
{
	return result(rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP));
}

static int create_sync(struct scene *s)
{
	return result(rdma_create_id(NULL, &s->id, s, RDMA_PS_TCP));
}

static int destroy_id(struct scene *s)
{
	if (rdma_destroy_id(s->id))
		return errno;
	s->id = NULL;
	return 0;
}

static int to_sync(struct scene *s)
{
	return result(rdma_migrate_id(s->id, NULL));
}

static int to_channel(struct scene *s)
{
	return result(rdma_migrate_id(s->id, s->channel));
}

static int set_option(struct scene *s)
{
	uint8_t tos = 8;

	return result(rdma_set_option(s->id, RDMA_OPTION_ID,
				      RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
}

static int write_event(struct scene *s)
{
	return result(rdma_write_cm_event(s->id, RDMA_CM_EVENT_USER, 0, 1));
}

static int has_event(struct scene *s)
{
	return has_bound(s) || write_event(s);
}

static int get_event(struct scene *s)
{
	return result(rdma_get_cm_event(s->channel, &s->event));
}

TEST(RA_02_ids)
{
	static const struct step steps[] = {
		{ "rdma_create_event_channel", NULL, create_channel, true },
		{ "rdma_create_id", NULL, create_id, true },
		{ "rdma_create_id, synchronous", NULL, create_sync, true },
		{ "rdma_destroy_id", has_bound, destroy_id, true },
		{ "rdma_destroy_id, synchronous", has_sync, destroy_id, true },
		{ "rdma_migrate_id from a channel", has_id, to_sync, true },
		{ "rdma_migrate_id to a channel", has_sync, to_channel, true },
		{ "rdma_set_option", has_id, set_option, true },
		{ "rdma_write_cm_event", has_id, write_event, true },
		{ "rdma_get_cm_event", has_event, get_event, true },
	};

	SWEEP_ALL(steps);
}

/* Addresses, devices and queues */
static int bind_addr(struct scene *s)
{
	return result(id_bind(s->id, OWN4, 0));
}

static int listen_on(struct scene *s)
{
	return result(rdma_listen(s->id, 4));
}

static int resolve_route(struct scene *s)
{
	return result(rdma_resolve_route(s->id, 5000));
}

static int create_qp(struct scene *s)
{
	return result(qp_make(s->id, IBV_QPT_RC));
}

static int create_srq(struct scene *s)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};

	return result(rdma_create_srq(s->id, NULL, &attr));
}

static int init_qp_attr(struct scene *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	return result(rdma_init_qp_attr(s->id, &attr, &mask));
}

static int get_devices(struct scene *s)
{
	s->devices = rdma_get_devices(NULL);
	return result(!s->devices);
}

TEST(RA_02_addresses_and_queues)
{
	static const struct step steps[] = {
		{ "rdma_bind_addr", has_id, bind_addr, true },
		{ "rdma_listen", has_bound, listen_on },
		{ "rdma_resolve_addr", has_sync, resolve_addr },
		{ "rdma_resolve_route", has_address, resolve_route },
		{ "rdma_create_qp", has_bound, create_qp, true },
		{ "rdma_create_qp, datagram", has_datagram, create_qp_datagram,
		  true },
		{ "rdma_create_srq", has_bound, create_srq, true },
		{ "rdma_init_qp_attr", has_bound, init_qp_attr, true },
		{ "rdma_get_devices", NULL, get_devices, true },
	};

	/* A device is opened once: see below. */
	rdma_free_devices(rdma_get_devices(NULL));
	SWEEP_ALL(steps);
}

/*
 * The first id that needs a device opens it, so each failure has a separate
 * process: it exits with 0 if nothing failed, with 1 if the failure was
 * reported and the next id has its device, otherwise with more.
 */
struct first {
	int (*call)(struct scene *s);
	int n;
};

static int device_first(void *arg)
{
	struct first *first = arg;
	struct scene s = { .id = id_make(NULL) };
	int ret, err;

	if (!s.id)
		return 2;
	fault_arm(first->n);
	ret = first->call(&s);
	err = fault_disarm();
	if (!err)
		return ret ? 3 : 0;
	/* The list omits a device that cannot be opened. */
	if (ret != err && first->call != get_devices)
		return 4;
	rdma_free_devices(s.devices);
	if (rdma_destroy_id(s.id))
		return 5;
	s.id = id_make(NULL);
	if (bind_addr(&s) || !s.id->verbs || !s.id->pd || get_devices(&s))
		return 6;
	rdma_free_devices(s.devices);
	return rdma_destroy_id(s.id) ? 7 : 1;
}

TEST(RA_02_first_device)
{
	static int (*const calls[])(struct scene *s) = {
		bind_addr, resolve_addr, get_devices,
	};
	struct first first;
	int status;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		first.call = calls[i];
		for (first.n = 1; first.n < MOST; first.n++) {
			status = child_wait(child_start(device_first, &first));
			if (!status)
				break;
			EXPECT_EQ(1, status) {
				TH_LOG("call %zu, %d", i, first.n);
			}
		}
		TH_LOG("call %zu: %d fault points", i, first.n - 1);
		/* Descriptors, list, device, its attributes, PD */
		EXPECT_LT(5, first.n);
		EXPECT_GT(MOST, first.n);
	}
}

/* Names and lists */
static int getaddrinfo_get(struct scene *s, const char *node,
			   const struct rdma_addrinfo *hints)
{
	int ret = rdma_getaddrinfo(node, PORT, hints, &s->res);

	return ret == EAI_MEMORY ? ENOMEM : ret == EAI_SYSTEM ? errno : ret;
}

static int ai_number(struct scene *s)
{
	return getaddrinfo_get(s, PEER4, NULL);
}

static int ai_name(struct scene *s)
{
	return getaddrinfo_get(s, NAME_STORAGE, NULL);
}

static int ai_of_device(struct scene *s)
{
	int ret = rdmacmx_getaddrinfo(IBDEV "/1", PEER4, PORT, NULL, &s->res);

	return ret == EAI_MEMORY ? ENOMEM : ret == EAI_SYSTEM ? errno : ret;
}

static int ai_passive(struct scene *s)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE };

	return getaddrinfo_get(s, NULL, &hints);
}

static int ai_route(struct scene *s)
{
	struct ibv_path_record route = {};
	struct rdma_addrinfo hints = {
		.ai_route = &route,
		.ai_route_len = sizeof(route),
	};
	int ret = getaddrinfo_get(s, PEER4, &hints);

	/* Any error: this test does not check it. */
	return ret == ENOMEM || ret == EIO ? ret : 0;
}

static int ai_device(struct scene *s)
{
	return result(!rdmacmx_ai_device(s->res, NULL));
}

static int has_list(struct scene *s)
{
	return ai_number(s);
}

static int resolve_name(struct scene *s)
{
	return result(rdma_resolve_addrinfo(s->id, NAME_STORAGE, PORT, NULL));
}

static int has_answer(struct scene *s)
{
	return has_sync(s) || resolve_name(s);
}

static int query_addrinfo(struct scene *s)
{
	return result(rdma_query_addrinfo(s->id, &s->res));
}

static const struct step names[] = {
	{ "rdma_getaddrinfo of a name", NULL, ai_name, true, true },
	{ "rdma_getaddrinfo of a number", NULL, ai_number, true },
	{ "rdmacmx_getaddrinfo", NULL, ai_of_device, true },
	{ "rdma_getaddrinfo to listen", NULL, ai_passive, true },
	{ "rdma_getaddrinfo with a route", NULL, ai_route, true },
	{ "rdmacmx_ai_device", has_list, ai_device, true, true },
	{ "rdma_resolve_addrinfo", has_sync, resolve_name },
	/* A result can be read once. */
	{ "rdma_query_addrinfo", has_answer, query_addrinfo },
};

TEST(GAI_02_names)
{
	SWEEP_ALL(names);
}

/* libc of this process resolves the names. */
TEST(GAI_02_names_of_libc)
{
	setenv("RDMACMX_NAMES", "libc", 1);
	SWEEP_ALL(names);
}

TEST_HARNESS_MAIN
