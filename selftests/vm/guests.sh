# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Boot guests and follow their output. Sourced by run.sh, whose variables
# these functions use: mode only quick rows here top out work kver kernel accel limits
# counts.
# shellcheck shell=bash

declare -A guest_pid=()

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

# guest_start NAME REST...: QEMU in place of this (sub)shell
guest_start() {
	local name=$1 cpu=max how=$accel shape=() image=/boot/vmlinuz-$kver
	local boots=$kernel cpus=2 megabytes=0 more

	shift
	# Debian's kernel is a peer that is up soon.
	[ "$name,$kernel" != beta,debug ] || boots=stock
	more='loglevel=5 rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60'
	[ "$boots" = stock ] || image=$work/$boots.vmlinuz
	if [ "$boots" = debug ]; then
		image=$work/kernel/bzImage
		# A task that hangs is shown with its stack, which the level hides
		# otherwise, and ends the guest, not to wait for hours.
		more='loglevel=7 hung_task_panic=1 kmemleak=on'
		more+=' rcupdate.rcu_cpu_stall_timeout=300'
		# Grace periods as short as can be: a netdevice has many to end.
		more+=' rcupdate.rcu_expedited=1'
		more+=' kasan_multi_shot kunit.enable=1'
		# Unwritten memory is not zero by chance. And failslab may fail
		# all caches (A) but kmemleak's, which has a pool behind it.
		more+=' slub_debug=A;AP,kmalloc-*;-,kmemleak_object'
		# KASAN's shadow and what it keeps back
		megabytes=512
	fi
	# guest_stacks: an NMI shows the stacks of all processors and ends the guest.
	more+=' unknown_nmi_panic panic_print=64'
	# A process for each of many connections
	case $mode,$only in
	bench,storm | bench,job) megabytes=2560 ;;
	esac
	[ "$accel" = kvm ] && cpu=host
	# Emulated, REP MOVSB and STOSB take as long for a byte as others do for
	# eight. The kernel copies and clears memory by them if there is ERMS.
	[ "$accel" = tcg ] && how=tcg,thread=multi cpu+=,-erms
	# The kernel patches its code with breakpoints. Emulated, a second
	# processor may meet one when the patch is done. 6.12 and 7.3 then panic.
	case $accel,$boots in
	tcg,newest | tcg,6.12) cpus='1,maxcpus=2' ;;
	esac
	case $name in
	alpha)
		shape=(-m $((1536 + megabytes)) -smp "$cpus")
		wire_add alpha beta 1
		usr_share
		;;
	beta)
		# For one processor that can never have company, QEMU's emulation
		# leaves out the barriers, which the thread with its network
		# device relies on: a kick gets lost, and the wire is dead.
		shape=(-m $((1536 + megabytes)) -smp "1,maxcpus=2")
		wire_add beta alpha 2
		;;
	gamma)
		# Races are for alpha. Emulated, a second processor takes a
		# quarter of the time for interrupts to the first one, and for
		# locks that it waits for.
		[ "$accel" != tcg ] || cpus='1,maxcpus=2'
		shape=(-m $((2048 + megabytes)) -smp "$cpus")
		usr_share
		;;
	delta)
		shape=(-m $((1024 + megabytes)) -smp "$cpus")
		more+=' ipv6.disable=1'
		;;
	esac
	# no_timer_check: on a busy machine the emulated timer's first ticks come
	# too late for the kernel's test of it, which then panics. Likewise, a
	# guest that the host gave no time to is not a stalled kernel: a real
	# stall lasts.
	rm -f "$work/$kernel.$name."{in,out}
	mkfifo "$work/$kernel.$name."{in,out}
	exec qemu-system-x86_64 -name "$name" -accel "$how" -cpu "$cpu" \
		-monitor "pipe:$work/$kernel.$name" \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$image" -initrd "$work/$boots.initrd" \
		-append "console=ttyS0 oops=panic panic=-1 log_buf_len=4M \
