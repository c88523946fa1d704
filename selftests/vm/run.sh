#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Boot two guests, alpha and beta, joined by a virtual wire, and run in alpha:
#	run.sh check [NAME-PREFIX]   the tests; last line: the counts
#	run.sh demo | bench | shell
#
# KVER=   kernel to boot (default: the newest with headers)
# VM_OUT= folder for logs (default: a new one in build/vm; `last` leads there)
# VM_ACCEL=kvm|tcg  (default: kvm if a probe finds that it works)
# BENCH_JSON=  where bench puts its figures
#
# alpha's ttyS1 is this script's pipe (or the terminal), ttyS2 a tar archive of
# /run/out. Both guests' consoles go to files, so that nothing is mixed.
set -uo pipefail

mode=${1:-check}
only=${2:-}
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
out=${VM_OUT:-$top/build/vm/run-$$}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rdma-cmx
kver=${KVER:-$("$here/kernel.sh")} || exit
boot_limit=${VM_BOOT_LIMIT:-180}
deadline=${VM_DEADLINE:-3600}
passed=0 failed=0 skipped=0 code=1
beta_pid='' alpha_pid='' work='' current='boot' counts='0 0 0' result=''

. "$here/guest/splat.sh"

die() { echo "vm: $*" >&2; exit 1; }

cleanup() {
	[ -z "$alpha_pid" ] || kill -KILL "$alpha_pid" 2>/dev/null
	[ -z "$beta_pid" ] || kill -KILL "$beta_pid" 2>/dev/null
	[ -z "$work" ] || rm -rf "$work"
}

# A folder for each run, as several may go on at a time; the last ten stay.
logs_rotate() {
	ln -sfn "${out##*/}" "$top/build/vm/last"
	find "$top/build/vm" -maxdepth 1 -name 'run-*' -printf '%T@ %p\n' |
		sort -rn | tail -n +11 | cut -d' ' -f2- | xargs -r rm -rf
}

# The device may be there and hang: believe a kernel that got to its end.
accel_find() {
	local stamp=$cache/kvm-probe boot answer=tcg

	[ -w /dev/kvm ] || { echo tcg; return; }
	boot=$(cat /proc/sys/kernel/random/boot_id)
	if [ "$(sed -n 1p "$stamp" 2>/dev/null)" != "$boot" ]; then
		timeout -k 1 6 qemu-system-x86_64 -accel kvm -m 256 -display none \
			-nodefaults -no-user-config -no-reboot \
			-kernel "/boot/vmlinuz-$kver" -append panic=-1 \
			</dev/null >/dev/null 2>&1 && answer=kvm
		mkdir -p "$cache"
		printf '%s\n' "$boot" "$answer" >"$stamp"
	fi
	sed -n 2p "$stamp"
}

# guest_start NAME NUMBER CPUS REST...: QEMU in place of this (sub)shell
guest_start() {
	local name=$1 n=$2 cpus=$3 me=alpha other=beta cpu=max

	shift 3
	[ "$name" = alpha ] || { me=beta; other=alpha; }
	[ "$accel" = kvm ] && cpu=host
	[ "$accel" = tcg ] && accel=tcg,thread=multi
	# no_timer_check: on a busy machine the emulated timer's first ticks come
	# too late for the kernel's test of it, which then panics. Likewise, a
	# guest that the host gave no time to is not a stalled kernel: a real
	# stall lasts.
	# A local socket on each side: no port to collide on, no order to keep
	exec qemu-system-x86_64 -name "$name" -accel "$accel" -cpu "$cpu" \
		-m 1536 -smp "$cpus" -nodefaults -no-user-config \
		-display none -no-reboot \
		-kernel "/boot/vmlinuz-$kver" -initrd "$work/initrd" \
		-append "console=ttyS0 loglevel=5 oops=panic panic=-1 log_buf_len=4M \
mitigations=off no_timer_check rcupdate.rcu_cpu_stall_timeout=120 \
random.trust_cpu=on net.ifnames=0 rdinit=/init \
cmx.role=$name cmx.mode=$mode cmx.test=$only" \
		-netdev "dgram,id=wire,local.type=unix,local.path=$work/$me,\
remote.type=unix,remote.path=$work/$other" \
		-device "virtio-net-pci,netdev=wire,mac=52:54:00:55:00:0$n,romfile=" \
		-serial "file:$out/$name.console" "$@"
}

# Show what alpha says as it comes, keep what it tells this script.
alpha_follow() {
	local line limit=$boot_limit word rest status end=$((SECONDS + deadline))

	while :; do
		if [ $SECONDS -ge $end ]; then
			problem "not finished after $deadline s, in $current"
			break
		fi
		IFS= read -r -t "$limit" line <&"$from_alpha"
		status=$?
		if [ $status -gt 128 ]; then
			problem "no sign of life for $limit s, in $current"
		fi
		[ $status = 0 ] || break
		printf '%s\n' "$line" >>"$out/alpha.out"
		case $line in
		@*)
			read -r word rest <<<"$line"
			case $word in
			@start)
				current=${rest% *}
				limit=$((${rest##* } + 60))
				;;
			@counts) counts=$rest ;;
			@result) counts=$rest result=$rest ;;
			@exit) code=$rest ;;
			@fault)
				problem "$rest; its console ends with:"
				tail -n 15 "$out/beta.console" | sed 's/^/     > /'
				;;
			esac
			;;
		*) printf '%s\n' "$line" ;;
		esac
	done
}

