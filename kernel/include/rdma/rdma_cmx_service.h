/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* In-kernel API of rdma_cmx: services at the subnet administrators. */
#ifndef RDMA_CMX_SERVICE_H
#define RDMA_CMX_SERVICE_H

#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_ioctl.h>

struct rdma_cmx_service;

/* Minimum lease in seconds: time for a renewal and its retries */
#define RDMA_CMX_MIN_LEASE	4
#define RDMA_CMX_LEASE_FOREVER	0xffffffff

/**
 * struct rdma_cmx_service_attr - a service to advertise
 * @net: network namespace of the InfiniBand ports. A reference is held until
 *	the service has ended, so a pernet exit function cannot withdraw it
 * @name: name of 1 to 63 bytes. A name that is a number is found by id only:
 *	see rdma_cmx_query_attr.service
 * @id: service id in host byte order, not 0
 * @pkey: P_Key, 0: the first one in the P_Key table of each port
 * @data: the record's service data in wire format: 16 bytes of data8, 8 numbers
 *	of data16, 4 of data32, 2 of data64, all big endian
 * @lease_s: lease in seconds, at least RDMA_CMX_MIN_LEASE; 0: module parameter
 *	service_lease_s; RDMA_CMX_LEASE_FOREVER: without end. Such a record
 *	stays at the SA if this host can no longer delete it
 * @dev: name of the only RDMA device, or NULL: all, also devices added later
 * @dev_port: the only port of @dev, 0: all
 *
 * All memory that it points to is copied before the call returns.
 */
struct rdma_cmx_service_attr {
	struct net *net;
	const char *name;
	u64 id;
	u16 pkey;
	u8 data[64];
	u32 lease_s;
	const char *dev;
	u32 dev_port;
};

/**
 * enum rdma_cmx_service_event_type - event of a service on a port
 * @RDMA_CMX_SERVICE_SET: the SA of the port has the record. Reported again when
 *	the record was set again after an event of the port, and after a renewal
 *	that granted another lease; not after other renewals
 * @RDMA_CMX_SERVICE_LOST: the port is down or was removed, maybe before the SA
 *	had the record. The record is set when the port is active again
 * @RDMA_CMX_SERVICE_FAILED: an attempt to set or renew the record failed. The
 *	next one follows after 1 to 1.25 s. Each further failure doubles that
 *	time, up to 16 to 20 s. An event of the port starts the next one earlier
 */
enum rdma_cmx_service_event_type {
	RDMA_CMX_SERVICE_SET = 1,
	RDMA_CMX_SERVICE_LOST,
	RDMA_CMX_SERVICE_FAILED,
};

/**
 * struct rdma_cmx_service_event - argument of a rdma_cmx_service_fn
 * @type: see above
 * @status: 0 or a negative errno. -ETIMEDOUT: the SA does not respond; -EAGAIN:
 *	it is busy, or the user has too many SA queries; -ECONNREFUSED: it
 *	refuses the record; -EBADMSG: its response is malformed; -ERANGE: it
 *	grants a lease under RDMA_CMX_MIN_LEASE, which ends before a renewal;
 *	-ENOENT: the port does not have the P_Key; -EEXIST: another service has
 *	the id in this partition on this port; -ENODEV: the port is not active;
 *	-ENOMEM
 * @ibdev_index: RDMA device of the port
 * @port_num: its number
 */
struct rdma_cmx_service_event {
	enum rdma_cmx_service_event_type type;
	int status;
	u32 ibdev_index;
	u32 port_num;
};

/**
 * typedef rdma_cmx_service_fn - called when a service changes on a port
 * @service: the service; rdma_cmx_advertise() may not have returned it yet
 * @event: the event; valid during the call
 * @context: as given to rdma_cmx_advertise()
 *
 * Runs in process context and may sleep. Calls for a service are serialised,
 * and those for a port are in order. It may call rdma_cmx_service_get_state()
 * and rdma_cmx_service_get_ports(), but not rdma_cmx_withdraw().
 */
typedef void (*rdma_cmx_service_fn)(struct rdma_cmx_service *service,
				    const struct rdma_cmx_service_event *event,
				    void *context);

/**
 * struct rdma_cmx_service_state - state of a service
 * @set: ports whose SA has the record, as of the last query and event
 * @waiting: ports that are or were active since the start of the service, and
 *	whose SA does not have the record
 * @error: 0 if @set is not 0 and @waiting is; else the negative errno of the
 *	last failed attempt, 0 if none has failed yet, -ENODEV without an active
 *	port
 */
struct rdma_cmx_service_state {
	u32 set;
	u32 waiting;
	int error;
};

