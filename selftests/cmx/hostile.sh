#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# OPS-02: names of interfaces, devices and files that other users chose. A
# terminal gets only text, and a shell only one word.
# shellcheck disable=SC1091,SC2016 # the file is in the guest; names with a $
. /usr/lib/rdma-cmx/selftests/cmx/functions

json=/usr/lib/rdma-cmx/selftests/cmx/tools/json
ran=/tmp/test/ran
# Also U+202E and U+1D173, which change the display of the rest
esc=$'d0\e[31m\xe2\x80\xae\xf0\x9d\x85\xb3'

cleanup() {
	rdma link del rxe1
	ip link del "$esc"
	ip link del d0
	rm -rf /tmp/test/names
} 2>/dev/null
trap cleanup EXIT

# Terminal
mkdir -p /tmp/test
ip link add "$esc" type dummy
ip addr add fe80::56:1/64 dev "$esc" nodad
ip link set "$esc" up
run cmx resolve -n "fe80::56:2%$esc"
is "an interface with an escape sequence: exit code" "$status" 0
like "an interface with an escape sequence: its address is there" "$out" \
	'fe80::56:2%d0\?\[31m\?\? '
unlike "an interface with an escape sequence: not for the terminal" "$out" $'\e'
run cmx resolve -n -j "fe80::56:2%$esc"
ok "an interface with an escape sequence: JSON" "$json" <<<"$out"
unlike "an interface with an escape sequence: escaped there" "$out" $'\e'
like "an interface with an escape sequence: by its number" "$out" \
	'\\u001b\[31m\\u202e\\ud834\\udd73'
ip link del "$esc"
# A new line would start another message; U+202E reverses the text after it.
for text in $'a\e]0;b' $'a\ncmx: b' $'a\rb' $'a\x7fb' $'a\x9bb' $'a\xc2\x9bb' \
	$'a\xe2\x80\xaeb' $'a\xe2\x80\xa8b' $'a\xf3\xa0\x81\x81b'; do
	for command in "run" "resolve --env" "resolve a b" "stat"; do
		# shellcheck disable=SC2086 # words
		run cmx $command "$text"
		is "$command $(printf %q "$text"): nothing but text" \
			"$(LC_ALL=C tr -d ' -~\n' <<<"$err")" ""
		is "$command $(printf %q "$text"): one message" \
			"$(grep -c '^cmx: ' <<<"$err")$(grep -c '^b' <<<"$err")" 10
		like "$command $(printf %q "$text"): with the rest of it" \
			"$err" 'a\?.*b'
	done
done
# Characters that are invisible or change the display of the rest: the first and
# the last of each range of Cf, Zl, Zp and Default_Ignorable_Code_Point of
# Unicode 16
hidden=(ad ad 34f 34f 600 605 61c 61c 6dd 6dd 70f 70f 890 891 8e2 8e2 115f 1160
	17b4 17b5 180b 180f 200b 200f 2028 202e 2060 206f 3164 3164 fe00 fe0f
	feff feff ffa0 ffa0 fff0 fffb 110bd 110bd 110cd 110cd 13430 1343f
	1bca0 1bca3 1d173 1d17a e0000 e0fff)
# point CODE: prints the character in UTF-8, of two bytes or more; the guests
# have no locale for it
point() {
	local code=$1 tail='' lead=0x3f byte

	while ((code > lead)); do
		printf -v byte '\\x%x' $((0x80 | code & 0x3f))
		tail=$byte$tail
		((code >>= 6, lead >>= 1))
	done
	printf -v byte '\\x%x' $((0xff & ~(2 * lead + 1) | code))
	printf %b "$byte$tail"
}

