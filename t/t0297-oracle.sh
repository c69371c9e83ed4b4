#!/bin/sh
# What stemma answers of workflows, held against what their programs truly read and wrote (doc/oracle.md): each kind of step alone, then
# workflows made at random, then answers that are wrong on purpose. Arguments: how many variants of each kind, the first seed, how many seeds.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export STEMMA="${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}" ORACLE_ACTOR="${ORACLE_ACTOR:-${BUILD:-$here/build}/tests/oracle/oracle-actor}"
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$T"

oracle() { $PYTHON -B "$here/tests/oracle/oracle.py" "$@"; }

# part N ARG...: what the oracle says is test N.
part()
{
	n=$1
	shift
	oracle "$@" | sed -e '/^1\.\./d' -e "s/^\(\(not \)\{0,1\}ok\) 1 /\1 $n /"
}

# liar N WHAT KIND WORDS: with the shell's lines on standard input in the place of stemma, the oracle finds this class of error.
liar()
{
	{
		echo "#!/bin/sh"
		echo "stemma='$STEMMA'"
		cat
		# shellcheck disable=SC2016 # the liar's own
		echo 'exec "$stemma" "$@"'
	} >"$T/liar"
	chmod +x "$T/liar"
	if oracle --stemma "$T/liar" each "$3" >"$T/said"; then
		echo "not ok $1 - $4: the oracle finds nothing"
	elif grep -q "^# $2 of $3: " "$T/said"; then
		echo "ok $1 - $4: the oracle says so"
	else
		echo "not ok $1 - $4: the oracle says something else"
		sed 's/^/# /' "$T/said"
	fi
}

part 1 --variants "${1:-1}" each
part 2 seeds "${2:-0}" "${3:-20}"
liar 3 missed read-write 'an answer that lacks a source' <<'END'
[ "$1" != lineage ] || { "$stemma" "$@" | jq '.entities |= map(select(.path | test("/s[0-9]$") | not))'; exit 0; }
END
liar 4 sure-false inherited-unused 'what is possible, as certain' <<'END'
[ "$*" = "${*#lineage --json --certain}" ] || { shift 3; exec "$stemma" lineage --json "$@"; }
END
liar 5 why-sure-false opened-to-append-unwritten 'an input of nobody' <<'END'
[ "$1" != why ] || {
	"$stemma" "$@" | jq '.answers[0].inputs += [.answers[0].inputs[0] | .path |= sub("s[0-9]$"; "s\(range(6))") | .certainty = "must"]'
	exit 0
}
END
liar 6 down-missed read-write 'nothing came from it' <<'END'
[ "$*" = "${*#lineage --json --down}" ] || { "$stemma" "$@" | jq '.entities |= map(select(.path | test("/s[0-9]$")))'; exit 0; }
END
part 7 --run-options=--count each dash-writes-after-a-redirected-command dash-overwritten-by-redirection dash-redirected-one-by-one pipe pipe-of-programs
echo 1..7
