#!/bin/sh
# Opens of programs with several threads, without a stop (doc/opens.md, Programs with threads): every file that a thread opened
# is in the record, none surely that was not; threads that are cancelled are unwound, those that wait are not woken, and what
# is not known is said.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

needs_code

cat >"$T/judge.py" <<'PY'
import json, os, sys
events, truth, folder, case, most = sys.argv[1:]
opened, begun, none = set(), set(), set()
for line in open(truth):
    {'+': opened, '?': begun, '-': none}[line[0]].add(line[2:].rstrip('\n'))
paths, absent, sure, seen, looked = {}, {}, set(), set(), set()
lost = unsettled = died = traps = 0
other = []
for line in open(events):
    e = json.loads(line)
    if e['k'] == 'file' and e.get('path', '').startswith(folder):
        paths[e['num']] = e['path']
    elif e['k'] == 'file' and e.get('address', '').startswith(folder):
        absent[e['num']] = e['address']
    elif e['k'] == 'file':
        absent[e['num']] = e.get('path') or e.get('address') or ''
    elif e['k'] == 'access' and e['file'] in absent:
        looked.add(absent[e['file']])
    elif e['k'] == 'access' and e['file'] in paths:
        seen.add(paths[e['file']])
        if e.get('sure'):
            sure.add(paths[e['file']])
    elif e['k'] == 'gap' and e['reason'] == 12:
        unsettled += e.get('count', 0)
    elif e['k'] == 'gap' and e['reason'] == 1:
        lost += e.get('count', 0) or 1
    elif e['k'] == 'gap' and e['reason'] == 7:
        died += 1
    elif e['k'] == 'gap':
        other.append(e)
    elif e['k'] == 'run_end':
        traps = e.get('traps', 0)
looked |= seen
missing, wrong = opened - seen, sure - opened - begun
wrong = {w for w in wrong if os.path.basename(w)[0] == 'f' and os.path.basename(w) != 'fifo'}
if not opened:
    print('the program has opened nothing')
if wrong:
    print(f'{len(wrong)} are recorded as sure that were not opened: {sorted(wrong)[:3]}')
if missing and not died and len(missing) > lost + unsettled:
    print(f'{len(missing)} of {len(opened)} are not recorded: {sorted(missing)[:3]}')
if case == 'killed' and not died:
    print('the record does not say that the recorder died')
if none - looked:
    print(f'{len(none - looked)} were looked for, and that is not recorded: {sorted(none - looked)[:3]}')
# What is not sure has to have a reason.
possible = len(opened & seen - sure)
if case not in ('killed', 'chdir', 'confine') and (lost or unsettled or possible):
    print(f'{possible} only possible, {lost} lost, {unsettled} unsettled')
if case == 'confine' and missing:
    print(f'{len(missing)} missing')
if other:
    print(f'other gaps: {other[:2]}')
if int(most) and traps > int(most):
    print(f'{traps} stops')
print(f'# {case}: {len(opened)} opened, {len(sure & opened)} sure, {len(missing)} missing, {lost} lost, {unsettled} unsettled, {traps} stops',
      file=sys.stderr)
PY

D=$T/d
mkdir "$D"
"$PROGS/p-threads" make "$D" || exit 1

# threads CASE STOPS NAME: at most so many stops; 0: they do not count. On a busy machine the code may not get there in time.
threads()
{
	for try in 1 2 3 4; do
		threads_once "$@"
		{ [ -s "$T/why" ] && ! grep -q -v ' stops$' "$T/why"; } || break
	done
	[ ! -s "$T/why" ]
	result $? "$3" "$T/why"
}

threads_once()
{
	rm -rf "$T/home"
	: >"$T/why"
	STEMMA_HOME=$T/home timeout 120 "$STEMMA" run -- "$PROGS/p-threads" "$1" "$D" 9>"$T/truth" >"$T/out" 2>&1
	status=$?
	[ $status = 0 ] || { echo "status $status"; cat "$T/out"; } >>"$T/why"
	events "$T/home" "$T/events" || [ "$1" = killed ] || cat "$T/events.err" >>"$T/why"
	$PYTHON "$T/judge.py" "$T/events" "$T/truth" "$D/" "$1" "$2" >>"$T/why"
}

threads calm 700 "threads open without a stop, by all ways of the C library"
threads crowd 0 "more threads than there are logs for"
threads pass 1500 "threads come and go"
threads cancel 0 "threads are cancelled while they open, and unwound"
threads async 0 "threads that may be cancelled anywhere are"
threads fifo 0 "a thread that waits for a FIFO is cancelled"
threads spawn 0 "children by fork, vfork and posix_spawn meanwhile"
threads inherit 0 "no child has what its parent shares with the recorder"
threads exec 0 "a thread becomes another program"
threads chdir 0 "a thread changes the working directory"
threads signal 0 "a handler opens files in the middle of an open"
threads sleep 700 "threads that wait are not woken when the code is put in"
threads confine 0 "a thread confines itself"
threads killed 0 "the recorder is killed, and the threads are cancelled after that"

finish
