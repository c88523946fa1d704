// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OPS-02: cmx join on a mocked device (mock.h): events in an order that no
 * testbed arranges.
 */
#include "../../user/cmx/join.c"
#include "harness.h"
#include "mock.h"

/* Parts of the command that the tests do not use */
int failure(const char *format, ...)
{
	return CMX_FAILED;
}

int device_check(void)
{
	return CMX_OK;
}

int join_parse(struct join *join, int argc, char **argv)
{
	return CMX_USAGE;
}

int traffic_open(struct traffic *traffic, struct rdma_cm_id *id)
{
	return CMX_FAILED;
}

int traffic_aim(struct traffic *traffic, const struct rdma_ud_param *ud)
{
	return CMX_FAILED;
}

int traffic_send(struct traffic *traffic, const char *text)
{
	return CMX_FAILED;
}

int traffic_take(struct traffic *traffic, struct message *message)
{
	return -1;
}

void traffic_close(struct traffic *traffic)
{
}

FIXTURE(join) {
	struct rdmacmx_join_attr attrs[2];
	struct group groups[2];
	struct join join;
};

FIXTURE_SETUP(join)
{
	unsigned int i;

	self->join = (struct join){
		.text = "2 groups",
		.groups = self->groups,
		.attrs = self->attrs,
		.ngroups = 2,
		.persistent = true,
		.signals = -1,
	};
	for (i = 0; i < 2; i++) {
		struct sockaddr_in *sin = (void *)&self->groups[i].addr;

		self->groups[i].text = i ? "second" : "first";
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = htonl(0xef370101 + i);
	}
	self->join.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->join.channel);
	ASSERT_EQ(0, rdma_create_id(self->join.channel, &self->join.id, NULL,
				    RDMA_PS_UDP));
	mock_qp(self->join.id, false);
	self->join.id->qp = NULL;
}

FIXTURE_TEARDOWN(join)
{
	EXPECT_EQ(0, rdma_destroy_id(self->join.id));
	rdma_destroy_event_channel(self->join.channel);
}

static void rejoin_first(void)
{
	mock_rejoined(0, MOCK_MLID, MOCK_QKEY);
	mock_rejoined(0, MOCK_MLID, MOCK_QKEY);
	mock_rejoined(1, MOCK_MLID, MOCK_QKEY);
}

/* What the command prints, without the lines about each group */
static const char *output(struct join *join, int (*run)(struct join *join),
			  int *ret)
{
	static char text[4096];
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);
	size_t len = 0;

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	*ret = run(join);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	while (fgets(text + len, sizeof(text) - len, file))
		if (text[len] != ' ')
			len += strlen(text + len);
	text[len] = '\0';
	fclose(file);
	return text;
}

/* The rejoin of one group precedes the join of the other. */
TEST_F(join, OPS_02_join_waits_for_each_group)
{
	int ret;

	mock.joins = rejoin_first;
	EXPECT_STREQ("joined first as full member\n"
		     "joined first again as full member\n"
		     "joined second as full member\n",
		     output(&self->join, join_groups, &ret));
	EXPECT_EQ(CMX_OK, ret);
}

static FIXTURE_DATA(join) *running;

static void address_changes(void)
{
	mock_event(running->join.id, RDMA_CM_EVENT_ADDR_CHANGE);
	mock_rejoined(1, MOCK_MLID, MOCK_QKEY);
	mock_rejoined(0, MOCK_MLID, MOCK_QKEY);
}

TEST_F(join, OPS_02_join_while_an_address_changes)
{
	int ret;

	running = self;
	mock.joins = address_changes;
	EXPECT_STREQ("joined second as full member\n"
		     "joined first as full member\n",
		     output(&self->join, join_groups, &ret));
	EXPECT_EQ(CMX_OK, ret);
}

TEST_HARNESS_MAIN
