// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates the tracepoints of mcast/trace.h. */
#define CREATE_TRACE_POINTS
#include "mcast/trace.h"