# shows FIRST LAST: one '?' for each character, and both neighbours unchanged
shows() {
	local first=$((16#$1)) last=$((16#$2)) code text want

	text=$(point $((first - 1)))
	want=$text
	for ((code = first; code <= last && code < first + 20; code++)); do
		text+=$(point "$code")
		want+='?'
	done
	text+=$(point "$last")$(point $((last + 1)))
	want+="?$(point $((last + 1)))"
	run cmx stat "$text"
	is "U+$1 to U+$2 are no text" "${err%%$'\n'*}" \
		"cmx: '$want' is one argument too many"
}
for ((i = 0; i < ${#hidden[@]}; i += 2)); do
	shows "${hidden[i]}" "${hidden[i + 1]}"
done
run cmx stat --json $'\xc3\xa9\xe2\x82\xac'
like "other text stays" "$err" $'\xc3\xa9\xe2\x82\xac'
# U+06DB ends with 0x9b, which is ESC [ for a terminal of 8 bits.
for locale in C de_DE.ISO-8859-1 de_DE@euro; do
	run env LC_ALL=$locale cmx stat $'a\xdb\x9bb'
	is "a terminal of $locale gets ASCII" "${err%%$'\n'*}" \
		"cmx: 'a?b' is one argument too many"
done
run env LC_ALL= LC_CTYPE=de_DE.utf8 LANG=C cmx stat $'a\xdb\x9bb'
like "LC_CTYPE counts before LANG" "$err" $'a\xdb\x9bb'
ip link add $'d\xdb\x9b' type dummy
ip addr add fe80::56:1/64 dev $'d\xdb\x9b' nodad
ip link set $'d\xdb\x9b' up
run env LC_ALL=C cmx resolve -n -j $'fe80::56:2%d\xdb\x9b'
like "JSON has its number there" "$out" '%d\\u06db'
# The width of one character, not of its two bytes
run cmx resolve -n $'fe80::56:2%d\xdb\x9b'
like "the columns of a table begin at the same places" "$out" \
	'^DESTINATION    SOURCE'
run cmx doctor -j $'fe80::56:9%d\xdb\x9b\x01'
like "cmx doctor -j has the text as it is" "$out" '%d'$'\xdb\x9b''\\u0001: '
run cmx doctor $'fe80::56:9%d\xdb\x9b\x01'
like "cmx doctor shows what a terminal may get" "$out" '%d'$'\xdb\x9b''\?: '
ip link del $'d\xdb\x9b'

# Options: getopt would print them unchanged.
for command in resolve join advertise services stat doctor "nvme connect"; do
	# shellcheck disable=SC2086 # words
	run cmx $command $'--a\e]0;b\nc=d'
	is "$command: an unknown option is one message" "${err%%$'\n'*}" \
		"cmx: '--a?]0;b?c' is not an option"
	is "$command: an unknown option: exit code" "$status" 2
	# shellcheck disable=SC2086 # words
	run cmx $command $'-\x9bj'
	is "$command: an unknown letter" "${err%%$'\n'*}" \
		"cmx: '-?' is not an option"
done
while IFS='|' read -r line want; do
	# shellcheck disable=SC2086 # words
	run cmx $line
	is "$line: one message" "${err%%$'\n'*}" "cmx: $want"
	is "$line: exit code" "$status" 2
done <<'END'
doctor -xj|'-x' is not an option
doctor --json=3|'--json' takes no argument
join --send=x -j|'--send' takes no argument
join --s|'--s' is not an option
join --json -sj|'-s' is not an option
join --dev=a -dj|'-d' is not an option
stat --prometheus --output|'--output' needs an argument
resolve -jt|'-jt' needs an argument
END

# Completion: bash expands the words that remain on its command line.
complete_line() {
	. /usr/share/bash-completion/completions/cmx
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_cmx
	printf '%s\n' "${COMPREPLY[@]}"
}
# words: the lines of the completion as the shell parses them, in order
words() {
	local line word

	LC_ALL=C sort | while IFS= read -r line; do
		eval "word=($line)"
		# shellcheck disable=SC2154 # by eval
		printf '<%s>' "${word[@]}"
	done
}

mkdir /tmp/test/names
cd /tmp/test/names || exit 1
touch "f\$(touch $(basename $ran))" 'f;g h'
is "completion of a file" "$(complete_line cmx stat --output f | words)" \
	"<f\$(touch ran)><f;g h>"
is "completion of a file of names" \
	"$(complete_line cmx paths preload --file f | words)" \
	"<f\$(touch ran)><f;g h>"
is "completion of a program's file" \
	"$(complete_line cmx run -- ls f | words)" "<f\$(touch ran)><f;g h>"
ip link add d0 type dummy
ip link set d0 up
ip addr add 10.56.0.1/24 dev d0
ok "a device" rdma link add rxe1 type rxe netdev d0
ok "a device with a command in its name" \
	rdma dev set rxe1 name "r\$(touch ran);\`touch ran\`"
is "completion of a device" "$(complete_line cmx join --dev r | words)" \
	"<r\$(touch ran);\`touch ran\`><rxe0>"
printf '10.55.0.2 h$(touch,ran)\n' >/tmp/test/hosts
HOSTFILE=/tmp/test/hosts
is "completion of a host" "$(complete_line cmx doctor 'h$' | words)" \
	'<h$(touch,ran)>'
# --env: the forms of cmx(1). The shell splits and executes what $(...) prints.
dev="r\$(touch ran);\`touch ran\`"
# shellcheck disable=SC2046,SC2086 # words, as in cmx(1)
env_refuses() {
	local name=$1 shown=$2

	ok "$(printf %q "$name"): renamed" rdma -- dev set "$dev" name "$name" ||
		return
	dev=$name
	run cmx resolve --env perftest 10.56.0.9
	is "$(printf %q "$name"): refused" "$status$out" 1
	is "$(printf %q "$name"): by its name" "${err%%: --env*}" \
		"cmx: RDMA device '$shown'"
	like "$(printf %q "$name"): with the remedy" "$err" \
		'rename it with: rdma dev set$'
	printf %s $(cmx resolve --env perftest 10.56.0.9 2>/tmp/test/err) \
		>/tmp/test/words
	env $(cmx resolve --env ucx 10.56.0.9 2>/tmp/test/err) true
	eval "$(cmx resolve --env nccl 10.56.0.9 2>/tmp/test/err |
		sed 's/^/export /')"
	is "$(printf %q "$name"): no word" "$(cat /tmp/test/words)" ""
}
if ok "the device reaches an address" wait_for 40 eval \
	'cmx resolve -n 10.56.0.9 | grep -q 10.56.0.1'; then
	env_refuses 'x touch ran; y' 'x touch ran; y'
	env_refuses "'x touch ran; y'" "'x touch ran; y'"
	env_refuses $'x\x9b31m' 'x?31m'
	env_refuses $'x\xc3\xa9' $'x\xc3\xa9'
	env_refuses -x -x
fi
is "no command was run" "$(find /tmp/test -name 'ran*')" ""
cd / || exit 1
rm -r /tmp/test/names
finish
