# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The tools of `make lint`; sourced by lint.sh, run in the copy of the tree.
# Each function prints the output of its tool and returns the tool's status.
# shellcheck shell=bash

# The cheap ones first. `make check` runs those that host/lint.sh names.
tools=(checkpatch hashes w1 rooms sparse kernel-doc coccinelle analyzer clang
	clang-kernel shellcheck columns words rst doctor docs)

# Not run: scripts/coccinelle is for the whole kernel.
cocci_skip=(
	# these need an OCaml compiler
	api/check_bq27xxx_data null/badzero
	# subsystems and interfaces that the project does not touch
	api/platform_get_irq api/platform_no_drv_owner api/pm_runtime
	api/device_attr_show api/resource_size free/clk_put free/devm_free
	free/iounmap free/pci_free_consistent iterators/device_node_continue
	iterators/for_each_child misc/irqf_oneshot misc/of_table
)

# The modules' own sources: also of those of the tests, whose folders have
# programs as well.
kernel_sources() {
	local dir file

	find kernel uapi -name '*.[ch]' ! -name '*.mod.c'
	for dir in "${modules[@]}"; do
		grep -v '^#' "$dir/Kbuild" | grep -oE '[a-z0-9_]+' |
		while read -r file; do
			file=$dir/$file.c
			[ -e "$file" ] || continue
			echo "$file"
			sed -n "s|^#include \"\\([a-z0-9_]*\\.h\\)\"|$dir/\\1|p" \
				"$file"
		done
	done | sort -u | while read -r file; do
		[ ! -e "$file" ] || echo "$file"
	done
}

# All modules, file by file; what they are built with comes as arguments. For
# warnings neither debug information nor versions of symbols are needed.
modules_build() {
	local dir status=0 quick=(KCFLAGS=-g0 CONFIG_MODVERSIONS= CMX_JOIN=n)

	make -k -j2 -C "$kdir" M="$PWD" "${quick[@]}" "$@" modules || status=$?
	for dir in "${modules[@]}"; do
		make -k -j2 -C "$kdir" M="$PWD/$dir" "${quick[@]}" \
			KBUILD_EXTRA_SYMBOLS="$PWD/Module.symvers" "$@" \
			modules || status=$?
	done
	return "$status"
}

modules_clean() {
	local dir

	for dir in . "${modules[@]}"; do
		make -C "$kdir" M="$PWD/$dir" clean >/dev/null
	done
}

tool_checkpatch() {
	local script=$cache/linux-source-6.1/scripts/checkpatch.pl

	# Its status reports findings; --version shows that it runs
	perl "$script" --version || return
	kernel_sources | xargs -P2 -n20 perl "$script" --strict --no-tree \
		--no-summary --terse --show-types -f
	return 0
}

tool_w1() {
	modules_clean
	modules_build W=1
}

