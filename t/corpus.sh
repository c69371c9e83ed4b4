# shellcheck shell=sh
# corpus.sh - for a script that holds answers against what a person wrote: where things are, and liars. It is sourced. The script sets
# `status`, defines `asked [OPTION]... CASE`, which asks $STEMMA, or the program of --stemma, and fails where an answer is wrong, and exits
# with $status.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export STEMMA="${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}"
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$T"

# The test is tested as well: liar CASE COMMANDS asks a program that does these commands of a shell first, with stemma's arguments and
# $stemma, and else is stemma. What it answers for the case must be found to be wrong.
liar()
{
	# shellcheck disable=SC2016 # the liar's own
	printf '#!/bin/sh\nstemma=%s\n%s\nexec "$stemma" "$@"\n' "'$STEMMA'" "$2" >"$T/liar"
	chmod +x "$T/liar"
	if asked --stemma "$T/liar" "$1" >"$T/said"; then
		echo "# $2: an answer that is wrong is found to be right"
		# shellcheck disable=SC2034 # the script's
		status=1
	fi
}