mitigations=off no_timer_check $more \
random.trust_cpu=on net.ifnames=0 rdinit=/init \
sysctl.kernel.hung_task_timeout_secs=300 \
sysctl.net.core.netdev_unregister_timeout_secs=60 \
cmx.role=$name cmx.kernel=$kernel cmx.mode=$mode cmx.test=$only cmx.quick=$quick cmx.rows=$(rows_of "$kernel") cmx.fuzz=${FUZZ:-}" \
		-serial "file:$out/$name.console" "${shape[@]}" "$@"
}

# For cmx/trace, cmx/trace_ib and programs/podman: bpftrace's compiler is as large
# as the image, and Podman has 33 MB.
usr_share() {
	[ "$boots" = debug ] ||
		shape+=(-virtfs "local,path=/usr,mount_tag=usr,\
security_model=none,readonly=on")
}

# A local socket on each side: no port to collide on, no order to keep
wire_add() {
	shape+=(-netdev "dgram,id=wire,local.type=unix,local.path=$work/$kernel.$1,\
remote.type=unix,remote.path=$work/$kernel.$2"
		-device "virtio-net-pci,netdev=wire,mac=52:54:00:55:00:0$3,romfile=")
}

beta_start() {
	guest_start beta -serial "file:$out/beta.out" \
		</dev/null >"$out/beta.qemu" 2>&1 &
	guest_pid[beta]=$!
	disown
}

guests_end() {
	local pid

	for pid in "${guest_pid[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	guest_pid=()
}

# guest_shell NAME: its shell on this terminal
guest_shell() {
	[ "$1" != alpha ] || beta_start
	(guest_start "$1" -chardev stdio,id=tty,signal=off -serial chardev:tty)
	code=$?
	guests_end
}

# guest_boot NAME: from boot to power off; alpha with beta as its peer
guest_boot() {
	local name=$1 from_guest

	current=boot counts='0 0 0' result='' code=1 boot_hung=''
	[ "$name" != alpha ] || beta_start
	exec {from_guest}< <(
		guest_start "$name" -chardev stdio,id=tty,signal=off \
			-serial chardev:tty -serial "file:$out/$name.tgz" \
			</dev/null 2>"$out/$name.qemu")
	guest_pid[$name]=$!
	guest_follow "$name" "$from_guest"
	exec {from_guest}<&-
	guests_end
}

# boot_int3 NAME: has the emulation let its second processor meet a breakpoint of
# a patch that is done (see guest_start), before init has reported anything?
boot_int3() {
	[ "$accel" = tcg ] && [ ! -s "$out/$1.out" ] &&
		grep -qE '(Oops: |\] )int3: 0000 ' "$out/$1.console"
}

# boot_kernel NAME: is the kernel still on its way to init, the first process?
boot_kernel() {
	[ ! -s "$out/$1.out" ] &&
		! grep -q 'cmx-test: init' "$out/$1.console" 2>/dev/null
}

# guest_run NAME: to its end. A boot that the emulation broke is tried once more;
# its log is kept. No module of the project is loaded before init.
guest_run() {
	local name=$1 p f s boots=1

	guests_up+=("$name")
	[ "$name" != alpha ] || guests_up+=(beta)
	guest_boot "$name"
	if [ -n "$boot_hung" ] || boot_int3 "$name"; then
		mv "$out/$name.console" "$out/$name.console.first"
		job_say <<<"guest $name: the emulation${boot_hung:+ hung} in the \
kernel's boot; again"
		boots=2
		guest_boot "$name"
	fi
	# By guest, as a test may run in two of them
	mkdir -p "$out/$name"
	tar -C "$out/$name" -xzf "$out/$name.tgz" 2>/dev/null
	rm -f "$out/$name.tgz"

	read -r p f s <<<"$counts"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$mode" = check ] || return
	if [ -z "$result" ]; then
		problem "guest $name went away during $current"
		tail_show "$name" | job_say
	fi
}

# guest_cpu NAME: prints the hundredths of processor seconds that it, and beta
# with alpha, have taken
guest_cpu() {
	local name sum=0 stat

	for name in "$1" ${guest_pid[beta]:+beta}; do
		read -r stat <"/proc/${guest_pid[$name]}/stat" || continue
		read -ra stat <<<"${stat##*) }"
		sum=$((sum + stat[11] + stat[12]))
	done 2>/dev/null
	echo "$sum"
}

