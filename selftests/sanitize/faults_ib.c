// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SV-01: as faults.c, for the services of the library, which need InfiniBand:
 * advertised at all ports, their ports, their records, withdrawn.
 */
#include "sweep.h"

#define PORTS	4	/* of the fabric */
#define ROOM	20	/* more than the library has without an allocation */

/* At all ports, for the calls that change nothing */
static struct rdmacmx_service *advertised;

static struct rdmacmx_service *service_new(uint64_t id)
{
	struct rdmacmx_service_attr attr = {
		.name = "swept", .id = id, .data = "d", .data_len = 1,
	};

	return rdmacmx_advertise(&attr);
}

static int advertise(struct scene *s)
{
	s->service = service_new(0x1061d33);
	return result(!s->service);
}

static int withdraw(struct scene *s)
{
	struct rdmacmx_service *service = s->service;

	s->service = NULL;
	return result(rdmacmx_withdraw(service));
}

/* Number of ports where it is set, or -1 with errno */
static int ports_set(struct rdmacmx_service *service)
{
	struct rdmacmx_service_port ports[ROOM];
	int i, set = 0, n = rdmacmx_service_ports(service, ports, ROOM);

	if (n < 0)
		return -1;
	for (i = 0; i < n; i++)
		set += ports[i].state == RDMACMX_SERVICE_SET;
	return set;
}

static int service_ports(struct scene *s)
{
	long long end = now_ms() + WAIT_MS;
	int n;

	/* At an event of the SM a port is set once more. */
	while ((n = ports_set(advertised)) >= 0 && n != PORTS && now_ms() < end)
		usleep(10000);
	return n < 0 ? errno : n == PORTS ? 0 : EPROTO;
}

/* A record for each port, of whatever SA */
static int get_services(struct scene *s)
{
	struct rdmacmx_service_record *records = NULL;
	int error = 0, n;

	n = rdmacmx_get_services(NULL, "swept", &records, &error);
	free(records);
	return n < 0 ? errno : n == PORTS && !error ? 0 : EPROTO;
}

TEST(SV_01_advertise)
{
	static const struct step steps[] = {
		{ "rdmacmx_advertise", NULL, advertise, true },
		/* The close of the file withdraws it, too. */
		{ "rdmacmx_withdraw", advertise, withdraw, false, true },
	};

	SWEEP_ALL(steps);
}

TEST(SV_01_advertised)
{
	static const struct step steps[] = {
		{ "rdmacmx_service_ports", NULL, service_ports, true, true },
		{ "rdmacmx_get_services", NULL, get_services, true, true },
	};
	long long end = now_ms() + WAIT_MS;

	/* The records of the other test have the same name. */
	ASSERT_TRUE(live_objects_gone(WAIT_MS));
	advertised = service_new(0x1061d34);
	ASSERT_NE(NULL, advertised);
	while (ports_set(advertised) != PORTS && now_ms() < end)
		usleep(10000);
	EXPECT_EQ(PORTS, ports_set(advertised));
	SWEEP_ALL(steps);
	EXPECT_EQ(0, rdmacmx_withdraw(advertised));
	/* The library keeps a file for queries of services. */
	EXPECT_TRUE(live_objects_are(1, WAIT_MS));
}

TEST_HARNESS_MAIN