# calls_of DIR: "FILE FILE" for each file of a room that uses one of another
calls_of() {
	nm -A "$1"/*.o | sed 's/:/ /' | awk '
		$1 ~ /\/rdma_/ { next }	# the module
		$NF ~ /^__/ { next }
		$(NF - 1) == "U" { used[$1, $NF] }
		$(NF - 1) ~ /[BDRT]/ { owner[$NF] = $1 }
		END {
			for (use in used) {
				split(use, at, SUBSEP)
				file = owner[at[2]]
				if (file && file != at[1])
					print at[1], file
			}
		}'
}

# Rooms whose headers list the files so that each uses those below it. In ucmx
# the variables of main.c do not count, which are its parameters and work queues,
# nor does the one of file.c by which migrate.c recognises a file.
tool_rooms() {
	local room calls

	modules_build W=1 || return
	for room in core/{connect,resolve,mcast,advertise,names,sa} ucmx; do
		calls=$(calls_of kernel/$room |
			grep -v -e ' kernel/ucmx/main\.o$' \
				-e '/migrate\.o kernel/ucmx/file\.o$')
		[ -n "$calls" ] || return
		tsort <<<"$calls" 2>&1 >/dev/null
	done | sed 's/^tsort: \(kernel.*\)\.o$/\1.c:1: in a circle of calls/'
}

# A key that a user chooses is hashed with a random seed: by cmx_hash(), or by
# siphash() or jhash() with one. The key of a table is the value of such a
# function, or a variable that is named so.
tool_hashes() {
	find kernel -name '*.[ch]' ! -name '*.mod.c' -exec awk '
		function finding(text) { print FILENAME ":" begin ": " text }
		/[^a-z_](hash_(32|64|long|ptr|min)|full_name_hash)\(/ {
			begin = FNR
			finding("hash without a seed")
		}
		/^[a-z].*_hash\(/ && !/;$/ { begin = FNR; seeded = 0; body = 1 }
		body && /[^a-z_](cmx_hash|siphash|jhash(_3words)?)\(/ { seeded = 1 }
		body && /^}/ {
			body = 0
			if (!seeded)
				finding("hash function without a seed")
		}
		match($0, /[^a-z_](hash_add|cmx_sched_entity_init)\(.*/) {
			begin = FNR
			call = substr($0, RSTART + 1)
			while (call !~ /;|\{$/ && (getline line) > 0)
				call = call line
			key = call
			args = key ~ /^hash_add/ ? 2 : 3
			while (args--)
				sub(/^[^,]*,/, "", key)
			if (call !~ /^cmx_sched_entity_init\(struct/ &&
			    key !~ /hash/)
				finding("key of a table that is no hash")
		}' {} +
}

# In `make check` the modules of the tree, which are built
tool_sparse() {
	sparse --version || return
	set -- C=2 CF=-D__CHECK_ENDIAN__
	if [ -n "$tap" ]; then
		flock "$top/build/.lock" make -k -C "$top" -s --no-print-directory \
			KVER="$kver" "${modules_flags[@]}" "$@" modules test-modules
	else
		modules_build W=1 "$@"
	fi
}

tool_kernel_doc() {
	kernel_sources | grep -E '^(kernel|uapi)/' |
	xargs "$kdir/scripts/kernel-doc" -none
}

# Each on all sources at once: some seconds, or minutes beside guests
tool_coccinelle() {
	local scripts=$cache/linux-source-6.1/scripts/coccinelle
	local own=$PWD/selftests/lint/dev_put.cocci

	rm -rf "$out/cocci"
	mkdir "$out/cocci"
	kernel_sources | cpio -pdm --quiet "$out/cocci" || return
	(
		cd "$out/cocci" || exit
		# shellcheck disable=SC2016 # for the shell that xargs starts
		{
			find "$scripts" -name '*.cocci' -printf '%P\n' | sort |
			grep -vxFf <(printf '%s.cocci\n' "${cocci_skip[@]}") |
			sed "s|^|$scripts/|"
			echo "$own"
		} |
		xargs -P2 -I{} bash -c '
			options=$(sed -n "s|^// Options: ||p" "$1")
			echo "== $1"
			timeout 1200 spatch -D report --very-quiet \
				--cocci-file "$1" --dir . -I kernel/include \
				-I uapi $options
		' sh {}
	)
}

tool_analyzer() {
	make -k -j2 -s O="$out/analyzer" CC=gcc CFLAGS="-O2 -fanalyzer" lint-user
}

# Its warnings are those of its parser.
tool_clang() {
	rm -rf "$out/clang"
	mkdir "$out/clang"
	CMX_LINT_READ=$out/clang make -k -j2 -s O="$out/clang/build" \
		CC="$PWD/selftests/lint/clang-user" lint-tests
}

# Linking is no use, and objtool knows gcc's ways here. modpost wants a licence.
tool_clang_kernel() {
	modules_clean
	printf '\t.section .modinfo,"a"\n\t.asciz "license=GPL"\n' |
		gcc -c -x assembler -o "$out/license.o" - || return
	CMX_LINT_OBJECT=$out/license.o modules_build \
		CC="$PWD/selftests/lint/clang-kernel" CONFIG_OBJTOOL= \
		CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_GCC_VERSION=0 \
		CONFIG_CLANG_VERSION=140000
}

# The files that scripts source in a guest are here in the tree.
tool_shellcheck() {
	local file

	grep -rlE '^[[:space:]]*\. /usr/lib/rdma-cmx' selftests |
	xargs sed -i -E "s,^([[:space:]]*\. )/usr/lib/rdma-cmx/(selftests|vm)/(lib|fabric|splat|tests)\.sh,\1$PWD/selftests/vm/guest/\3.sh,
		s,^([[:space:]]*\. )/usr/lib/rdma-cmx/selftests/,\1$PWD/selftests/,"
	# Status 1 is no more than what it found, which may all be meant.
	# shellcheck disable=SC2016 # for the shell that xargs starts
	find .ci Documentation kernel packaging user selftests -type f | sort | while read -r file; do
		if head -n 1 "$file" | grep -qE '^#!/bin/(ba)?sh' ||
		   head -n 12 "$file" | grep -q '^# shellcheck shell='; then
			echo "$file"
		fi
	done | xargs -P2 -n8 bash -c '
		found=$(shellcheck -x -P SCRIPTDIR -f gcc "$@")
		[ $? -le 1 ] || exit
		# Not between the lines of the other one
		exec 9<"$0"
		flock 9
		[ -z "$found" ] || printf "%s\n" "$found"
	' selftests/lint/tools.sh
}

# Documents are read in terminals, too. The locale counts characters.
tool_columns() {
	find . -name '*.rst' -o -name '*.md' | sort |
	LC_ALL=C.UTF-8 xargs grep -nHE '^.{81}' |
	sed 's/^\([^:]*:[0-9]*\):/\1: more than 80 columns: /'
	return 0
}

# Words that the table in CONTRIBUTING.md replaces, as far as they have no other
# meaning here.
tool_words() {
	grep -rnwiE --include='*.[ch]' --include='*.sh' --include='*.rst' \
		--exclude-dir=lint --exclude-dir=LICENSES \
		'asks?|asked|look-ups?|tells?|told|hears?|heard|patience' . |
		sed 's/^\([^:]*:[0-9]*\):/\1: not a word of CONTRIBUTING.md: /'
	return 0
}

# One process: what it takes is to start.
tool_rst() {
	find . -name '*.rst' | sort | xargs python3 -c '
import sys
from docutils.core import publish_file
for name in sys.argv[1:]:
    publish_file(source_path=name, destination_path="/dev/null",
                 writer_name="html",
                 settings_overrides={"report_level": 2, "halt_level": 5})
'
}

# Each id of cmx doctor is in cmx(1), and a test has a fault that it names; the
# document on testing says how many.
tool_doctor() {
	local man=Documentation/man/cmx.1.rst doc=Documentation/testing.rst
	local tests=(selftests/cmx/doctor.sh selftests/cmx/doctor_ib.sh)
	local id ids text want

	ids=$(sed -n '/^Ids do not change/,/^cmx nvme connect/p' "$man" |
		grep -oE '^([a-z]+(-[a-z]+)*(, )?)+$|\*\*netdev-[a-z]+\*\*' |
		tr -d '*,' | tr ' ' '\n' | grep . | sort -u)
	for id in $ids; do
		grep -qE "^fault \"?${id}[? \"]" "${tests[@]}" ||
			echo "$man:1: no test has a fault for '$id'"
		grep -q "\"$id\"" user/cmx/doctor*.c ||
			echo "$man:1: cmx doctor has no id '$id'"
	done
	grep -ohE '^fault "?[a-z-]+' "${tests[@]}" | sed -E 's/fault "?//' |
		sort -u | grep -vxFf <(echo "$ids") |
		sed "s|.*|$man:1: the id '&' is missing|"
	text=$(tr -s ' \n' ' ' <"$doc")
	want="names $(cat "${tests[@]}" | grep -c '^fault ') injected faults by"
	want+=" $(wc -l <<<"$ids") ids"
	[[ $text == *"$want"* ]] ||
		echo "$doc:1: the tests say: cmx doctor $want"
}

tool_docs() {
	KDIR=$kdir Documentation/docs.sh "$out/docs"
}
