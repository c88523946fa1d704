// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See fake_id.h. */
#include <rdma/rdma_cm.h>

#include "fake_id.h"

void fake_id_make(struct kunit *test, struct fake_id *f)
{
	ucmx_user_wake_init(&f->user);
	ucmx_file_init(&f->file, &f->user);
	atomic_set(&f->file.nr_objs, 1);
	f->id = ucmx_id_alloc(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->id);
	f->id->file = &f->file;
	KUNIT_ASSERT_EQ(test, 0,
			ucmx_handle_alloc(&f->file, &f->handle, f->id));
	ucmx_handle_show(&f->file, f->handle, f->id);
}

void fake_id_end(struct kunit *test, struct fake_id *f)
{
	ucmx_handle_free(&f->file, f->handle);
	ucmx_id_close(f->id);
	ucmx_id_put(f->id);
	KUNIT_EXPECT_EQ(test, f->file.nr_events, 0u);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->file.nr_objs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->file.nr_requests), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->user.requests), 0);
	ucmx_file_wake_end(&f->file);
	ucmx_user_wake_exit(&f->user);
	xa_destroy(&f->file.ids);
}

int fake_id_no_event(struct rdma_cm_id *cm, struct rdma_cm_event *event)
{
	return 0;
}
