#!/bin/sh
# t0190-segments.sh [RUNS [AT ONCE]] - many short runs at once: as many segment files as ran at once, and no run lost.
set -u

here=$(cd "$(dirname "$0")/.." && pwd -P)
stemma=${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}
runs=${1:-300}
at_once=${2:-16}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
export STEMMA_HOME="$tmp/home"
count=0
bad=0

check()
{ # WHAT: the status of the command before says whether it holds
	status=$?
	count=$((count + 1))
	if [ $status = 0 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		bad=1
	fi
}

[ -x "$stemma" ] || { echo "Bail out! no stemma at $stemma"; exit 1; }

# Half of them write a file, so that there is something to lose.
mkdir "$tmp/out"
# shellcheck disable=SC2016 # the inner shell expands it
seq "$runs" | xargs -P "$at_once" -I %% sh -c '
	if [ $((%% % 2)) = 0 ]; then
		"$0" run -- true
	else
		"$0" run -- sh -c "echo %% >$1/%%"
	fi' "$stemma" "$tmp/out" >"$tmp/said" 2>&1
check "$runs runs, $at_once at once, all end well"
! [ -s "$tmp/said" ]
check 'and say nothing'
[ "$(find "$tmp/out" -type f | wc -l)" = $(((runs + 1) / 2)) ]
check 'every file is there'

# Midnight (UTC) may have passed meanwhile: each day has its own.
most=0
for day in "$STEMMA_HOME"/logs/*/*; do
	segments=$(find "$day" -name '*.stl' | wc -l)
	echo "# $segments segments in ${day#"$STEMMA_HOME"/}"
	[ "$segments" -le "$most" ] || most=$segments
done
[ "$most" -ge 1 ] && [ "$most" -le "$at_once" ]
check 'no more segments than ran at once'
[ -z "$(find "$STEMMA_HOME/logs" -type f ! -name '*.stl')" ]
check 'and nothing else beside the segments'

"$stemma" log --jsonl >"$tmp/log" 2>"$tmp/err"
[ "$(wc -l <"$tmp/log")" = "$runs" ]
check 'every run is in the record'
"$stemma" fsck >"$tmp/fsck" 2>&1
check 'the record is whole'
"$stemma" why "$tmp/out/1" 2>&1 | grep -q 'sh'
check 'a file of it is explained'

if [ $bad = 1 ]; then
	sed 's/^/# /' "$tmp/said" "$tmp/err" "$tmp/fsck" 2>/dev/null | head -n 40
fi
echo "1..$count"
exit $bad
