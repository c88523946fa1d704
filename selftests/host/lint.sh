#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The tools of `make lint` that find what nothing else in `make check` finds. The
# others check style or compile again, and take ten minutes of a processor. The
# author of a change runs them (CONTRIBUTING.md).
exec "${0%/*}/../lint/lint.sh" --tap hashes sparse kernel-doc analyzer columns \
	words rst doctor docs
