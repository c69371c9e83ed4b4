#!/bin/sh
# A path that is turned to another file between the recorder's look and the kernel's: by another thread, by another process in
# memory that both have. Nothing is recorded as surely opened that was not, and what was opened is recorded or said to be missing.
# Programs with threads of which nobody turns anything are recorded as surely as others. (doc/opens.md, Paths that others write)
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cat >"$T/judge.py" <<'PY'
import collections, json, sys
events, truth, folder, n, case = sys.argv[1:]
opened = {line.strip() for line in open(truth)}
paths, sure, seen, unsettled, other = {}, set(), set(), 0, []
for line in open(events):
    e = json.loads(line)
    if e['k'] == 'file' and e.get('path', '').startswith(folder):
        paths[e['num']] = e['path']
    elif e['k'] == 'access' and e.get('file') in paths:
        seen.add(paths[e['file']])
        if e.get('sure'):
            sure.add(paths[e['file']])
    elif e['k'] == 'gap' and e['reason'] == 12:
        unsettled += e.get('count', 0)
    elif e['k'] == 'gap':
        other.append(e)
missing = opened - seen
if len(opened) < (int(n) if case not in ('calm', 'folder') else 1):
    print(f'the program has opened {len(opened)} files')
if sure - opened:
    print(f'{len(sure - opened)} of {len(opened)} are recorded as surely another file, as {sorted(sure - opened)[:3]}')
if len(missing) > unsettled:
    print(f'{len(missing)} of {len(opened)} are not recorded, and {unsettled} are said to be missing: {sorted(missing)[:3]}')
if case == 'hold' and missing:
    print(f'{len(missing)} are not recorded, though they were open all the time')
# Two of 1,348 were once recorded as possible only, and nothing was missing: why is not known.
if case == 'calm' and (unsettled or missing or len(opened - sure) > len(opened) // 100):
    print(f'{len(opened - sure)} are not recorded as sure, {unsettled} unsettled: {sorted(opened - sure)[:3]}')
if other:
    print(f'other gaps: {other[:2]}')
print(f'# {case}: {len(opened)} opened, {len(sure & opened)} of them sure, {len(missing)} missing, {unsettled} unsettled', file=sys.stderr)
PY

# raced NAME CASE N [OPTION...]
raced()
{
	what=$1 case=$2 count=$3
	shift 3
	D=$T/d
	clear "$D"
	mkdir "$D"
	if [ "$case" = folder ]; then
		FOLDERS=1 "$PROGS/p-race" make "$D" "$count" || exit 1
	else
		"$PROGS/p-race" make "$D" "$count" || exit 1
	fi
	rm -rf "$T/home"
	STEMMA_HOME=$T/home timeout 300 "$STEMMA" run "$@" -- "$PROGS/p-race" "$case" "$D" "$count" >"$T/truth" 2>"$T/why"
	echo $? >"$T/status"
	[ "$(cat "$T/status")" = 0 ] || echo "status $(cat "$T/status")" >>"$T/why"
	events "$T/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	$PYTHON "$T/judge.py" "$T/events" "$T/truth" "$D/" "$count" "$case" >>"$T/why"
	[ ! -s "$T/why" ]
	result $? "$what" "$T/why"
}

raced "another thread turns the path, the file is closed at once" close 2000
raced "another thread turns the path, the file stays open" hold 300
STEMMA_INJECT=off raced "another process turns the path in shared memory" shared 500
raced "a process in the same memory turns the path" memory 500
raced "another thread turns it to a folder" folder 500
raced "files that are written" write 500
raced "files that are emptied" cut 500
raced "the same by ptrace" close 500 --transport=trace
raced "nobody turns anything: all is sure" calm 2000

finish
