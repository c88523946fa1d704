// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device, and the verbs of its one queue pair. A file of the device is one
 * of /dev/null; another file does not know the commands, and some devices
 * reject them with EINVAL.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "mock.h"

#define FILE_OF_DEVICE	"/dev/null"
#define MOST		256

struct mock mock;

static struct ibv_device device;
static struct ibv_context verbs = { .device = &device };
static struct ibv_comp_channel comp_channel;
static struct ibv_cq cq;
static struct ibv_qp qp = { .context = &verbs };
static struct ibv_srq srq = { .context = &verbs };

static struct rdma_cmx_event events[MOST];
static unsigned int events_read, events_end;
static uint32_t handles;

struct member {
	uint32_t handle;
	uint64_t uid;
	uint64_t id_uid;
	uint32_t id;
	uint8_t mgid;
};

static struct member members[MOST];
static uint64_t uid_of[MOST];	/* of an id's handle */

int open(const char *path, int flags, ...)
{
	if (!strcmp(path, RDMA_CMX_DEVICE))
		path = FILE_OF_DEVICE;
	return syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static bool is_device(int fd)
{
	struct stat file, own;

	return !fstat(fd, &file) && !stat(FILE_OF_DEVICE, &own) &&
	       file.st_rdev == own.st_rdev;
}

static struct rdma_cmx_event *event_add(uint32_t type)
{
	struct rdma_cmx_event *ev = &events[events_end++ % MOST];

	*ev = (struct rdma_cmx_event){
		.len = sizeof(*ev),
		.header_len = sizeof(*ev),
		.event = type,
	};
	return ev;
}

void mock_event(struct rdma_cm_id *id, uint32_t type)
{
	struct rdma_cmx_event *ev = event_add(type);

	ev->id = cmx_id(id)->handle;
	ev->uid = cmx_id_cookie(cmx_id(id));
	ev->status = mock.status;
}

void mock_foreign_event(uint64_t uid)
{
	struct rdma_cmx_event *ev = event_add(RDMA_CM_EVENT_USER);

	ev->id = ++handles;
	ev->uid = uid;
}

static struct rdma_cmx_event *member_event(unsigned int which, uint32_t type)
{
	struct member *member = &members[which];
	struct rdma_cmx_event *ev = event_add(type);

	ev->id = member->id;
	ev->uid = member->id_uid;
	ev->obj = member->handle;
	ev->obj_uid = member->uid;
	return ev;
}

void mock_rejoined(unsigned int which, uint16_t mlid, uint32_t qkey)
{
	struct rdma_cmx_event *ev =
		member_event(which, RDMA_CM_EVENT_MULTICAST_JOIN);

	ev->flags = RDMA_CMX_EVENT_UD;
	memset(ev->param.ud.ah_attr.grh.dgid, members[which].mgid, 16);
	ev->param.ud.ah_attr.is_global = 1;
	ev->param.ud.ah_attr.dlid = mlid;
	ev->param.ud.qkey = qkey;
}

void mock_lost(unsigned int which)
{
	member_event(which, RDMA_CM_EVENT_MULTICAST_ERROR)->status = -ENETRESET;
}

void mock_misjoined(struct rdma_cm_id *id, unsigned int which)
{
	struct rdma_cmx_event *ev = &events[events_end % MOST];

	mock_rejoined(which, MOCK_MLID, MOCK_QKEY);
	ev->id = cmx_id(id)->handle;
	ev->uid = cmx_id_cookie(cmx_id(id));
}

void mock_joined(void)
{
	mock_rejoined(mock.members - 1, MOCK_MLID, MOCK_QKEY);
}

void mock_leave(void)
{
	mock.members--;
}

void mock_qp(struct rdma_cm_id *id, bool cqs)
{
	id->verbs = &verbs;
	id->qp = &qp;
	if (!cqs)
		return;
	id->send_cq = &cq;
	id->recv_cq = &cq;
	id->send_cq_channel = &comp_channel;
	id->recv_cq_channel = &comp_channel;
}

static int join(struct rdma_cmx_join *cmd)
{
	if (mock.rtnl) {
		pthread_mutex_lock(mock.rtnl);
		pthread_mutex_unlock(mock.rtnl);
	}
	members[mock.members++] = (struct member){
		.handle = ++handles,
		.uid = cmd->uid,
		.id = cmd->id,
		.id_uid = uid_of[cmd->id % MOST],
		/* By the last byte of the address */
		.mgid = MOCK_MGID + 1 - cmd->addr.data[5],
	};
	cmd->mc = handles;
	return 0;
}

static int join_many(struct rdma_cmx_join_many *cmd)
{
	struct rdma_cmx_join_item *items = (void *)(uintptr_t)cmd->items;
	unsigned int i;

	for (i = 0; i < cmd->count; i++) {
		struct rdma_cmx_join one = {
			.id = cmd->id,
			.uid = items[i].uid,
			.addr = items[i].addr,
		};

		items[i].error = -join(&one);
		items[i].mc = one.mc;
	}
	if (mock.joins)
		mock.joins();
	return 0;
}

static int leave(struct rdma_cmx_destroy *cmd)
{
	unsigned int i;

	if (mock.leaves)
		mock.leaves();
	for (i = 0; i < mock.members; i++)
		if (members[i].handle == cmd->handle)
			break;
	if (i == mock.members)
		return ENOENT;
	memmove(&members[i], &members[i + 1],
		(--mock.members - i) * sizeof(members[0]));
	/* The tests ack each event before. */
	cmd->events_reported = 0;
	return 0;
}

static int events_get(struct rdma_cmx_get_events *cmd)
{
	if (events_read == events_end)
		return EAGAIN;
	memcpy((void *)(uintptr_t)cmd->buf, &events[events_read++ % MOST],
	       sizeof(events[0]));
	cmd->count = 1;
	return 0;
}

static int init_qp_attr(struct rdma_cmx_init_qp_attr *cmd)
{
	mock.init_uid = cmd->size == sizeof(*cmd) ? cmd->uid : 0;
	if (mock.removed)
		return ENODEV;
	memset(&cmd->attr, 0, sizeof(cmd->attr));
	cmd->attr.qp_state = cmd->qp_state;
	cmd->attr.qp_attr_mask = IBV_QP_STATE;
	if (mock.init_qkey)
		cmd->attr.qp_attr_mask |= IBV_QP_QKEY;
	cmd->attr.qkey = mock.init_qkey;
	if (mock.inits)
		mock.inits();
	return 0;
}

static int get_services(struct rdma_cmx_get_services *cmd)
{
	struct rdma_cmx_service_record *records =
		(void *)(uintptr_t)cmd->records;
	unsigned int i;

	cmd->num_records = mock.records;
	if (mock.services)
		return mock.services();
	if (mock.records > cmd->max_records)
		return ENOSPC;
	memset(records, 0, mock.records * sizeof(*records));
	for (i = 0; i < mock.records; i++)
		records[i].ibdev_index = 1000;
	return 0;
}

static int command(unsigned long request, void *arg)
{
	struct rdma_cmx_id_create *create = arg;
	struct rdma_cmx_getaddrinfo *lookup = arg;
	struct rdma_cmx_conn_qp_attr *attr = arg;

	switch (request) {
	case RDMA_CMX_IO(GET_INFO):
		((struct rdma_cmx_get_info *)arg)->features = mock.features;
		return mock.info_error;
	case RDMA_CMX_IO(ID_CREATE):
		create->id = ++handles;
		uid_of[handles % MOST] = create->uid;
		return mock.creates ? mock.creates(create->uid) : 0;
	case RDMA_CMX_IO(JOIN):
		return join(arg);
	case RDMA_CMX_IO(JOIN_MANY):
		return join_many(arg);
	case RDMA_CMX_IO(LEAVE):
		return leave(arg);
	case RDMA_CMX_IO(GET_EVENTS):
		return events_get(arg);
	case RDMA_CMX_IO(ACCEPT):
		return mock.accept_error;
	case RDMA_CMX_IO(REJECT):
		mock.rejects++;
		return 0;
	case RDMA_CMX_IO(CONN_QP_ATTR):
		memset(&attr->attr, 0, sizeof(attr->attr));
		return 0;
	case RDMA_CMX_IO(INIT_QP_ATTR):
		return init_qp_attr(arg);
	case RDMA_CMX_IO(DISCONNECT):
		return mock.removed ? ENODEV : 0;
	case RDMA_CMX_IO(GETADDRINFO):
		mock.lookups++;
		lookup->len = 0;
		return mock.lookup_error;
	case RDMA_CMX_IO(GET_SERVICES):
		return get_services(arg);
	case RDMA_CMX_IO(ID_DESTROY):
		((struct rdma_cmx_destroy *)arg)->events_reported = 0;
		return 0;
	}
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	errno = is_device(fd) ? command(request, arg) : fd < 0 ? EBADF : EINVAL;
	return errno ? -1 : 0;
}

static int verb(void)
{
	return mock.verbs_error;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	errno = verb();
	return errno ? NULL : &qp;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	errno = verb();
	return errno ? NULL : &srq;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return EOPNOTSUPP;
}

/* Commands of an old libibverbs are cancellation points: write(). */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (mock.cancels)
		pthread_testcancel();
	if (mask & IBV_QP_QKEY && mock.bad_qkey && attr->qkey == mock.bad_qkey)
		return EPERM;
	if (mask & IBV_QP_QKEY && !verb()) {
		mock.qkey = attr->qkey;
		mock.qkeys++;
	}
	return verb();
}

/*
 * As in the kernel: once for each group. A driver that compares the MLID, as
 * rdmavt, accepts one for each MGID.
 */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (mock.attached)
		return mock.mlid == lid ? 0 : EINVAL;
	if (verb())
		return verb();
	mock.attached = 1;
	mock.mlid = lid;
	mock.attaches++;
	if (mock.attaching)
		mock.attaching();
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!mock.attached || mock.mlid != lid)
		return EINVAL;
	mock.attached = 0;
	mock.detaches++;
	return verb();
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	mock.destroyed = mock.attached ? EBUSY : verb();
	return mock.destroyed;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return verb();
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *verbs)
{
	errno = verb();
	return errno ? NULL : &comp_channel;
}

/* It closes a file. */
int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (mock.cancels)
		pthread_testcancel();
	return verb();
}
