/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the unit tests. A suite tests one file or one rule of the modules.
 * It states the rule again, from the documentation, and does not take it from
 * the code under test.
 */
#ifndef CMX_KUNIT_H
#define CMX_KUNIT_H

#include <kunit/test.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "sa/internal.h"
#include "sa/wire.h"

#define KUNIT_WAIT	(90 * HZ)	/* longer than any test takes */

/* kernel/core/kunit.c */
struct module *cmx_kunit_module(void);

/* main.c */
void param_set(struct kunit *test, struct module *mod, const char *name,
	       unsigned int value);
void params_restore(struct kunit *test);
u32 kunit_random(u32 below);

/* Waits until @cond; false after the deadline. */
#define WAIT_FOR(cond)							\
({									\
	unsigned long end__ = jiffies + KUNIT_WAIT;			\
	bool ok__;							\
									\
	while (!(ok__ = (cond)) && time_before(jiffies, end__))		\
		schedule_timeout_uninterruptible(1);			\
	ok__;								\
})

/**
 * struct fake - an InfiniBand device whose SAs the test simulates
 * @ibdev: the device, or NULL
 * @port: the SAs of its ports 1 and 2
 *
 * Port 1 is a member of 0xffff, port 2 of 0xffff and 0x8001; they have the
 * GIDs fe80::1 and fe80::2. No MAD leaves: cmx_sa_port.agent is NULL.
 */
#define FAKE_PORTS	2

struct fake {
	struct ib_device *ibdev;
	struct cmx_sa_port *port[FAKE_PORTS + 1];
};

/*
 * Called when a port is read, with what it is by default; NULL: not called.
 * It may change that, sleep, and return an error.
 */
typedef int (*fake_read_fn)(struct ib_device *ibdev, u32 num,
			    struct ib_port_attr *attr);
extern fake_read_fn fake_read;

int fake_up(struct fake *fake);
void fake_down(struct fake *fake);
void fake_follow(struct cmx_sa_port *port);
bool fake_set_pkey(struct fake *fake, u16 pkey);
struct cmx_sa_lookup *fake_lookup(struct cmx_sa_port *port);
void fake_say(struct cmx_sa_lookup *l, struct cmx_sa_response *response,
	      int error);
void fake_generation(struct fake *fake);
struct cmx_sa_response *fake_services(u32 count, const char *name);

#endif /* CMX_KUNIT_H */
