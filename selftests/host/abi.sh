#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# RA-03: librdmacmx is binary and source compatible with librdmacm. Compares
# headers and libraries with the stock ones; runs on the host, prints TAP.
# "abi.sh testing" compares with those of Debian's testing, which are unpacked.
# Where that has a newer rdma-core than `symbols` names, what is new there counts
# as skipped.
set -u
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
lib=${LIB:-$top/build/user/lib/librdmacmx.so.1}
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
# shellcheck source=selftests/host/tap
. "$here/tap"

symbols() {
	readelf --dyn-syms -W "$1" | awk '$4 == "FUNC" && $7 != "UND" { print $8 }' |
		sed 's/@@/@/' | sort
}

versions() {
	readelf --dyn-syms -W "$1" |
		awk '$4 == "OBJECT" && $8 ~ /^RDMACM/ { print $8 }' |
		sed 's/@@*/@/' | sort
}

# skip_all REASON
skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 0
}

# Headers that compilers do not find by themselves, and what newer ones have
headers=()
root=''
if [ "${1:-}" = testing ]; then
	# shellcheck source=selftests/vm/next.sh
	. "$top/selftests/vm/next.sh"
	root=$(next_testing_folder 2>"$work/err") ||
		skip_all "no Debian $next_testing: $(tail -n 1 "$work/err")"
	include=$root/usr/include
	libraries=$(echo "$root"/usr/lib/*-linux-gnu)
	stock=$libraries/librdmacm.so.1
	headers=(-DABI_ADDED -isystem "$include")
else
	include=/usr/include
	stock=$(ldconfig -p 2>/dev/null | awk '/librdmacm\.so\.1 .*x86-64|librdmacm\.so\.1 / { print $NF; exit }')
	[ -n "$stock" ] || stock=$(ls /usr/lib/*/librdmacm.so.1 2>/dev/null | head -1)
	if [ ! -e "$stock" ] || [ ! -e $include/rdma/rdma_cma.h ]; then
		skip_all "librdmacm-dev is not installed"
	fi
fi

# rdma_core FILE: prints its release, which is in the name of the library
rdma_core() {
	basename "$(realpath "$1")" | sed 's/.*\.so\.1\.[0-9]*\.\([0-9]*\).*/\1/'
}

# expected NAME STATUS [DETAILS]: result(), or a skip for a newer release
expected() {
	local known is

	known=$(sed -n 's/.* as of rdma-core \([0-9]*\)\.$/\1/p' "$here/symbols")
	is=$(rdma_core "$stock")
	if [ "$2" = 0 ] || [ -z "$root" ] || [ "$is" -le "$known" ]; then
		result "$@"
		return
	fi
	count=$((count + 1))
	echo "ok $count $1 # SKIP rdma-core $is is newer than $known:" \
		"$(xargs <<<"${3:-}")"
}

echo "TAP version 13"
echo "1..$([ -n "$root" ] && echo 10 || echo 21)"

gcc -Wall "${headers[@]}" -o "$work/stock" "$here/abi.c" 2>"$work/err"
result "the probe compiles with the stock header" $? "$(cat "$work/err")"
gcc -Wall -Wextra -Werror -I"$top/user/include" "${headers[@]}" \
	-o "$work/ours" "$here/abi.c" 2>"$work/err"
result "RA-03: function types are the stock's" $? "$(cat "$work/err")"
"$work/stock" >"$work/stock.txt"
"$work/ours" >"$work/ours.txt"
lines=$(wc -l <"$work/stock.txt")
details=$(diff "$work/stock.txt" "$work/ours.txt") && [ "$lines" -gt 120 ]
result "RA-03: sizes, offsets and values are the stock's ($lines)" $? "$details"

# names FOLDER: prints the names that its headers define or declare
names() {
	cat "$1"/rdma/{rdma_cma,rdma_verbs,rsocket}.h |
		gcc -fpreprocessed -dD -E -P -x c - 2>/dev/null |
		grep -oE '\b((rdma|RDMA|RAI|SOL)_[A-Za-z0-9_]+|r[a-z_]+\()' |
		sort -u
}

details=$(comm -23 <(names "$include") <(names "$top/user/include"))
[ "$(names "$include" | wc -l)" -gt 100 ] && [ -z "$details" ]
expected "RA-03: every name in the stock headers is in ours" $? "$details"

