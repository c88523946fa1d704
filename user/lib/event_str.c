// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names of events. Constant data.
 */
#include "lib.h"

#define EVENT(name) [RDMA_CM_EVENT_##name] = "RDMA_CM_EVENT_" #name

static const char *const event_names[] = {
	EVENT(ADDR_RESOLVED),
	EVENT(ADDR_ERROR),
	EVENT(ROUTE_RESOLVED),
	EVENT(ROUTE_ERROR),
	EVENT(CONNECT_REQUEST),
	EVENT(CONNECT_RESPONSE),
	EVENT(CONNECT_ERROR),
	EVENT(UNREACHABLE),
	EVENT(REJECTED),
	EVENT(ESTABLISHED),
	EVENT(DISCONNECTED),
	EVENT(DEVICE_REMOVAL),
	EVENT(MULTICAST_JOIN),
	EVENT(MULTICAST_ERROR),
	EVENT(ADDR_CHANGE),
	EVENT(TIMEWAIT_EXIT),
	EVENT(ADDRINFO_RESOLVED),
	EVENT(ADDRINFO_ERROR),
	EVENT(USER),
};

CMX_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	size_t count = sizeof(event_names) / sizeof(event_names[0]);

	return (size_t)event < count ? event_names[event] : "UNKNOWN EVENT";
}
