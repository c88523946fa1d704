/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An id of user space, with a private file and user, as an open device has
 * them. For suites of rdma_ucmx.
 */
#ifndef CMX_KUNIT_FAKE_ID_H
#define CMX_KUNIT_FAKE_ID_H

#include "ucmx.h"
#include "kunit.h"

struct fake_id {
	struct ucmx_user user;
	struct ucmx_file file;
	struct ucmx_id *id;	/* its cm is the suite's to set */
	u32 handle;
};

/* @f is zeroed. */
void fake_id_make(struct kunit *test, struct fake_id *f);
/* Ends the id. It leaves nothing behind. */
void fake_id_end(struct kunit *test, struct fake_id *f);

/* For a cm whose events the suite does not expect */
int fake_id_no_event(struct rdma_cm_id *cm, struct rdma_cm_event *event);

#endif /* CMX_KUNIT_FAKE_ID_H */
