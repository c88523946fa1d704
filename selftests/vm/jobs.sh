# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The jobs of run.sh, side by side. Sourced by run.sh, whose variables these
# functions use: mode accel out top work kernels most_guests kernel broken passed
# failed skipped host_pid.
#
# A job is a separate process, "guest KERNEL GUEST" or "host". It counts for
# itself and leaves its sums in $work/job-NUMBER.
# shellcheck shell=bash

declare -A job_pid=()
jobs_begun=0
declare -A aside_pid=()

# As many leading guests as memory is for: two guests take 4 GB, KASAN 1 more. A
# guest waits for half of its time, so there may be two for each processor. But
# emulated, four of them and a build on two processors take up to three times as
# many processor seconds for the same tests.
guests_most() {
	local most

	[ "$mode" = check ] || { echo 1; return; }
	most=$(nproc)
	if [ "$accel" = tcg ]; then
		most=$((most + 1))
	else
		most=$((2 * most))
	fi
	awk -v most="$most" '$1 == "MemAvailable:" {
		n = int($2 / 5000000)
		print n < 1 ? 1 : n < most ? n : most
	}' /proc/meminfo
}

# Prints its input, with the kernel in front if there are two. It prints all at
# once, so that lines of two jobs do not mix.
job_say() {
	local tag='' text

	if [ "$mode" != check ]; then
		cat
		return
	fi
	[ "${#kernels[@]}" = 1 ] || [ -z "$kernel" ] || tag="$kernel "
	text=$(sed "s/^/$tag/")
	[ -n "$text" ] || return
	flock "$work" printf '%s\n' "$text"
	failures_find <<<"$text" >>"$work/failures"
}

# Prints the line of a failed test, and up to 8 lines about its results.
failures_find() {
	awk '
		/(^| )FAIL / { print; n = 0; next }
		/not ok / || /^[^|]*\| *#/ { if (n++ < 8) print }'
}

# Prints the failures again at the end: of a long run often only the last lines
# are at hand.
failures_print() {
	[ -s "$work/failures" ] || return
	echo "What failed, logs in $out:"
	head -n 40 "$work/failures"
}

job_end() {
	# After a second signal the guests would keep running.
	trap '' INT TERM HUP
	[ -z "$host_pid" ] || kill -TERM "$host_pid" 2>/dev/null
	guests_end
	echo "$passed $failed $skipped $broken" >"$work/job-$jobs_begun"
}

# job_run WHAT...: in a subshell
job_run() {
	passed=0 failed=0 skipped=0 broken=0
	trap job_end EXIT
	trap 'exit 130' INT TERM HUP
	"$@"
}

job_start() {
	jobs_begun=$((jobs_begun + 1))
	job_run "$@" &
	job_pid[$!]=$jobs_begun
}

# job_begin WHAT...: waits for a place, and starts the job. One aside has the place
# of a guest, unless it is the only one.
job_begin() {
	while [ "${#job_pid[@]}" -ge "$most_guests" ] &&
	      [ "${#job_pid[@]}" -gt "${#aside_pid[@]}" ]; do
		job_wait
	done
	job_start "$@"
}

# job_aside WHAT...: at once
job_aside() {
	job_start "$@"
	aside_pid[$!]=1
}

# Waits until any job has ended.
job_wait() {
	local pid p=0 f=0 s=0 b=0

	wait -n -p pid "${!job_pid[@]}"
	if ! read -r p f s b <"$work/job-${job_pid[$pid]}"; then
		problem "a job ended without a word"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$b" = 0 ] || broken=$b
	unset "job_pid[$pid]" "aside_pid[$pid]"
}

jobs_wait() {
	while [ "${#job_pid[@]}" != 0 ]; do
		job_wait
	done
}

jobs_kill() {
	[ "${#job_pid[@]}" = 0 ] || kill -TERM "${!job_pid[@]}" 2>/dev/null
	wait
}
