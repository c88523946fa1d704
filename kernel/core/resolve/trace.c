// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Creates the tracepoints of resolve/trace.h. */
#define CREATE_TRACE_POINTS
#include "resolve/trace.h"
