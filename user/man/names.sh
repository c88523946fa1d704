#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# names.sh PAGE.rst...: the functions that each page's synopsis has, as lines
# "FUNCTION PAGE". A page of several functions is found under each of them.
for file; do
	page=${file##*/}
	awk '/^SYNOPSIS$/ { on = 1 } /^DESCRIPTION$/ { on = 0 } on' "$file" |
		grep -oE '\br[a-z][a-z0-9_]*\(' |
		sed "s/($/ ${page%%.*}/"
done
