#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# docs.sh OUT: build all pages, the manual pages and the kernel-doc of the
# headers as HTML in OUT/html. A warning is an error; it names the page's place
# in the tree. KDIR is the kernel whose kernel-doc is used.
set -euo pipefail

here=$(cd "${0%/*}" && pwd)
top=${here%/*}
mkdir -p "$1"
out=$(cd "$1" && pwd)
src=$out/src
kernel_doc=${KDIR:?}/scripts/kernel-doc

# api_page HEADER TITLE: the kernel-doc of one header. The namespace keeps apart
# what C does, such as a struct and a function of one name, and Sphinx does not.
api_page() {
	local name

	name=$(basename "$1" .h)
	{
		printf '%s\n%s\n\n' "$2" "${2//?/=}"
		printf '**%s**\n\n.. c:namespace:: %s\n\n' "$1" "$name"
		"$kernel_doc" -Werror -rst "$top/$1"
	} >"$src/api/$name.rst"
}

# toctree CAPTION PATTERN
toctree() {
	printf '\n.. toctree::\n\t:caption: %s\n\t:glob:\n\t:maxdepth: 1\n\n\t%s\n' \
		"$1" "$2"
}

rm -rf "$src" "$out/html"
mkdir -p "$src/api" "$src/extra" "$src/man"
cp "$here"/*.rst "$here"/*.svg "$here/conf.py" "$src"
cp "$here"/man/*.rst "$src/man"
cp "$top"/*.md "$src/extra"
api_page kernel/include/rdma/rdma_cmx.h "In-kernel API: resolution"
api_page kernel/include/rdma/rdma_cmx_connect.h "In-kernel API: connect by name"
api_page kernel/include/rdma/rdma_cmx_path.h "In-kernel API: many paths"
api_page kernel/include/rdma/rdma_cmx_service.h "In-kernel API: services"
api_page kernel/include/rdma/rdma_cmx_mcast.h "In-kernel API: multicast"
api_page uapi/rdma/rdma_cmx_ioctl.h "User ABI: the ioctls"
api_page uapi/rdma/rdma_cmx_ioctl_types.h "User ABI: common structs"
api_page uapi/rdma/rdma_cmx_ioctl_event.h "User ABI: events"
api_page uapi/rdma/rdma_cmx_ioctl_id.h "User ABI: ids and connections"
api_page uapi/rdma/rdma_cmx_ioctl_resolve.h "User ABI: names and services"
api_page uapi/rdma/rdma_cmx_ioctl_mcast.h "User ABI: multicast"
api_page uapi/rdma/rdma_cmx_ioctl_service.h "User ABI: advertised services"
api_page uapi/rdma/rdma_cmx_ioctl_path.h "User ABI: cached paths"
api_page uapi/rdma/rdma_cmx_names.h "User ABI: the name helper's answer"
# Plain docutils, which checks index.rst in the tree, has no toctree.
{
	toctree Pages '*'
	toctree Headers 'api/*'
	toctree "Manual pages" 'man/*'
} >>"$src/index.rst"

sphinx-build -q -W --keep-going -b html -d "$out/doctrees" "$src" "$out/html" \
	2>&1 | sed "s|$src/|Documentation/|" >&2
