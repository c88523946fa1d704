#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Boot guests and run something in them:
#	run.sh check [PREFIX,...]    the tests; last line: the counts
#	run.sh demo | bench
#	run.sh shell                 in alpha, or in GUEST
# The guests: alpha, with beta at the other end of a virtual wire (RoCE), gamma
# (InfiniBand), and delta (RoCE, booted without IPv6). All but beta lead, side by
# side if there is room, and only when there is something for them to do. They
# boot Debian's kernel ("stock"), the debug kernel, or one of the next release
# with that one's user space ("6.12", "newest", see next.sh).
#
# QUICK=1 check: the tests that the table marks as quick
# ALL=1   check: also those that the table leaves to `make check-all`
# KERNEL= one kernel (default of check: all of them; of the others: stock). Logs
#         of others than stock are in a folder of that name.
# KERNELS=NAME,... check: on these kernels all that runs on any
# GUEST=  alpha, gamma or delta: that one's part alone
# KVER=   kernel to boot (default: the newest with headers)
# VM_OUT= folder for logs (default: a new one in build/vm; `last` leads there)
# VM_JOBS= how many leading guests at a time (default: by processors and memory)
# VM_ACCEL=kvm|tcg  (default: kvm if a probe finds that it works)
# BENCH_JSON=  where bench puts its figures
#
# A leading guest's ttyS1 is this script's pipe (or the terminal), ttyS2 a tar
# archive of its /run/out. All consoles go to files, so that nothing is mixed.
set -uo pipefail

mode=${1:-check}
only=${2:-}
guest_only=${GUEST:-}
quick=${QUICK:-}
rows=''
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
out=${VM_OUT:-$top/build/vm/run-$$}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
kver=${KVER:-$("$here/kernel.sh")} || exit
# A kernel that panics ends its guest at once: these limits are for hangs.
boot_limit=${VM_BOOT_LIMIT:-600}
deadline=${VM_DEADLINE:-10800}
passed=0 failed=0 skipped=0 code=1 broken=0
kernel='' work='' current='boot' counts='0 0 0' result='' guests_up=()
host_pid=''

. "$here/guest/splat.sh"
. "$here/guest/tests.sh"
. "$here/guests.sh"
. "$here/jobs.sh"
. "$here/next.sh"

die() { echo "vm: $*" >&2; exit 1; }

cleanup() {
	trap '' INT TERM HUP
	jobs_kill
	guests_end
	[ -z "$work" ] || rm -rf "$work"
}

# Each run has a folder, as several may run at a time; the last ten stay.
logs_rotate() {
	ln -sfn "${out##*/}" "$top/build/vm/last"
	find "$top/build/vm" -maxdepth 1 -name 'run-*' -printf '%T@ %p\n' |
		sort -rn | tail -n +11 | cut -d' ' -f2- | xargs -r rm -rf
}

# is_among WORD WORD...
is_among() {
	local word=$1 other

	shift
	for other; do
		[ "$word" != "$other" ] || return 0
	done
	return 1
}

problem() {
	failed=$((failed + 1))
	job_say <<<"not ok - the test bed: $*"
}

# Sets cpu_now: the hundredths of processor seconds of the processes that this
# shell has started and that have ended
cpu_children() {
	local stat

	read -r stat <"/proc/$BASHPID/stat"
	read -ra stat <<<"${stat##*) }"
	cpu_now=$((stat[13] + stat[14]))
}

host_test() {
	local name=$1 seconds=$2 log=$out/${1//\//_}.log p s f
	local start=$SECONDS cpu_now cpu_before

	cpu_children
	cpu_before=$cpu_now

	shift 2
	: >"$log" || { problem "$name has no place for its log"; return; }
	timeout "$seconds" "$@" >"$log" 2>&1 &
	host_pid=$!
	wait $host_pid || [ $? = 1 ] || problem "$name did not finish, see $log"
	host_pid=''
	cpu_children
	printf '%7d %s\n' $(((cpu_now - cpu_before) / 100)) "$name" >>"$out/host.cpu"
	s=$(grep -cE '^ok .*# SKIP|^1\.\.0 # SKIP' "$log")
	p=$(($(grep -c '^ok ' "$log") - $(grep -cE '^ok .*# SKIP' "$log")))
	f=$(grep -c '^not ok ' "$log")
	if ! grep -q '^1\.\.' "$log"; then
		f=$((f + 1))
		echo "not ok - $name printed no plan" >>"$log"
	fi
	passed=$((passed + p)) skipped=$((skipped + s)) failed=$((failed + f))
	{
		printf '%-4s %-28s %3d passed, %d failed, %d skipped (%d s)\n' \
			"$([ "$f" = 0 ] && echo ok || echo FAIL)" "$name" \
			"$p" "$f" "$s" $((SECONDS - start))
		[ "$f" = 0 ] || tail -n 60 "$log" | sed 's/^/     | /'
		grep -E '# SKIP' "$log" | sed 's/^/     /'
	} | job_say
}

host_tests() {
	local name seconds

	kernel=host
	while read -r _ name seconds; do
		host_test "$name" "$seconds" "$top/selftests/$name"
	done < <(guest_tests host "$work/stock.tests")
}

# guests_wanted KERNEL: prints guests with a test, or with a part in the demo or
# the bench
guests_wanted() {
	case $mode in
	check) awk '{ print $1 }' "$work/$1.tests" ;;
	*)
		awk -v name="$mode" '$2 == name { print $1 }' "$work/programs"
		;;
	esac | sort -u | grep -vx host | grep -x "${guest_only:-.*}"
}