problem() {
	failed=$((failed + 1))
	echo "not ok - the test bed: $*"
}

# The whole of both kernel logs, also what no test was running for
consoles_check() {
	local name text

	for name in alpha beta; do
		if [ ! -s "$out/$name.console" ]; then
			problem "guest $name has left no kernel log"
			continue
		fi
		text=$(splat_find <"$out/$name.console")
		if [ -n "$text" ]; then
			problem "kernel complaints of guest $name, in" \
				"$out/$name.console:"
			head -5 <<<"$text" | sed 's/^/     > /'
		fi
	done
}

host_test() {
	local name=$1 log=$out/${1//\//_}.log p s f

	shift
	case $name in "$only"*) ;; *) return ;; esac
	: >"$log" || { problem "$name has no place for its log"; return; }
	timeout 600 "$@" >"$log" 2>&1 || [ $? = 1 ] ||
		problem "$name did not finish, see $log"
	s=$(grep -cE '^ok .*# SKIP|^1\.\.0 # SKIP' "$log")
	p=$(($(grep -c '^ok ' "$log") - $(grep -cE '^ok .*# SKIP' "$log")))
	f=$(grep -c '^not ok ' "$log")
	if ! grep -q '^1\.\.' "$log"; then
		f=$((f + 1))
		echo "not ok - $name printed no plan" >>"$log"
	fi
	passed=$((passed + p)) skipped=$((skipped + s)) failed=$((failed + f))
	printf '%-4s %-28s %3d passed, %d failed, %d skipped\n' \
		"$([ "$f" = 0 ] && echo ok || echo FAIL)" "$name" "$p" "$f" "$s"
	if [ "$f" != 0 ]; then
		tail -n 40 "$log" | sed 's/^/     | /'
	fi
	grep -E '# SKIP' "$log" | sed 's/^/     /'
}

guests_run() {
	guest_start beta 2 1 -serial "file:$out/beta.out" \
		</dev/null >"$out/beta.qemu" 2>&1 &
	beta_pid=$!
	disown
	if [ "$mode" = shell ]; then
		(guest_start alpha 1 2 -chardev stdio,id=tty,signal=off \
			-serial chardev:tty)
		code=$?
		return
	fi
	exec {from_alpha}< <(
		guest_start alpha 1 2 -chardev stdio,id=tty,signal=off \
			-serial chardev:tty -serial "file:$out/out.tgz" \
			</dev/null 2>"$out/alpha.qemu")
	alpha_pid=$!
	alpha_follow
	kill -KILL "$alpha_pid" 2>/dev/null
	kill -KILL "$beta_pid" 2>/dev/null
	tar -C "$out" -xzf "$out/out.tgz" 2>/dev/null
	rm -f "$out/out.tgz"
}

# The last test's log from the first complaint on, or the end without any
tail_show() {
	local text

	text=$(awk '/cmx-test: begin/ { text = ""; on = 0 }
		/BUG|WARNING|Oops|panic/ { on = 1 }
		on { text = text $0 "\n" }
		END { printf "%s", text }' "$out/alpha.console" | head -n 45)
	[ -n "$text" ] || text=$(tail -n 30 "$out/alpha.console")
	echo "From guest alpha's console ($out/alpha.console):"
	sed 's/^/     > /' <<<"$text"
	cat "$out/alpha.qemu" "$out/beta.qemu" 2>/dev/null
}

[ -r "/boot/vmlinuz-$kver" ] || die "/boot/vmlinuz-$kver cannot be read"
case $only in *[[:space:]]*) die "a test name has no spaces: '$only'" ;; esac
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-vm.XXXXXX")
rm -rf "$out"
mkdir -p "$out"
[ -n "${VM_OUT:-}" ] || logs_rotate
accel=$(accel_find)
[ -z "${VM_ACCEL:-}" ] || accel=$VM_ACCEL

echo "Building for Linux $kver; logs in $out"
"$here/image.sh" "$kver" "$work" >"$out/image.log" 2>&1 || {
	cat "$out/image.log"
	echo "vm: the guests' image could not be built, see above" >&2
	[ "$mode" != check ] || echo "0 passed, 1 failed, 0 skipped"
	exit 1
}
echo "Booting two guests ($accel)"
guests_run

case $mode in
shell)
	exit "$code"
	;;
demo | bench)
	consoles_check
	[ "$failed" = 0 ] || code=1
	[ "$code" = 0 ] || tail_show
	if [ -n "${BENCH_JSON:-}" ] && [ -e "$out/bench.json" ]; then
		cp "$out/bench.json" "$BENCH_JSON"
	fi
	exit "$code"
	;;
esac

read -r p f s <<<"$counts"
passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
if [ -z "$result" ]; then
	problem "guest alpha went away during $current"
	tail_show
fi
consoles_check
host_test host/abi "$top/selftests/lib/abi.sh"
host_test host/dkms "$here/dkms.sh"
if [ $((passed + failed + skipped)) = 0 ]; then
	problem "no test ran${only:+: none is called $only*}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
