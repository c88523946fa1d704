// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/// A netdevice may be freed once its reference is dropped.
// Confidence: High
// Options: --no-includes
virtual report

@r exists@
expression E, E1;
identifier fld;
position p;
@@
dev_put(E);
... when != E = E1
    when != &E
E@p->fld

@script:python depends on report@
p << r.p;
@@
coccilib.report.print_report(p[0], "netdevice is used after dev_put()")
