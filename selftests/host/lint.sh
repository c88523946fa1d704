#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The tools of `make lint` that find faults which nothing else does. The others
# take ten minutes of a processor, for style and for a second compiler's view: they
# are for the author of a change (CONTRIBUTING.md).
exec "${0%/*}/../lint/lint.sh" --tap hashes w1 rooms sparse kernel-doc analyzer \
	columns rst doctor docs
