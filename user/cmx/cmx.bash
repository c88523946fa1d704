# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Completion of cmx(1) for bash.
#
# Names of devices, hosts and programs are not ours: whoever chose them must not
# choose a command of this shell. compgen -W would expand them, and what
# COMPREPLY has is typed into the command line as it is: so they are quoted.

# _cmx_quoted: adds the lines of standard input, each as one word of a shell
_cmx_quoted() {
	local name

	while IFS= read -r name; do
		# The user's own ~/ stays what it is.
		case $name in
		'~/'*) printf -v name '~/%q' "${name:2}" ;;
		*) printf -v name %q "$name" ;;
		esac
		COMPREPLY+=("$name")
	done
}

# _cmx_devices WORD: those whose names begin so
_cmx_devices() {
	local dir name

	for dir in /sys/class/infiniband/*; do
		name=${dir##*/}
		[ -e "$dir" ] && [[ $name = "$1"* ]] || continue
		printf -v name %q "$name"
		COMPREPLY+=("$name")
	done
}

_cmx_run() {
	local first=2

	[ "${COMP_WORDS[2]}" != -- ] || [ "$COMP_CWORD" = 2 ] || first=3
	if declare -F _command_offset >/dev/null; then
		_command_offset $first
	elif [ "$COMP_CWORD" = $first ]; then
		_cmx_quoted < <(compgen -c -- "${COMP_WORDS[first]}")
	else
		_cmx_quoted < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
	fi
}

_cmx() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local words=

	COMPREPLY=()
	# The rest is the program's: its name, then its completion.
	if [ "${COMP_WORDS[1]}" = run ] && [ "$COMP_CWORD" -gt 1 ]; then
		_cmx_run
		return
	fi
	if [ "$COMP_CWORD" = 1 ]; then
		words='resolve connect join advertise services paths stat doctor
			nvme run help version'
	else
		case ${COMP_WORDS[1]},$prev in
		*,--type) words='rc ud any' ;;
		*,--dev)
			_cmx_devices "$cur"
			return ;;
		*,--env) words='nccl ucx perftest' ;;
		*,--count|*,--qkey|*,--pkey|*,--rate|*,--sl) ;;
		*,--traffic-class|*,--flow-label|*,--hop-limit) ;;
		*,--id|*,--port|*,--data|*,--data-hex) ;;
		*,--lease) words=forever ;;
		*,--timeout) ;;
		*,--mtu) words='256 512 1024 2048 4096' ;;
		*,--source)
			words=$(hostname -I 2>/dev/null | tr -cd '0-9a-f:. ') ;;
		resolve,*)
			words='-j --json -4 -6 -n --numeric --passive --type
				--sa --dev --env'
			[ "${cur:0:1}" = - ] || {
				_cmx_quoted < <(compgen -A hostname -- "$cur")
				return
			} ;;
		connect,*)
			words='-j --json -4 -6 --race --route --timeout --sa
				--dev'
			[ "${cur:0:1}" = - ] || {
				_cmx_quoted < <(compgen -A hostname -- "$cur")
				return
			} ;;
		join,*)
			words='-j --json --send-only --persistent --source --dev
				--once --count --qkey --pkey --mtu --rate --sl
				--traffic-class --flow-label --hop-limit' ;;
		advertise,*)
			words='-j --json --id --port --data --data-hex --lease
				--pkey --dev' ;;
		services,*) words='-j --json --dev' ;;
		paths,paths) words='list preload drop -j --json --dev' ;;
		paths,--file|paths,-f)
			_cmx_quoted < <(compgen -f -- "$cur")
			return ;;
		paths,--service) ;;
		paths,*)
			case ${COMP_WORDS[2]} in
			preload) words='-j --json --file --service' ;;
			drop) words='-j --json --all --dev' ;;
			*) words='-j --json --dev' ;;
			esac
			[ "${COMP_WORDS[2]}" != preload ] ||
				[ "${cur:0:1}" = - ] || {
				_cmx_quoted < <(compgen -A hostname -- "$cur")
				return
			} ;;
		stat,--output)
			_cmx_quoted < <(compgen -f -- "$cur")
			return ;;
		stat,*) words='-j --json --prometheus --output' ;;
		nvme,nvme) words=connect ;;
		nvme,--nqn|nvme,-n) ;;
		nvme,*)
			words='-j --json --dev --follow --nqn --sa'
			[ "${cur:0:1}" = - ] || {
				_cmx_quoted < <(compgen -A hostname -- "$cur")
				return
			} ;;
		doctor,*)
			words='-j --json'
			[ "${cur:0:1}" = - ] || {
				_cmx_quoted < <(compgen -A hostname -- "$cur")
				return
			} ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _cmx cmx