for std in -std=c99 -std=gnu11; do
	printf '#include <rdma/%s.h>\n' rdma_cma rdma_verbs rdma_cmx rsocket >"$work/h.c"
	gcc $std -Wall -Wextra -Werror -I"$top/user/include" "${headers[@]}" \
		-fsyntax-only "$work/h.c" 2>"$work/err"
	result "the headers compile with $std" $? "$(cat "$work/err")"
done
if command -v g++ >/dev/null; then
	g++ -Wall -Wextra -Werror -I"$top/user/include" "${headers[@]}" \
		-fsyntax-only -x c++ "$work/h.c" 2>"$work/err"
	result "the headers compile as C++" $? "$(cat "$work/err")"
else
	count=$((count + 1))
	echo "ok $count the headers compile as C++ # SKIP no g++"
fi

# Each installed librdmacm and, unpacked, that of the next Debian release
# (vm/next.sh), or that of Debian's testing; symbols lists those of the newest one.
stocks() {
	[ -z "$root" ] || { realpath "$stock"; return; }
	{
		ls "${XDG_CACHE_HOME:-$HOME/.cache}"/rdma-cmx/*/root-guest/usr/lib/*/librdmacm.so.1 \
			2>/dev/null
		ldconfig -p 2>/dev/null |
			awk '/librdmacm\.so\.1 .*x86-64/ { print $NF }'
		echo "$stock"
	} | xargs -r realpath | sort -u
}

symbols "$lib" >"$work/ours.sym"
installed=$(stocks | xargs)
details=$(for file in $installed; do
	[ "$(symbols "$file" | wc -l)" -gt 60 ] || echo "$file: no symbols"
	comm -23 <(symbols "$file") "$work/ours.sym"
	comm -23 <(versions "$file") <(versions "$lib")
done)
[ -z "$details" ]
state=$?
# shellcheck disable=SC2086 # one file each
expected "RA-02, RA-03: every function and version of $(basename -a $installed |
	xargs)" $state "$details"

# bound PROGRAM: prints which library each function of librdmacm that it calls is
# bound to, with this one preloaded. It does not run.
bound() {
	local loader=()

	[ -z "$root" ] || loader=("$libraries/ld-linux-x86-64.so.2"
		--library-path "$libraries")
	LD_TRACE_LOADED_OBJECTS=1 LD_WARN=1 LD_BIND_NOW=1 LD_DEBUG=bindings \
		LD_PRELOAD=$lib "${loader[@]}" "$1" 2>&1 |
		sed -n "s|.*binding file $1 .* to \([^ ]*\) .*symbol .\(.*\). \[RDMACM_.*|\2 \1|p"
}

# bound_here PROGRAM...: prints what is not bound to this library, and programs
# with fewer functions than any has
bound_here() {
	local program

	for program; do
		bound "$program" >"$work/bound"
		grep -v "/${lib##*/}$" "$work/bound" | sed "s|^|${program##*/}: |"
		[ "$(wc -l <"$work/bound")" -gt 5 ] ||
			echo "$program: $(wc -l <"$work/bound") functions"
	done
}

if [ -n "$root" ]; then
	details=$(diff <(grep -v '^#' "$here/symbols" | sort) <(symbols "$stock"))
	expected "RA-02: the list of functions is that of this rdma-core" $? \
		"$details"
	mapfile -t programs < <(grep -l 'librdmacm\.so\.1' "$root"/usr/bin/*)
	details=$(bound_here "${programs[@]}")
	[ "${#programs[@]}" -gt 5 ] && [ -z "$details" ]
	expected "RA-03: preloaded, it serves all calls of ${programs[*]##*/}" $? \
		"$details"
	results_end
fi

gcc -Wall -DABI_ADDED -DABI_OWN -I"$top/user/include" -o "$work/added" \
	"$here/abi.c" 2>"$work/err" &&
	"$work/added" | tail -n 9 >"$work/added.txt"