# Alpha's object, and gamma's as its last member, or what there is
figures_copy() {
	local alpha=$out/alpha/bench.json gamma=$out/gamma/bench.json

	if [ -s "$alpha" ] && [ -s "$gamma" ]; then
		echo "$(sed '$ s/}$//' "$alpha"), \"infiniband\": $(cat "$gamma")}"
	else
		cat "$alpha" "$gamma" 2>/dev/null
	fi >"$BENCH_JSON"
}

figures_draw() {
	local file

	for file in "$out"/*/bench.json; do
		[ ! -s "$file" ] || "$top/selftests/bench/draw" "$file"
	done
}

build_failed() {
	echo "vm: $1 could not be built, see above" >&2
	[ "$mode" != check ] || echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

image_build() {
	local log=$out/image.log

	"$here/image.sh" "$kver" "$work" >"$log" 2>&1 && return
	cat "$log"
	build_failed "the guests' image"
}

# next_build KERNEL: builds its image, or counts its tests as skipped where
# Debian's next release is not available
next_build() {
	local log=$out/image-$1.log count

	mkdir -p "$out/$1"
	"$here/image.sh" "$kver" "$work" "$1" >"$log" 2>&1
	case $? in
	0) return ;;
	3)
		count=$(wc -l <"$work/$1.tests")
		skipped=$((skipped + count))
		job_say <<<"ok $count tests # SKIP $(tail -n 1 "$log")"
		;;
	*)
		problem "no image for $1, see $log"
		tail -n 15 "$log" | sed 's/^/     | /' | job_say
		;;
	esac
	return 1
}

# debug_build: builds the kernel and its image, or reports a failure
debug_build() {
	local log=$out/image-debug.log

	mkdir -p "$out/debug"
	# Its messages are for the terminal.
	if ! "$here/debug/kernel.sh" >/dev/null; then
		problem "the debug kernel could not be built"
	elif ! "$here/image.sh" "$kver" "$work" debug >"$log" 2>&1; then
		problem "no image for debug, see $log"
		tail -n 15 "$log" | sed 's/^/     | /' | job_say
	else
		rm -rf "$work/root"
		return 0
	fi
	return 1
}

# aside_job WHAT...: the images of these kernels, then the tests of "host". The
# guests of a kernel wait for its file: empty when there is no image.
aside_job() {
	# Guests wait now and then, and leave enough time. They themselves take
	# more when they wait for a processor.
	renice -n 5 -p $BASHPID >/dev/null
	for kernel; do
		case $kernel in
		host)
			host_tests
			continue
			;;
		debug) debug_build ;;
		*) next_build "$kernel" ;;
		esac && echo there >"$work/$kernel.image.new"
		: >>"$work/$kernel.image.new"
		mv "$work/$kernel.image.new" "$work/$kernel.image"
	done
}

# image_wait KERNEL: waits for a kernel of an aside_job; is there an image?
image_wait() {
	[ "$1" != stock ] || return 0
	until [ -e "$work/$1.image" ]; do
		kill -0 "${!aside_pid[@]}" 2>/dev/null || break
		sleep 1
	done
	# Its last step may be the file.
	[ -e "$work/$1.image" ] ||
		problem "no image for $1: the job that builds it has ended"
	[ -s "$work/$1.image" ]
}

# rows_of KERNEL: prints the kernels whose rows of the table it runs. Those with +
# run when all do, when they are named, or with KERNELS=.
rows_of() {
	local list=$1

	if [ -n "$rows" ]; then
		list=$rows,$1
	elif is_among "$1" "${next_kernels[@]}"; then
		list=next,$1
	fi
	[ -z "${ALL:-}$only$rows" ] || list+=,+${list//,/,+}
	echo "$list"
}

# Selects the rows of the table, for each kernel.
tests_choose() {
	local kernel

	for kernel in stock debug "${next_kernels[@]}"; do
		tests_list "$top/selftests/tests" "$(rows_of "$kernel")" \
			"$only" "$quick" >"$work/$kernel.tests"
	done
}

# coverage_judge AREA: see coverage.sh. A complete run must reach the floor;
# after a part of the tests it is only printed.
coverage_judge() {
	local what=${only:+tests named $only*}${guest_only:+ guest $guest_only}
	what+=${quick:+ the quick ones}

	# The coverage of the library is that of sanitize, in alpha.
	case $1,$only,$guest_only,$quick in
	user,*,gamma,*) return ;;
	user,,*, | user,sanitize,*, | user,sanitize/,*,) what='' ;;
	esac
	[ -e "$work/gcno-$1" ] || return 0
	"$here/coverage.sh" "$1" "$work/gcno-$1" "$out" "$what" \
		>"$out/coverage-$1" ||
		problem "line coverage of $1/ is too low, see $out/uncovered-$1"
	if [ -s "$out/coverage-$1" ]; then
		cp "$out/coverage-$1" "$top/build/"
		tail -n 1 "$out/coverage-$1"
	fi
}

# guest_job KERNEL GUEST
guest_job() {
	local guest=$2 on='' out=$out boot_limit=$boot_limit

	kernel=$1
	image_wait "$kernel" || return
	case $kernel in
	stock) ;;
	debug)
		on=' on the debug kernel'
		out=$out/debug
		boot_limit=$((boot_limit * 4))
		;;
	*)
		on=" on kernel $kernel"
		out=$out/$kernel
		;;
	esac
	case $guest in
	alpha) echo "Booting two guests for RoCE$on ($accel)" ;;
	gamma) echo "Booting a guest for InfiniBand$on ($accel)" ;;
	delta) echo "Booting a guest without IPv6$on ($accel)" ;;
	*)
		problem "tests for a guest '$guest', which there is not"
		return
		;;
	esac
	guest_run "$guest"
	if [ "$mode" != check ] && [ "$code" != 0 ]; then
		broken=$code
		tail_show "$guest" | job_say
	fi
	consoles_check
}

# Prints "KERNEL GUEST" for each job: of a kernel by the limits of its tests the
# longest first. The kernels are in the order in which their images are built.
guest_jobs_list() {
	local kernel guest

	for kernel in "${kernels[@]}"; do
		for guest in $(guests_wanted "$kernel"); do
			guest_tests "$guest" "$work/$kernel.tests" |
				awk -v job="$kernel $guest" '
					{ n += $3 }
					END { print n + 0, job }'
		done | sort -s -k 1,1nr
	done | cut -d' ' -f2-
}

[ -r "/boot/vmlinuz-$kver" ] || die "/boot/vmlinuz-$kver cannot be read"
case $only in *[[:space:]]*) die "a test name has no spaces: '$only'" ;; esac
case $guest_only in
'' | alpha | gamma | delta) ;;
*) die "guests to work in are alpha, gamma and delta, not '$guest_only'" ;;
esac
all=(stock debug "${next_kernels[@]}")
if [ -n "${KERNELS:-}" ]; then
	# Not those of another one of the next kernels, which may require it
	rows=stock,debug,next
	IFS=, read -ra kernels <<<"$KERNELS"
elif [ -n "${KERNEL:-}" ] || [ "$mode" != check ]; then
	kernels=("${KERNEL:-stock}")
else
	kernels=("${all[@]}")
fi
for kernel in "${kernels[@]}"; do
	is_among "$kernel" "${all[@]}" ||
		die "kernels are ${all[*]}, not '$kernel'"
done
# A part of the bench is of one guest.
case $mode,$only in
bench,scale | bench,storm | bench,move | bench,devices | bench,names)
	guest_only=${guest_only:-alpha}
	;;
bench,job) guest_only=gamma ;;
esac
kernel=''
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-vm.XXXXXX")
rm -rf "$out"
mkdir -p "$out"
[ -n "${VM_OUT:-}" ] || logs_rotate
accel=$(accel_find)
[ -z "${VM_ACCEL:-}" ] || accel=$VM_ACCEL

most_guests=${VM_JOBS:-$(guests_most)}

echo "Building for Linux $kver; logs in $out"
image_build
tests_choose
if [ "$mode" = shell ]; then
	kernel=${kernels[0]}
	case $kernel in
	stock) ;;
	debug) debug_build ;;
	*) next_build "$kernel" ;;
	esac || build_failed "the guests' image"
	guest_shell "${guest_only:-alpha}"
	exit "$code"
fi

mapfile -t guest_jobs < <(guest_jobs_list)
# Builds, beside the guests. Those of the debug kernel wait for it.
aside=()
for job in "${guest_jobs[@]}"; do
	kernel=${job% *}
	[ "$kernel" = stock ] || is_among "$kernel" "${aside[@]}" ||
		aside+=("$kernel")
done
if [ "$mode,$guest_only" = check, ] && is_among stock "${kernels[@]}"; then
	aside+=(host)
fi
# The debug image is made from parts of the stock image.
is_among debug "${aside[@]}" || rm -rf "$work/root"
[ "${#aside[@]}" = 0 ] || job_aside aside_job "${aside[@]}"
for job in "${guest_jobs[@]}"; do
	job_begin guest_job "${job% *}" "${job#* }"
done
jobs_wait
kernel=''
if [ "$mode" = check ]; then
	! is_among debug "${kernels[@]}" || coverage_judge kernel
	! is_among stock "${kernels[@]}" || coverage_judge user
fi

case $mode in
demo | bench)
	[ -z "${BENCH_JSON:-}" ] || figures_copy
	figures_draw
	[ "$broken" != 0 ] || [ "$failed" = 0 ] || broken=1
	exit "$broken"
	;;
esac

if [ $((passed + failed + skipped)) = 0 ]; then
	problem "no test ran${only:+: none is called $only*}"
fi
[ "$failed" = 0 ] || failures_print
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
