#!/bin/sh
# A shell opens a file for a program that reads it to the end, and reads something else then: of the first file it has nothing. If bytes
# were left, or have come since, it may have them. (doc/capture.md, "A shell opens files for others")
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

printf 'a\nb\n' >table
printf 'one\ntwo\n' >data
# came TEXT CERTAIN POSSIBLE: with TEXT run by dash, of data and table, what out came from
came()
{
	rm -f out
	printf 'one\ntwo\n' >data
	cmd 0 run -q -- dash -c "$1" || return
	for asked in "--certain $2" "--all $3"; do
		cmd 0 lineage --json "${asked%% *}" out || return
		found=$(jq -r --arg work "$T/work/" '.entities[].path | select(. == ($work + ("data", "table"))) | ltrimstr($work)' "$out" | sort -u | tr '\n' ' ')
		[ "$found" = "${asked#* }" ] || { echo "'$found', not '${asked#* }', with ${asked%% *}" >"$err"; return 1; }
	done
}

if ! command -v dash >/dev/null; then
	skip 'a loop that reads lines' 'no dash here'
else
	# shellcheck disable=SC2016 # the shell's own
	came 'while read x; do echo $x >>out; tr a b <data >other; done <table' 'table ' 'table '
	check 'a loop that reads lines, and a program that reads a file in it'
	# shellcheck disable=SC2016
	came '{ head -n 1 >other; read x; echo $x >out; } <data' 'data ' 'data '
	check 'the program has left a line, which the shell reads'
	# shellcheck disable=SC2016
	came '{ cat >other; echo more >>data; read x; echo $x >out; } <data' 'data ' 'data '
	check 'what comes behind the end is read by the shell'
fi

finish
