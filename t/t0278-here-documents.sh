#!/bin/sh
# A here-document that the fork of a shell has written is surely its: the bytes in the pipe are all that it has written, and nobody else has
# the pipe. Where another one wrote as many bytes, that one is not lost. (doc/witness.md)
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

echo words >in
echo others >other
# came OPTION FILES: of in and other, what out came from
came()
{
	cmd 0 lineage --json $1 out || return
	jq -r --arg work "$T/work/" '.entities[].path | select(. == ($work + ("in", "other"))) | ltrimstr($work)' "$out" | sort | tr '\n' ' ' >"$T/came"
	[ "$(cat "$T/came")" = "$2" ] || { echo "'$(cat "$T/came")', not '$2'" >"$err"; return 1; }
}
# shell WHAT SHELL TEXT CERTAIN POSSIBLE
shell()
{
	command -v "$2" >/dev/null || {
		skip "$1: $2" "no $2 here"
		return
	}
	rm -f out
	cmd 0 run -q -- "$2" -c "$3" && came --certain "$4" && came '' "$5"
	check "$1: $2"
}

for sh in bash dash; do
	# shellcheck disable=SC2016 # the shell's own
	shell 'a here-document with the content of a file' $sh 'cat >out <<E
$(cat in)
E
true' 'in ' 'in '
done
# shellcheck disable=SC2016
shell 'a program of a here-document' bash 'read x <in
sed -f /dev/stdin other >out <<E
s/o/$x/
E
true' 'in other ' 'in other '
# shellcheck disable=SC2016
shell 'a here-string' bash 'x=$(cat in); cat <<<"$x" >out; true' 'in ' 'in '

# The writer is another fork, which had read a file. Who executes cat has read one, too, and written a byte elsewhere; one is in the pipe.
if command -v bash >/dev/null; then
	for i in 1 2 3; do
		rm -f out
		cmd 0 run -q -- bash -c '(read x <other; printf y >&2; exec cat <&3 >out) 3< <(read x <in; printf x); true' && came '' 'in other ' || break
		cmd 0 lineage --json --certain out && says_not "$out" '/other"' || break
	done
	check 'another one wrote the pipe: it is there, and the wrong one is not certain'
else
	skip 'another one wrote the pipe' 'no bash here'
fi

finish
