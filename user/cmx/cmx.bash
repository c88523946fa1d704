# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Completion of cmx(1) for bash.

_cmx_devices() {
	local dir

	for dir in /sys/class/infiniband/*; do
		[ -e "$dir" ] && echo "${dir##*/}"
	done
}

_cmx() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local words=

	if [ "$COMP_CWORD" = 1 ]; then
		words='resolve join stat help version'
	else
		case ${COMP_WORDS[1]},$prev in
		*,--type) words='rc ud any' ;;
		*,--dev) words=$(_cmx_devices) ;;
		*,--count|*,--qkey|*,--pkey|*,--rate|*,--sl) ;;
		*,--traffic-class|*,--flow-label|*,--hop-limit) ;;
		*,--mtu) words='256 512 1024 2048 4096' ;;
		*,--source)
			words=$(hostname -I 2>/dev/null) ;;
		resolve,*)
			words='-j --json -4 -6 -n --numeric --passive --type
				--sa --dev'
			[ "${cur:0:1}" = - ] || {
				mapfile -t COMPREPLY < <(compgen -A hostname \
							 -- "$cur")
				return
			} ;;
		join,*)
			words='-j --json --send-only --persistent --source --dev
				--once --count --qkey --pkey --mtu --rate --sl
				--traffic-class --flow-label --hop-limit' ;;
		stat,*) words='-j --json' ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _cmx cmx