/**
 * rdma_cmx_advertise - advertise a service at the SAs
 * @attr: the service
 * @event: called when it changes, or NULL
 * @context: argument of @event
 *
 * The kernel sets a ServiceRecord (InfiniBand Architecture Specification 1,
 * 15.2.5.14) at the SA of each InfiniBand port that @attr selects, as soon as
 * the port is active. Its ServiceGID is the port's first GID. The kernel renews
 * the record before its lease ends, and sets it again after an event of the
 * port: SM, LID, GID or P_Key change, client reregister, port up. It retries if
 * an SA does not respond or refuses.
 *
 * Two services of a host with the same id, P_Key and port would be one record,
 * whatever their names, so the second one fails. If the conflict arises later,
 * as on a port that is added, the second one waits until the first has ended.
 *
 * Context: process context, may sleep. It does not wait for an SA. It may wait
 * for the firmware of a port that is not known to be active. The caller holds
 * no lock that others need meanwhile.
 * Return: the service, ended by rdma_cmx_withdraw(); or an ERR_PTR, and @event
 * is not called. -EINVAL: no or an empty name, id 0, an invalid P_Key, or a
 * port without a device; -ENAMETOOLONG; -ERANGE: the lease is too short;
 * -EEXIST: see above; -ENODEV, -ENXIO: @net has no such InfiniBand device, or
 * the device no such port; -EAGAIN: there are services_max services; -ENOMEM.
 */
struct rdma_cmx_service *
rdma_cmx_advertise(const struct rdma_cmx_service_attr *attr,
		   rdma_cmx_service_fn event, void *context);

/**
 * rdma_cmx_withdraw - end a service
 * @service: the service, not NULL; freed
 *
 * After the return its callback is not running and will not run. The records
 * are deleted afterwards, in the background. If an SA does not respond for ten
 * seconds, the record stays until its lease ends.
 *
 * Context: process context, may sleep until a running callback has returned. It
 * does not wait for an SA. Not in the callback of a service. The caller holds
 * no lock that the callback takes.
 */
void rdma_cmx_withdraw(struct rdma_cmx_service *service);

/**
 * rdma_cmx_service_get_state - get the state of a service
 * @service: the service
 * @state: out: its state
 *
 * Context: process context, may sleep; does not wait for an SA.
 */
void rdma_cmx_service_get_state(struct rdma_cmx_service *service,
				struct rdma_cmx_service_state *state);

/**
 * rdma_cmx_service_get_ports - get the state of a service at each port
 * @service: the service
 * @ports: out: its ports, in no order
 * @room: number of elements of @ports; 0: @ports may be NULL
 *
 * Context: process context, may sleep; does not wait for an SA.
 * Return: number of ports. If it is more than @room, @ports has the first
 * @room.
 */
unsigned int rdma_cmx_service_get_ports(struct rdma_cmx_service *service,
					struct rdma_cmx_service_port *ports,
					unsigned int room);

/**
 * struct rdma_cmx_services_attr - a query for ServiceRecords
 * @net: network namespace of the InfiniBand ports
 * @service: name, or id as a number; as rdma_cmx_query_attr.service. NULL: all
 * @dev: name of the only RDMA device, or NULL: all
 * @dev_port: the only port of @dev, 0: all
 * @timeout_ms: deadline in milliseconds, as in rdma_cmx_query_attr
 */
struct rdma_cmx_services_attr {
	struct net *net;
	const char *service;
	const char *dev;
	u32 dev_port;
	u32 timeout_ms;
};

/**
 * struct rdma_cmx_services - ServiceRecords
 * @count: number of records
 * @ports: number of ports whose SA has responded, at least one
 * @error: 0, or the negative errno of the first port without a response
 * @records: the records; a record that several SAs have is there once
 */
struct rdma_cmx_services {
	u32 count;
	u32 ports;
	int error;
	struct rdma_cmx_service_record records[];
};

/**
 * rdma_cmx_get_services - query the SAs for ServiceRecords
 * @attr: the query
 *
 * The records are those that a resolution with RDMA_CMX_AI_SA would use, with
 * name, lease and data (ServiceRecords of the InfiniBand Architecture
 * Specification 1, 15.2.5.14). A response may come from the cache. SAs are
 * queried in parallel. A service that is not registered is no error: there are
 * 0 records.
 *
 * Context: process context, sleeps until the SAs have responded, or until the
 * deadline; a signal ends the wait. Before that it may wait for the firmware of
 * a port that is not known to be active, which may outlast the deadline and a
 * signal. The caller holds no lock that others need meanwhile.
 * Return: the records, freed by rdma_cmx_put_services(); or an ERR_PTR.
 * -ENODEV: no InfiniBand port of @attr is active, or there is no such device;
 * -ENXIO: the device has no such port; -EINVAL; -EINTR; -EOVERFLOW: more than
 * RDMA_CMX_MAX_SA_RECORDS; -ENOMEM; without any response the error of the first
 * port: -ETIMEDOUT, -EAGAIN, -ECONNREFUSED, -EBADMSG, or -EOVERFLOW: its SA has
 * more records than the parameter sa_max_records.
 */
struct rdma_cmx_services *
rdma_cmx_get_services(const struct rdma_cmx_services_attr *attr);

/**
 * rdma_cmx_put_services - free ServiceRecords
 * @services: from rdma_cmx_get_services(); NULL and ERR_PTRs are ignored
 *
 * Context: process context, may sleep.
 */
void rdma_cmx_put_services(struct rdma_cmx_services *services);

#endif /* RDMA_CMX_SERVICE_H */