# cpu_note NAME TEST: writes what the guest took since the last time
cpu_note() {
	local now

	now=$(guest_cpu "$1")
	printf '%7d %s\n' $(((now - cpu_before) / 100)) "$2" >>"$out/$1.cpu"
	cpu_before=$now
}

# Show the guest's output, a test's lines at a time, and keep what it reports
# this script.
guest_follow() {
	local name=$1 fd=$2 line limit=$((boot_limit / 3)) word rest status
	local end=$((SECONDS + deadline)) text='' cpu_before=0

	while :; do
		if [ $SECONDS -ge $end ]; then
			problem "not finished after $deadline s, in $current"
			break
		fi
		IFS= read -r -t "$limit" line <&"$fd"
		status=$?
		if [ $status -gt 128 ] && [ "$limit" -lt "$boot_limit" ] &&
		   [ "$current" = boot ]; then
			# The kernel has a third of the time, init the rest.
			if [ "$boots,$accel" = 1,tcg ] && boot_kernel "$name"; then
				boot_hung=1
				guest_stacks "$name" "$fd"
				break
			fi
			limit=$boot_limit
			continue
		fi
		if [ $status -gt 128 ]; then
			problem "no sign of life for $limit s, in $current"
			guest_stacks "$name" "$fd"
		fi
		[ $status = 0 ] || break
		printf '%s\n' "$line" >>"$out/$name.out"
		case $line in
		@*)
			[ -z "$text" ] || job_say <<<"${text%$'\n'}"
			text=''
			read -r word rest <<<"$line"
			case $word in
			@start)
				cpu_note "$name" "$current"
				current=${rest% *}
				# The limit of the test, and what restores the bed
				limit=$((${rest##* } + 900))
				;;
			@counts) counts=$rest ;;
			@result)
				cpu_note "$name" "$current"
				counts=$rest result=$rest
				;;
			@exit) code=$rest ;;
			@fault) guest_fault "$name" "$rest" ;;
			esac
			;;
		*)
			text+=$line$'\n'
			[ "$mode" = check ] || { printf '%s' "$text"; text=''; }
			;;
		esac
	done
	[ -z "$text" ] || job_say <<<"${text%$'\n'}"
}

# guest_stacks NAME FD: what a guest does that says nothing, on its console. Its
# processors may hang with interrupts off; an NMI reaches them.
guest_stacks() {
	timeout 5 tee "$work/$kernel.$1.in" <<<nmi >/dev/null
	while IFS= read -r -t 60 _ <&"$2"; do :; done
}

# A fault that alpha finds in its bed is beta's.
guest_fault() {
	local name=$1

	[ "$name" != alpha ] || name=beta
	problem "$2; guest $name's console ends with:"
	tail -n 15 "$out/$name.console" | sed 's/^/     > /' | job_say
}

# The whole of the kernel logs, also what no test was running for
consoles_check() {
	local name text

	for name in "${guests_up[@]}"; do
		if [ ! -s "$out/$name.console" ]; then
			problem "guest $name has left no kernel log"
			continue
		fi
		text=$(splat_find <"$out/$name.console")
		if [ -n "$text" ]; then
			problem "kernel complaints of guest $name, in" \
				"$out/$name.console:" \
				"$(head -n 1 <<<"$text")$(splat_where "$out/$name.console")"
			head -5 <<<"$text" | sed 's/^/     > /' | job_say
		fi
	done
}

# The last test's log from the first complaint on, or the end without any
tail_show() {
	local text name=$1

	text=$(awk '/cmx-test: begin/ { text = ""; on = 0 }
		/BUG|WARNING|Oops|panic/ && !/rdmavt\/qp\.c:2041/ { on = 1 }
		on { text = text $0 "\n" }
		END { printf "%s", text }' "$out/$name.console" | head -n 150)
	[ -n "$text" ] || text=$(tail -n 30 "$out/$name.console")
	echo "From guest $name's console ($out/$name.console):"
	sed 's/^/     > /' <<<"$text"
	cat "$out"/*.qemu 2>/dev/null
}