details=$(diff - "$work/added.txt" <<-END
	RDMA_CM_EVENT_ADDRINFO_RESOLVED 16
	RDMA_CM_EVENT_ADDRINFO_ERROR 17
	RDMA_CM_EVENT_USER 18
	RAI_SA 16
	RAI_DNS 32
	struct rdma_cm_event.param.arg 24+8
	EAI_QPTYPE == EAI_SOCKTYPE 1
	EAI_NODATA -5
	EAI_ADDRFAMILY -9
END
)
result "RA-03: what is newer has upstream's values" $? "$details"

details=$(diff <(grep -v '^#' "$here/symbols" | sort) \
	<(grep -v '^rdmacmx_.*@RDMACMX_' "$work/ours.sym"))
result "RA-02: librdmacm's newest functions with their versions, and no other" \
	$? "$details"

# rsockets with this library alone: shared, static, and without a stock library
printf '%s\n' '#include <rdma/rsocket.h>' '#include <stdio.h>' \
	'int main(void)' '{' '	int fd = rsocket(AF_UNIX, SOCK_RAW, 0);' \
	'	printf("%d %d\n", fd, errno);' '	return 0;' '}' >"$work/rs.c"
flags="-I$top/user/include -Wl,--no-copy-dt-needed-entries"
# shellcheck disable=SC2086
details=$(gcc -o "$work/rs" $flags "$work/rs.c" "$lib" -libverbs 2>&1 &&
	gcc -o "$work/rs.static" $flags "$work/rs.c" "${lib%.so.1}.a" \
		-libverbs -pthread 2>&1)
result "RA-02: rsocket() links with librdmacmx alone" $? "$details"

# rs_say FOLDER PROGRAM: prints its output with FOLDER's libraries first. The
# stock library returns ENOTSUP (95), this one ENOSYS (38).
rs_say() {
	timeout 60 env LD_LIBRARY_PATH="$1" "$work/$2" 2>&1
}

cp "$lib" "$work/"
for name in rs rs.static; do
	is=$(rs_say "$work" $name)
	[ "$is" = "-1 95" ]
	result "RA-02: the stock library is called ($name)" $? "$is"
	mkdir -p "$work/none"
	cp "$lib" "$work/none/librdmacmx.so.1"
	: >"$work/none/librdmacm.so.1"
	is=$(rs_say "$work/none" $name)
	[ "$is" = "-1 38" ]
	result "RA-02: ENOSYS where there is none ($name)" $? "$is"
	ln -sf librdmacmx.so.1 "$work/none/librdmacm.so.1"
	is=$(rs_say "$work/none" $name)
	[ "$is" = "-1 38" ]
	result "RA-02: ENOSYS where that is this library ($name)" $? "$is"
	rm "$work/none/librdmacm.so.1"
	cp "$lib" "$work/none/librdmacm.so.1"
	is=$(rs_say "$work/none" $name)
	[ "$is" = "-1 38" ]
	result "RA-02: ENOSYS where that is a copy of it ($name)" $? "$is"
	rm "$work/none/librdmacm.so.1"
done

# The options that programs pass to the linker; inline functions of the headers
# call verbs.
if command -v pkg-config >/dev/null; then
	cat >"$work/inline.c" <<-END
		#include <rdma/rdma_cma.h>
		#include <rdma/rdma_verbs.h>
		int main(int argc, char **argv)
		{
			return !rdma_reg_msgs((struct rdma_cm_id *)argv, argv, argc);
		}
	END
	flags=$(PKG_CONFIG_PATH=${lib%/*} pkg-config --cflags --libs \
		--define-variable=libdir="${lib%/*}" \
		--define-variable=includedir="$top/user/include" rdmacmx 2>&1)
	# shellcheck disable=SC2086
	details=$(gcc -o "$work/inline" "$work/inline.c" $flags -Wl,--no-copy-dt-needed-entries 2>&1)
	result "RA-03: pkg-config's flags link a program with rdma_reg_msgs" $? \
		"$flags $details"
else
	count=$((count + 1))
	echo "ok $count pkg-config's flags # SKIP no pkg-config"
fi

# A stock program: each rdma_ symbol is bound to the preloaded library
if command -v rping >/dev/null; then
	details=$(bound_here "$(command -v rping)")
	[ -z "$details" ]
	result "RA-03: preloaded, it serves all of rping's calls" $? "$details"
else
	count=$((count + 1))
	echo "ok $count preloaded # SKIP rping is not installed"
fi
results_end
