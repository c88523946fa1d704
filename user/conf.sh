#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# conf.sh FILE: installs standard input as the configuration FILE, never a part
# of it. If the administrator has changed FILE, it stays, and the new one is
# FILE.new: no program reads that name.
set -eu

new=$(mktemp "$1.XXXXXX")
trap 'rm -f "$new"' EXIT
cat >"$new"
chmod 644 "$new"
if [ ! -e "$1" ]; then
	mv "$new" "$1"
elif ! cmp -s "$new" "$1"; then
	mv "$new" "$1.new"
	echo "$1 differs from the new $1.new: it stays" >&2
fi
