// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates the tracepoints of sa/trace.h. */
#define CREATE_TRACE_POINTS
#include "sa/trace.h"
