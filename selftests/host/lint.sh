#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# `make lint` as a test
exec "${0%/*}/../lint/lint.sh" --tap
